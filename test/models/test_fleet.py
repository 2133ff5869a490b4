# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Boxes of a fleet: found once for all sensors that look at the same samples, as alone."""

from __future__ import annotations

from typing import Any, NamedTuple

from hypothesis import given
from hypothesis import strategies as st

from ros2_cosim.core.kernel.sample import Sample
from ros2_cosim.core.messages.records import Odometry
from ros2_cosim.world.map.lane_boxes import LaneBoxes, Sighting, VehiclePort

VEHICLES = [
    VehiclePort("odometry/a", 1, 1, 4.0, 2.0),
    VehiclePort("odometry/b", 2, 2, 5.0, 2.0),
    VehiclePort("odometry/c", 3, 1, 4.5, 1.9),
]


class Place(NamedTuple):
    """A position that tells from which one it was found."""

    x: float
    heading: float
    found_from: float | None


class CountedRoad:
    """A straight road; what it finds depends on the hint, as a real one's may."""

    def __init__(self) -> None:
        self.projections = 0

    def project(self, x: float, y: float, hint: Any = None) -> Place:
        """The place of a point."""
        self.projections += 1
        return Place(x, 0.0, None if hint is None else hint.x)

    def distance(self, start: Any, end: Any) -> float:
        """Along the road."""
        return float(end.x - start.x)

    def beside_lane(self, start: Any, lane_id: int, x: float, y: float, reach: float) -> Any:
        """Not looked for here."""
        return None


def odometry(x: float) -> Odometry:
    return Odometry(x, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 20.0, 0.0, 0.0, 0.0, 0.0, 0.0)


def seen(look: Sighting) -> list[Any]:
    boxes = [(box.x, box.length, box.position) for box in look.boxes]
    return [boxes, look.identities, look.positions]


@given(
    st.lists(
        st.tuples(st.integers(0, 2), st.lists(st.booleans(), min_size=3, max_size=3)), max_size=12
    )
)
def test_a_look_that_is_shared_finds_what_it_would_find_alone(looks: Any) -> None:
    """Sensors look in any order, some at newer samples than others."""
    shared = LaneBoxes(CountedRoad())
    before = [shared.fleet(VEHICLES).nowhere()] * 3
    own = [LaneBoxes(CountedRoad()).fleet(VEHICLES) for _ in range(3)]
    own_before = [fleet.nowhere() for fleet in own]
    latest: dict[str, Sample | None] = dict.fromkeys(vehicle.port for vehicle in VEHICLES)
    for number, (sensor, moves) in enumerate(looks):
        for vehicle, moved in zip(VEHICLES, moves, strict=True):
            if moved:
                latest[vehicle.port] = Sample(number, number, odometry(float(number)))
        found = shared.fleet(VEHICLES).look(before[sensor], latest)
        alone = own[sensor].look(own_before[sensor], latest)
        assert seen(found) == seen(alone)
        before[sensor], own_before[sensor] = found.positions, alone.positions


def test_a_hundred_looks_at_the_same_samples_project_each_vehicle_once() -> None:
    road = CountedRoad()
    boxes = LaneBoxes(road)
    latest: dict[str, Sample | None] = {
        vehicle.port: Sample(0, 0, odometry(10.0 * i)) for i, vehicle in enumerate(VEHICLES)
    }
    for _ in range(100):
        fleet = boxes.fleet(VEHICLES)
        found = fleet.look(fleet.nowhere(), latest)
        assert [box.x for box in found.boxes] == [0.0, 10.0, 20.0]
    assert road.projections == len(VEHICLES)


def test_other_sizes_are_another_fleet() -> None:
    boxes = LaneBoxes(CountedRoad())
    longer = [vehicle._replace(length=vehicle.length + 1.0) for vehicle in VEHICLES]
    assert boxes.fleet(VEHICLES) is boxes.fleet(list(VEHICLES))
    assert boxes.fleet(VEHICLES) is not boxes.fleet(longer)


@given(
    st.lists(st.tuples(st.floats(-1e4, 1e4), st.floats(0.5, 30.0)), max_size=12),
    st.floats(-1e4, 1e4),
    st.floats(0.1, 5e3),
)
def test_what_lies_within_reach_is_near(
    places: list[tuple[float, float]], x: float, reach: float
) -> None:
    fleet = [VehiclePort(f"{i}", i, 1, length, 2.0) for i, (_, length) in enumerate(places)]
    latest: dict[str, Sample | None] = {
        f"{i}": Sample(0, 0, odometry(there)) for i, (there, _) in enumerate(places)
    }
    look = LaneBoxes(CountedRoad()).fleet(fleet)
    found = look.look(look.nowhere(), latest).near(x, 0.0, reach)
    assert found == sorted(found)
    within = [
        i for i, (there, length) in enumerate(places) if abs(there - x) <= reach + length + 2.0
    ]
    assert set(within) <= set(found)
    assert all(abs(places[i][0] - x) < 4.0 * (reach + 32.0) for i in found)


def test_a_place_that_is_no_number_is_near_nothing() -> None:
    boxes = LaneBoxes(CountedRoad())
    fleet = boxes.fleet(VEHICLES)
    latest: dict[str, Sample | None] = {
        vehicle.port: Sample(0, 0, odometry(x))
        for vehicle, x in zip(VEHICLES, (0.0, float("nan"), float("inf")), strict=True)
    }
    look = fleet.look(fleet.nowhere(), latest)
    assert look.near(0.0, 0.0, 10.0) == [0]
    assert look.near(float("nan"), 0.0, 10.0) == look.near(0.0, float("inf"), 10.0) == []
