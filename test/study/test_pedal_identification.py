# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Pedal maps: measured with a vehicle whose forces are known, and used by a controller."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner

from ros2_cosim.cli.main import app
from ros2_cosim.core.documents.settings import read_section
from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.scenario.library import library_file
from ros2_cosim.lab.study.pedal_identification import DrivenPoint, table_of
from ros2_cosim.world.vehicle import SEDAN, max_acceleration, pedals_for
from ros2_cosim.world.vehicle.pedal_table import PedalTable, read_pedal_table


def command(*words: str) -> Any:
    return CliRunner().invoke(app, ["study", "pedals", str(library_file("platoon20")), *words])


def test_the_map_of_a_known_vehicle_and_a_platoon_that_uses_it(tmp_path: Path) -> None:
    file = tmp_path / "map.yaml"
    done = command("follower1", "--out", str(file), "--json", "--set",
                   "parameters.vehicles=2")  # fmt: skip
    assert done.exit_code == 0, done.output
    table = read_pedal_table(file)
    assert json.loads(done.stdout) == table.model_dump(mode="json")
    assert table.throttle_lag == pytest.approx(SEDAN.throttle_lag, rel=0.12)
    assert table.brake_lag == pytest.approx(SEDAN.brake_lag, rel=0.12)
    for speed in (5.0, 12.0, 18.0, 24.0):
        for wanted in (-6.0, -3.0, -1.0, 0.0, 0.8, 1.6, 0.9 * max_acceleration(SEDAN, speed)):
            throttle, brake = table.pedals_for(wanted, speed)
            known = pedals_for(SEDAN, wanted, speed)
            assert throttle - brake == pytest.approx(known[0] - known[1], abs=0.02)
    assert table.pedals_for(-0.1, 0.0) == pedals_for(SEDAN, -0.1, 0.0)
    out = tmp_path / "run"
    words = ["run", str(library_file("braking")), "--shape", "inproc", "--out", str(out),
             "--set", f"platoon.controller.vehicle={file}"]  # fmt: skip
    run = CliRunner().invoke(app, words)
    assert run.exit_code == 0, run.output
    summary = json.loads((out / "summary.json").read_text())
    assert summary["collisions"] == 0 and summary["repeatable_scope"] == "everywhere"


def drive(lag: float, phases: list[tuple[float, float]], gain: float = 3.0) -> list[DrivenPoint]:
    """A vehicle whose acceleration follows ``gain`` times the pedal with a lag."""
    points, time, speed, acceleration = [], 0.0, 10.0, 0.0
    share = 1.0 - math.exp(-0.01 / lag)
    for pedal, seconds in phases:
        for _ in range(round(seconds / 0.01)):
            acceleration += share * (gain * pedal - acceleration)
            speed += 0.01 * acceleration
            time += 0.01
            points.append(DrivenPoint(time, speed, acceleration, pedal))
    return points


PHASES = [(0.0, 2.0), (0.5, 3.0), (0.0, 2.0), (-0.6, 3.0), (0.0, 2.0)]


@pytest.mark.parametrize("lag", [0.05, 0.2])
def test_lags_and_accelerations_of_a_made_up_vehicle(lag: float) -> None:
    table = table_of(drive(lag, PHASES), "car")
    assert table.throttle_lag == pytest.approx(lag, rel=0.06)
    assert table.brake_lag == pytest.approx(lag, rel=0.06)
    assert table.pedals == (-0.6, 0.0, 0.5)
    assert table.pedals_for(0.75, 11.0) == pytest.approx((0.25, 0.0), abs=0.01)
    assert table.pedals_for(-0.9, 11.0) == pytest.approx((0.0, 0.3), abs=0.01)
    assert table.pedals_for(9.0, 11.0) == (0.5, 0.0)
    assert table.pedals_for(-9.0, 11.0) == (0.0, 0.6)


@pytest.mark.parametrize(
    ("phases", "gain", "message"),
    [
        ([(0.0, 2.0), (0.5, 3.0)], 3.0, "throttle, coasting and brake were not all seen"),
        (PHASES, 0.01, "answered no step of throttle and brake"),
    ],
)
def test_a_vehicle_that_does_not_obey(
    phases: list[tuple[float, float]], gain: float, message: str
) -> None:
    with pytest.raises(ConfigurationError, match=message):
        table_of(drive(0.1, phases, gain), "car")


GOOD = {
    "pedal_map": 1, "lag": 0.1, "speeds": [5.0, 10.0], "pedals": [-1.0, 0.0, 1.0],
    "accelerations": [[-8.0, -0.5, 4.0], [-8.0, -0.6, 3.0]],
}  # fmt: skip


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"pedal_map": 2}, "pedal_map: found 2"),
        ({"speeds": [10.0, 5.0]}, "speeds must grow"),
        ({"pedals": [-1.0, 1.0, 0.0]}, "pedals must grow"),
        ({"pedals": [-1.0, 0.0, 2.0]}, "pedals.2: found 2"),
        ({"accelerations": [[-8.0, -0.5, 4.0]]}, "a row for each speed"),
        ({"accelerations": [[-8.0, -0.5, 4.0], [-8.0, 1.0, 1.0]]}, "at 10 m/s must grow"),
        ({"lag": 0.0}, "lag: found 0"),
    ],
)
def test_a_wrong_map_is_one_sentence(change: dict[str, Any], message: str, tmp_path: Path) -> None:
    assert read_section(PedalTable, dict(GOOD), origin="map").lag == 0.1
    file = tmp_path / "wrong.yaml"
    file.write_text(yaml.safe_dump({**GOOD, **change}))
    with pytest.raises(ConfigurationError, match=message) as error:
        read_pedal_table(file)
    assert "\n" not in str(error.value) and "wrong.yaml" in str(error.value)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["nobody"], "--vehicle: found 'nobody'; allowed are leader, follower1"),
        (["leader", "--top-speed", "1"], "--top-speed: found 1; allowed is 5 to 100"),
    ],
)
def test_what_cannot_be_measured_is_refused(words: list[str], message: str) -> None:
    refused = command(*words)
    assert refused.exit_code == 1
    assert message in " ".join(refused.output.split())


def test_a_map_that_is_not_there_is_told_before_the_run(tmp_path: Path) -> None:
    words = ["check", str(library_file("braking")), "--set",
             "platoon.controller.vehicle=missing.yaml"]  # fmt: skip
    refused = CliRunner().invoke(app, words)
    assert refused.exit_code == 1 and "missing.yaml" in refused.output
