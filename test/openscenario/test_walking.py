# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Pedestrians that walk, and what is put elsewhere while a storyboard is played."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.played_stories import PERIOD, begins, marker, played
from support.xosc_files import (
    HIGHWAY,
    at,
    by_entity,
    document,
    event,
    group,
    lane_change,
    private,
    speed,
    teleport,
)

from ros2_cosim.core.messages.catalogue import DEFAULT as CATALOGUE
from ros2_cosim.core.messages.records import Odometry
from ros2_cosim.core.record.bag_reader import read_bag
from ros2_cosim.core.scenario.scenario_error import ScenarioError
from ros2_cosim.core.scene.simulator import MapChoice
from ros2_cosim.world.carla.dcp_variables import SceneVariables
from ros2_cosim.world.carla.inprocess_world import InProcessWorld
from ros2_cosim.world.carla.parameters import ObjectSpec, SceneParameters, VehicleSpec
from ros2_cosim.world.carla.scene import Scene

WALKER = '<ScenarioObject name="P"><Pedestrian name="p"/></ScenarioObject>'
#: Beside the right lane, looking across the road.
CURB = '<LanePosition roadId="1" laneId="-3" s="160"><Orientation h="1.5707963"/></LanePosition>'

pytestmark = pytest.mark.filterwarnings(
    "ignore::ros2_cosim.core.kernel.errors.WithoutEffectWarning"
)


def start(place: str = CURB, pace: str = "0") -> str:
    return f'<Private entityRef="P">{teleport(place)}{speed(pace)}</Private>'


def vertex(place: str, time: float | None = None) -> str:
    when = "" if time is None else f' time="{time}"'
    return f"<Vertex{when}><Position>{place}</Position></Vertex>"


def along(vertices: str, timing: str = "<None/>") -> str:
    return private(
        "<RoutingAction><FollowTrajectoryAction><Trajectory closed='false' name='t'><Shape>"
        f"<Polyline>{vertices}</Polyline></Shape></Trajectory>"
        f"<TimeReference>{timing}</TimeReference>"
        "<TrajectoryFollowingMode followingMode='follow'/>"
        "</FollowTrajectoryAction></RoutingAction>"
    )


def test_a_pedestrian_walks_straight_ahead_as_fast_as_it_is_told(tmp_path: Path) -> None:
    """Its speed, its way and its place are those of the action, exactly."""
    linear = 'dynamicsShape="linear" value="1"'
    text = document(
        group(event("walk", speed("1.5", linear), at(1.0)), actor="P")
        + group(
            marker("fast", by_entity('<SpeedCondition value="1.499" rule="greaterThan"/>', "P"))
            + marker("far", by_entity('<TraveledDistanceCondition value="3"/>', "P")),
            actor="B",
        ),
        stop=at(5.0),
        entities=WALKER,
        init=start(),
    )
    found = begins(played(tmp_path, text))
    assert found["fast"] == pytest.approx(2.0, abs=2 * PERIOD)
    # 0.75 m in the first second, then 1.5 m/s.
    assert found["far"] == pytest.approx(2.0 + 2.25 / 1.5, abs=3 * PERIOD)


def test_a_trajectory_with_times_is_kept(tmp_path: Path) -> None:
    """Behind its end the pedestrian goes on as fast; conditions find it where it is."""
    text = document(
        group(
            event(
                "cross",
                along(
                    vertex('<RoadPosition roadId="1" s="160" t="-10"/>', 0.0)
                    + vertex('<RoadPosition roadId="1" s="160" t="-4"/>', 3.0)
                    + vertex('<RoadPosition roadId="1" s="164" t="-4"/>', 5.0),
                    '<Timing domainAbsoluteRelative="relative" offset="0" scale="1"/>',
                ),
                at(1.0),
            ),
            actor="P",
        )
        + group(
            "".join(
                marker(
                    name,
                    by_entity(
                        '<ReachPositionCondition tolerance="0.1"><Position><RoadPosition '
                        f'roadId="1" s="{s}" t="{t}"/></Position></ReachPositionCondition>',
                        "P",
                    ),
                )
                for name, s, t in (("middle", 160, -7), ("corner", 160, -4), ("past", 166, -4))
            ),
            actor="B",
        ),
        stop=at(8.0),
        entities=WALKER,
        init=start('<RoadPosition roadId="1" s="160" t="-10"/>'),
    )
    found = begins(played(tmp_path, text))
    early = 0.1 / 2.0  # it is found so much before it is there
    assert found["middle"] == pytest.approx(2.5 - early, abs=2 * PERIOD)
    assert found["corner"] == pytest.approx(4.0 - early, abs=2 * PERIOD)
    assert found["past"] == pytest.approx(7.0 - early, abs=2 * PERIOD)


def test_a_pedestrian_goes_straight_to_a_place(tmp_path: Path) -> None:
    target = '<RoadPosition roadId="1" s="160" t="-2"/>'
    text = document(
        group(
            event(
                "go",
                private(
                    f"<RoutingAction><AcquirePositionAction><Position>{target}</Position>"
                    "</AcquirePositionAction></RoutingAction>"
                ),
                at(0.0),
            ),
            actor="P",
        )
        + group(
            marker(
                "there",
                by_entity(
                    f'<ReachPositionCondition tolerance="0.05"><Position>{target}</Position>'
                    "</ReachPositionCondition>",
                    "P",
                ),
            ),
            actor="B",
        ),
        stop=at(6.0),
        entities=WALKER,
        init=start('<RoadPosition roadId="1" s="157" t="-6"/>', "1"),
    )
    assert begins(played(tmp_path, text))["there"] == pytest.approx(5.0, abs=3 * PERIOD)


def test_a_car_runs_into_a_pedestrian(tmp_path: Path) -> None:
    """The simulator's pedestrian is where the storyboard's is, and the bag has its way."""
    lane = '<LanePosition roadId="1" laneId="-2" s="{}"/>'
    text = document(
        group(event("go", teleport(lane.format(140)), at(1.0)), actor="P"),
        stop=at(4.0),
        entities=WALKER,
        init=start(),
    )
    summary = played(tmp_path, text, record=True)
    assert summary.collisions >= 1
    codec = CATALOGUE.codec("nav_msgs/msg/Odometry")
    places = [
        codec.decode(message.data)[2]
        for message in read_bag(tmp_path / "inproc" / "bag")
        if message.topic == "/P/place"
    ]
    assert {round(place.x) for place in places} == {160, 140}


@pytest.mark.parametrize(
    ("action", "said"),
    [
        (lane_change('<AbsoluteTargetLane value="-1"/>'), "LaneChangeAction: found for 'P', which"),
        (speed("1"), ""),
    ],
)
def test_what_pedestrians_cannot_do(tmp_path: Path, action: str, said: str) -> None:
    text = document(
        group(event("act", action, at(1.0)), actor="P"), entities=WALKER, init=start(), stop=at(0.1)
    )
    if not said:
        played(tmp_path, text)
        return
    with pytest.raises(ScenarioError, match=said):
        played(tmp_path, text)


def test_a_vehicle_is_put_elsewhere_and_drives_on(tmp_path: Path) -> None:
    """In the lane and with the speed that are said; the jump is not a way that it has come."""
    text = document(
        group(
            event("jump", teleport('<LanePosition roadId="1" laneId="-1" s="600"/>'), at(2.0))
            + event("slow", speed("10"), at(2.0)),
        )
        + group(
            marker(
                "there",
                by_entity(
                    '<ReachPositionCondition tolerance="0.5"><Position><LanePosition roadId="1" '
                    'laneId="-1" s="620"/></Position></ReachPositionCondition>'
                ),
            )
            # 20 m/s for 2 s, then 10 m/s.
            + marker("far", by_entity('<TraveledDistanceCondition value="60"/>')),
            actor="B",
        ),
        stop=at(6.0),
    )
    found = begins(played(tmp_path, text))
    assert found["there"] == pytest.approx(2.0 + 19.5 / 10.0, abs=0.1)
    assert found["far"] == pytest.approx(4.0, abs=0.15)


def test_a_place_relative_to_an_entity_moves_with_it(tmp_path: Path) -> None:
    """50 m between both at the start, 5 m/s nearer."""
    text = document(
        group(
            marker(
                "near",
                by_entity(
                    '<DistanceCondition value="40" rule="lessThan" freespace="false" '
                    'coordinateSystem="entity"><Position><RelativeObjectPosition entityRef="B" '
                    'dx="0" dy="0"/></Position></DistanceCondition>'
                ),
            )
        ),
        stop=at(4.0),
    )
    assert begins(played(tmp_path, text))["near"] == pytest.approx(2.0, abs=0.1)


def test_a_place_is_given_by_each_message_once() -> None:
    """The world goes on from a place with the velocity given there, on CARLA's wire, too."""
    parameters = SceneParameters(
        MapChoice(opendrive=HIGHWAY.read_text(encoding="utf-8")),
        10_000_000,
        (VehicleSpec("a", -2, 300.0, 20.0, placed=True),),
        (ObjectSpec("p", -1, 400.0, blueprint="walker.pedestrian.0001", placed=True),),
        reports_traffic=True,
    )
    assert parameters.placed == ("a", "p") and parameters.standing == ()
    scene = Scene(InProcessWorld(), parameters)
    scene.initialise()
    try:
        before = scene.road_users()
        assert before is not None
        (user,) = before.users
        there = Odometry(user.x, user.y + 3.0, user.z, 0.0, 0.0, 0.0, 1.0, 2.0, *[0.0] * 5)
        scene.put("p", there)
        car = scene.read()["a"].odometry
        scene.put("a", car._replace(x=car.x + 100.0))
        for _ in range(50):
            scene.step({})
        after = scene.road_users()
        assert after is not None
        (moved,) = after.users
        assert moved.x == pytest.approx(user.x + 1.0) and moved.y == pytest.approx(user.y + 3.0)
        assert (moved.vx, moved.length) == (2.0, user.length)
        assert scene.read()["a"].odometry.x == pytest.approx(car.x + 110.0, abs=0.3)
    finally:
        scene.dismantle()
    variables = SceneVariables(parameters)
    names = [variable.name for variable in variables.description().variables]
    assert "place/p.count" in names and "static_objects.x" not in names
    inputs = [0.0] * 4 + [0.0] * 13 + [0] + [*map(float, there), 2]
    assert variables.places(inputs) == {"p": (2, there)}
