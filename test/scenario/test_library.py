# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The scenario library and ``cosim new``."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner

from ros2_cosim.cli.console import EXIT_ERROR
from ros2_cosim.cli.main import app
from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.run.inproc import run_inproc
from ros2_cosim.core.scenario.library import NAMES, library, library_file, new_scenario
from ros2_cosim.core.scenario.schema import load_scenario

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("name", "changes"),
    [
        ("car_following", ["duration=10s"]),
        ("packet_loss", []),
        ("stop_and_go", ["parameters.stops=1", "parameters.vehicles=3"]),
        ("v2v_outage", []),
    ],
)
def test_the_scenario_meets_all_its_verdicts(name: str, changes: list[str], tmp_path: Path) -> None:
    """The others do in ``runs/test_verdicts_of_the_library.py``."""
    summary = run_inproc(load_scenario(library_file(name), changes), tmp_path, record=False)
    verdicts = {verdict.name: verdict.passed for verdict in summary.verdicts}
    assert verdicts and all(verdicts.values()), verdicts


def test_a_name_stands_for_a_scenario_of_the_library(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("cut_in", "car_following"):
        assert load_scenario(Path(name)) == load_scenario(library_file(name))
    assert load_scenario(Path("platoon")) == load_scenario(ROOT / "config/platoon.yaml")
    with pytest.raises(ConfigurationError, match="scenario plato: there is no such file; did you"):
        load_scenario(Path("plato"))
    with pytest.raises(ConfigurationError, match="scenario here/town: there is no such file"):
        load_scenario(Path("here/town"))
    shutil.copy(ROOT / "config/car_following.yaml", "town")  # a file comes first
    assert load_scenario(Path("town")).name == "car_following"


def test_the_platoon_is_that_of_the_demonstrator() -> None:
    """Three vehicles 300 m before a roadblock, the followers by CACC, each fed by a sensor."""
    scenario = load_scenario(ROOT / "config/platoon.yaml")
    scene = scenario.scene
    assert scene is not None
    vehicles = scene["vehicles"]
    assert scene["platoon"] == ["leader", "follower1", "follower2"] == list(vehicles)
    assert scene["roadblock"]["s"] - vehicles["leader"]["s"] == 300.0
    assert {vehicle["speed"] for vehicle in vehicles.values()} == {25.0}
    models = [part.model for part in scenario.participants.values()]
    assert models.count("cacc_controller") == models.count("object_sensor") == 2


def test_verdicts_can_fail(tmp_path: Path) -> None:
    changes = ["parameters.law=path_acc", "platoon.controller.emergency={trigger: 100.0}"]
    summary = run_inproc(load_scenario(library_file("braking"), changes), tmp_path, record=False)
    verdicts = {verdict.name: verdict.passed for verdict in summary.verdicts}
    assert not verdicts["no_collision"]


def test_a_scenario_is_short_and_has_a_section_of_the_page() -> None:
    page = (ROOT / "docs" / "library.md").read_text(encoding="utf-8")
    assert re.findall(r"^## (\w+)$", page, re.MULTILINE) == list(NAMES)
    listed = {path.stem for path in (ROOT / "config" / "library").glob("*.yaml")}
    assert listed | {"car_following"} == set(NAMES)
    for name in NAMES:
        assert len(library_file(name).read_text(encoding="utf-8").splitlines()) < 60
    assert all(entry.description for entry in library())


def test_new_writes_a_scenario_that_is_checked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in NAMES:
        done = CliRunner().invoke(app, ["new", f"my_{name}", "--from", name, "--json"])
        answer = json.loads(done.stdout)
        assert done.exit_code == 0 and answer["scenario"] == f"my_{name}.yaml"
        assert load_scenario(tmp_path / answer["scenario"]).name == f"my_{name}"
        done = CliRunner().invoke(app, ["check", answer["scenario"]])
        assert done.exit_code == 0, done.output
    assert {path.suffix for path in tmp_path.iterdir()} == {".yaml", ".xodr"}


@pytest.mark.parametrize(
    ("arguments", "expected"), [(["braking"], "braking"), (["own_one"], "roadblock")]
)
def test_new_without_a_template(
    arguments: list[str], expected: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(app, ["new", *arguments])
    assert done.exit_code == 0, done.output
    description = next(entry.description for entry in library() if entry.name == expected)
    assert load_scenario(tmp_path / f"{arguments[0]}.yaml").description == description


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["x", "--from", "braking2"], "found 'braking2'; allowed are roadblock, braking"),
        (["X-1"], "found 'X-1'; allowed is a name of small letters"),
        (["there"], "there.yaml: is there already; allowed is another name"),
    ],
)
def test_new_refuses(
    arguments: list[str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "there.yaml").write_text("mine\n")
    done = CliRunner().invoke(app, ["new", *arguments])
    assert done.exit_code == EXIT_ERROR and message in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["there.yaml"]
    assert (tmp_path / "there.yaml").read_text() == "mine\n"


def test_a_map_of_another_content_is_not_replaced(tmp_path: Path) -> None:
    new_scenario("a", None, tmp_path)
    new_scenario("b", None, tmp_path)
    (tmp_path / "highway.xodr").write_text("mine\n")
    done = CliRunner().invoke(app, ["new"])
    assert done.exit_code == 2
    with pytest.raises(Exception, match=r"highway\.xodr: is there already"):
        new_scenario("c", None, tmp_path)
    assert not (tmp_path / "c.yaml").exists()


def test_the_list_has_descriptions_and_parameters() -> None:
    found = json.loads(CliRunner().invoke(app, ["new", "--list", "--json"]).stdout)
    assert [entry["name"] for entry in found] == list(NAMES)
    assert found[0]["parameters"]["vehicles"] == 4
    text = CliRunner().invoke(app, ["new", "--list"]).stdout
    assert len(text.splitlines()) == len(NAMES) and "vehicles=20" in text
