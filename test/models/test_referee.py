# SPDX-License-Identifier: Apache-2.0
"""The referee: gaps, standstill, collisions, the end of the run and the verdicts."""

import json
import math
from typing import Any

import pytest
from support.models import made, scene_of

from buildtools.highway import make_highway
from ros2_cosim.interfaces.records import (
    CLASS_OBSTACLE,
    CollisionEvent,
    Odometry,
    PlatoonStatus,
    RedLightsPassed,
    StaticObject,
    StaticObjects,
)
from ros2_cosim.kernel.errors import ConfigurationError
from ros2_cosim.kernel.participant import Sample, Step
from ros2_cosim.models.lane_frame import LaneBoxes
from ros2_cosim.models.referee import PlatoonReferee
from ros2_cosim.models.road import RoadNetwork
from ros2_cosim.models.vehicle_info import VehicleInfo

ROAD = RoadNetwork.from_xodr(make_highway())
PLATOON = ["leader", "follower1"]
VEHICLES = {"leader": VehicleInfo(1, 4.0, 1.8), "follower1": VehicleInfo(2, 5.0, 1.9)}
SECOND = 1_000_000_000


def odometry(s: float, speed: float) -> Odometry:
    x, y, z, _ = ROAD.pose(1, s, ROAD.lane_centre(1, -2, s))
    return Odometry(x, y, z, 0.0, 0.0, 0.0, 1.0, speed, 0.0, 0.0, 0.0, 0.0, 0.0)


def block(number: int, s: float, lane: int, yaw: float = math.pi / 2) -> StaticObject:
    x, y, z, _ = ROAD.pose(1, s, ROAD.lane_centre(1, lane, s))
    return StaticObject(number, CLASS_OBSTACLE, x, y, z, yaw, 3.4, 1.0, 1.2)


BLOCKS = StaticObjects((block(9, 200.0, -1), block(10, 400.0, -2), block(11, 450.0, -2)))


def referee(**parameters: Any) -> PlatoonReferee:
    scene = scene_of(VEHICLES, platoon=parameters.pop("platoon", PLATOON))
    boxes = LaneBoxes(ROAD)
    context = {"scene": scene}
    return made(PlatoonReferee, parameters, name="referee", context=context, boxes=boxes)


def look(
    model: PlatoonReferee,
    time: int,
    leader: tuple[float, float] | None,
    follower: tuple[float, float] | None,
    collisions: int = 0,
) -> PlatoonStatus:
    latest: dict[str, Sample | None] = {
        "odometry/leader": leader and Sample(time, 0, odometry(*leader)),
        "odometry/follower1": follower and Sample(time, 0, odometry(*follower)),
        "static_objects": Sample(0, 0, BLOCKS),
        "collision": None,
    }
    if collisions:
        latest["collision"] = Sample(time, collisions - 1, CollisionEvent(1, 2, 50.0))
    status = model.activate(Step(time, {}, latest))["status"]
    assert isinstance(status, PlatoonStatus)
    return status


def reason(model: PlatoonReferee) -> str | None:
    return model.stop_reason


def passed(model: PlatoonReferee) -> dict[str, bool]:
    return {verdict["name"]: verdict["passed"] for verdict in (model.report().verdicts or ())}


def test_gaps_are_bumper_to_bumper_and_the_obstacle_is_the_one_in_the_lane() -> None:
    status = look(referee(), 0, (100.0, 20.0), (80.0, 21.0))
    assert status.gaps == pytest.approx((20.0 - 4.5,))
    assert status.obstacle_gap == pytest.approx(300.0 - 2.0 - 0.5)
    assert status.speeds == (20.0, 21.0)
    assert not status.standstill


def test_a_run_ends_when_all_have_stood_still_for_a_second() -> None:
    model = referee()
    look(model, 0, (300.0, 20.0), (280.0, 20.0))
    for tenth in range(10, 20):
        status = look(model, tenth * SECOND // 10, (390.0, 0.0), (383.0, 0.01))
        assert not status.standstill and reason(model) is None
    assert look(model, 2 * SECOND, (390.0, 0.0), (383.0, 0.01)).standstill
    assert reason(model) == "all vehicles stand still"
    assert all(passed(model).values())
    assert set(passed(model)) == {
        "no_collision", "min_gap_m", "stands_before_obstacle", "stands_still_by_s"
    }  # fmt: skip
    assert (model.report().figures or {}) == {
        "collisions": 0,
        "min_gap_m": pytest.approx(2.5),
        "final_gap_to_obstacle_m": pytest.approx(7.5),
        "min_ttc_s": pytest.approx(4.875),  # 97.5 m to the obstacle at 20 m/s
        "braking_peaks": [pytest.approx(20.0), pytest.approx(19.99)],
    }
    assert json.loads(json.dumps(model.report().verdicts or ())) == (model.report().verdicts or ())


def test_a_movement_begins_the_second_anew() -> None:
    model = referee()
    look(model, 0, (300.0, 20.0), (280.0, 20.0))
    look(model, 1 * SECOND, (390.0, 0.0), (383.0, 0.0))
    look(model, int(1.9 * SECOND), (390.0, 0.0), (383.1, 0.05))
    assert not look(model, int(2.1 * SECOND), (390.0, 0.0), (383.1, 0.0)).standstill
    assert look(model, int(3.1 * SECOND), (390.0, 0.0), (383.1, 0.0)).standstill


def test_standing_before_the_start_does_not_end_the_run() -> None:
    model = referee(time_limit="10s")
    for second in range(10):
        assert not look(model, second * SECOND, (100.0, 0.0), (80.0, 0.0)).standstill
    assert reason(model) is None
    look(model, 10 * SECOND, (100.0, 0.0), (80.0, 0.0))
    assert str(reason(model)).startswith(
        "time limit 10s reached before all vehicles stood still (leader 0.00 m/s, follower1"
    )
    assert passed(model) == {
        "no_collision": True, "min_gap_m": True, "stands_before_obstacle": False,
        "stands_still_by_s": False,
    }  # fmt: skip


def test_every_collision_counts_even_between_two_looks() -> None:
    model = referee()
    assert look(model, 0, (100.0, 20.0), (80.0, 20.0)).collisions == 0
    assert look(model, SECOND, (120.0, 20.0), (115.6, 20.0), 3).collisions == 3
    assert passed(model)["no_collision"] is False
    assert passed(model)["min_gap_m"] is False
    assert (model.report().figures or {})["min_gap_m"] == pytest.approx(-0.1)


def test_a_leader_past_the_obstacle_did_not_stand_before_it() -> None:
    model = referee()
    look(model, 0, (300.0, 20.0), (280.0, 20.0))
    look(model, SECOND, (410.0, 0.0), (390.0, 0.0))
    status = look(model, 2 * SECOND, (410.0, 0.0), (390.0, 0.0))
    assert status.standstill and status.obstacle_gap < 0.0
    assert passed(model)["stands_before_obstacle"] is False


def test_missing_odometry_ends_nothing_and_stays_json() -> None:
    model = referee()
    status = look(model, 0, None, (80.0, 0.0))
    assert status.gaps == (math.inf,) and status.speeds == (0.0, 0.0)
    assert (model.report().figures or {})["min_gap_m"] is None
    assert "Infinity" not in json.dumps(model.report().verdicts or ())


@pytest.mark.parametrize(
    "wrong",
    [{"platoon": []}, {"platoon": ["leader", "leader"]}, {"platoon": ["x"]},
     {"min_gap_limit": -1.0}, {"time_limit": 0}],
)  # fmt: skip
def test_impossible_referees_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(
        ConfigurationError,
        match="scene.platoon(.0)?: found|min_gap_limit: found -1|time_limit: found 0",
    ):
        referee(**wrong)


def test_time_to_collision_and_braking_peaks_are_judged() -> None:
    limits = {"min_ttc_limit": 3.0, "max_deceleration_limit": 4.0, "max_peak_growth_limit": 0.5}
    model = referee(expect_standstill=False, time_limit="3s", **limits)
    look(model, 0, (100.0, 20.0), (80.0, 20.0))
    look(model, SECOND, (118.0, 17.0), (98.0, 20.0))  # 15.5 m, 3 m/s
    look(model, 2 * SECOND, (135.0, 17.0), (115.0, 16.2))
    assert reason(model) is None
    look(model, 3 * SECOND, (152.0, 17.0), (131.0, 16.2))
    assert reason(model) == "watched for 3s"
    verdicts = {v["name"]: v for v in model.report().verdicts or ()}
    assert verdicts["min_ttc_s"]["value"] == pytest.approx(15.5 / 3.0)
    assert verdicts["max_deceleration"]["value"] == pytest.approx(3.8)
    assert verdicts["max_peak_growth"]["value"] == pytest.approx(0.8)
    assert passed(model) == {
        "no_collision": True, "min_gap_m": True, "min_ttc_s": True, "max_deceleration": True,
        "max_peak_growth": False,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("passed_at_red", "good"), [((0, 0), True), ((1, 0), False), ((0, 2), False)]
)
def test_lights_passed_at_red_fail_the_run(passed_at_red: tuple[int, int], good: bool) -> None:
    context = {
        "scene": scene_of(VEHICLES, platoon=PLATOON),
        "input_types": {"red_lights": "ros2_cosim/msg/RedLightsPassed"},
    }
    model = made(PlatoonReferee, {}, name="referee", context=context, boxes=LaneBoxes(ROAD))
    latest = {
        "odometry/leader": Sample(0, 0, odometry(100.0, 5.0)),
        "odometry/follower1": Sample(0, 0, odometry(80.0, 5.0)),
        "red_lights": Sample(0, 0, RedLightsPassed(*passed_at_red)),
    }
    model.activate(Step(0, {}, latest))
    assert passed(model)["red_lights_passed"] is good
