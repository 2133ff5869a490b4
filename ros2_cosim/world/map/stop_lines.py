# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Where traffic waits for a signal: the ends of the lanes before it, and the way up to them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ros2_cosim.world.map.network import RoadNetwork
from ros2_cosim.world.map.opendrive import Road
from ros2_cosim.world.map.signals import LaneRange, holds_for


class StopLine(NamedTuple):
    """A place on a lane at which a signal is obeyed; outside of junctions where possible."""

    road_id: int
    lane_id: int
    s: float


class LanePiece(NamedTuple):
    """A piece of a lane, ``low`` <= s <= ``high``, and how far its end is from the line [m]."""

    road_id: int
    lane_id: int
    low: float
    high: float
    beyond: float


def stop_lines(network: RoadNetwork, signal_id: str) -> list[StopLine]:
    """The stop lines of a signal, of its own place first, each once.

    A signal or reference on a road inside a junction holds at the end of the lane that leads
    onto that road.
    """
    signal = network.signals[signal_id]
    places = [(signal.road_id, signal.s, signal.orientation, signal.lanes)]
    places += [
        (reference.road_id, reference.s, reference.orientation, reference.lanes)
        for reference in network.signal_references
        if reference.signal_id == signal_id and reference.road_id in network.roads
    ]
    found: dict[StopLine, None] = {}
    for road_id, s, orientation, lanes in places:
        road = network.roads[road_id]
        station = min(max(s, 0.0), road.length)
        for lane_id in _lanes(network, road, station, orientation, lanes):
            before = network.lane_before(road_id, lane_id) if road.junction is not None else None
            line = StopLine(road_id, lane_id, station) if before is None else StopLine(*before)
            found[line] = None
    return list(found)


def _lanes(
    network: RoadNetwork, road: Road, s: float, orientation: str, ranges: tuple[LaneRange, ...]
) -> Iterator[int]:
    for lane_id in network.lane_ids(road.id, s, "driving"):
        if ranges:
            if holds_for(ranges, lane_id):
                yield lane_id
        elif orientation not in ("+", "-") or (lane_id < 0) == (orientation == "+"):
            yield lane_id


def way_up_to(network: RoadNetwork, line: StopLine, reach: float) -> list[LanePiece]:
    """The last ``reach`` metres of lanes before a stop line.

    Back over the junction before, where every lane that leads here leads nowhere else, but not over
    two of them.
    """
    pieces: list[LanePiece] = []
    ends = [(*line, 0.0)]
    for road_id, lane_id, s, beyond in ends:
        road = network.roads[road_id]
        forward = lane_id < 0
        sections = road.lanes.sections
        index = road.lanes.index(s)
        if forward and index > 0 and s <= sections[index].start:
            index -= 1  # the section that ends here
        section = sections[index]
        if lane_id not in section.lanes:
            continue
        left = reach - beyond
        low = max(section.start, s - left) if forward else s
        high = s if forward else min(section.end, s + left)
        pieces.append(LanePiece(road_id, lane_id, low, high, beyond))
        beyond += high - low
        if beyond >= reach:
            continue
        following = index - 1 if forward else index + 1
        if 0 <= following < len(sections):
            lane = section.lanes[lane_id]
            linked = lane.predecessor if forward else lane.successor
            if linked is not None:
                ends.append((road_id, linked, low if forward else high, beyond))
        elif road.junction is None:
            ends += [(*end, beyond) for end in network.lanes_before(road_id, lane_id)]
    return pieces
