# SPDX-License-Identifier: Apache-2.0
"""A controller whose object sensor is silent, empty or frozen: no contact, and it says so."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random

import pytest
from runs.cosim_process import ROOT
from typer.testing import CliRunner

from ros2_cosim.cli.main import app

#: Of ten blindnesses of 1 to 5 s while the leader brakes from 5 to about 9 s.
_DRAWN = Random(20260901)
_EMPTY = "{{port: sensor2.objects, kind: replace, field: objects, value: [], from: {}, until: {}}}"
_DROP = "{{port: cacc2.objects, kind: drop, from: {}, until: {}}}"


def _run(output: Path, *settings: str, seed: int = 1) -> dict[str, float]:
    arguments = ["run", str(ROOT / "config/library/braking.yaml"), "--shape", "inproc", "--no-bag"]
    arguments += ["--out", str(output), "--seed", str(seed)]
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
    ],
    ids=["empty", "empty behind a tracker", "silent"],
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
