# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""A manoeuvre under way: which action a vehicle is at, and the motion that it prescribes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from ros2_cosim.core.documents.csv_rows import read_rows
from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.scene.manoeuvres import Action, Condition, LaneChange, SpeedFile
from ros2_cosim.world.drivers.speed_profiles import (
    Chain,
    Multitone,
    Oscillation,
    SpeedCourse,
    SpeedPoint,
    Straight,
    Table,
    check_cycle,
    drive_cycle,
)

#: Columns of a file that does not name its own.
_TIME: Final = "time"
_SPEED: Final = "speed"
#: Longest speed over time [ns].
_LONGEST: Final = 10**18
_UNITS: Final = {"m/s": 1.0, "km/h": 1.0 / 3.6, "mph": 0.44704}
_MAX_SPEED: Final = 100.0
_NS: Final = 1e9


class Room(NamedTuple):
    """What a condition may ask: gap [m], bumper to bumper, and how fast it closes [m/s].

    ``is_ahead`` tells whether the other one is ahead.
    """

    gap: float
    closing: float
    is_ahead: bool = True


#: From the name of a vehicle (None: what is next ahead in the own lane) to the room; None: nothing.
Look = Callable[[str | None], Room | None]


class Order(NamedTuple):
    """The action to do now; ``lane_change`` is given once, when it begins."""

    motion: SpeedPoint
    lane_change: LaneChange | None


class PlannedAction(NamedTuple):
    """An action with what had to be read for it."""

    action: Action
    table: Table | None


def plan_manoeuvre(
    actions: Sequence[Action], base_directory: Path, where: str
) -> tuple[PlannedAction, ...]:
    """Read the files of a manoeuvre.

    :param where: how messages call the place of the manoeuvre
    :raises ConfigurationError: a file cannot be read, or is none of speeds over time
    """
    planned = []
    for number, action in enumerate(actions):
        table = None
        if action.csv is not None:
            place = f"{where}.{number}.csv"
            table = _speed_file(base_directory / action.csv.file, action.csv, place)
            if action.csv.cycle is not None:
                check_cycle(table, action.csv.cycle, f"{where}.{number}.csv.file")
        elif action.cycle is not None:
            table = drive_cycle(action.cycle)
        planned.append(PlannedAction(action, table))
    return tuple(planned)


class ManoeuvreRun:
    """The manoeuvre of one vehicle, asked in order of time.

    Before the first action, and after the last one, the vehicle holds the speed that it has
    been given last.
    """

    def __init__(self, planned: Sequence[PlannedAction], speed: float) -> None:
        """Begin at a speed [m/s]."""
        self._planned = tuple(planned)
        self._next = 0
        self._profile: SpeedCourse = Straight(speed, speed, 0.0)
        self._began = 0

    def update(self, time: int, distance: float, look: Look) -> Order:
        """The motion of now.

        :param time: since the start of the run [ns]
        :param distance: from where the vehicle started [m]
        :param look: what a condition may ask
        """
        change = None
        while self._next < len(self._planned) and self._begins(time, distance, look):
            planned = self._planned[self._next]
            ended = self._motion(time)
            # A manoeuvre that was complete in between counts from its end, so that the times do not
            # drift.
            end = self._began + round(self._profile.duration * _NS)
            self._began = time if planned.action.when is not None else min(end, time)
            self._profile = _profile_of(planned, ended.speed)
            self._next += 1
            if planned.action.lane_change is not None:
                change = planned.action.lane_change
        return Order(self._motion(time), change)

    def _begins(self, time: int, distance: float, look: Look) -> bool:
        condition = self._planned[self._next].action.when
        if condition is None:
            return time - self._began >= round(self._profile.duration * _NS)
        return holds(condition, time, distance, look)

    def _motion(self, time: int) -> SpeedPoint:
        t = (time - self._began) / _NS
        if t >= self._profile.duration:
            return SpeedPoint(max(0.0, self._profile.at(self._profile.duration).speed), 0.0)
        speed, acceleration = self._profile.at(t)
        return SpeedPoint(speed, acceleration) if speed >= 0.0 else SpeedPoint(0.0, 0.0)


def holds(condition: Condition, time: int, distance: float, look: Look) -> bool:
    """Whether a condition is fulfilled; see :meth:`ManoeuvreRun.update`."""
    if condition.time is not None:
        return time >= condition.time
    if condition.distance is not None:
        return distance >= condition.distance
    room = look(condition.of)
    if room is None:
        return False
    if condition.gap is not None:
        return room.gap <= condition.gap
    if condition.past is not None:
        return not room.is_ahead and room.gap >= condition.past
    assert condition.ttc is not None
    return room.closing > 0.0 and room.gap <= condition.ttc * room.closing


def _profile_of(planned: PlannedAction, speed: float) -> SpeedCourse:
    """The profile of an action that begins at a speed."""
    if planned.table is not None:
        return planned.table
    return _MAKERS[planned.action.kind](planned.action, speed)


def _ramp(speed: float, end: float, acceleration: float) -> Straight:
    return Straight(speed, end, abs(end - speed) / acceleration)


def _stop_and_go(action: Action, speed: float) -> SpeedCourse:
    s: Any = action.stop_and_go
    parts: list[SpeedCourse] = []
    for _ in range(s.cycles):
        parts += [
            _ramp(speed, 0.0, s.deceleration),
            Straight(0.0, 0.0, s.stop / _NS),
            _ramp(0.0, s.speed, s.acceleration),
            Straight(s.speed, s.speed, s.go / _NS),
        ]
        speed = s.speed
    return Chain(parts)


def _constant(action: Action, speed: float) -> SpeedCourse:
    return Straight(speed, speed, (action.constant or 0) / _NS)


def _to_speed(action: Action, speed: float) -> SpeedCourse:
    assert action.ramp is not None
    return _ramp(speed, action.ramp.speed, action.ramp.acceleration)


def _sine(action: Action, speed: float) -> SpeedCourse:
    s = action.sine
    assert s is not None
    period = s.period / _NS
    return Oscillation(speed, s.amplitude, 1.0 / period, 0.0, s.cycles * period)


def _sweep(action: Action, speed: float) -> SpeedCourse:
    s = action.sweep
    assert s is not None
    duration = s.duration / _NS
    return Oscillation(speed, s.amplitude, s.start, (s.end - s.start) / duration, duration)


def _multisine(action: Action, speed: float) -> SpeedCourse:
    s = action.multisine
    assert s is not None
    period = s.period / _NS
    return Multitone(speed, s.amplitude, period, s.harmonics, s.cycles * period)


def _lane_change(action: Action, speed: float) -> SpeedCourse:
    assert action.lane_change is not None
    return Straight(speed, speed, action.lane_change.duration / _NS)


_MAKERS: Final[dict[str, Callable[[Action, float], SpeedCourse]]] = {
    "constant": _constant,
    "ramp": _to_speed,
    "sine": _sine,
    "sweep": _sweep,
    "multisine": _multisine,
    "stop_and_go": _stop_and_go,
    "lane_change": _lane_change,
}


def _speed_file(path: Path, file: SpeedFile, where: str) -> Table:
    """The speeds of a file; a row without a speed, which a receiver has missed, is left out."""
    time_column, speed_column = file.time or _TIME, file.speed or _SPEED
    named = [name for name in (file.time, file.speed) if name is not None]
    times: list[int] = []
    speeds: list[float] = []
    for row in read_rows(path, f"{where}.file", named, {_TIME: 0, _SPEED: 1}):
        if named and not row.text(speed_column):
            continue
        time = row.time_in(time_column)
        speed = row.number_in(speed_column) * _UNITS[file.unit]
        if not 0.0 <= speed <= _MAX_SPEED:
            raise row.fault(speed_column, f"a speed of 0 to {_MAX_SPEED:g} m/s")
        if times and not times[-1] < time < times[0] + _LONGEST:
            raise row.fault(time_column, "a time that is later than that before")
        times.append(time)
        speeds.append(speed)
    if len(times) < 2:
        raise ConfigurationError(
            f"{where}.file: {path}: found {len(times)} rows of time and speed; allowed are 2 or "
            "more"
        )
    return Table([(time - times[0]) / _NS for time in times], speeds)
