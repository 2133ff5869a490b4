# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The shortest way from a lane to another one, without changes of lane."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from heapq import heappop, heappush
from typing import Final, NamedTuple

from ros2_cosim.world.map.network import RoadNetwork

#: Ways longer than this are not searched for [m].
LONGEST: Final = 20_000.0


class Stretch(NamedTuple):
    """A road of a way: entered in a lane at a station [m]."""

    road: int
    lane: int
    s: float


def lane_route(network: RoadNetwork, start: Stretch, end: Stretch) -> list[Stretch] | None:
    """The stretches from a place in a lane to another place; the first is the start itself.

    The end may be in any lane of its road that is driven in the same direction. None: no way of
    at most ``LONGEST`` leads there in the lanes as they go on.

    :raises RoadError: a place is not on the map
    """
    network.lane_width(start.road, start.lane, start.s)
    network.lane_width(end.road, end.lane, end.s)
    queue: list[tuple[float, int, Stretch, tuple[Stretch, ...]]] = [(0.0, 0, start, ())]
    visited: set[tuple[int, int]] = set()
    count = 0
    while queue:
        way, _, here, before = heappop(queue)
        if way > LONGEST:
            return None
        passed = (*before, here)
        if _leads_to(here, end):
            return list(passed)
        for following in _onward(network, here):
            key = following.road, following.lane
            if key not in visited:
                visited.add(key)
                count += 1
                heappush(queue, (way + _rest(network, here), count, following, passed))
    return None


def roads_of(network: RoadNetwork, way: Sequence[Stretch]) -> list[int]:
    """The roads of a way, as :meth:`RoadNetwork.along` takes them: without those in junctions.

    A way that ends inside a junction goes on to the road behind it.
    """
    found = list(way)
    while network.road(found[-1].road).junction is not None:
        following = next(_onward(network, found[-1]), None)
        if following is None:
            break
        found.append(following)
    return [part.road for part in found if network.road(part.road).junction is None]


def place_on(network: RoadNetwork, way: Sequence[Stretch], distance: float) -> Stretch | None:
    """The place so far along a way [m], from its start on; None: it is shorter."""
    for number, part in enumerate(way):
        last = number == len(way) - 1
        rest = _rest(network, part)
        if distance <= rest or last:
            forward = part.lane < 0
            s = part.s + distance if forward else part.s - distance
            lane = _lane_at(network, part, s)
            return None if lane is None or distance > rest else Stretch(part.road, lane, s)
        distance -= rest
    return None


def _leads_to(here: Stretch, end: Stretch) -> bool:
    if here.road != end.road or (here.lane < 0) != (end.lane < 0):
        return False
    return end.s >= here.s if here.lane < 0 else end.s <= here.s


def _rest(network: RoadNetwork, part: Stretch) -> float:
    """What is left of the road behind the place where it is entered [m]."""
    return network.length(part.road) - part.s if part.lane < 0 else part.s


def _onward(network: RoadNetwork, part: Stretch) -> Iterator[Stretch]:
    forward = part.lane < 0
    lane = _lane_at(network, part, network.length(part.road) if forward else 0.0)
    if lane is not None:
        for road, following, s in network.lanes_onward(part.road, lane):
            yield Stretch(road, following, s)


def _lane_at(network: RoadNetwork, part: Stretch, s: float) -> int | None:
    """The lane at a station further on; None: it ends before."""
    lanes = network.road(part.road).lanes
    first, last = lanes.index(part.s), lanes.index(s)
    lane: int | None = part.lane
    step = 1 if part.lane < 0 else -1
    for number in range(first, last, step):
        found = lanes.sections[number].lanes.get(lane or 0)
        if found is None:
            return None
        lane = found.successor if step > 0 else found.predecessor
    return lane if lane in lanes.sections[last].lanes else None
