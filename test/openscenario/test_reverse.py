# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Vehicles that go backwards, against their lane, and from rest."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.played_stories import PERIOD, begins, figures, marker, played
from support.xosc_files import HIGHWAY, at, by_entity, document, event, group, private, speed

from ros2_cosim.core.messages.catalogue import DEFAULT as CATALOGUE
from ros2_cosim.core.messages.records import Odometry
from ros2_cosim.core.record.bag_reader import read_bag

pytestmark = pytest.mark.filterwarnings(
    "ignore::ros2_cosim.core.kernel.errors.WithoutEffectWarning"
)


def odometry(out: Path, name: str = "A") -> list[tuple[float, Odometry]]:
    """(time [s], odometry) of a vehicle."""
    codec = CATALOGUE.codec("nav_msgs/msg/Odometry")
    return [
        (message.stamp / 1e9, codec.decode(message.data)[2])
        for message in read_bag(out / "inproc" / "bag")
        if message.topic == f"/{name}/odometry"
    ]


def slower(value: float) -> str:
    return by_entity(f'<SpeedCondition value="{value}" rule="lessThan"/>')


def test_a_vehicle_begins_backwards_as_fast_as_it_is_told(tmp_path: Path) -> None:
    text = document(stop=at(6.0)).replace('AbsoluteTargetSpeed value="20"',
                                          'AbsoluteTargetSpeed value="-3"')  # fmt: skip
    summary = played(tmp_path, text, record=True)
    (_, first), *_, (_, last) = found = odometry(tmp_path)
    duration = found[-1][0] - found[0][0]
    assert first.x - last.x == pytest.approx(3.0 * duration, abs=0.03)
    assert all(abs(each.vx + 3.0) < 0.02 and abs(each.y - first.y) < 0.01 for _, each in found)
    assert figures(summary)["travelled_m"]["A"] == pytest.approx(3.0 * duration, abs=0.1)


def test_a_vehicle_stops_before_it_goes_back(tmp_path: Path) -> None:
    linear = 'dynamicsShape="linear" dynamicsDimension="rate" value="4"'
    text = document(
        group(
            event("back", speed("-2", linear), at(1.0)) + event("on", speed("4", linear), at(10.0))
        )
        + group(marker("stands", slower(0.0)) + marker("backs", slower(-1.9)), actor="B"),
        stop=at(14.0),
    )
    begun = begins(played(tmp_path, text, record=True))
    # 20 m/s are gone after 5 s, 2 m/s backwards are there half a second later.
    assert begun["stands"] == pytest.approx(6.0, abs=0.25)
    assert begun["backs"] == pytest.approx(6.5, abs=0.4)
    assert odometry(tmp_path)[-1][1].vx == pytest.approx(4.0, abs=0.1)


def test_a_vehicle_backs_along_a_trajectory(tmp_path: Path) -> None:
    """The trajectory leads behind it, with a bend: its rear axle is on it."""
    places = [(150, -5.25), (130, -5.25), (110, -3.25), (60, -3.25)]
    vertices = "".join(
        f'<Vertex><Position><RoadPosition roadId="1" s="{s}" t="{t}"/></Position></Vertex>'
        for s, t in places
    )
    line = private(
        "<RoutingAction><FollowTrajectoryAction><Trajectory closed='false' name='t'><Shape>"
        f"<Polyline>{vertices}</Polyline></Shape></Trajectory><TimeReference><None/>"
        "</TimeReference><TrajectoryFollowingMode followingMode='follow'/>"
        "</FollowTrajectoryAction></RoutingAction>"
    )
    text = document(
        group(event("line", line, at(0.0))),
        stop=at(25.0),
        start_a='<RoadPosition roadId="1" s="150" t="-5.25"/>',
        start_b='<LanePosition roadId="1" laneId="-1" s="300"/>',
    ).replace('AbsoluteTargetSpeed value="20"', 'AbsoluteTargetSpeed value="-2.5"')
    played(tmp_path, text, record=True)
    found = [each for _, each in odometry(tmp_path)]
    t = {round(each.x - 1.4): each.y for each in found}
    assert t[140] == pytest.approx(-5.25, abs=0.1)
    assert t[120] == pytest.approx(-4.25, abs=0.3)
    assert t[95] == pytest.approx(-3.25, abs=0.1)
    assert all(abs(each.qz) < 0.12 for each in found)  # it still looks along the road


def test_a_lane_may_be_driven_against(tmp_path: Path) -> None:
    """Where a road has no lane of the other direction a vehicle drives in the one it is in."""
    one_way = HIGHWAY.read_text(encoding="utf-8")
    left = one_way[one_way.index("<left>") : one_way.index("</left>") + len("</left>")]
    road = tmp_path / "one_way.xodr"
    road.write_text(one_way.replace(left, ""), encoding="utf-8")
    start = (
        '<LanePosition roadId="1" laneId="-1" s="250"><Orientation h="3.14159265"/></LanePosition>'
    )
    text = document(start_b=start, road=str(road), stop=at(8.0))
    summary = played(tmp_path, text, record=True)
    (begin, first), *_, (end, last) = odometry(tmp_path, "B")
    assert first.x - last.x == pytest.approx(15.0 * (end - begin), abs=0.5)
    assert last.y == pytest.approx(first.y, abs=0.05)
    travelled = figures(summary)["travelled_m"]["B"]
    assert travelled == pytest.approx(15.0 * (end - begin), abs=0.5)


def test_a_start_from_rest_drives_the_way_of_its_speeds(tmp_path: Path) -> None:
    linear = 'dynamicsShape="linear" dynamicsDimension="time" value="4"'
    text = document(group(event("go", speed("8", linear), at(1.0))), stop=at(9.0)).replace(
        'AbsoluteTargetSpeed value="20"', 'AbsoluteTargetSpeed value="0"'
    )
    begun = begins(played(tmp_path, text, record=True))["go"]
    (_, first), *_, (end, last) = odometry(tmp_path)
    assert last.x - first.x == pytest.approx(16.0 + 8.0 * (end - begun - 4.0), abs=8.0 * PERIOD)
    assert last.vx == pytest.approx(8.0, abs=0.05)
