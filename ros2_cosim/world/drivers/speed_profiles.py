# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Speed over time, as pure functions: what the actions of a manoeuvre prescribe.

A profile has a duration [s]; ``at(t)`` gives the speed [m/s] and its derivative [m/s^2], t [s]
counted from the start of the profile. The mathematics is exact (``kernel.exactmath``), so that
a run has the same bits everywhere.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate
from typing import Final, NamedTuple, Protocol

from ros2_cosim.core.documents.installed import package_table
from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.kernel.exactmath import TWO_PI, cos, sin, total
from ros2_cosim.core.scene.manoeuvres import LARGEST_SPEED
from ros2_cosim.world.drivers.wltc import wltc_speeds


class SpeedPoint(NamedTuple):
    """Speed [m/s] and acceleration [m/s^2] at one time."""

    speed: float
    acceleration: float


class SpeedCourse(Protocol):
    """A speed over time."""

    @property
    def duration(self) -> float:
        """How long it lasts [s]."""

    def at(self, t: float) -> SpeedPoint:
        """The motion at 0 <= t <= duration."""


class Straight(NamedTuple):
    """From one speed to another in the given time, at constant acceleration."""

    start: float
    end: float
    duration: float

    def at(self, t: float) -> SpeedPoint:
        """The motion at t."""
        slope = (self.end - self.start) / self.duration if self.duration > 0.0 else 0.0
        return SpeedPoint(self.start + slope * t, slope)


class Oscillation(NamedTuple):
    """speed + amplitude sin(2 pi (f t + rate t^2 / 2)): a sine, or with a rate [Hz/s] a sweep."""

    speed: float
    amplitude: float
    frequency: float
    rate: float
    duration: float

    def at(self, t: float) -> SpeedPoint:
        """The motion at t."""
        angle = TWO_PI * (self.frequency * t + 0.5 * self.rate * t * t)
        slope = TWO_PI * (self.frequency + self.rate * t)
        return SpeedPoint(
            self.speed + self.amplitude * sin(angle), self.amplitude * slope * cos(angle)
        )


class Multitone(NamedTuple):
    """Harmonics of one period, each with the same amplitude of the acceleration.

    The phases grow with the square of the number of the harmonic (M. R. Schroeder, IEEE Trans.
    Inf. Theory 16 (1970)), which keeps the peaks low. The speed begins where the profile does.
    """

    speed: float
    amplitude: float
    period: float
    harmonics: tuple[int, ...]
    duration: float

    def at(self, t: float) -> SpeedPoint:
        """The motion at t."""
        speed = self.speed
        acceleration = 0.0
        count = len(self.harmonics)
        for number, k in enumerate(self.harmonics):
            w = TWO_PI * k / self.period
            phase = 0.5 * TWO_PI * number * number / count
            acceleration += self.amplitude * cos(w * t + phase)
            speed += self.amplitude / w * (sin(w * t + phase) - sin(phase))
        return SpeedPoint(speed, acceleration)


class Table:
    """Straight lines between given points of time."""

    def __init__(self, times: Sequence[float], speeds: Sequence[float]) -> None:
        """Make a profile.

        :param times: growing, the first one is the start [s]; at least two
        :param speeds: as many [m/s]
        """
        self._times = tuple(time - times[0] for time in times)
        self._speeds = tuple(speeds)

    @property
    def duration(self) -> float:
        """Until the last point [s]."""
        return self._times[-1]

    def at(self, t: float) -> SpeedPoint:
        """The motion at t."""
        times, speeds = self._times, self._speeds
        i = min(max(bisect_right(times, t) - 1, 0), len(times) - 2)
        slope = (speeds[i + 1] - speeds[i]) / (times[i + 1] - times[i])
        return SpeedPoint(speeds[i] + slope * (t - times[i]), slope)

    @property
    def distance(self) -> float:
        """The way from the first to the last point [m]."""
        points = list(zip(self._times, self._speeds, strict=True))
        return total(
            0.5 * (v0 + v1) * (t1 - t0)
            for (t0, v0), (t1, v1) in zip(points, points[1:], strict=False)
        )

    @property
    def largest(self) -> float:
        """The largest speed [m/s]."""
        return max(self._speeds)


class Chain:
    """Several profiles, one after the other."""

    def __init__(self, parts: Sequence[SpeedCourse]) -> None:
        """Make a profile of at least one part."""
        self._parts = tuple(parts)
        self._ends = tuple(accumulate(part.duration for part in parts))

    @property
    def duration(self) -> float:
        """Of all parts together [s]."""
        return self._ends[-1]

    def at(self, t: float) -> SpeedPoint:
        """The motion at t."""
        i = min(bisect_right(self._ends, t), len(self._parts) - 1)
        part = self._parts[i]
        return part.at(min(t - self._ends[i] + part.duration, part.duration))


_MILE: Final = 1609.344
#: The part of the UDDS that FTP-75 repeats [s].
_HOT_START: Final = 505


def drive_cycle(name: str) -> Table:
    """A standard drive cycle of Europe (``ece15``, 195 s, ``eudc``, 400 s, ``nedc``, 1180 s), of
    the United States (``udds``, 1369 s, ``ftp75``, 1874 s, ``hwfet``, 765 s) or of both and others
    (``wltc_3b``, 1800 s).

    Sources: UN Regulation No. 83, Annex 4a, tables 1 and 2: seconds, and the speed at their end
    [km/h], of the operations of the elementary urban and the extra-urban cycle. US Environmental
    Protection Agency, in the public domain: the Urban Dynamometer Driving Schedule (40 CFR part 86,
    appendix I, paragraph (a)) and the Highway Fuel Economy Driving Schedule (40 CFR part 600,
    appendix I) for each second in tenths of a mile/h, as NREL's FASTSim carries them. FTP-75 is the
    first of them and, after the vehicle has stood for ten minutes, which are not part of the cycle,
    again its first 505 s.

    :raises ConfigurationError: the table of ``wltc_3b`` is not installed
    """
    if name == "wltc_3b":
        wltc = wltc_speeds()
        table = Table(range(len(wltc)), [speed / 3.6 for speed in wltc])
        check_cycle(table, name, "cycle")
        return table
    cycles = package_table("world/drivers/drive_cycles.json")
    cycles["nedc"] = 4 * cycles["ece15"] + cycles["eudc"]
    cycles["ftp75"] = cycles["udds"] + cycles["udds"][1 : _HOT_START + 1]
    found = cycles[name]
    if name in ("udds", "ftp75", "hwfet"):
        return Table(range(len(found)), [0.1 * speed * _MILE / 3600.0 for speed in found])
    times = accumulate((seconds for seconds, _ in found), initial=0.0)
    return Table(tuple(times), (0.0, *(speed / 3.6 for _, speed in found)))


class PublishedCycle(NamedTuple):
    """What is published of a cycle that is a table for each second; distance in m, speed in m/s.

    ``tolerance`` [m] is that of the published distance.
    """

    duration: int
    distance: float
    largest: float
    tolerance: float


#: Sources: UN Global Technical Regulation No. 15, Annex 1 (WLTC, class 3b: 23,266 m); 40 CFR part
#: 86, Appendix I, with distances in hundredths of a mile (UDDS; FTP-75 is UDDS and again its first
#: 505 s); 40 CFR part 600, Appendix I (HWFET).
_PUBLISHED: Final = {
    "wltc_3b": PublishedCycle(1800, 23_266.0, LARGEST_SPEED["wltc_3b"], 2.0),
    "udds": PublishedCycle(1369, 7.45 * _MILE, LARGEST_SPEED["udds"], 0.01 * _MILE),
    "hwfet": PublishedCycle(765, 10.26 * _MILE, LARGEST_SPEED["hwfet"], 0.01 * _MILE),
    "ftp75": PublishedCycle(1874, 11.04 * _MILE, LARGEST_SPEED["ftp75"], 0.01 * _MILE),
}
#: Tables have a tenth of a km/h or of a mile/h: half of the latter [m/s].
_SPEED_TOLERANCE: Final = 0.05 * _MILE / 3600.0


def check_cycle(table: Table, name: str, where: str) -> None:
    """Check whether a speed over time has the duration, distance and largest speed of a cycle.

    :raises ConfigurationError: it has not
    """
    published = _PUBLISHED[name]
    for found, wanted, tolerance, what in (
        (table.duration, float(published.duration), 0.5, "a duration of {:g} s"),
        (table.distance, published.distance, published.tolerance, "a distance of {:.0f} m"),
        (table.largest, published.largest, _SPEED_TOLERANCE, "a largest speed of {:.2f} m/s"),
    ):
        if abs(found - wanted) > tolerance:
            raise ConfigurationError(
                f"{where}: found {what.format(found)}; the cycle {name} has {what.format(wanted)}"
            )
