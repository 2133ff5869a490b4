# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""When CAMs are sent, against numbers that follow from ETSI EN 302 637-2, 6.1.3, by hand."""

from __future__ import annotations

from collections.abc import Callable
from math import cos, pi, sin

import pytest
from support.models import made, scene_of

from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.kernel.participant import Sample, Step
from ros2_cosim.core.messages.records import Odometry
from ros2_cosim.driving.v2v.cam_triggering import CamTriggering
from ros2_cosim.driving.v2v.v2v import V2VChannel
from ros2_cosim.world.map.vehicle_info import VehicleInfo

MS = 1_000_000


def odometry(x: float = 0.0, y: float = 0.0, yaw: float = 0.0, speed: float = 0.0) -> Odometry:
    turned = (0.0, 0.0, sin(yaw / 2), cos(yaw / 2))
    return Odometry(x, y, 0.0, *turned, speed, 0.0, 0.0, 0.0, 0.0, 0.0)


def sent_at(motion: Callable[[float], Odometry], until_ms: int, period_ms: int = 10) -> list[int]:
    """Times [ms] of the CAMs of a vehicle that is looked at regularly."""
    trigger = CamTriggering()
    times = range(0, until_ms + 1, period_ms)
    return [t for t in times if trigger.is_due(t * MS, motion(t / 1000))]


def test_a_vehicle_that_stands_sends_every_second() -> None:
    assert sent_at(lambda t: odometry(), 4000) == [0, 1000, 2000, 3000, 4000]


@pytest.mark.parametrize(
    ("speed", "expected"),
    [
        # 4 m are exceeded after 4 / v: 205.1, 133.3 and 50 ms; never below 100.
        (19.5, [0, 210, 420, 630]),
        (30.0, [0, 140, 280, 420, 560]),
        (80.0, [0, 100, 200, 300, 400, 500, 600]),
        # 4 / 3 s are more than T_GenCamMax.
        (3.0, [0]),
    ],
)
def test_position_triggers_every_4_m(speed: float, expected: list[int]) -> None:
    assert sent_at(lambda t: odometry(x=speed * t, speed=speed), 650) == expected


def test_speed_triggers_every_half_metre_per_second() -> None:
    # At 1.95 m/s^2 more than 0.5 m/s after 256.4 ms; in a second it drives less than a metre.
    braking = sent_at(lambda t: odometry(x=0.975 * t * t, speed=1.95 * t), 1000)
    assert braking == [0, 260, 520, 780]


def test_heading_triggers_every_4_degrees_also_across_the_south() -> None:
    # At 15.5 deg/s more than 4 deg after 258.1 ms; from 178 deg it turns across 180 deg.
    turning = sent_at(lambda t: odometry(yaw=(178.0 + 15.5 * t) * pi / 180.0), 1000)
    assert turning == [0, 260, 520, 780]


def test_after_motion_three_more_follow_at_its_interval() -> None:
    # 30 m/s for 0.3 s: CAMs at 140 and 280 ms. Then it stands, 0.6 m after the last one: its
    # speed has changed, which triggers at 380 ms at the soonest. T_GenCam is 100 ms from there:
    # three more, then each second.
    def motion(t: float) -> Odometry:
        return odometry(x=30.0 * min(t, 0.3), speed=30.0 if t <= 0.3 else 0.0)

    times = sent_at(motion, 2700)
    assert times == [0, 140, 280, 380, 480, 580, 680, 1680, 2680]


def channel(period_ms: int = 50, loss: float = 0.0) -> V2VChannel:
    vehicles = {name: VehicleInfo(n, 4.5, 1.8) for n, name in enumerate(("a", "b", "c"), 1)}
    context = {"scene": scene_of(vehicles), "run_seed": 1, "period_ns": period_ms * MS}
    links = [["a", "b"], ["a", "c"], ["b", "c"]]
    parameters = {"links": links, "loss": loss, "triggering": "cam"}
    return made(V2VChannel, parameters, name="v2v", context=context)


def test_a_channel_sends_on_all_links_of_a_vehicle_at_once_and_looks_at_its_period() -> None:
    model = channel()
    found: dict[str, list[int]] = {"a_to_b": [], "a_to_c": [], "b_to_c": []}
    for ms in range(0, 1001, 50):
        inputs = {
            "odometry/a": odometry(x=20.0 * ms / 1000, speed=20.0),
            "odometry/b": odometry(),
            "acceleration/a": None,
            "acceleration/b": None,
        }
        latest = {port: None if v is None else Sample(0, 0, v) for port, v in inputs.items()}
        for port in model.activate(Step(ms * MS, {}, latest)):
            found[port].append(ms)
    # Exactly 4 m after 200 ms are not more than 4 m.
    assert found["a_to_b"] == found["a_to_c"] == [0, 250, 500, 750, 1000]
    assert found["b_to_c"] == [0, 1000]


def test_a_lost_cam_counts_as_sent() -> None:
    model = channel(loss=1.0)
    latest = {"odometry/a": Sample(0, 0, odometry()), "odometry/b": None, "acceleration/a": None}
    for ms in range(0, 1000, 50):
        assert model.activate(Step(ms * MS, {}, latest)) == {}
    assert model.lost == 2  # one CAM, on two links


def test_a_channel_that_looks_too_seldom_is_refused() -> None:
    with pytest.raises(
        ConfigurationError,
        match=r"triggering: found 'cam' with period 0?\.?125 ?m?s; allowed are periods up to",
    ):
        channel(period_ms=125)
