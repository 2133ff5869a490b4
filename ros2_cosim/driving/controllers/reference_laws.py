# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The reference drivers of UN R157 as control laws, which any scenario can name.

Such a law sees what the object sensor sees, and judges each road user by itself. It drives alone:
no emergency brake stands behind it. Between dangers it follows the vehicle ahead with the distance
that 5.2.3.3 of the regulation asks, and no harsh braking.
"""

from __future__ import annotations

from typing import Any, ClassVar, Final

from pydantic import Field, PrivateAttr

from ros2_cosim.core.documents.settings import Number, Section
from ros2_cosim.core.kernel.saved_state import SavedAttributes
from ros2_cosim.core.messages.records import DetectedObject
from ros2_cosim.core.scene.scene import DEFAULT_SIZE
from ros2_cosim.driving.controllers.measurement import Measurement
from ros2_cosim.driving.controllers.reference_drivers import (
    CarefulDriver,
    DriverSight,
    FuzzyDriver,
    ReferenceDriver,
    RegulationDriver,
    RssDriver,
)
from ros2_cosim.driving.controllers.safety import BrakingEstimator, slope_of

_LENGTH, _WIDTH, _ = DEFAULT_SIZE
#: More than any limit of a demand allows [m/s^2]: the cruise control decides.
_FREE: Final = 20.0
#: A road user that the sensor has lost is forgotten after this time [s].
_FORGOTTEN: Final = 1.0
#: Over which the speed across the lane is measured [ns].
_WINDOW_NS: Final = 400_000_000
#: Gain on the error of the distance [1/s].
_GAIN: Final = 0.1
_LANE_WIDTH: Final = 3.5


class _Watched:
    """One road user, and the driver that looks at it."""

    def __init__(self, driver: ReferenceDriver) -> None:
        self.driver = driver
        self.braking = BrakingEstimator()
        self.looks: list[tuple[int, float]] = []
        self.unseen = 0.0
        self.demand: float | None = None

    def look(self, now: int, item: DetectedObject, m: Measurement, lane_width: float) -> None:
        """Let the driver decide."""
        offset = abs(item.lateral_offset)
        while self.looks and now - self.looks[0][0] > _WINDOW_NS:
            del self.looks[0]
        self.looks.append((now, offset))
        other_speed = m.speed + item.relative_speed
        sight = DriverSight(
            m.dt,
            m.speed,
            other_speed,
            m.acceleration,
            item.distance,
            offset - 0.5 * (_WIDTH + item.width),
            0.0 - slope_of(self.looks),
            lane_width - offset,
            _LENGTH + item.length,
            self.braking.update(item.id, other_speed, m.dt),
        )
        self.unseen = 0.0
        self.demand = self.driver.demand(sight)


class ReferenceLaw(Section):
    """What the four have in common."""

    comfort: Number = Field(
        default=2.0,
        ge=0,
        description="hardest braking to keep its distance without danger; 0: it keeps none, and "
        "brakes in danger alone [m/s^2]",
    )
    needs_v2v: ClassVar = ()
    drives_alone: ClassVar = True
    driver: ClassVar[type[ReferenceDriver]]

    #: Simulated time since the first call [ns], and identity -> road user.
    _now: int = PrivateAttr(default=0)
    _watched: dict[int, _Watched] = PrivateAttr(default_factory=dict)

    def acceleration(self, measurement: Measurement) -> float:
        """Return the demanded acceleration [m/s^2]."""
        m = measurement
        self._now += round(m.dt * 1e9)
        watched = self._watched
        for each in watched.values():
            each.unseen += m.dt
        for item in m.objects:
            if item.id not in watched:
                watched[item.id] = _Watched(self.driver())
            watched[item.id].look(self._now, item, m, self._lane())
        self._watched = {n: each for n, each in watched.items() if each.unseen < _FORGOTTEN}
        demands = [each.demand for each in self._watched.values() if each.demand is not None]
        if self.comfort > 0.0:
            room = m.gap - following_distance(m.speed)
            demands.append(max((m.gap_rate + _GAIN * room) / _time_gap(m.speed), -self.comfort))
        return min(_FREE, *demands) if demands else _FREE

    def _lane(self) -> float:
        """Width of the lanes [m]: a driver may ask how far another one has left its own."""
        return _LANE_WIDTH

    def save_state(self) -> Any:
        """The road users, and what each driver waits for."""
        users = [[number, _STATE.save(each)] for number, each in self._watched.items()]
        return [self._now, users]

    def restore_state(self, state: Any) -> None:
        """Go back to a state that ``save_state`` gave."""
        self._now, users = state
        self._watched = {}
        for number, saved in users:
            self._watched[number] = _Watched(self.driver())
            _STATE.restore(self._watched[number], saved)


def following_distance(speed: float) -> float:
    """The least distance to a vehicle ahead, UN R157, 5.2.3.3, for M1 and N1 [m].

    Beyond the 60 km/h of the table the time gap grows on as up to there.

    :param speed: own [m/s]
    """
    return max(2.0, speed * _time_gap(speed))


def _time_gap(speed: float) -> float:
    """1 s up to 7.2 km/h, 1.1 s at 10 km/h, and 0.1 s more for each further 10 km/h [s]."""
    kmh = 3.6 * speed
    if kmh <= 7.2:
        return 1.0
    return 1.0 + 0.1 * (kmh - 7.2) / 2.8 if kmh < 10.0 else 1.0 + 0.01 * kmh


class CarefulLaw(ReferenceLaw):
    """The competent and careful human driver."""

    lane_width: Number = Field(default=_LANE_WIDTH, gt=0, description="of the lanes [m]")

    driver = CarefulDriver

    def _lane(self) -> float:
        return self.lane_width


class FuzzyLaw(ReferenceLaw):
    """The fuzzy safety model."""

    driver = FuzzyDriver


class RssLaw(ReferenceLaw):
    """Responsibility-sensitive safety."""

    driver = RssDriver


class RegulationLaw(ReferenceLaw):
    """The least that 5.2.5.2 asks of the system."""

    driver = RegulationDriver


_STATE = SavedAttributes(
    parts=(_Watched, BrakingEstimator, CarefulDriver, FuzzyDriver, RegulationDriver, RssDriver)
)
