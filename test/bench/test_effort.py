# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""One vehicle, coupled in every way that ``bench/six_ways`` has: one trace."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from fmpy.validation import validate_fmu

from bench.effort import FILES, figures_of, prepared, read_ways, run, table, write_page
from ros2_cosim.core.run.inproc import run_inproc
from ros2_cosim.core.scenario.schema import load_scenario

pytest.importorskip("rclpy", reason="needs rclpy, which make setup installs")

SECONDS = 3.0
WAYS = read_ways()


@pytest.fixture(autouse=True)
def beside(monkeypatch: pytest.MonkeyPatch) -> None:
    """The driver and the models are found."""
    monkeypatch.setenv("PYTHONPATH", f"{FILES}{os.pathsep}{os.environ.get('PYTHONPATH', '')}")
    monkeypatch.syspath_prepend(str(FILES))


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The trace of the Python model, in another shape."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(FILES))
        scenario = load_scenario(FILES / "python_model.yaml", [f"duration={SECONDS}s"])
        return run_inproc(scenario, tmp_path_factory.mktemp("out"), record=False).trace_sha256


@pytest.mark.usefixtures("ros_domain", "nothing_left")
@pytest.mark.parametrize("name", WAYS)
def test_each_way_gives_the_same_trace(name: str, expected: str) -> None:
    summary = run(WAYS[name], SECONDS)
    assert summary.repeatable
    vehicle = next(found for found in summary.participants if found.name == "vehicle")
    assert vehicle.activations == SECONDS * 100 - 2  # from 20 ms on
    assert summary.trace_sha256 == expected


def test_another_vehicle_gives_another_trace(
    expected: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.modules["vehicle"], "LAG", 0.1500000001)
    scenario = load_scenario(FILES / "python_model.yaml", [f"duration={SECONDS}s"])
    assert run_inproc(scenario, tmp_path, record=False).trace_sha256 != expected


def test_the_fmu_is_one_for_other_tools() -> None:
    with prepared(WAYS["FMU"]) as folder:
        assert validate_fmu(str(folder / "vehicle.fmu")) == []


def test_what_is_counted_is_in_the_files(tmp_path: Path) -> None:
    for way in WAYS.values():
        assert all((FILES / name).is_file() for name in (way.equations, *way.files))
        assert way.scenario in way.files
    used = {name for way in WAYS.values() for name in (way.equations, *way.files)}
    assert used | {"common.yaml", "driver.py", "ways.yaml"} == {
        path.name for path in FILES.iterdir() if path.is_file()
    }
    took = dict.fromkeys(WAYS, [1.0, 3.0, 2.0])
    figures = {figure.quantity: figure for figure in figures_of(took, {"a"})}
    assert figures["VDS1: commands"].value == 2
    assert figures["FMU: lines of code"].value > figures["C function: lines of code"].value == 0
    assert figures["ROS node: step"][1:] == (2.0, "us", (1.0, 3.0))
    page = tmp_path / "page.md"
    page.write_text("a\n<!-- generated: effort -->\nold\n<!-- end of generated -->\nb\n")
    write_page(page, table(took))
    written = page.read_text()
    assert written.startswith("a\n") and written.endswith("\nb\n") and "old" not in written
    assert "| VDS1 | 28 | 5 | 2 | 2 us |" in written
