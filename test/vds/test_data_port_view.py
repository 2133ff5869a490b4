# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""What the data port shows: sessions, lock-step, and any other run."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from support.vds_serving import Client, data_port

from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.vds.controllable import ControlStatus
from ros2_cosim.vds.data_port.api import DataPortApi
from ros2_cosim.vds.data_port.view import BoxView, VehicleView, mover_of, picture_of


class Watched:
    """A run of another kind: it can be watched and controlled, and that is all."""

    def __init__(self) -> None:
        self.asked: list[object] = []

    def pause(self) -> None:
        self.asked.append("pause")

    def resume(self) -> None:
        self.asked.append("resume")

    def step(self, count: int = 1) -> None:
        self.asked.append(count)

    def set_rate(self, rate: float | None) -> None:
        raise ConfigurationError("rate: not here")

    def status(self) -> ControlStatus:
        return ControlStatus("running", 1_500_000_000, 3, None, False)

    def picture(self) -> dict[str, Any]:
        return picture_of(
            [VehicleView("ego", 0, 0, 0, 5, 0, 4, 2)], [BoxView("wall", 22, 0, 0, 2, 8)]
        )


def test_any_run_can_be_shown() -> None:
    run = Watched()
    api = DataPortApi("platoon", run, run)
    picture = json.loads(api.answer("GET", "/api/run", b"").body)
    assert picture["run"]["name"] == "platoon"
    (ego,) = picture["vehicles"]
    assert (ego["ahead"], ego["gap"], ego["throttle"]) == ("wall", 19.0, None)
    assert picture["timing"] is None
    for action in ("pause", "resume", "step"):
        assert api.answer("POST", "/api/run", json.dumps({"action": action}).encode()).status == 200
    assert run.asked == ["pause", "resume", 1]
    refused = api.answer("POST", "/api/run", b'{"action": "rate", "rate": 2}')
    assert (refused.status, json.loads(refused.body)["error"]) == (400, "rate: not here")
    for method, path in (("POST", "/api/io"), ("GET", "/api/state"), ("GET", "/api/io/targets")):
        assert api.answer(method, path, b'{"vehicle": "ego"}').status == 400


def test_in_lock_step_the_port_looks_on() -> None:
    with data_port(lockstep=True) as made:
        assert made.data_port is not None
        client = Client(made.data_port)
        status, told = client.ask("POST", "/api/io", {"vehicle": "rear", "brake": 1})
        assert status == 400 and "the commands on the UDP ports step this run" in told["error"]
        assert client.ask("POST", "/api/io", {"vehicle": "rear"})[0] == 200
        run = client.ask("GET", "/api/run")[1]
        assert (run["timing"], run["run"]["may_change_rate"]) == (None, False)
        client.close()


def test_the_gap_is_to_what_is_next_on_the_path_of_five_seconds() -> None:
    def at(name: str, x: float, y: float, yaw: float = 0.0, speed: float = 0.0) -> VehicleView:
        return VehicleView(name, x, y, yaw, speed, 0.0, 4.0, 2.0)

    others = [
        at("ego", 0, 0, 0.0, 10.0),
        at("far", 50, 0),
        at("near", 20, 1.9),
        at("beside", 10, 2.1),
        at("behind", -9, 0),
        at("turned", 0, -30, math.pi / 2, 10.0),
    ]
    ego, *standing, turned = picture_of(others)["vehicles"]
    assert (ego["ahead"], ego["gap"], ego["ttc"]) == ("near", 16.0, 1.6)
    assert all(each["ahead"] is each["gap"] is each["ttc"] is None for each in standing)
    assert turned["ahead"] == "ego"
    slow = picture_of([at("slow", 0, 0, 0.0, 5.0), at("far", 50, 0)])["vehicles"][0]
    assert slow["ahead"] is None, "it takes more than five seconds to be there"


def test_the_path_turns_with_the_vehicle() -> None:
    """On a circle of 20 m to the left, what stands a quarter of it further on is in the way."""
    ego = VehicleView("ego", 0.0, 0.0, 0.0, 10.0, 0.0, 4.0, 2.0)
    place = BoxView("place", 20.0, 20.0, math.pi / 2, 4.0, 2.0)
    assert picture_of([ego], [place])["vehicles"][0]["ahead"] is None
    movers = [mover_of(ego, 0.5), mover_of(place)]
    found = picture_of([ego], [place], movers=movers)["vehicles"][0]
    assert found["ahead"] == "place"
    assert found["gap"] == pytest.approx(10.0 * math.pi - 4.0, abs=0.2)


def test_what_drives_towards_the_vehicle_closes_the_gap_faster() -> None:
    ego = VehicleView("ego", 0.0, 0.0, 0.0, 10.0, 0.0, 4.0, 2.0)
    oncoming = VehicleView("oncoming", 34.0, 0.0, math.pi, 5.0, 0.0, 4.0, 2.0)
    (found, _) = picture_of([ego, oncoming])["vehicles"]
    assert found["ttc"] == pytest.approx(2.0)
