# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""What conditions measure: the same as the world's contacts and the referee, in bends too."""

from __future__ import annotations

from math import cos, inf, pi, sin
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st
from support.played_stories import PERIOD, begins, marker, played
from support.xosc_files import by_entity, document, group, speed

from ros2_cosim.core.messages.catalogue import DEFAULT
from ros2_cosim.core.messages.records import Odometry
from ros2_cosim.core.record.bag_reader import read_bag
from ros2_cosim.driving.openscenario.conditions import ConditionRun, Instant
from ros2_cosim.driving.openscenario.story import Box, StoryCondition
from ros2_cosim.driving.openscenario.traffic import Measuring, Traffic
from ros2_cosim.world.headless.contact import OrientedBox, contact
from ros2_cosim.world.map import RoadNetwork
from ros2_cosim.world.map.encounters import MovingBox, encounter
from ros2_cosim.world.map.frames import quaternion_from_yaw

RADIUS = 30.0
#: A straight road, a bend of 30 m around 172 degrees to the left, and a straight road.
BEND = f"""<?xml version="1.0"?><OpenDRIVE><header revMajor="1" revMinor="6"/>
<road id="1" length="250" junction="-1"><planView>
<geometry s="0" x="0" y="0" hdg="0" length="80"><line/></geometry>
<geometry s="80" x="80" y="0" hdg="0" length="90"><arc curvature="{1 / RADIUS!r}"/></geometry>
<geometry s="170" x="{80 + RADIUS * sin(3.0)!r}" y="{RADIUS * (1 - cos(3.0))!r}" hdg="3"
 length="80"><line/></geometry></planView>
<lanes><laneSection s="0"><center><lane id="0" type="none"/></center><right>
<lane id="-1" type="driving"><width sOffset="0" a="4" b="0" c="0" d="0"/></lane>
<lane id="-2" type="driving"><width sOffset="0" a="4" b="0" c="0" d="0"/></lane>
</right></laneSection></lanes></road></OpenDRIVE>"""
ROAD = RoadNetwork.from_xodr(BEND)
LENGTH, WIDTH = 4.8, 2.0
SIZES = {name: Box(length=LENGTH, width=WIDTH, centre=1.4) for name in "AB"}


def seen(**odometry: Odometry) -> Traffic:
    traffic = Traffic(ROAD, SIZES, {})
    traffic.look(0, odometry)
    return traffic


def at_pose(x: float, y: float, yaw: float, along: float = 0.0) -> Odometry:
    return Odometry(x, y, 0.0, *quaternion_from_yaw(yaw), along, 0.0, 0.0, 0.0, 0.0, 0.0)


def in_lane(lane: int, s: float, along: float) -> Odometry:
    x, y, _, heading = ROAD.lane_pose(1, lane, s)
    return at_pose(x, y, heading, along)


def holds(traffic: Traffic, **condition: Any) -> bool:
    run = ConditionRun(StoryCondition(vehicles=("A",), **condition))
    return run.holds(Instant(traffic, lambda *_: False, {}))


places = st.tuples(st.floats(-8, 8), st.floats(-8, 8), st.floats(-pi, pi))


@given(s=st.floats(5, 245), turn=st.floats(-pi, pi), beside=places)
def test_a_collision_is_a_contact_of_the_world(
    s: float, turn: float, beside: tuple[float, float, float]
) -> None:
    x, y, _, heading = ROAD.lane_pose(1, -1, s)
    dx, dy, yaw = beside
    poses = {"A": (x, y, heading + turn), "B": (x + dx, y + dy, yaw)}
    traffic = seen(**{name: at_pose(*pose) for name, pose in poses.items()})
    boxes = [
        OrientedBox(u, v, 0.7, LENGTH / 2, WIDTH / 2, 0.7, cos(h), sin(h))
        for u, v, h in poses.values()
    ]
    found = contact(*boxes)
    assume(found is None or found.depth > 1e-6)
    assert holds(traffic, collision=("B",)) is (found is not None)
    apart = {"to": "B", "measure": "euclidian", "freespace": True}
    touching = holds(traffic, distance={"rule": "lessOrEqual", "value": 0.0, **apart})
    assert touching is (found is not None)


@given(
    s=st.floats(10, 200),
    gap=st.floats(1, 35),
    speeds=st.tuples(st.floats(1, 20), st.floats(0, 20)),
    lane=st.sampled_from([-1, -2]),
)
def test_times_are_those_of_the_referee(
    s: float, gap: float, speeds: tuple[float, float], lane: int
) -> None:
    behind = in_lane(lane, s, speeds[0])
    ahead = in_lane(lane, s + gap + LENGTH, speeds[1])
    traffic = seen(A=behind, B=ahead)
    how = Measuring("longitudinal", freespace=True, along_road=True)
    a, b = traffic.seen["A"], traffic.seen["B"]
    ego = MovingBox("A", a.lane, speeds[0])
    found = encounter(ROAD, ego, MovingBox("B", b.lane, speeds[1]))
    assert found is not None
    assert traffic.distance(a, b, how) == pytest.approx(max(found.gap, 0.0), abs=1e-6)
    assert traffic.closing(a, b, how) == pytest.approx(speeds[0] - speeds[1], abs=1e-9)
    ttc = traffic.time_to_collision(a, b, how)
    if found.time_to_collision < inf:
        assert ttc == pytest.approx(found.time_to_collision, abs=1e-6)
    # The lane's centre is 2 or 6 m to the right of the line that stations are on.
    wider = (2.0 if lane == -1 else 6.0) / RADIUS
    end = s + gap + LENGTH
    bent = max(0.0, min(end, 170.0) - max(s, 80.0))
    assert max(found.gap, 0.0) == pytest.approx(gap + wider * bent, abs=0.01)


@example(
    here=(54.0, 0.0, 3.0, 2.0),
    there=(57.0, 0.0, 0.0, 9.0),
    measure="euclidian",
    freespace=False,
    along_road=False,
)
@given(
    here=st.tuples(st.floats(20, 60), st.floats(-3, 3), st.floats(-pi, pi), st.floats(0, 20)),
    there=st.tuples(st.floats(20, 60), st.floats(-3, 3), st.floats(-pi, pi), st.floats(0, 20)),
    measure=st.sampled_from(["longitudinal", "lateral", "euclidian"]),
    freespace=st.booleans(),
    along_road=st.booleans(),
)
def test_the_closing_speed_is_how_the_distance_changes(
    here: tuple[float, ...], there: tuple[float, ...], measure: Any, *, freespace: bool,
    along_road: bool,
) -> None:  # fmt: skip
    how = Measuring(measure, freespace, along_road)
    step = 1e-5

    def after(seconds: float) -> float:
        traffic = seen(**{
            name: at_pose(x + seconds * v * cos(h), y + seconds * v * sin(h), h, v)
            for name, (x, y, h, v) in {"A": here, "B": there}.items()
        })  # fmt: skip
        return traffic.distance(traffic.seen["A"], traffic.seen["B"], how)

    before, later = after(-step), after(step)
    assume(before > 0.05 and later > 0.05)
    traffic = seen(A=at_pose(*here), B=at_pose(*there))
    closing = traffic.closing(traffic.seen["A"], traffic.seen["B"], how)
    # It is taken over the tenth of a millisecond ahead, in which the direction of a near one turns.
    turning = 1e-4 * (here[3] + there[3]) ** 2 / later
    assert closing == pytest.approx((before - later) / (2.0 * step), abs=1e-2 + turning)


def test_longer_times_are_found_too() -> None:
    traffic = seen(A=in_lane(-1, 10, 3.0), B=in_lane(-1, 75, 1.0))
    asked = {"to": "B", "freespace": True, "along_road": True}
    for rule in ("lessThan", "greaterThan"):
        ttc = {"rule": rule, "value": 30.2, **asked}
        assert holds(traffic, time_to_collision=ttc) is (rule == "lessThan")  # (65 - 4.8) / 2


@pytest.mark.filterwarnings("ignore::ros2_cosim.core.kernel.errors.WithoutEffectWarning")
def test_a_run_in_a_bend(tmp_path: Path) -> None:
    road = tmp_path / "bend.xodr"
    road.write_text(BEND, encoding="utf-8")
    times = {}
    for name, attributes in {"road": 'coordinateSystem="road"', "space": ""}.items():
        kind = (
            f'<TimeToCollisionCondition value="1.5" rule="lessThan" freespace="true" {attributes}>'
            '<TimeToCollisionConditionTarget><EntityRef entityRef="B"/>'
            "</TimeToCollisionConditionTarget></TimeToCollisionCondition>"
        )
        times[name] = marker(name, by_entity(kind))
    collision = '<CollisionCondition><EntityRef entityRef="B"/></CollisionCondition>'
    struck, stop = by_entity(collision), by_entity(collision, edge="rising", delay=0.1)
    init = f'<Private entityRef="A">{speed("12")}</Private><Private entityRef="B">{speed("6")}'
    text = document(
        group("".join(times.values()) + marker("struck", struck)), stop, road=str(road),
        start_a='<LanePosition roadId="1" laneId="-1" s="60"/>',
        start_b='<LanePosition roadId="1" laneId="-1" s="90"/>', init=f"{init}</Private>",
    )  # fmt: skip
    found = begins(played(tmp_path, text, record=True))
    odometry: dict[str, dict[int, Odometry]] = {"/A/odometry": {}, "/B/odometry": {}}
    contacts = []
    for message in read_bag(tmp_path / "inproc" / "bag"):
        value = DEFAULT.codec(message.type_name).decode(message.data)
        if message.topic in odometry:
            odometry[message.topic][message.stamp] = value[-1]
        elif message.topic == "/collisions":
            contacts.append(message.stamp / 1e9)
    assert found["struck"] == pytest.approx(contacts[0], abs=0.03 + PERIOD)
    stamps = sorted(odometry["/A/odometry"])
    first = next(t for t in stamps if _time_to_collision(odometry, t) < 1.5)
    assert found["road"] == pytest.approx(first / 1e9, abs=PERIOD)


def _time_to_collision(odometry: dict[str, dict[int, Odometry]], stamp: int) -> float:
    a, b = (odometry[f"/{name}/odometry"][stamp] for name in "AB")
    boxes = seen(A=a, B=b).seen
    pair = (MovingBox(n, boxes[n].lane, o.vx, o.vy, o.wz) for n, o in (("A", a), ("B", b)))
    found = encounter(ROAD, *pair)
    return inf if found is None else found.time_to_collision
