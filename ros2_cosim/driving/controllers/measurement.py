# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The input of a longitudinal control law, and the one method that it needs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple, Protocol, runtime_checkable

from ros2_cosim.core.messages.field_paths import RECORD_UNITS
from ros2_cosim.core.messages.records import DetectedObject


class Peer(NamedTuple):
    """Another vehicle's state as last heard by V2V (SI units, along its body x).

    ``commanded_acceleration`` is what its controller demands; it runs ahead of the
    ``acceleration`` by the vehicle's actuator lag. ``age`` [s] is the time since sending.
    """

    speed: float
    acceleration: float
    commanded_acceleration: float
    age: float


class Measurement(NamedTuple):
    """One look at the road ahead. A law is called only while there is an object ahead.

    All quantities are SI and lie along the lane, forward positive.

    - ``dt`` time since the previous activation [s]
    - ``speed``, ``acceleration`` of the own vehicle
    - ``gap`` bumper to bumper to the object ahead [m]; ``gap_rate`` its speed minus own speed
    - ``standstill_gap`` r [m] and ``time_gap`` h [s] of the spacing policy r + h v; ``time_gap``
      may move slowly (it opens while V2V is lost)
    - ``set_speed`` [m/s] wanted on a free road
    - ``previous_command`` [m/s^2]: the acceleration demanded last, after all limits
    - ``predecessor``, ``leader``: V2V peers, None while nothing fresh has been heard
    - ``objects``: all that the sensor sees, as it sent them; ``gap`` is that of the nearest one in
      the own lane
    """

    dt: float
    speed: float
    acceleration: float
    gap: float
    gap_rate: float
    standstill_gap: float
    time_gap: float
    set_speed: float
    previous_command: float = 0.0
    predecessor: Peer | None = None
    leader: Peer | None = None
    objects: tuple[DetectedObject, ...] = ()

    @property
    def desired_gap(self) -> float:
        """The gap of the spacing policy at the present speed [m]."""
        return self.standstill_gap + self.time_gap * self.speed

    @property
    def gap_error(self) -> float:
        """Gap minus desired gap [m]; positive when too far back."""
        return self.gap - self.standstill_gap - self.time_gap * self.speed


#: Class of records -> field -> SI unit, of all that a law may see.
UNITS: Final[Mapping[type, Mapping[str, str]]] = {
    **RECORD_UNITS,
    Peer: {
        "speed": "m/s",
        "acceleration": "m/s^2",
        "commanded_acceleration": "m/s^2",
        "age": "s",
    },
    Measurement: {
        **dict.fromkeys(("dt", "time_gap"), "s"),
        **dict.fromkeys(("gap", "standstill_gap"), "m"),
        **dict.fromkeys(("speed", "gap_rate", "set_speed"), "m/s"),
        **dict.fromkeys(("acceleration", "previous_command"), "m/s^2"),
    },
}


@runtime_checkable
class LongitudinalLaw(Protocol):
    """A control law: from one measurement to a demanded acceleration.

    A class with this one method is a law. It may have a class attribute ``needs_v2v``, a tuple of
    ``"predecessor"`` and ``"leader"``: while one of those is missing or stale, a fall-back law
    drives instead, so that the law itself need not check for None. A law with its own spacing has
    an attribute ``standstill_gap`` [m]: the gap at which it stands. With a class attribute
    ``drives_alone = True`` it is called without an object ahead, too (``gap`` is 1e9 m then), and
    no emergency brake stands behind it.
    """

    def acceleration(self, measurement: Measurement) -> float:
        """Return the demanded acceleration [m/s^2]; limits are applied afterwards."""
