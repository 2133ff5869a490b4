# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""A controller whose object sensor is silent, empty or frozen: no contact, and it says so."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

import pytest
from runs.cosim_process import ROOT
from typer.testing import CliRunner

from ros2_cosim.cli.main import app
from ros2_cosim.core.kernel.participant import Sample
from ros2_cosim.core.run.bringup import bring_up
from ros2_cosim.core.run.inproc import InprocRun
from ros2_cosim.core.run.request import RunRequest
from ros2_cosim.core.scenario.schema import load_scenario

#: Of ten blindnesses of 1 to 5 s while the leader brakes from 5 to about 9 s.
_DRAWN = Random(20260901)
_EMPTY = "{{port: sensor2.objects, kind: replace, field: objects, value: [], from: {}, until: {}}}"
_FREEZE = "{{port: sensor2.objects, side: output, kind: freeze, from: {}, until: {}}}"
_DROP = "{{port: cacc2.objects, kind: drop, from: {}, until: {}}}"


def _run(
    output: Path, *settings: str, seed: int = 1, scenario: str = "braking"
) -> dict[str, float]:
    file = str(ROOT / f"config/library/{scenario}.yaml")
    arguments = ["run", file, "--shape", "inproc", "--no-bag", "--out", str(output)]
    arguments += ["--seed", str(seed)]
    for setting in ("parameters.vehicles=4", *settings):
        arguments += ["--set", setting]
    CliRunner().invoke(app, arguments)
    summary = json.loads((output / "summary.json").read_text(encoding="utf-8"))
    return {verdict["name"]: verdict["value"] for verdict in summary["verdicts"]}


@pytest.mark.parametrize(
    "settings",
    [
        [f"faults={{v: {_EMPTY.format('5.5s', '6.5s')}}}"],
        [f"faults={{v: {_EMPTY.format('5.5s', '6.5s')}}}", "platoon.sensor.tracker={}"],
        [f"faults={{v: {_DROP.format('4s', '9s')}}}"],
        [f"faults={{v: {_FREEZE.format('4.44s', '8.88s')}}}"],
        [f"faults={{v: {_FREEZE.format('4.44s', '8.88s')}}}", "parameters.law=path_cacc_sampled"],
    ],
    ids=["empty", "empty behind a tracker", "silent", "frozen", "frozen, and a demand held"],
)
def test_a_lost_sensor_makes_no_contact_in_an_emergency_stop(
    settings: list[str], tmp_path: Path
) -> None:
    found = _run(tmp_path, *settings)
    assert found["no_collision"] == 0
    assert found["min_gap_m"] > 1.5


@pytest.mark.parametrize("kind", [_EMPTY, _DROP], ids=["empty", "silent"])
def test_nor_does_one_that_is_lost_at_any_time(kind: str, tmp_path: Path) -> None:
    for number in range(3):
        begin, last = _DRAWN.uniform(3.0, 8.0), _DRAWN.uniform(1.0, 5.0)
        fault = kind.format(f"{begin:.3f}s", f"{begin + last:.3f}s")
        found = _run(tmp_path / str(number), f"faults={{v: {fault}}}")
        assert found["no_collision"] == 0, fault
        assert found["min_gap_m"] > 1.0, fault


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_demand_that_is_held_leaves_the_emergency_brake_free(seed: int, tmp_path: Path) -> None:
    found = _run(tmp_path, "parameters.law=path_cacc_sampled", seed=seed)
    assert found["no_collision"] == 0
    assert found["min_gap_m"] > 1.0


@pytest.fixture(scope="module")
def healthy() -> list[float]:
    """What follower2 does that sees all the time."""
    return _accelerations()


@pytest.mark.parametrize("kind", [_EMPTY, _DROP, _FREEZE], ids=["empty", "silent", "frozen"])
def test_a_short_blindness_brakes_little_more(kind: str, healthy: list[float]) -> None:
    draws = Random(20260902)
    for _ in range(3):
        begin = draws.uniform(3.0, 9.0)
        fault = kind.format(f"{begin:.3f}s", f"{begin + 0.3:.3f}s")
        blind = _accelerations(f"faults={{v: {fault}}}")
        assert max(a - b for a, b in zip(healthy, blind, strict=False)) <= 1.0, fault


def _accelerations(*settings: str) -> list[float]:
    """Of the vehicle that a fault makes blind [m/s^2], every 10 ms."""
    scenario = load_scenario(
        ROOT / "config/library/braking.yaml", ["parameters.vehicles=4", "duration=13s", *settings]
    )
    found: list[float] = []

    def keep(sample: Sample) -> None:
        found.append(sample.value.ax)

    with TemporaryDirectory() as directory:
        request = RunRequest(scenario, shape="inproc", out=Path(directory) / "run", record=False)
        with (
            bring_up(request) as prepared,
            InprocRun(prepared, watch={("world", "acceleration/follower2"): keep}) as run,
        ):
            run.finish()
    return found


@pytest.mark.parametrize("begin", [13.91, 16.0, 20.0])
def test_a_sensor_that_loses_what_is_close_without_v2v_ends_in_a_brake(
    begin: float, tmp_path: Path
) -> None:
    fault = (
        "{port: sensor1.objects, kind: replace, field: objects, value: [],"
        f" from: {begin}s, until: {begin + 4.0}s}}"
    )
    found = _run(tmp_path, f"faults={{v: {fault}}}", scenario="v2v_outage")
    assert found["no_collision"] == 0
    assert found["min_gap_m"] > 1.5


def test_without_sensor_and_v2v_it_brakes_with_minimal_risk(tmp_path: Path) -> None:
    _run(
        tmp_path,
        "faults={s: {port: cacc2.objects, kind: drop, from: 3s},"
        " v: {port: cacc2.v2v_predecessor, kind: drop, from: 3s},"
        " w: {port: cacc2.v2v_leader, kind: drop, from: 3s}}",
        "parameters.deceleration=0.5",
    )
    summary = json.loads((tmp_path / "summary.json").read_text(encoding="utf-8"))
    modes = summary["figures"]["cacc2"]["modes"]
    assert modes["coast"] > 0.01
    assert modes["minimal_risk"] > 0.1
