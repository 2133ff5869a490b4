# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Where background traffic starts: drawn from a seed, out of the way of the scene's vehicles.

No background vehicle starts in a lane that a vehicle of the scene drives along: what is ahead
of those is for the scenario alone to say.
"""

from __future__ import annotations

from typing import NamedTuple

from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.kernel.random_streams import RandomStream
from ros2_cosim.world.carla.parameters import ObjectSpec, SceneParameters, VehicleSpec
from ros2_cosim.world.map import RoadNetwork, driving_direction

SPACING = 50.0
"""Between two places of a lane [m]."""

_JITTER = 10.0  # m, to either side of a place
_MARGIN = 30.0  # m, from the ends of a road
_CLEAR = 100.0  # m, from a static object in the same lane, and to the end of the lane
_HOP = 25.0  # m, when following a lane
_MAX_HOPS = 2000
# Before a bend that a vehicle cannot brake for, or hold sideways [m/s^2], none starts.
_BRAKING, _SIDEWAYS = 8.0, 9.0
_BEND_STEP = 4.0  # m, between the places where a bend is looked at
_DEFAULT_SPEED = 14.0  # m/s, where neither the road nor the scene names one
_SLOWEST, _FASTEST = 0.8, 1.0  # of the speed limit
#: Blueprint and the dynamics that its driver assumes.
_MODELS = (
    ("vehicle.tesla.model3", "sedan"),
    ("vehicle.audi.tt", "sedan"),
    ("vehicle.lincoln.mkz_2020", "sedan"),
    ("vehicle.mercedes.sprinter", "van"),
)


class _Place(NamedTuple):
    road: int
    lane: int
    s: float


def place_traffic(network: RoadNetwork, parameters: SceneParameters) -> list[VehicleSpec]:
    """``parameters.traffic`` vehicles, named ``traffic1``, ``traffic2``, ...

    :raises ConfigurationError: the map has no room for so many
    """
    if parameters.traffic == 0:
        return []
    places = _places(network, parameters)
    if len(places) < parameters.traffic:
        raise ConfigurationError(
            f"scene: traffic={parameters.traffic}; outside the lanes of the scene's vehicles this "
            f"map has room for {len(places)}"
        )
    usable = [p for p in places if _can_slow(network, p, _usual_speed(network, parameters, p))]
    if len(usable) >= parameters.traffic:
        places = usable
    stream = RandomStream(parameters.traffic_seed, "traffic", "placement")
    specs = []
    for number in range(1, parameters.traffic + 1):
        place = places.pop(stream.integers(len(places)))
        blueprint, dynamics = _MODELS[stream.integers(len(_MODELS))]
        s = place.s + stream.uniform_between(-_JITTER, _JITTER)
        share = stream.uniform_between(_SLOWEST, _FASTEST)
        specs.append(
            VehicleSpec(
                f"traffic{number}",
                place.lane,
                s,
                share * _usual_speed(network, parameters, place),
                blueprint,
                place.road,
                dynamics=dynamics,
            )
        )
    return specs


def _usual_speed(network: RoadNetwork, parameters: SceneParameters, place: _Place) -> float:
    limit = network.speed_limit(place.road, place.s)
    if limit is None:
        limit = max(spec.speed for spec in parameters.present)
    return min(limit, 100.0) or _DEFAULT_SPEED


def _places(network: RoadNetwork, parameters: SceneParameters) -> list[_Place]:
    """All places in a fixed order: by road, lane and station."""
    taken = {
        way for spec in parameters.present for way in _way(network, spec.road, spec.lane, spec.s)
    }
    places = []
    for road in sorted(network.roads):
        if network.roads[road].junction is not None:
            continue
        length = network.length(road)
        count = int((length - 2.0 * _MARGIN) / SPACING) + 1 if length > 2.0 * _MARGIN else 0
        for index in range(count):
            s = _MARGIN + index * SPACING
            for lane in sorted(network.lane_ids(road, s, "driving")):
                place = _Place(road, lane, s)
                near = any(_is_near(place, entry) for entry in parameters.objects)
                if (road, lane) not in taken and not near and _goes_on(network, place):
                    places.append(place)
    return places


def _is_near(place: _Place, entry: ObjectSpec) -> bool:
    same = (place.road, place.lane) == (entry.road, entry.lane)
    return same and -_CLEAR < place.s - entry.s < _CLEAR


def _goes_on(network: RoadNetwork, place: _Place) -> bool:
    """Whether the lane is there as far as a vehicle may be moved, and does not end soon."""
    for s in (place.s - _JITTER, place.s + _JITTER):
        if place.lane not in network.lane_ids(place.road, s, "driving"):
            return False
    ahead = network.advance(*place, _CLEAR + _JITTER)
    return network.advance(*ahead, 1.0) != ahead


def _can_slow(network: RoadNetwork, place: _Place, speed: float) -> bool:
    """Whether a vehicle that starts at a speed can drive the bends ahead."""
    reach = speed * speed / (2.0 * _BRAKING) + _JITTER
    for stretch in network.lane_ahead(*place, reach):
        direction = driving_direction(stretch.lane_id)
        for index in range(int(stretch.length / _BEND_STEP)):
            along = (index + 0.5) * _BEND_STEP
            s = stretch.s + direction * along
            t = network.lane_centre(stretch.road_id, stretch.lane_id, s)
            ahead = max(stretch.way + along - _JITTER, 0.0)
            square = speed * speed - 2.0 * _BRAKING * ahead
            if abs(network.curvature(stretch.road_id, s, t)) * square > _SIDEWAYS:
                return False
    return True


def _way(network: RoadNetwork, road: int, lane: int, s: float) -> set[tuple[int, int]]:
    """(road, lane) of everything ahead of a vehicle that keeps its lane."""
    found = {(road, lane)}
    for _ in range(_MAX_HOPS):
        following = network.advance(road, lane, s, _HOP)
        if following == (road, lane, s):
            break
        road, lane, s = following
        found.add((road, lane))
    return found
