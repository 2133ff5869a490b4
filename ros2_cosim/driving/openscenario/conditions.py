# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Triggers under way: which conditions hold now, with edges and delays."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from typing import NamedTuple

from ros2_cosim.core.kernel.exactmath import atan2, wrap_angle
from ros2_cosim.driving.openscenario.story import (
    Angle,
    Clearance,
    StoryCondition,
    Trigger,
    compare,
)
from ros2_cosim.driving.openscenario.traffic import Measuring, Seen, Traffic
from ros2_cosim.driving.openscenario.trajectories import pose_of
from ros2_cosim.world.map import RoadError
from ros2_cosim.world.map.encounters import time_headway, touch

#: Whether an element of the storyboard is in a state, or made a transition: (type, name, state).
LookUp = Callable[[str, str, str], bool]


class Instant(NamedTuple):
    """What conditions may ask at one time."""

    traffic: Traffic
    state: LookUp
    values: Mapping[str, float | str]


class ConditionRun:
    """One condition, asked once in each period while its trigger waits."""

    def __init__(self, condition: StoryCondition) -> None:
        self._condition = condition
        self._before: bool | None = None
        self._delay = round(condition.delay * 1e9)
        self._history: deque[tuple[int, bool]] = deque()
        #: Vehicles for which the condition held when it was asked last.
        self.vehicles: tuple[str, ...] = ()

    def holds(self, instant: Instant) -> bool:
        """Whether it holds now; the value of an edge or delay depends on the calls before."""
        value = self._with_edge(self._value(instant))
        if not self._delay:
            return value
        now = instant.traffic.time
        self._history.append((now, value))
        result = False
        while self._history and self._history[0][0] <= now - self._delay:
            # Events between two looks are not lost.
            result = self._history.popleft()[1] or result
        return result

    def _with_edge(self, value: bool) -> bool:
        before, self._before = self._before, value
        edge = self._condition.edge
        if edge == "none":
            return value
        if before is None:
            return False
        if edge == "rising":
            return value and not before
        if edge == "falling":
            return before and not value
        return value != before

    def _value(self, instant: Instant) -> bool:
        condition = self._condition
        if condition.constant is not None:
            return condition.constant
        if condition.time is not None:
            seconds = instant.traffic.time / 1e9
            return compare(condition.time.rule, seconds, condition.time.value)
        if condition.state is not None:
            asked = condition.state
            return instant.state(asked.type, asked.element, asked.state)
        if condition.value is not None:
            found = condition.value
            return compare(found.rule, instant.values[found.of], found.value)
        names = condition.vehicles
        self.vehicles = tuple(name for name in names if self._of(instant.traffic, name))
        if condition.every:
            return bool(names) and len(self.vehicles) == len(names)
        return bool(self.vehicles)

    def _of(self, traffic: Traffic, name: str) -> bool:
        """Whether a condition of vehicles holds for one; not if its place is on no road now."""
        try:
            return self._asked_of(traffic, name)
        except RoadError:
            return False

    def _asked_of(self, traffic: Traffic, name: str) -> bool:
        condition = self._condition
        seen = traffic.seen[name]
        if traffic.gone and (name in traffic.gone or _other_of(condition) in traffic.gone):
            return False
        if condition.angle is not None:
            return _has_angle(traffic, seen, condition.angle)
        if condition.clearance is not None:
            return _is_clear(traffic, name, condition.clearance)
        if condition.speed is not None:
            return compare(condition.speed.rule, seen.speed, condition.speed.value)
        if condition.acceleration is not None:
            asked = condition.acceleration
            return compare(asked.rule, traffic.acceleration[name], asked.value)
        if condition.relative_speed is not None:
            relative = condition.relative_speed
            difference = seen.speed - traffic.seen[relative.to].speed
            return compare(relative.rule, difference, relative.value)
        if condition.travelled is not None:
            return traffic.travelled[name] >= condition.travelled
        if condition.collision is not None:
            # The simulator pushes apart what touches: a contact may be over at the next look.
            there = traffic.seen.keys() - traffic.gone - {name}
            return any(
                touch(seen.lane, traffic.seen[other].lane) or {name, other} in traffic.touched
                for other in condition.collision
                if other in there
            )
        for duration, since in (
            (condition.stand_still, traffic.standing),
            (condition.end_of_road, traffic.at_end),
            (condition.off_road, traffic.off_road),
        ):
            if duration is not None:
                return name in since and (traffic.time - since[name]) / 1e9 >= duration
        if condition.reach is not None:
            x, y, _ = pose_of(condition.reach.place, traffic)
            way = traffic.distance(seen, traffic.point(x, y), Measuring("euclidian"))
            return way <= condition.reach.tolerance
        return self._of_distance(traffic, name)

    def _of_distance(self, traffic: Traffic, name: str) -> bool:
        condition, seen = self._condition, traffic.seen[name]
        asked = condition.distance or condition.headway or condition.time_to_collision
        assert asked is not None, condition
        network = None if asked.shortest else traffic.network_of(name)
        how = Measuring(asked.measure, asked.freespace, asked.along_road, network)
        if asked.to is not None:
            other = traffic.seen[asked.to]
        else:
            assert asked.place is not None
            x, y, _ = pose_of(asked.place, traffic)
            other = traffic.point(x, y)
        if condition.time_to_collision is not None:
            found = traffic.time_to_collision(seen, other, how)
        else:
            found = traffic.distance(seen, other, how)
            if condition.headway is not None:
                found = time_headway(found, seen.speed)
        return compare(asked.rule, found, asked.value)


def _other_of(condition: StoryCondition) -> str | None:
    """The other entity that a condition of a vehicle looks at."""
    asked = (
        condition.distance or condition.headway or condition.time_to_collision
        or condition.relative_speed or condition.angle
    )  # fmt: skip
    return None if asked is None else asked.to


def _has_angle(traffic: Traffic, seen: Seen, asked: Angle) -> bool:
    """Whether a heading is as wanted."""
    found = _heading(seen, along_road=asked.along_road)
    if asked.to is not None:
        found -= _heading(traffic.seen[asked.to], along_road=asked.along_road)
    return abs(wrap_angle(found - asked.angle)) <= asked.tolerance


def _heading(seen: Seen, *, along_road: bool) -> float:
    heading = atan2(seen.sin, seen.cos)
    return heading - atan2(seen.lane.lane_sin, seen.lane.lane_cos) if along_road else heading


def _is_clear(traffic: Traffic, name: str, asked: Clearance) -> bool:
    """Whether no other vehicle is where a vehicle wants to have room."""
    own = traffic.seen[name]
    for other, seen in traffic.seen.items():
        if other == name or other in traffic.gone or (asked.others and other not in asked.others):
            continue
        lanes = _lanes_to_the_left(own, seen, asked.opposite)
        if lanes is None or not _among(lanes, asked.lanes):
            continue
        how = Measuring("longitudinal", asked.freespace, True, traffic.network_of(name))
        way = traffic.way(own, seen, how)
        if -asked.backward <= way <= asked.forward:
            return False
    return True


def _lanes_to_the_left(own: Seen, other: Seen, opposite: bool) -> int | None:
    """How many lanes the other one's is to the left; None: in none that is looked at."""
    here, there = own.position.lane_id, other.position.lane_id
    if not here or not there or ((here < 0) != (there < 0) and not opposite):
        return None
    # There is no lane 0 between those of both directions.
    steps = there - here
    if (here < 0) != (there < 0):
        steps -= 1 if steps > 0 else -1
    return steps if own.along >= 0.0 else -steps


def _among(lanes: int, ranges: tuple[tuple[int, int], ...]) -> bool:
    return not ranges or any(low <= lanes <= high for low, high in ranges)


class TriggerRun:
    """A trigger that is waited for; None begins at once."""

    def __init__(self, trigger: Trigger | None) -> None:
        self._groups = None
        if trigger is not None:
            self._groups = [[ConditionRun(each) for each in group] for group in trigger]
        #: Vehicles for which the group held that fired.
        self.vehicles: tuple[str, ...] = ()
        #: The number of the group that fired.
        self.fired: int | None = None

    def fires(self, instant: Instant) -> bool:
        """Ask all conditions once."""
        if self._groups is None:
            return True
        fired = None
        for number, group in enumerate(self._groups):
            # All are asked each time: their edges and delays depend on it.
            values = [condition.holds(instant) for condition in group]
            if fired is None and values and all(values):
                fired = number
                found = [name for condition in group for name in condition.vehicles]
                self.vehicles = tuple(dict.fromkeys(found))
        self.fired = fired
        return fired is not None
