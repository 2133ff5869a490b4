# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Measures of the driving in the report: by their definitions, and out of a real run."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest
from support.behaviours import Plain

from ros2_cosim.core.documents.settings import Section
from ros2_cosim.core.run.inproc import run_inproc
from ros2_cosim.core.scenario.library import library_file
from ros2_cosim.core.scenario.registry import NamedModel
from ros2_cosim.core.scenario.schema import load_scenario
from ros2_cosim.lab.report import driving_measures
from ros2_cosim.lab.report.driving_measures import (
    Braking,
    Intended,
    Policy,
    Way,
    intended,
    ratio,
    time_gap_error,
)
from ros2_cosim.lab.report.report_data import load_run


def test_the_way_is_the_integral_of_the_speed() -> None:
    way = Way()
    found = [way.add(0.1 * k, 2.0 * 0.1 * k) for k in range(11)]
    assert found[0] == 0.0 and found[-1] == pytest.approx(1.0)


def test_the_jerk_is_taken_over_a_tenth_of_a_second() -> None:
    braking = Braking()
    found = [braking.add(0.01 * k, -3.0 * 0.01 * k) for k in range(31)]
    assert [k for k, jerk in enumerate(found) if jerk is not None] == [10, 20, 30]
    assert found[10] == pytest.approx(-3.0)
    assert braking.peak == pytest.approx(0.9)
    assert braking.energy == pytest.approx(sum((0.03 * k) ** 2 * 0.01 for k in range(31)))


def test_time_gap_error_and_ratio() -> None:
    policy = Policy(2.0, 0.6)
    assert time_gap_error(17.0, 25.0, policy) == pytest.approx(0.0)
    assert time_gap_error(22.0, 25.0, policy) == pytest.approx(0.2)
    assert math.isnan(time_gap_error(3.0, 1.0, policy))
    assert math.isnan(time_gap_error(math.inf, 20.0, policy))
    assert ratio(3.3, 3.0) == pytest.approx(1.1) and math.isnan(ratio(1.0, 0.0))


_NO_SCENARIOS = [
    "",
    "[]",
    "{}",
    '{"scene": 3, "participants": {}}',
    '{"scene": {}, "participants": {"a": 5}}',
    '{"scene": {}, "participants": {"a": {"model": "cacc_controller"}}}',
    '{"scene": {}, "participants": {"a": {"model": ["cacc_controller"], "outputs": {}}}}',
]


@pytest.mark.parametrize("text", _NO_SCENARIOS)
def test_without_a_scenario_nothing_is_intended(tmp_path: Path, text: str) -> None:
    if text:
        (tmp_path / "scenario.json").write_text(text)
    assert intended(tmp_path) == Intended()


def test_a_policy_is_that_of_any_installed_model_which_declares_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class OwnController(Plain):
        class Parameters(Section):
            standstill_gap: float = 3.0
            time_gap: float = 1.5

    found = NamedModel("own", OwnController)
    monkeypatch.setattr(driving_measures, "available_models", lambda: {"own": None})
    monkeypatch.setattr(driving_measures, "find_model", lambda name, where: found)
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "evil.py").write_text("raise SystemExit('the code of the directory has run')")
    outputs = {"control": {"topic": "/ego/control"}}
    participants = {
        "own": {"model": "own", "outputs": outputs, "parameters": {"time_gap": 1.2}},
        "wrong": {"model": "own", "outputs": outputs, "parameters": {"time_gap": "long"}},
        "evil": {"model": "evil:Model", "outputs": outputs},
    }
    (tmp_path / "scenario.json").write_text(
        json.dumps({"scene": {"platoon": ["a", "ego"]}, "participants": participants})
    )
    assert intended(tmp_path) == Intended(("a", "ego"), {"ego": Policy(3.0, 1.2)})


def test_a_run_has_its_measures(tmp_path: Path) -> None:
    changes = ["duration=12s", "parameters.vehicles=3", "parameters.deceleration=4.0"]
    run_inproc(load_scenario(library_file("braking"), changes), tmp_path)
    assert intended(tmp_path).policies["follower2"] == Policy(2.0, 0.6)
    data = load_run(tmp_path)
    assert data.intended.platoon == ("leader", "follower1", "follower2")
    # 5 s at 27.8 m/s, then a braking distance of v^2 / (2 b).
    assert data.way["leader"].values[-1] == pytest.approx(5 * 27.78 + 27.78**2 / 8.0, rel=0.01)
    errors = data.time_gap_error[0].values
    assert errors[10] == pytest.approx(0.0, abs=0.02)
    assert 0.5 < data.encounters.least_ttc.value < 20.0
    assert data.braking["follower1"].peak == pytest.approx(4.1, abs=0.2)
    page = (tmp_path / "report.html").read_text()
    for title in ("Space-time diagram", "Time-gap error", "Time to collision", "Jerk",
                  "Braking down the platoon"):  # fmt: skip
        assert f"<strong>{title}</strong>" in page
    assert "smallest time to collision" in page
    assert (
        json.loads((tmp_path / "summary.json").read_text())["figures"]["referee"]["min_ttc_s"] > 0
    )
