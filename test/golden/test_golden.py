# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Every run in ``traces.json`` still has the trace that is written there, most in every run shape.

An entry is changed only together with a line in CHANGELOG.md that says why the results differ.
Refactoring and work on speed change none.
"""

from __future__ import annotations

import json
import os
import re
from concurrent.futures import Future, ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from runs.cosim_process import ROOT, cosim, left_processes, user_environment
from support import warm
from support.fmu_builder import build_fmu
from typer.testing import CliRunner

from ros2_cosim.cli.console import EXIT_VERDICT
from ros2_cosim.cli.main import app

TRACES = Path(__file__).with_name("traces.json")
RUNS: dict[str, dict[str, Any]] = {
    entry["name"]: entry for entry in json.loads(TRACES.read_text(encoding="utf-8"))["runs"]
}
SHAPES = ("inproc", "composed", "ros")
#: Runs in processes of their own that are under way at once.
AT_ONCE = 3


def shapes_of(name: str) -> tuple[str, ...]:
    """The shapes that a run is possible in: all, unless its entry lists them."""
    return tuple(RUNS[name].get("shapes", SHAPES))


def arguments_of(name: str, shape: str, output: Path, fmus: Path) -> list[str]:
    """The arguments of ``cosim`` for an entry; ``{fmus}`` in it is the directory of the FMUs."""
    entry = RUNS[name]
    arguments = ["--shape", shape, "--out", str(output), "--no-bag", "--seed", str(entry["seed"])]
    if "controllers" in entry:
        arguments += ["--controllers", entry["controllers"]]
    for setting in entry["set"]:
        arguments += ["--set", setting.replace("{fmus}", str(fmus))]
    return [str(ROOT / entry["scenario"]), *arguments]


def assert_unchanged(name: str, output: Path) -> None:
    """Compare the trace of a run with its entry."""
    found = json.loads((output / "summary.json").read_text(encoding="utf-8"))["trace_sha256"]
    assert found == RUNS[name]["trace_sha256"], (
        f"the results of run '{name}' have changed (trace {found}). If this is not intended, "
        "compare with a run of the last good commit. If it is intended, say why in a line of "
        f"CHANGELOG.md and write the new trace into {TRACES.relative_to(ROOT)}"
    )


@pytest.fixture(scope="module")
def fmus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory of the FMUs that entries name."""
    directory = tmp_path_factory.mktemp("fmus")
    for name in ("trig2", "osmp2"):
        build_fmu(name, directory)
    return directory


def names_in(shape: str) -> list[str]:
    return [name for name in RUNS if shape in shapes_of(name)]


#: Too long for processes: other entries have traffic, too.
LONG = ("library_town",)
#: Part of the fast tests: one for each kind of scenario.
QUICK = ("platoon_seed_1", "platoon_traffic", "car_following_seed_1", "dcp_model", "calls")


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=() if name in QUICK else pytest.mark.slow)
        for name in names_in("inproc")
    ],
)
def test_trace_in_shape_inproc(name: str, tmp_path: Path, fmus: Path) -> None:
    arguments = arguments_of(name, "inproc", tmp_path, fmus)
    done = CliRunner().invoke(app, ["run", *arguments], catch_exceptions=False)
    assert done.exit_code in (0, EXIT_VERDICT), done.output
    assert_unchanged(name, tmp_path)


#: One for each kind of scenario whose models are compiled.
PURE = ("platoon_seed_1", "platoon_traffic", "car_following_seed_1")


@pytest.mark.parametrize("name", PURE)
def test_pure_python_has_the_same_trace(name: str, tmp_path: Path, fmus: Path) -> None:
    """The other tests run the compiled modules, where ``make setup`` could compile them."""
    environment = {**os.environ, "COSIM_PURE": "1"}
    done = warm.cosim(environment, "run", *arguments_of(name, "inproc", tmp_path, fmus))
    assert done.returncode in (0, EXIT_VERDICT), done.stderr
    assert_unchanged(name, tmp_path)
    assert json.loads((tmp_path / "summary.json").read_text())["compiled"] is False


class Runs:
    """Runs in processes of their own, some of them side by side, each in a ROS domain of its own.

    All that are selected are started at once; each test waits for its own.
    """

    def __init__(self, selected: list[tuple[str, str]], directory: Path, fmus: Path) -> None:
        self._directory = directory
        self._fmus = fmus
        self._pool = ThreadPoolExecutor(AT_ONCE)
        self._futures: dict[tuple[str, str], Future[Path]] = {
            key: self._pool.submit(self._run, *key) for key in selected
        }

    def output_of(self, name: str, shape: str) -> Path:
        """The output directory of a run, when the run is complete."""
        return self._futures[name, shape].result()

    def close(self) -> None:
        """Start nothing more, and wait for what is under way."""
        self._pool.shutdown(cancel_futures=True)

    def _run(self, name: str, shape: str) -> Path:
        output = self._directory / f"{name}-{shape}"
        with user_environment(self._directory / "ros-log") as environment:
            result = cosim(environment, *arguments_of(name, shape, output, self._fmus))
            assert result.code in (0, EXIT_VERDICT), result
            assert left_processes(environment) == []
        return output


#: ``runs/test_determinism.py`` has the platoon in all shapes; other seeds are seen in ``inproc``.
ELSEWHERE = re.compile(r"platoon_seed_.*|car_following_seed_[23]")


def in_processes() -> list[tuple[str, str]]:
    """Each entry in one of the shapes with processes, by turns."""
    found = []
    for number, name in enumerate(RUNS):
        shapes = [shape for shape in SHAPES[1:] if shape in shapes_of(name)]
        if shapes and name not in LONG and not ELSEWHERE.fullmatch(name):
            found.append((name, shapes[number % len(shapes)]))
    return found


@pytest.fixture(scope="module")
def runs(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, fmus: Path):
    """The runs of all tests of this module that are selected."""
    selected = [
        (item.callspec.params["name"], item.callspec.params["shape"])
        for item in request.session.items
        if getattr(item, "function", None) is test_trace_in_processes
    ]
    found = Runs(selected, tmp_path_factory.mktemp("golden"), fmus)
    yield found
    found.close()


@pytest.mark.slow
@pytest.mark.skipif(find_spec("rclpy") is None, reason="needs rclpy, which make setup installs")
@pytest.mark.parametrize(("name", "shape"), in_processes())
def test_trace_in_processes(name: str, shape: str, runs: Runs) -> None:
    assert_unchanged(name, runs.output_of(name, shape))


def test_names_are_unique() -> None:
    listed = json.loads(TRACES.read_text(encoding="utf-8"))["runs"]
    assert sorted(entry["name"] for entry in listed) == sorted(RUNS)
