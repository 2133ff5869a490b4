# SPDX-License-Identifier: Apache-2.0
"""Boxes of a fleet: found once for all sensors that look at the same samples, as alone."""

from __future__ import annotations

from typing import Any, NamedTuple

from hypothesis import given
from hypothesis import strategies as st

from ros2_cosim.core.kernel.sample import Sample
from ros2_cosim.core.messages.records import Odometry
from ros2_cosim.world.geometry.lane_frame import LaneBox, LaneBoxes

VEHICLES = [("odometry/a", 4.0, 2.0), ("odometry/b", 5.0, 2.0), ("odometry/c", 4.5, 1.9)]


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


def seen(found: list[LaneBox | None]) -> list[Any]:
    return [None if box is None else (box.x, box.length, box.position) for box in found]


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
    latest: dict[str, Sample | None] = dict.fromkeys(port for port, _, _ in VEHICLES)
    for number, (sensor, moves) in enumerate(looks):
        for (port, _, _), moved in zip(VEHICLES, moves, strict=True):
            if moved:
                latest[port] = Sample(number, number, odometry(float(number)))
        found, before[sensor] = shared.fleet(VEHICLES).look(before[sensor], latest)
        alone, own_before[sensor] = own[sensor].look(own_before[sensor], latest)
        assert seen(found) == seen(alone)
        assert before[sensor] == own_before[sensor]


def test_a_hundred_looks_at_the_same_samples_project_each_vehicle_once() -> None:
    road = CountedRoad()
    boxes = LaneBoxes(road)
    latest: dict[str, Sample | None] = {
        port: Sample(0, 0, odometry(10.0 * i)) for i, (port, _, _) in enumerate(VEHICLES)
    }
    for _ in range(100):
        fleet = boxes.fleet(VEHICLES)
        found, _ = fleet.look(fleet.nowhere(), latest)
        assert [box.x for box in found if box is not None] == [0.0, 10.0, 20.0]
    assert road.projections == len(VEHICLES)


def test_other_sizes_are_another_fleet() -> None:
    boxes = LaneBoxes(CountedRoad())
    longer = [(port, length + 1.0, width) for port, length, width in VEHICLES]
    assert boxes.fleet(VEHICLES) is boxes.fleet(list(VEHICLES))
    assert boxes.fleet(VEHICLES) is not boxes.fleet(longer)
