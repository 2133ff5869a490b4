# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""What a scenario may say and hardly means is told in a line, and nothing is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from support.control_scenarios import chain
from typer.testing import CliRunner

from ros2_cosim.cli.main import app
from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.scenario.check import MANY_PERIODS, SHORT_PERIOD_NS, check_scenario, doubts
from ros2_cosim.core.scenario.library import NAMES, library_file
from ros2_cosim.core.scenario.schema import load_scenario, make_scenario
from ros2_cosim.driving.controllers import law_loop

NOTE = "participants.plant.period: found 5ns, which is 200,000,000 activations in 1s"


def doubted(period: object, duration: Any) -> list[str]:
    data = chain(duration=duration)
    data["participants"]["plant"]["period"] = period
    return doubts(make_scenario(data, "here"))


def test_a_period_in_nanoseconds_by_mistake_is_told() -> None:
    assert doubted(5, "1s") == [NOTE]


@pytest.mark.parametrize(
    ("period", "duration"),
    [("10ms", "1h"), (1, MANY_PERIODS), (SHORT_PERIOD_NS, "1h")],
)
def test_periods_that_are_meant_are_not(period: object, duration: object) -> None:
    assert doubted(period, duration) == []


def test_where_it_is_refused_the_unit_is_named_too() -> None:
    data = chain()
    data["participants"]["plant"]["period"] = "5ns"
    with pytest.raises(ConfigurationError, match="lower run_ahead$"):
        check_scenario(make_scenario(data, "here"), "ros")


def test_check_and_run_tell_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "short.json"
    data = chain(duration="1s")
    data["participants"]["plant"]["period"] = "5ns"
    file.write_text(json.dumps(data))
    words = [str(file), "--shape", "inproc"]
    checked = CliRunner().invoke(app, ["check", *words])
    assert (checked.exit_code, checked.stderr) == (0, f"cosim: note: {NOTE}\n")
    answer = json.loads(CliRunner().invoke(app, ["check", *words, "--json"]).stdout)
    assert (answer["good"], answer["notes"]) == (True, [NOTE])

    def ended(prepared: object) -> object:
        raise KeyboardInterrupt

    monkeypatch.setattr("ros2_cosim.cli.run._start", ended)  # it would compute for a day
    run = CliRunner().invoke(app, ["run", *words, "--out", str(tmp_path / "out")])
    assert f"cosim: note: {NOTE}\n" in run.stderr


def noted(name: str, *changes: str) -> list[str]:
    return law_loop.doubts(load_scenario(library_file(name), changes))


def test_a_time_gap_at_which_disturbances_grow_is_told_once() -> None:
    (note,) = noted("braking", "parameters.time_gap=0.4")
    assert note == (
        "participants.cacc1.parameters.time_gap: found 0.4 s (as of cacc2, cacc3, cacc4); in a "
        "platoon of ploeg_cacc disturbances grow below 0.52 s, with a lag of the vehicle of "
        "0.115 s and beacons up to 0.11 s old (linear theory of string stability, docs/study.md)"
    )


@pytest.mark.parametrize(
    ("law", "time_gap", "limit"),
    [
        ("path_cacc", 0.4, "0.42"),  # sqrt(2 period / kp) without lag
        ("path_cacc_sampled", 0.6, "0.67"),
        ("path_acc", 1.1, "2.66"),
        ("rajamani_acc", 0.2, "0.27"),  # twice the lag, and the hold of the demand
    ],
)
def test_the_limit_is_that_of_the_law(law: str, time_gap: float, limit: str) -> None:
    (note,) = noted("braking", f"parameters.law={law}", f"parameters.time_gap={time_gap}")
    assert f"of {law} disturbances grow below {limit} s" in note


@pytest.mark.parametrize("name", NAMES)
def test_the_library_has_no_such_time_gap(name: str) -> None:
    assert noted(name) == []


def test_what_has_no_limit_is_told_nothing(tmp_path: Path) -> None:
    # A constant spacing; a law that does not hear what it needs; and code of others, never asked.
    assert noted("braking", "parameters.law=leader_predecessor_cacc") == []
    assert noted("mixed_traffic", "participants.cacc3.parameters.time_gap=0.1") == []
    law = tmp_path / "law.py"
    law.write_text("class Law:\n    def acceleration(self, measurement):\n        raise OSError\n")
    assert noted("braking", f"parameters.law={law}:Law", "parameters.time_gap=0.1") == []
