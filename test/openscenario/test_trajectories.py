# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Trajectories: their shapes against closed forms, and vehicles that follow them."""

from __future__ import annotations

from functools import partial
from math import cos, hypot, pi, sin, sqrt
from pathlib import Path
from typing import Any

import pytest
from openscenario.test_storyboard import begins, marker, played
from support.xosc_files import (
    at,
    by_entity,
    by_value,
    document,
    event,
    group,
    private,
    teleport,
    written,
)

from ros2_cosim.core.scenario.scenario_error import ScenarioError
from ros2_cosim.core.scenario.schema import load_scenario
from ros2_cosim.driving.openscenario.story import Box, Standing, Trajectory
from ros2_cosim.driving.openscenario.traffic import Traffic
from ros2_cosim.driving.openscenario.trajectories import Path as Line
from ros2_cosim.driving.openscenario.trajectories import points_of, pose_of
from ros2_cosim.world.map import RoadNetwork

HIGHWAY = Path(__file__).resolve().parents[2] / "config" / "highway.xodr"

pytestmark = pytest.mark.filterwarnings(
    "ignore::ros2_cosim.core.kernel.errors.WithoutEffectWarning"
)


@pytest.fixture(scope="module")
def traffic() -> Traffic:
    """Something that stands at (100, 50), turned by a quarter to the left."""
    standing = Standing(x=100.0, y=50.0, heading=0.5 * pi, box=Box(length=4.0, width=2.0))
    return Traffic(RoadNetwork.from_file(HIGHWAY), {}, {"S": standing})


def drawn(traffic: Traffic, **what: Any) -> list[tuple[float, float, float | None]]:
    pose = partial(pose_of, traffic=traffic)
    return [tuple(point) for point in points_of(Trajectory(**what), "S", pose)]


def test_a_clothoid_of_one_curvature_is_an_arc(traffic: Traffic) -> None:
    radius = 40.0
    begin = {"x": 3.0, "y": -2.0, "heading": 0.3}
    segment = {"at": begin, "curvature": 1 / radius, "curvature_end": 1 / radius, "length": 50.0}
    found = drawn(traffic, spline=[segment])
    x0, y0 = 3.0 - radius * sin(0.3), -2.0 + radius * cos(0.3)
    turned = 0.3 + 50.0 / radius
    assert found[-1][0] == pytest.approx(x0 + radius * sin(turned), abs=1e-3)
    assert found[-1][1] == pytest.approx(y0 - radius * cos(turned), abs=1e-3)


def test_a_clothoid_turns_by_its_mean_curvature(traffic: Traffic) -> None:
    """Against a fine sum of the definition, with a second piece that goes on from there."""
    pieces = [(0.0, 0.05, 30.0, 0.0), (0.05, -0.02, 20.0, 0.1)]
    x = y = heading = 0.0
    for begin, end, length, turn in pieces:
        heading += turn
        steps = 20_000
        h = length / steps
        for i in range(steps):
            middle = heading + 0.5 * h * (begin + (end - begin) * (i + 0.25) / steps)
            x, y = x + h * cos(middle), y + h * sin(middle)
            heading += h * (begin + (end - begin) * (i + 0.5) / steps)
    spline = [
        {"curvature": begin, "curvature_end": end, "length": length, "turn": turn}
        for begin, end, length, turn in pieces
    ]
    spline[0]["at"] = {"x": 0.0, "y": 0.0}  # type: ignore[assignment]
    found = drawn(traffic, spline=spline)
    assert found[-1][:2] == pytest.approx((x, y), abs=1e-3)


def test_a_nurbs_of_second_degree_is_a_circle(traffic: Traffic) -> None:
    corners = [((1.0, 0.0), 1.0, 0.0), ((1.0, 1.0), sqrt(0.5), 2.0), ((0.0, 1.0), 1.0, 4.0)]
    points = [{"at": {"x": x, "y": y}, "weight": w, "time": t} for (x, y), w, t in corners]
    nurbs = {"order": 3, "points": points, "knots": [0, 0, 0, 1, 1, 1]}
    found = drawn(traffic, nurbs=nurbs)
    assert all(hypot(x, y) == pytest.approx(1.0, abs=1e-12) for x, y, _ in found)
    assert found[0] == pytest.approx((1.0, 0.0, 0.0))
    assert found[-1] == pytest.approx((0.0, 1.0, 4.0))
    # Symmetric: half the way at half the time.
    middle = found[len(found) // 2]
    assert middle == pytest.approx((sqrt(0.5), sqrt(0.5), 2.0))


def test_poses_are_relative_to_what_is_there_when_it_begins(traffic: Traffic) -> None:
    where = [
        ({"frame": "vehicle", "x": 10.0, "y": 1.0}, (99.0, 60.0)),
        ({"frame": "axes", "x": 10.0, "y": 1.0}, (110.0, 51.0)),
    ]
    polyline = [{"at": {"to": "S", **given}} for given, _ in where]
    found = drawn(traffic, polyline=polyline, closed=True)
    assert [point[:2] for point in found[:2]] == [pytest.approx(wanted) for _, wanted in where]
    assert found[2] == found[0]


def test_what_comes_back_is_not_further() -> None:
    line = Line([(0.0, 0.0), (10.0, 0.0), (10.0, 0.0), (10.0, 10.0), (0.0, 10.0)])
    assert line.length == 30.0
    line.come_to(4.0, 1.0)
    assert line.way == pytest.approx(4.0)
    line.come_to(2.0, 0.0)
    assert line.way == pytest.approx(4.0)
    line.come_to(9.0, 4.0)
    assert line.way == pytest.approx(14.0)
    assert line.at(25.0) == pytest.approx((5.0, 10.0))
    assert line.at(33.0) == pytest.approx((-3.0, 10.0))


def lane(s: float, lane: int = -2) -> str:
    return f'<Position><LanePosition roadId="1" laneId="{lane}" s="{s}"/></Position>'


def polyline(*vertices: tuple[str, float | None]) -> str:
    found = "".join(
        f"<Vertex{'' if time is None else f' time={chr(34)}{time}{chr(34)}'}>{position}</Vertex>"
        for position, time in vertices
    )
    return f"<Polyline>{found}</Polyline>"


def following(shape: str, timing: str = "<None/>") -> str:
    return private(
        '<RoutingAction><FollowTrajectoryAction><TrajectoryRef><Trajectory name="t" closed="false">'
        f"<Shape>{shape}</Shape></Trajectory></TrajectoryRef><TimeReference>{timing}"
        '</TimeReference><TrajectoryFollowingMode followingMode="follow"/>'
        "</FollowTrajectoryAction></RoutingAction>"
    )


def reaches(position: str, tolerance: float) -> str:
    condition = (
        f'<ReachPositionCondition tolerance="{tolerance}">{position}</ReachPositionCondition>'
    )
    return by_entity(condition)


def ended(name: str) -> str:
    return by_value(
        '<StoryboardElementStateCondition storyboardElementType="event" '
        f'storyboardElementRef="{name}" state="endTransition"/>'
    )


RELATIVE = '<Timing domainAbsoluteRelative="relative" scale="{}" offset="{}"/>'


def test_a_line_to_another_lane_is_followed_and_the_lane_kept_behind_it(tmp_path: Path) -> None:
    shape = polyline((lane(140), None), (lane(200, -3), None), (lane(240, -3), None))
    text = document(
        group(
            event("follow", following(shape), at(1.0))
            + marker("on the line", reaches(lane(220, -3), 1.0))
            + marker("at its end", ended("follow"))
            + marker("behind it", reaches(lane(330, -3), 1.0))
        ),
        stop=at(14.0),
    )
    found = begins(played(tmp_path, text))
    # 20 m/s from s=100; the line aside is a little longer than the road.
    assert found["on the line"] == pytest.approx(6.0, abs=0.3)
    assert found["at its end"] == pytest.approx(7.0, abs=0.3)
    assert found["behind it"] == pytest.approx(11.5, abs=0.3)


def test_a_line_with_times_says_when_to_be_where(tmp_path: Path) -> None:
    shape = polyline((lane(100), 0.0), (lane(160), 4.0), (lane(200), 8.0))
    text = document(
        group(
            event("follow", following(shape, RELATIVE.format(1.0, 0.0)), at(0.0))
            + marker("first", reaches(lane(160), 1.5))
            + marker("second", reaches(lane(200), 1.5))
            + marker("over", ended("follow"))
        ),
        stop=at(12.0),
    )
    found = begins(played(tmp_path, text))
    assert found["first"] == pytest.approx(4.0, abs=0.5)
    assert found["second"] == pytest.approx(8.0, abs=0.5)
    assert found["over"] == pytest.approx(8.0, abs=0.1)


def test_a_change_of_lane_takes_the_place_of_a_trajectory(tmp_path: Path) -> None:
    aside = private(
        '<LateralAction><LaneChangeAction><LaneChangeActionDynamics dynamicsShape="cubic" '
        'value="3" dynamicsDimension="time"/><LaneChangeTarget><AbsoluteTargetLane value="-1"/>'
        "</LaneChangeTarget></LaneChangeAction></LateralAction>"
    )
    text = document(
        group(
            event("follow", following(polyline((lane(100), None), (lane(900), None))), at(0.5))
            + event("aside", aside, at(2.0), priority="parallel")
            + marker("stopped", ended("follow").replace("endTransition", "completeState"))
            + marker("there", reaches(lane(240, -1), 1.0))
        ),
        stop=at(9.0),
    )
    found = begins(played(tmp_path, text))
    assert found["stopped"] == pytest.approx(2.0, abs=0.1)
    assert found["there"] == pytest.approx(7.0, abs=0.3)


def test_a_vehicle_without_a_place_begins_where_its_trajectory_does(tmp_path: Path) -> None:
    shape = polyline((lane(300, -3), 0.0), (lane(400, -3), 5.0))
    text = document(
        group(event("follow", following(shape, RELATIVE.format(1.0, 0.0)), at(0.0)))
    ).replace(teleport('<LanePosition roadId="1" laneId="-2" s="100"/>'), "")
    summary = played(tmp_path, text)
    assert summary.figures is not None
    assert begins(summary) == {"follow": 0.0}
    assert summary.figures["storyboard"]["travelled_m"]["A"] > 80.0


@pytest.mark.parametrize(
    ("shape", "timing", "said"),
    [
        ("<Circle/>", "<None/>", "Circle: not supported; supported are Polyline, Clothoid"),
        (
            polyline((lane(100), None), (lane(200, 9), None)),
            "<None/>",
            "LanePosition: no lane 9 at s=200",
        ),
        (
            polyline((lane(100), None)),
            "<None/>",
            "trajectory.polyline: found 1 entries",
        ),
    ],
)
def test_what_is_no_trajectory_is_said(tmp_path: Path, shape: str, timing: str, said: str) -> None:
    text = document(group(event("follow", following(shape, timing), at(0.0))))
    with pytest.raises(ScenarioError, match=said):
        played(tmp_path, text)


def on_line(vertices: str, s: float, t: float = 0.0) -> str:
    """A TrajectoryPosition on a line."""
    return (
        f'<TrajectoryPosition s="{s}" t="{t}"><TrajectoryRef><Trajectory name="line" '
        f'closed="false"><Shape><Polyline>{vertices}</Polyline></Shape></Trajectory>'
        f"</TrajectoryRef></TrajectoryPosition>"
    )


def vertex(position: str) -> str:
    return f"<Vertex><Position>{position}</Position></Vertex>"


IN_LANE = "".join(
    vertex(f'<LanePosition roadId="1" laneId="-2" s="{s}"/>') for s in (100, 200, 300)
)


LONG = (
    '<ClothoidSplineSegment curvatureStart="0" curvatureEnd="0" length="90000"><PositionStart>'
    '<WorldPosition x="100" y="-5"/></PositionStart></ClothoidSplineSegment>'
)


@pytest.mark.parametrize(
    ("s", "t", "lane", "found"), [(50.0, 0.0, -2, 151.4), (150.0, 3.5, -1, 251.4)]
)
def test_a_place_on_a_trajectory(
    tmp_path: Path, s: float, t: float, lane: int, found: float
) -> None:
    path = written(tmp_path, document(start_a=on_line(IN_LANE, s, t)))
    vehicle = load_scenario(path).scene["vehicles"]["A"]
    assert (vehicle["road"], vehicle["lane"]) == (1, lane)
    # The centre of the box is ahead of the point that places mean.
    assert vehicle["s"] == pytest.approx(found, abs=0.05)


@pytest.mark.parametrize(
    ("position", "said"),
    [
        (on_line(IN_LANE, 300.0), "TrajectoryPosition: s: found 300; allowed is 0 to 200 m"),
        (on_line(IN_LANE, -1.0), "TrajectoryPosition: s: found -1; allowed is 0 to 200 m"),
        (
            on_line(IN_LANE, 50.0).replace(
                f"<Polyline>{IN_LANE}</Polyline>", f"<ClothoidSpline>{LONG * 2}</ClothoidSpline>"
            ),
            "found 180000 m of clothoids; allowed are 100000 m",
        ),
        (on_line(IN_LANE, 50.0, 200.0), "which is in no lane of the map"),
        (
            on_line(vertex('<RelativeWorldPosition entityRef="B" dx="1" dy="0"/>') * 2, 0.0),
            "TrajectoryRef: found a trajectory relative to an entity",
        ),
        (
            on_line(IN_LANE[: len(IN_LANE) // 3], 0.0),
            "polyline: found 1 entries; allowed is at least 2",
        ),
    ],
)
def test_a_place_on_no_trajectory_is_said(tmp_path: Path, position: str, said: str) -> None:
    path = written(tmp_path, document(start_a=position))
    with pytest.raises(ScenarioError) as raised:
        load_scenario(path)
    assert said in str(raised.value)
