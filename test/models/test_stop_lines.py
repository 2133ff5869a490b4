# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Stop lines of signals in the town, the way up to them, and the limits of speed signs."""

from __future__ import annotations

from pathlib import Path

import pytest

from ros2_cosim.world.map import RoadError, RoadNetwork
from ros2_cosim.world.map.signals import SPEED_LIMIT, TRAFFIC_LIGHT
from ros2_cosim.world.map.stop_lines import StopLine, stop_lines, way_up_to

TOWN = RoadNetwork.from_file(Path(__file__).parents[2] / "config" / "town.xodr")
_LIGHTS = [signal.id for signal in TOWN.signals.values() if signal.type == TRAFFIC_LIGHT]


@pytest.mark.parametrize("signal_id", _LIGHTS)
def test_a_light_holds_for_all_lanes_of_one_arm_of_its_junction(signal_id: str) -> None:
    lines = stop_lines(TOWN, signal_id)
    (road_id,) = {line.road_id for line in lines}
    road = TOWN.roads[road_id]
    assert road.junction is None
    (forward,) = {line.lane_id < 0 for line in lines}
    end = road.length if forward else 0.0
    assert {line.s for line in lines} == {end}
    driven = [i for i in TOWN.lane_ids(road_id, end, "driving") if (i < 0) == forward]
    assert sorted(line.lane_id for line in lines) == driven
    # The signal stands beside the lanes, at their end.
    x, y, _, _ = TOWN.signal_pose(signal_id)
    place = TOWN.roads[road_id].line.project(x, y, end)
    assert place is not None
    assert place[0] == pytest.approx(end, abs=0.2)


def test_the_way_up_to_a_line_leads_back_over_one_junction() -> None:
    line = stop_lines(TOWN, _LIGHTS[0])[0]
    length = TOWN.length(line.road_id)
    (near,) = way_up_to(TOWN, line, 12.0)
    assert (near.road_id, near.lane_id) == line[:2]
    assert near.high - near.low == 12.0 and near.beyond == 0.0
    assert line.s in (near.low, near.high)
    whole, *before = way_up_to(TOWN, line, 1e4)
    assert (whole.low, whole.high) == (0.0, length)
    junction = TOWN.roads[line.road_id].junction_at(line.lane_id > 0)
    assert before and {TOWN.roads[piece.road_id].junction for piece in before} == {junction}
    for piece in before:
        (onward,) = TOWN.lanes_onward(piece.road_id, piece.lane_id)
        assert onward[:2] == line[:2] and piece.beyond == length
        assert piece.high - piece.low == TOWN.length(piece.road_id)


def test_the_way_leads_over_sections_and_roads() -> None:
    def road(number: int, x: float, link: str, sections: str) -> str:
        return (
            f'<road id="{number}" length="50" junction="-1"><link>{link}</link><planView>'
            f'<geometry s="0" x="{x}" y="0" hdg="0" length="50"><line/></geometry></planView>'
            f"<lanes>{sections}</lanes></road>"
        )

    def section(s: float, *lanes: int, links: str = "") -> str:
        right = "".join(
            f'<lane id="{i}" type="driving"><link>{links}</link>'
            '<width sOffset="0" a="3" b="0" c="0" d="0"/></lane>'
            for i in lanes
        )
        return f'<laneSection s="{s}"><right>{right}</right></laneSection>'

    first = road(
        1, 0, '<successor elementType="road" elementId="2" contactPoint="start"/>',
        section(0, -1, links='<successor id="-1"/>'),
    )  # fmt: skip
    second = road(
        2, 50, '<predecessor elementType="road" elementId="1" contactPoint="end"/>',
        section(0, -1, links='<predecessor id="-1"/><successor id="-1"/>')
        + section(20, -1, links='<predecessor id="-1"/>'),
    )  # fmt: skip
    roads = RoadNetwork.from_xodr(f"<OpenDRIVE><header/>{first}{second}</OpenDRIVE>")
    pieces = way_up_to(roads, StopLine(2, -1, 45.0), 60.0)
    assert [tuple(piece) for piece in pieces] == [
        (2, -1, 20.0, 45.0, 0.0),
        (2, -1, 0.0, 20.0, 25.0),
        (1, -1, 35.0, 50.0, 45.0),
    ]


def test_a_speed_sign_holds_from_where_it_stands_in_its_direction() -> None:
    sign = next(s for s in TOWN.signals.values() if s.type == SPEED_LIMIT and s.orientation == "-")
    road = TOWN.roads[sign.road_id]
    assert TOWN.speed_limit(road.id, sign.s - 1.0, 1) == pytest.approx(sign.value / 3.6)
    text = (Path(__file__).parents[2] / "config" / "town.xodr").read_text(encoding="utf-8")
    changed = text.replace(f'id="{sign.id}" name="{sign.name}"', f'id="{sign.id}" name="x"')
    changed = changed.replace(
        f'value="{sign.value!r}" unit="km/h"', 'value="20.0" unit="mph"'
    )  # fmt: skip
    other = RoadNetwork.from_xodr(changed)
    slow = pytest.approx(20.0 * 0.44704)
    assert other.speed_limit(road.id, sign.s - 1.0, 1) == slow
    assert other.speed_limit(road.id, sign.s + 1.0, 1) == TOWN.speed_limit(road.id, 0.0, -1)
    with pytest.raises(RoadError, match="no signal 'x'"):
        TOWN.signal_pose("x")
