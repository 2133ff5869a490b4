# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The referee: gaps, standstill, collisions, the end of the run and the verdicts."""

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support.models import made, scene_of

from buildtools.highway import make_highway
from ros2_cosim.core.kernel.errors import ConfigurationError, ModelError
from ros2_cosim.core.kernel.participant import ModelContext, Sample, Step
from ros2_cosim.core.messages.message_types import COLLISION
from ros2_cosim.core.messages.records import (
    CLASS_CAR,
    CLASS_OBSTACLE,
    CollisionEvent,
    Odometry,
    PlatoonStatus,
    RedLightsPassed,
    RoadUser,
    RoadUsers,
    StaticObject,
    StaticObjects,
)
from ros2_cosim.driving.referee import PlatoonReferee, RefereeParameters
from ros2_cosim.world.map import RoadNetwork
from ros2_cosim.world.map.lane_boxes import LaneBoxes
from ros2_cosim.world.map.vehicle_info import VehicleInfo

ROAD = RoadNetwork.from_xodr(make_highway())
PLATOON = ["leader", "follower1"]
VEHICLES = {"leader": VehicleInfo(1, 4.0, 1.8), "follower1": VehicleInfo(2, 5.0, 1.9)}
SECOND = 1_000_000_000
CONTACTS = {"collision": COLLISION}


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
    context = {"scene": scene, "input_types": CONTACTS}
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


def test_without_contacts_nothing_is_said_of_them() -> None:
    scene = scene_of(VEHICLES, platoon=PLATOON)
    model = made(
        PlatoonReferee, {}, name="referee", context={"scene": scene}, boxes=LaneBoxes(ROAD)
    )
    look(model, 0, (100.0, 20.0), (80.0, 20.0))
    assert "no_collision" not in passed(model) and "min_gap_m" in passed(model)
    assert figures(model)["collisions"] is None
    with pytest.raises(ConfigurationError, match="referee.inputs: 'collision' is missing; param"):
        made(
            PlatoonReferee, {"assessment": {}}, name="referee", context={"scene": scene},
            boxes=LaneBoxes(ROAD),
        )  # fmt: skip


def test_no_verdict_is_met_of_a_vehicle_that_was_never_seen() -> None:
    limits = {"min_ttc_limit": 1.0, "max_deceleration_limit": 9.0, "max_peak_growth_limit": 9.0}
    model = referee(expect_standstill=False, **limits)
    assert set(passed(model).values()) == {False}, "it has not looked yet"
    for second in range(3):
        look(model, second * SECOND, (100.0, 20.0), None)
    assert set(passed(model).values()) == {False}
    assert verdict(model, "min_gap_m")["value"] == "follower1 never seen"
    look(model, 3 * SECOND, (100.0, 20.0), (80.0, 20.0))
    blind = {name for name, good in passed(model).items() if not good}
    assert blind == {"max_deceleration", "max_peak_growth"}, "one look shows no braking"
    look(model, 4 * SECOND, (120.0, 20.0), (100.0, 20.0))
    assert set(passed(model).values()) == {True}


@pytest.mark.parametrize("wrong", [{"x": math.nan}, {"vy": math.inf}])
def test_a_place_that_is_not_a_number_ends_the_run(wrong: dict[str, Any]) -> None:
    model = watching()
    good, bad = odometry(100.0, 20.0), odometry(80.0, 20.0)._replace(**wrong)
    for name in ("follower1", "cutter"):
        with pytest.raises(ModelError, match=f"input 'odometry/{name}': found .*(nan|inf)"):
            glance(model, 0, leader=good, **{name: bad})
    users = RoadUsers((user(3, 130.0, 3.5, 0.0, 10.0)._replace(**wrong),))
    with pytest.raises(ModelError, match="input 'traffic': found .* of traffic 3; allowed"):
        glance(model, 0, leader=good, traffic=users)


def test_a_run_that_is_only_watched_goes_on_when_all_stand() -> None:
    model = referee(expect_standstill=False, standstill_time=0)
    look(model, 0, (300.0, 20.0), (280.0, 20.0))
    assert look(model, SECOND, (300.0, 0.0), (280.0, 0.0)).standstill
    assert reason(model) is None


def test_a_leader_past_the_obstacle_did_not_stand_before_it() -> None:
    model = referee()
    look(model, 0, (300.0, 20.0), (280.0, 20.0))
    look(model, SECOND, (410.0, 0.0), (390.0, 0.0))
    status = look(model, 2 * SECOND, (410.0, 0.0), (390.0, 0.0))
    assert status.standstill and status.obstacle_gap < 0.0
    assert verdict(model, "stands_before_obstacle") == {
        "value": pytest.approx(-12.5), "limit": 0.0, "passed": False
    }  # fmt: skip
    assert "stands_before_obstacle" not in passed(referee()), "no obstacle has been seen"


def test_before_the_first_look_nothing_has_happened() -> None:
    assert figures(referee()) == {
        "collisions": 0, "min_gap_m": None, "final_gap_to_obstacle_m": None, "min_ttc_s": None,
        "braking_peaks": [0.0, 0.0],
    }  # fmt: skip


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
    model.activate(Step(0, {}, {**latest, "red_lights": None}))
    assert passed(model)["red_lights_passed"]
    model.activate(Step(1, {}, latest))
    assert verdict(model, "red_lights_passed") == {
        "value": sum(passed_at_red), "limit": 0, "passed": good
    }  # fmt: skip


OTHERS = {**VEHICLES, "cutter": VehicleInfo(7, 4.0, 2.0), "parked": VehicleInfo(8, 4.0, 2.0)}


def watching(**parameters: Any) -> PlatoonReferee:
    """A referee that also reads what drives beside the platoon."""
    context = {
        "scene": scene_of(OTHERS, platoon=parameters.pop("platoon", PLATOON)),
        "input_types": {"odometry/cutter": "nav_msgs/msg/Odometry", **CONTACTS},
    }
    return made(PlatoonReferee, parameters, name="referee", context=context, boxes=LaneBoxes(ROAD))


def glance(model: PlatoonReferee, time: int, **latest: Any) -> PlatoonStatus:
    """One look at what is in the arguments, each sampled just then."""
    names = {"leader": "odometry/leader", "follower1": "odometry/follower1"}
    names["cutter"] = "odometry/cutter"
    samples: dict[str, Any] = dict.fromkeys(names.values())
    samples |= {names.get(k, k): Sample(time, 0, value) for k, value in latest.items()}
    status = model.activate(Step(time, {}, samples))["status"]
    assert isinstance(status, PlatoonStatus)
    return status


def verdict(model: PlatoonReferee, name: str) -> dict[str, Any]:
    found = {v["name"]: v for v in model.report().verdicts or ()}
    return {key: value for key, value in found[name].items() if key != "name"}


def figures(model: PlatoonReferee) -> dict[str, Any]:
    return dict(model.report().figures or {})


def test_defaults_and_limits_of_parameters() -> None:
    plain = RefereeParameters()
    assert plain.model_dump() == {
        "min_gap_limit": 0.5, "time_limit": 120_000_000_000, "standstill_speed": 0.02,
        "standstill_time": 1_000_000_000, "expect_standstill": True, "min_ttc_limit": None,
        "max_deceleration_limit": None, "max_peak_growth_limit": None, "assessment": None,
    }  # fmt: skip
    RefereeParameters(min_gap_limit=0.0, max_peak_growth_limit=0.0)
    for wrong in (
        {"min_gap_limit": -0.1},
        {"standstill_speed": 0.0},
        {"min_ttc_limit": 0.0},
        {"max_deceleration_limit": 0.0},
        {"max_peak_growth_limit": -0.1},
        {"expect_standstill": 1},
    ):
        with pytest.raises(ValueError):
            RefereeParameters.model_validate(wrong)
    RefereeParameters(standstill_speed=0.01, min_ttc_limit=0.5, max_deceleration_limit=0.5)


def context_of(platoon: list[str]) -> ModelContext:
    scene = scene_of(OTHERS, platoon=platoon)
    return ModelContext(
        name="referee", parameters={}, scene=scene, run_seed=1, base_directory=Path(".")
    )


def test_the_ports_are_those_of_the_platoon_and_of_the_others() -> None:
    context = context_of(PLATOON)
    names = PlatoonReferee.port_names(context, RefereeParameters())
    assert names == {"member": ("leader", "follower1"), "other": ["cutter", "parked"]}
    for platoon in ([], ["leader", "leader"]):
        wrong = context_of(platoon)
        with pytest.raises(ConfigurationError, match=r"scene.platoon: found \["):
            PlatoonReferee.check_settings(wrong, RefereeParameters())
    with pytest.raises(ConfigurationError, match=r"scene\.map: found ''"):
        PlatoonReferee.check_settings(context, RefereeParameters())
    scene = {**context.scene, "vehicles": dict.fromkeys(PLATOON, {"id": 1})}
    with pytest.raises(ConfigurationError, match="both have id 1, each needs its own"):
        PlatoonReferee.check_settings(replace(context, scene=scene), RefereeParameters())


def test_speeds_at_the_limits_of_driving_and_standing() -> None:
    model = referee(standstill_time=0)
    look(model, 0, (300.0, 1.0), (280.0, 5.0))
    assert not look(model, 1, (300.0, 0.0), (280.0, 0.0)).standstill  # the leader has not driven
    look(model, 2, (300.0, 1.01), (280.0, 0.0))
    assert not look(model, 3, (300.0, 0.02), (280.0, 0.0)).standstill
    assert not look(model, 4, (300.0, -0.02), (280.0, 0.0)).standstill
    assert reason(model) is None
    assert look(model, 5, (300.0, 0.019), (280.0, -0.019)).standstill
    assert reason(model) == "all vehicles stand still"
    assert verdict(model, "stands_still_by_s") == {"value": 5e-9, "limit": 120.0, "passed": True}
    # What comes afterwards changes neither the time nor the reason.
    look(model, 200 * SECOND, (300.0, 0.0), (280.0, 0.0))
    look(model, 201 * SECOND, (300.0, 5.0), (280.0, 5.0))
    assert verdict(model, "stands_still_by_s")["value"] == 5e-9
    assert reason(model) == "all vehicles stand still"


def test_a_vehicle_that_is_not_there_yet_ends_no_run_and_is_no_obstacle_of_the_others() -> None:
    model = watching()
    status = glance(model, 0, follower1=odometry(80.0, 20.0), static_objects=BLOCKS)
    assert (status.gaps, status.speeds, status.obstacle_gap) == (
        (math.inf,), (0.0, 20.0), math.inf
    )  # fmt: skip
    # Its own gap is that to the block ahead: nothing is chosen before the leader is there.
    assert figures(model)["min_gap_m"] is None
    status = glance(
        model, SECOND, leader=odometry(100.0, 5.0), follower1=odometry(80.0, 20.0),
        static_objects=BLOCKS,
    )  # fmt: skip
    assert status.gaps == pytest.approx((15.5,))
    assert status.obstacle_gap == pytest.approx(297.5)
    assert figures(model)["braking_peaks"] == [0.0, 0.0]
    assert figures(model)["final_gap_to_obstacle_m"] == pytest.approx(297.5)


def test_the_obstacle_is_the_nearest_that_the_leader_would_hit() -> None:
    def gap(*blocks: StaticObject, lead: float = 100.0) -> float:
        return glance(
            watching(), 0, leader=odometry(lead, 20.0), static_objects=StaticObjects(blocks)
        ).obstacle_gap

    # 3.4 m long and 1 m wide, along the lane: half their widths are 1.4 m.
    along = [aside(9, 400.0, left, 0.0) for left in (1.39, 1.41, -1.39, -1.41)]
    assert [gap(each) for each in along] == pytest.approx([296.3, math.inf, 296.3, math.inf])
    # Across it: 0.9 m and 1.7 m.
    across = [aside(9, 400.0, left, math.pi / 2) for left in (2.59, 2.61, -2.59, -2.61)]
    assert [gap(each) for each in across] == pytest.approx([297.5, math.inf, 297.5, math.inf])
    # Of several the nearest, whatever their order; none that is behind, or touches the front.
    assert gap(along[0], across[0]) == pytest.approx(296.3)
    assert gap(across[0], along[0]) == pytest.approx(296.3)
    assert gap(aside(9, 60.0, 0.0, 0.0), across[0]) == pytest.approx(297.5)
    assert gap(aside(9, 103.0, 0.0, 0.0), across[0]) == pytest.approx(297.5)
    assert gap() == math.inf
    # Of 4 m and 1.2 m: one at the front counts, and beside it half of both widths is free.
    x, y, z, _ = ROAD.pose(1, 104.0, ROAD.lane_centre(1, -2, 104.0))
    flush = StaticObject(9, CLASS_OBSTACLE, x, y, z, 0.0, 4.0, 1.2, 1.2)
    assert gap(flush) == 0.0
    assert gap(flush._replace(y=y + 1.5)) == math.inf


def aside(number: int, s: float, left: float, yaw: float) -> StaticObject:
    x, y, z, heading = ROAD.pose(1, s, ROAD.lane_centre(1, -2, s) + left)
    return StaticObject(number, CLASS_OBSTACLE, x, y, z, heading + yaw, 3.4, 1.0, 1.2)


def test_obstacles_are_chosen_once() -> None:
    model = watching(platoon=["leader"])
    glance(model, 0, leader=odometry(100.0, 20.0), static_objects=BLOCKS)
    nearer = StaticObjects((aside(12, 150.0, 0.0, 0.0),))
    status = glance(model, SECOND, leader=odometry(120.0, 20.0), static_objects=nearer)
    assert status.obstacle_gap == pytest.approx(277.5)
    assert verdict(model, "min_gap_m") == {
        "value": pytest.approx(277.5), "limit": 0.5, "passed": True,
        "pair": ["leader", "obstacle 10"], "time_s": 1.0,
    }  # fmt: skip


def test_another_vehicle_of_the_scene_counts_with_its_name() -> None:
    model = watching(min_ttc_limit=2.0, platoon=["leader"])
    ahead = {"leader": odometry(100.0, 20.0), "cutter": odometry(113.0, 15.0)}
    glance(model, SECOND, **ahead)
    assert verdict(model, "min_gap_m") == {
        "value": pytest.approx(9.0), "limit": 0.5, "passed": True,
        "pair": ["leader", "cutter"], "time_s": 1.0,
    }  # fmt: skip
    assert verdict(model, "min_ttc_s") == {
        "value": pytest.approx(1.8), "limit": 2.0, "passed": False,
        "pair": ["leader", "cutter"], "time_s": 1.0,
    }  # fmt: skip


def user(number: int, s: float, left: float, yaw: float, speed: float, vy: float = 0.0) -> RoadUser:
    x, y, z, heading = ROAD.pose(1, s, ROAD.lane_centre(1, -2, s) + left)
    return RoadUser(number, CLASS_CAR, x, y, z, heading + yaw, speed, vy, 4.0, 2.0, 1.5)


def test_traffic_turns_as_its_yaw_has_changed() -> None:
    def least(*yaws: float, vy: float = 0.0) -> float | None:
        model = watching()
        for number, yaw in enumerate(yaws):
            traffic = RoadUsers((user(3, 130.0, 3.5, yaw, 10.0, vy),))
            glance(model, number * SECOND, leader=odometry(100.0, 20.0), traffic=traffic)
        return figures(model)["min_gap_m"]

    # 0.04 rad to the left of the lane, and 0.1 rad/s back to the right: it comes into the strip.
    assert least(0.04) is None
    assert least(0.04, 0.04) is None
    assert least(0.14, 0.04) == pytest.approx(math.hypot(25.96, 1.42), abs=0.02)
    assert least(-0.02, 0.04) is None
    # What moves across its heading comes in without any turn.
    assert least(0.0, vy=-1.0) == pytest.approx(math.hypot(26.0, 1.6))
    model = watching()
    traffic = RoadUsers((user(3, 130.0, 0.0, 0.0, 10.0),))
    glance(model, SECOND, leader=odometry(100.0, 20.0), traffic=traffic)
    assert verdict(model, "min_gap_m")["pair"] == ["leader", "traffic 3"]
    assert figures(model)["min_ttc_s"] == pytest.approx(2.6)


def test_a_repeated_message_of_traffic_leaves_its_yaw_rates() -> None:
    model = watching()
    turning = [RoadUsers((user(3, 130.0, 3.5, yaw, 10.0),)) for yaw in (0.14, 0.04)]
    leader = Sample(0, 0, odometry(100.0, 20.0))
    ports = {"odometry/follower1": None, "odometry/cutter": None, "odometry/leader": leader}
    for stamp, users in ((0, turning[0]), (0, turning[1]), (SECOND, turning[1])):
        model.activate(Step(SECOND, {}, {**ports, "traffic": Sample(stamp, 0, users)}))
    assert figures(model)["min_gap_m"] == pytest.approx(math.hypot(25.96, 1.42), abs=0.02)


def test_a_collision_names_the_first_pair_and_its_time() -> None:
    model = watching()
    for number, (vehicle, other) in enumerate([(1, 7), (2, 99)]):
        event = CollisionEvent(vehicle, other, 50.0)
        status = model.activate(
            Step(
                2 * SECOND,
                {},
                {
                    "odometry/leader": None,
                    "odometry/follower1": None,
                    "odometry/cutter": None,
                    "collision": Sample((number + 1) * SECOND, number, event),
                },
            )  # fmt: skip
        )["status"]
    assert status.collisions == 2
    assert verdict(model, "no_collision") == {
        "value": 2, "limit": 0, "passed": False, "pair": ["leader", "cutter"], "time_s": 1.0
    }  # fmt: skip


@pytest.mark.parametrize(
    ("number", "name"),
    [
        (99, "object 99"),
        (102, "obstacle 102"),
        (1003, "traffic 1003"),
        (1_500_007, "traffic 1500007"),
    ],
)
def test_a_collision_names_others_as_gaps_do(number: int, name: str) -> None:
    model = watching()
    glance(model, SECOND, collision=CollisionEvent(2, number, 50.0))
    assert verdict(model, "no_collision")["pair"] == ["follower1", name]


def test_braking_is_judged_from_looks_at_all_of_the_platoon_alone() -> None:
    model = watching(max_deceleration_limit=4.0, max_peak_growth_limit=3.0)
    both = [(20.0, 20.0), (19.0, 16.0), (18.5, 15.0)]
    for number, (first, second) in enumerate(both):
        moment = number * SECOND // 2
        glance(model, moment, leader=odometry(200.0, first), follower1=odometry(80.0, second))
    assert figures(model)["braking_peaks"] == [2.0, 8.0]
    assert verdict(model, "max_deceleration") == {"value": 8.0, "limit": 4.0, "passed": False}
    assert verdict(model, "max_peak_growth") == {"value": 6.0, "limit": 3.0, "passed": False}
    # While one is missing nothing is judged, nor at the same time again.
    glance(model, 2 * SECOND, follower1=odometry(80.0, 0.0))
    glance(model, SECOND, leader=odometry(200.0, 0.0), follower1=odometry(80.0, 0.0))
    assert figures(model)["braking_peaks"] == [2.0, 8.0]


def test_of_several_followers_the_hardest_and_the_largest_growth_count() -> None:
    limits = {"max_deceleration_limit": 4.0, "max_peak_growth_limit": 3.0}
    model = watching(platoon=["leader", "follower1", "cutter"], **limits)
    for number, speeds in enumerate([(20.0, 20.0, 20.0), (19.0, 14.0, 15.0)]):
        places = zip((200.0, 140.0, 80.0), speeds, strict=True)
        leader, follower1, cutter = (odometry(*place) for place in places)
        glance(model, number * SECOND, leader=leader, follower1=follower1, cutter=cutter)
    assert figures(model)["braking_peaks"] == [1.0, 6.0, 5.0]
    assert verdict(model, "max_deceleration")["value"] == 6.0
    assert verdict(model, "max_peak_growth")["value"] == 5.0


def test_a_single_vehicle_has_no_follower_that_brakes() -> None:
    model = watching(platoon=["leader"], max_deceleration_limit=4.0, max_peak_growth_limit=3.0)
    glance(model, 0, leader=odometry(200.0, 20.0))
    glance(model, SECOND, leader=odometry(220.0, 10.0))
    assert figures(model)["braking_peaks"] == [10.0]
    assert verdict(model, "max_deceleration") == {"value": 0.0, "limit": 4.0, "passed": True}
    assert verdict(model, "max_peak_growth") == {"value": 0.0, "limit": 3.0, "passed": True}


def test_values_at_their_limits_pass() -> None:
    limits = {"max_deceleration_limit": 3.0, "max_peak_growth_limit": 1.0}
    model = watching(expect_standstill=False, time_limit="1s", min_gap_limit=115.5, **limits)
    glance(model, 0, leader=odometry(200.0, 20.0), follower1=odometry(80.0, 20.0))
    glance(model, SECOND - 1, leader=odometry(200.0, 20.0), follower1=odometry(80.0, 20.0))
    assert reason(model) is None
    glance(model, 2 * SECOND - 1, leader=odometry(200.0, 18.0), follower1=odometry(80.0, 17.0))
    assert passed(model)["max_deceleration"] and passed(model)["max_peak_growth"]
    assert reason(model) == "watched for 1s"
    found = verdict(model, "min_gap_m")
    assert (found["value"], found["limit"], found["passed"]) == (115.5, 115.5, True)
    # Only watched: neither where the leader stands, nor whether, is judged.
    assert not {"stands_before_obstacle", "stands_still_by_s"} & set(passed(model))


def test_a_restored_referee_goes_on_as_the_one_that_was_saved() -> None:
    one, other = watching(), watching()
    traffic = [RoadUsers((user(3, 130.0 + n, 3.5, 0.1 - 0.05 * n, 10.0),)) for n in range(4)]

    def drive(model: PlatoonReferee, number: int) -> PlatoonStatus:
        return glance(
            model, number * SECOND, leader=odometry(100.0 + number, 20.0 - number),
            follower1=odometry(80.0, 20.0 - 2 * number), cutter=odometry(140.0, 15.0),
            static_objects=BLOCKS, traffic=traffic[number],
        )  # fmt: skip

    for number in range(2):
        drive(one, number)
    other.restore_state(one.save_state())
    assert other.report() == one.report()
    for number in range(2, 4):
        assert drive(other, number) == drive(one, number)
    assert other.report() == one.report()


def test_the_gaps_of_a_platoon_are_those_of_each_to_the_one_ahead() -> None:
    model = watching(platoon=["leader", "follower1", "cutter"])
    status = glance(
        model, 0, leader=odometry(200.0, 20.0), follower1=odometry(150.0, 20.0),
        cutter=odometry(120.0, 20.0),
    )  # fmt: skip
    # Half lengths are 2, 2.5 and 2 m.
    assert status.gaps == pytest.approx((45.5, 25.5))


def test_only_the_platoon_itself_is_required() -> None:
    assert {port.name: port.required for port in PlatoonReferee.input_ports} == {
        "odometry/{member}": True, "odometry/{other}": False, "static_objects": False,
        "traffic": False, "collision": False, "red_lights": False,
    }  # fmt: skip
    assert PlatoonReferee.traits.cost_ns == 200_000
    assert PlatoonReferee.other_ports is False
