# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Vehicle and tyre files that are changed while the vehicles drive, over the data port."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.patience import until
from support.vds_serving import Client, data_port

from ros2_cosim.vds.server import VdsServer
from ros2_cosim.world.vehicle import SEDAN


def stepped(server: VdsServer, count: int) -> None:
    before = server.control.status().steps
    server.control.step(count)
    until(lambda: server.control.status().steps == before + count)


def test_files_are_shown_whole_and_another_one_acts_where_the_vehicle_is(
    server: VdsServer, client: Client
) -> None:
    status, told = client.ask("GET", "/api/vehicle?vehicle=rear")
    assert (status, told["vehicle"], told["level"], told["refusal"]) == (200, "rear", "linear", "")
    assert told["vehicle_file"]["mass"] == SEDAN.mass
    assert told["tyre_file"]["friction"] == SEDAN.friction
    assert "friction" not in told["vehicle_file"]
    stepped(server, 50)
    before = server.fleet["rear"].output().state
    other = server.fleet["front"].output().state
    request = {
        "vehicle": "rear",
        "level": "two_track",
        "vehicle_file": "kind: van\nmass: 2000\nlength: 7.5\nbody: {track: 1.6}\n",
        "tyre_file": "friction: 0.5",
    }
    status, told = client.ask("POST", "/api/vehicle", request)
    assert (status, told["level"], told["vehicle_file"]["body"]["track"]) == (200, "two_track", 1.6)
    stepped(server, 1)
    after = server.fleet["rear"].output().state
    assert sum(after.wheel_load) == pytest.approx(2000 * 9.81)
    assert after.x - before.x == pytest.approx(0.005 * before.vx, rel=0.01)
    assert sum(server.fleet["front"].output().state.wheel_load) == pytest.approx(
        sum(other.wheel_load)
    )
    _, picture = client.ask("GET", "/api/run")
    assert [vehicle["length"] for vehicle in picture["vehicles"]] == [SEDAN.length, 7.5]
    # What is left out stays.
    _, told = client.ask("POST", "/api/vehicle", {"vehicle": "rear", "tyre_file": "peak: 0.9"})
    assert (told["level"], told["vehicle_file"]["mass"]) == ("two_track", 2000)
    # The tyres of its type, where the new file says nothing.
    assert (told["tyre_file"]["peak"], told["tyre_file"]["friction"]) == (0.9, 0.95)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"vehicle": "none"}, "vehicle: found 'none'; allowed are front, rear"),
        ({"vehicle_file": "mass: -1"}, "found -1"),
        ({"vehicle_file": "wings: 2"}, "unknown key 'wings'"),
        ({"vehicle_file": "- 1"}, "vehicle file: found no mapping"),
        ({"tyre_file": "a: [", "level": None}, "tyre file: not readable"),
        ({"tyre_file": "shape: 9"}, "shape"),
        ({"level": "flat"}, "level: found 'flat'"),
    ],
)
def test_wrong_files_are_refused_and_change_nothing(
    client: Client, changes: dict[str, object], said: str
) -> None:
    before = client.ask("GET", "/api/vehicle?vehicle=front")
    status, told = client.ask("POST", "/api/vehicle", {"vehicle": "front", **changes})
    assert status == 400 and said in told["error"], told
    assert client.ask("GET", "/api/vehicle?vehicle=front") == before


def test_a_recorded_run_keeps_its_vehicles(tmp_path: Path) -> None:
    with data_port(record=tmp_path / "run.jsonl") as server:
        assert server.data_port is not None
        client = Client(server.data_port)
        status, told = client.ask("POST", "/api/vehicle", {"vehicle": "front", "tyre_file": "{}"})
        assert status == 400 and "found a run that is recorded" in told["error"]
        client.close()


def test_the_page_is_told_where_the_vehicles_were(server: VdsServer, client: Client) -> None:
    stepped(server, 100)
    _, told = client.ask("GET", "/api/history")
    assert told["fields"][:2] == ["time_s", "speed"] and list(told["vehicles"]) == ["front", "rear"]
    rows = told["vehicles"]["front"]
    x = told["fields"].index("x")
    assert len(rows) >= 5 and all(a[x] < b[x] for a, b in zip(rows, rows[1:], strict=False))
