# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Vehicle and tyre files, levels of detail, forces and rack; and what is refused."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from ros2_cosim.cli.main import app
from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.vds.fleet_settings import (
    FleetVehicleSettings,
    read_settings,
    read_vehicle,
    road_digest,
)
from ros2_cosim.vds.vehicle_plant import VehicleCommand
from ros2_cosim.world.vehicle import SEDAN

CONFIG = Path(__file__).resolve().parents[2] / "config"
HATCHBACK, SUMMER = CONFIG / "vehicles" / "hatchback.yaml", CONFIG / "tyres" / "summer.yaml"
DT = 5_000_000


def settings(**more: Any) -> FleetVehicleSettings:
    vehicle = {**read_vehicle("sedan", HATCHBACK, SUMMER), **more}
    return read_settings({"dt": f"{DT}ns", "vehicles": {"v0": vehicle}}, "test").vehicles["v0"]


@pytest.mark.parametrize("level", ["kinematic", "linear", "pacejka", "two_track"])
def test_a_vehicle_out_of_its_files(level: str) -> None:
    session = settings(level=level, speed=20.0).session(DT)
    session.set_input(VehicleCommand(steer=0.02, throttle=0.15))
    for _ in range(600):
        output = session.tick()
    state, forces = output.state, output.forces
    assert state.wheel_radius == 0.305 and state.yaw_rate > 0.1
    assert sum(state.wheel_load) == pytest.approx(1290.0 * 9.81, rel=0.01)
    assert sum(forces.lateral) == pytest.approx(1290.0 * state.ay, rel=0.05)
    assert forces.rack == pytest.approx(-(forces.lateral[0] + forces.lateral[1]) * 0.045 / 0.12)
    leans = state.roll > 0.01 and state.wheel_load[1] > state.wheel_load[0] + 500.0
    assert leans == (level == "two_track")
    assert (state.wheel_spin[1] > state.wheel_spin[0]) == (level == "two_track")


def test_what_a_file_does_not_say_is_that_of_the_type(tmp_path: Path) -> None:
    file = tmp_path / "v.yaml"
    file.write_text("mass: 2000.0\n")
    found = read_vehicle("van", file, None)
    assert found == {"kind": "van", "parameters": {"mass": 2000.0}}
    assert read_vehicle("sedan", None, None) == {"kind": "sedan"}
    plain = read_settings({"dt": f"{DT}ns", "vehicles": {"v0": {}}}, "test").vehicles["v0"]
    assert plain.vehicle_parameters() == SEDAN


@pytest.mark.parametrize(
    ("vehicle", "complaint"),
    [
        ({"parameters": {"mas": 1000.0}}, r"v0.parameters: unknown key 'mas'; allowed are mass, "),
        ({"parameters": {"mass": -1.0}}, r"v0.parameters.mass: found -1"),
        ({"tyre": {"shape": 3.0}}, r"v0.tyre.shape: found 3"),
        ({"body": {"trak": 1.0}}, r"v0.body.trak: unknown key"),
        ({"level": "full"}, r"v0.level: found 'full'; allowed is 'kinematic'"),
        ({"solver_step": "20ms"}, r"v0.solver_step: found"),
    ],
)
def test_a_wrong_file_is_one_sentence(vehicle: dict[str, Any], complaint: str) -> None:
    with pytest.raises(ConfigurationError, match=complaint) as error:
        read_settings({"dt": f"{DT}ns", "vehicles": {"v0": vehicle}}, "test")
    assert "\n" not in str(error.value)


def test_served_by_files_and_replayed_from_its_record(tmp_path: Path) -> None:
    record = tmp_path / "run.jsonl"
    words = ["vds", "serve", str(HATCHBACK), str(SUMMER), "--set", "level=two_track",
             "--set", "speed=15", "--port", "0", "--duration", "500ms", "--factor", "max",
             "--record", str(record), "--json"]  # fmt: skip
    served = CliRunner().invoke(app, words)
    assert served.exit_code == 0, served.output
    header = json.loads(record.read_text().splitlines()[0])
    assert header["vehicles"]["v0"]["level"] == "two_track", "the record needs no other file"
    states = tmp_path / "states.csv"
    again = CliRunner().invoke(app, ["vds", "replay", str(record), "--out", str(states)])
    assert again.exit_code == 0, again.output
    assert json.loads(served.stdout)["trace_sha256"] in again.output
    rows = list(csv.DictReader(states.open()))
    assert {"rack_force", "lateral_force_fl", "roll_rate"} <= rows[-1].keys()


def test_files_beside_a_fleet_and_a_missing_file_are_refused(tmp_path: Path) -> None:
    fleet = tmp_path / "fleet.yaml"
    fleet.write_text("vehicles: {v0: {}}\n")
    both = CliRunner().invoke(app, ["vds", "serve", str(fleet), str(SUMMER)])
    assert both.exit_code == 1 and "a fleet; a file of tyres and --vehicles" in both.output
    missing = CliRunner().invoke(app, ["vds", "serve", str(tmp_path / "no.yaml")])
    assert missing.exit_code == 1 and "no.yaml" in missing.output


def test_the_digest_of_a_road_is_that_of_its_file(tmp_path: Path) -> None:
    """FIPS 180-4: the digest of ``abc``."""
    path = tmp_path / "road.xodr"
    path.write_bytes(b"abc")
    abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    assert road_digest(str(path)) == abc
    with pytest.raises(ConfigurationError, match=r"^road: .*missing: No such file or directory$"):
        road_digest(str(tmp_path / "missing"))
