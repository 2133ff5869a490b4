# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""SynchronizeAction: two vehicles are at their places at one time."""

from __future__ import annotations

from pathlib import Path

import pytest
from openscenario.test_storyboard import begins, marker, played
from support.xosc_files import at, by_entity, by_value, document, event, group, private, speed

from ros2_cosim.core.kernel.exactmath import cos, sin, wrap_angle
from ros2_cosim.core.messages.records import Odometry
from ros2_cosim.core.scenario.scenario_error import ScenarioError
from ros2_cosim.driving.openscenario.arrival import _Way
from ros2_cosim.driving.openscenario.story import Box, Where
from ros2_cosim.driving.openscenario.traffic import Traffic
from ros2_cosim.driving.openscenario.trajectories import Path as Line
from ros2_cosim.world.map import RoadNetwork
from ros2_cosim.world.map.frames import quaternion_from_yaw

TOWN = RoadNetwork.from_file(Path(__file__).resolve().parents[2] / "config" / "town.xodr")

pytestmark = pytest.mark.filterwarnings(
    "ignore::ros2_cosim.core.kernel.errors.WithoutEffectWarning"
)


def place(s: float, lane: int) -> str:
    return f'<Position><LanePosition roadId="1" laneId="{lane}" s="{s}"/></Position>'


def synchronize(final: str = "") -> str:
    own, other = place(240, -2), place(300, -1)
    return private(
        '<SynchronizeAction masterEntityRef="B" targetTolerance="1" targetToleranceMaster="1">'
        f"{other.replace('Position>', 'TargetPositionMaster>')}"
        f"{own.replace('Position>', 'TargetPosition>')}{final}</SynchronizeAction>"
    )


def passes(name: str, s: float, lane: int) -> str:
    reach = f'<ReachPositionCondition tolerance="0.6">{place(s, lane)}</ReachPositionCondition>'
    return by_entity(reach, name)


def text(final: str, *more: str, faster: float = 5.0) -> str:
    """A has 140 m to its place and B 150 m; B drives at 15 m/s, and at 20 m/s from a time on."""
    over = by_value(
        '<StoryboardElementStateCondition storyboardElementType="event" '
        'storyboardElementRef="arrive" state="endTransition"/>'
    )
    return document(
        group(
            event("arrive", synchronize(final), at(0.5))
            + marker("A is there", passes("A", 240, -2))
            + marker("B is there", passes("B", 300, -1))
            + marker("over", over)
            + "".join(more)
        )
        + group(event("faster", speed("20", 'dynamicsShape="linear" value="1"'), at(faster)), "B"),
        stop=at(14.0),
    )


def final_speed(value: float, steady: str = "") -> str:
    return f'<FinalSpeed><AbsoluteSpeed value="{value}">{steady}</AbsoluteSpeed></FinalSpeed>'


@pytest.mark.parametrize(
    "final",
    [
        "",
        final_speed(12.0),
        '<FinalSpeed><RelativeSpeedToMaster value="-5"/></FinalSpeed>',
        final_speed(12.0, '<TargetDistanceSteadyState distance="20"/>'),
        final_speed(12.0, '<TargetTimeSteadyState time="2"/>'),
    ],
)
def test_both_arrive_together_although_one_changes_its_speed(tmp_path: Path, final: str) -> None:
    found = begins(played(tmp_path, text(final)))
    assert found["B is there"] == pytest.approx(8.9, abs=0.1)
    assert found["A is there"] == pytest.approx(found["B is there"], abs=0.35)
    assert found["over"] == pytest.approx(found["B is there"], abs=0.3)


def test_the_final_speed_is_that_of_the_arrival(tmp_path: Path) -> None:
    slower = by_entity('<SpeedCondition value="12.6" rule="lessThan"/>')
    faster = by_entity('<SpeedCondition value="11.4" rule="lessThan"/>')
    steady = final_speed(12.0, '<TargetDistanceSteadyState distance="20"/>')
    markers = marker("slow", slower), marker("slower", faster)
    found = begins(played(tmp_path, text(steady, *markers, faster=13.0)))
    assert found["A is there"] == pytest.approx(10.0, abs=0.15)
    # 20 m before its place, and from then on.
    assert found["slow"] <= 10.0 - 20.0 / 12.0 + 0.2
    assert "slower" not in found


def test_another_kind_of_steady_state_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match="Steady: not supported; supported are TargetDistance"):
        played(tmp_path, text(final_speed(12.0, "<Steady/>")))


def test_a_place_in_a_junction_is_on_the_own_way() -> None:
    """Of all roads that cross there, the vehicle's own leads to it."""
    straight = [road for road in TOWN.roads.values() if road.junction is not None]
    straight = [road for road in straight if abs(bend(road.id)) < 0.1]
    assert len(straight) >= 4
    tried = 0
    for road in straight:
        length = TOWN.length(road.id)
        for lane in TOWN.lane_ids(road.id, 0.5 * length, "driving"):
            start = before(road.id, lane)
            if start is None:
                continue
            traffic = Traffic(TOWN, {"A": Box(length=4.0, width=2.0)}, {})
            x, y, _, heading = TOWN.lane_pose(*start)
            q = quaternion_from_yaw(heading)
            traffic.look(0, {"A": Odometry(x, y, 0.0, *q, 5.0, 0.0, 0.0, 0.0, 0.0, 0.0)})
            for share in (0.2, 0.35, 0.5, 0.65, 0.8):
                t = TOWN.lane_centre(road.id, lane, share * length)
                for aside in (-1.0, 1.0):
                    u, v, _, _ = TOWN.pose(road.id, share * length, t + aside)
                    way = 10.0 + (share if lane < 0 else 1.0 - share) * length
                    left = _Way("A", Where(x=u, y=v), traffic).left(traffic)
                    assert left == pytest.approx(way, abs=0.5)
                    tried += 1
    assert tried > 20


def bend(road: int) -> float:
    """How far a road turns [rad]."""
    ends = [TOWN.pose(road, s, 0.0)[3] for s in (0.0, TOWN.length(road))]
    return wrap_angle(ends[1] - ends[0])


def before(road: int, lane: int) -> tuple[int, int, float] | None:
    """A place 10 m before a junction, whose straightest way is a lane in it."""
    for other in TOWN.roads.values():
        for end in (10.0, TOWN.length(other.id) - 10.0) if other.junction is None else ():
            for own in TOWN.lane_ids(other.id, end, "driving"):
                if TOWN.advance(other.id, own, end, 11.0)[:2] == (road, lane):
                    return other.id, own, end
    return None


def test_the_way_of_a_vehicle_on_a_trajectory_is_along_it() -> None:
    """A turn to the left across a field: no road leads there."""
    traffic = Traffic(TOWN, {"A": Box(length=4.0, width=2.0)}, {})
    x, y, _, heading = TOWN.lane_pose(3, -1, 20.0)
    q = quaternion_from_yaw(heading)
    here = Odometry(x, y, 0.0, *q, 5.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    traffic.look(0, {"A": here})
    corner = (x + 30.0 * cos(heading), y + 30.0 * sin(heading))
    end = (corner[0] - 40.0 * sin(heading), corner[1] + 40.0 * cos(heading))
    path = Line([(x, y), corner, end])
    traffic.lines["A"] = path
    way = _Way("A", Where(x=end[0], y=end[1]), traffic)
    assert way.left(traffic) == pytest.approx(70.0)
    path.way = 50.0
    assert way.left(traffic) == pytest.approx(20.0)
    path.way = 70.0
    assert way.left(traffic) == 0.0
    assert path.way_to(x - 10.0 * sin(heading), y + 10.0 * cos(heading)) is None
