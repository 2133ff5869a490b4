# SPDX-License-Identifier: Apache-2.0
"""What the data port shows: sessions, lock-step, and any other run."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from support.vds_serving import Client, data_port

from ros2_cosim.kernel.errors import ConfigurationError
from ros2_cosim.vds.controllable import ControlStatus
from ros2_cosim.vds.data_port.api import DataPortApi
from ros2_cosim.vds.data_port.view import (
    BoxView,
    VehicleView,
    gap_ahead,
    picture_of,
    time_to_collision,
)


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


def test_the_gap_is_to_what_is_next_in_the_own_path() -> None:
    def at(name: str, x: float, y: float, yaw: float = 0.0) -> VehicleView:
        return VehicleView(name, x, y, yaw, 0.0, 0.0, 4.0, 2.0)

    ego = at("ego", 0, 0)
    others = [
        ego,
        at("far", 50, 0),
        at("near", 20, 1.9),
        at("beside", 10, 2.1),
        at("behind", -9, 0),
    ]
    assert gap_ahead(ego, others) == ("near", 16.0)
    assert gap_ahead(others[1], others) == (None, None)
    turned = at("turned", 0, -30, 1.5707963267948966)
    name, gap = gap_ahead(turned, [*others, turned])
    assert (name, gap) == ("ego", pytest.approx(26.0))


@pytest.mark.parametrize(
    ("speed", "front", "gap", "expected"),
    [
        (20.0, 15.0, 25.0, 5.0),
        (20.0, None, 25.0, 1.25),  # a fixed object
        (20.0, 19.95, 25.0, None),  # steady, but for noise
        (15.0, 20.0, 25.0, None),
        (20.0, 15.0, -1.0, None),  # it has happened
    ],
)
def test_the_time_to_collision_is_that_of_the_present_speeds(
    speed: float, front: float | None, gap: float, expected: float | None
) -> None:
    def at(value: float) -> VehicleView:
        return VehicleView("any", 0.0, 0.0, 0.5, value, 0.0, 4.0, 2.0)

    assert time_to_collision(at(speed), gap, None if front is None else at(front)) == expected


def test_what_drives_towards_the_vehicle_closes_the_gap_faster() -> None:
    ego = VehicleView("ego", 0.0, 0.0, 0.0, 10.0, 0.0, 4.0, 2.0)
    oncoming = VehicleView("oncoming", 34.0, 0.0, math.pi, 5.0, 0.0, 4.0, 2.0)
    (found, _) = picture_of([ego, oncoming])["vehicles"]
    assert found["ttc"] == pytest.approx(2.0)
