# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The four reference drivers of UN Regulation No. 157: when they brake for another road user.

``CarefulDriver`` is the competent and careful human driver (performance model 1), ``FuzzyDriver``
the fuzzy safety model FSM (performance model 2; Mattas et al., Accident Analysis and Prevention
148, 2020), ``RssDriver`` responsibility-sensitive safety (arXiv:1708.06374), and
``RegulationDriver`` what 5.2.5.2 asks of the system itself. The formulas are those of the
regulation, 01 series of amendments (R157am4e.pdf), 5.2.5.2 and annex 3. Numbers and order of
evaluation are those of the code that the Joint Research Centre of the European Commission has
published: ec-jrc/JRC-FSM, commit 01b05c29, utility/models.py and utility/vehicle.py.
``python -m bench.reference_drivers`` runs both side by side.

All wait for a delay, which counts while there is danger, and then build up their deceleration. For
the careful driver, table 1 of the annex counts its 0.75 s from the end of perception. A danger is
perceived once the risk is evaluated, 0.4 s after the other has left the 0.375 m of usual wandering,
and the time to collision is 2 s or less. So the driver does not brake at once at 2 s, as if the
delay were over by then. JRC-FSM counts likewise; it takes a cut-in as perceived when the two
overlap, which is later.

What the regulation adds for a vehicle wholly in the lane, automatic braking with 0.85 g, is left
out, as in JRC-FSM: what is called avoidable here is so without it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from math import inf
from typing import ClassVar, Final, NamedTuple

#: Offset from the centre of the lane up to which a vehicle counts as wandering [m].
WANDERING: Final = 0.375
#: From leaving it to the risk [s].
RISK_EVALUATION: Final = 0.4
_G: Final = 9.81


class DriverSight(NamedTuple):
    """Another road user as a driver sees it.

    :ivar dt: since the last sight [s]
    :ivar speed, other_speed: along the lane [m/s]
    :ivar acceleration: own, over the last interval [m/s^2]
    :ivar gap: bumper to bumper along the lane [m]; negative while one is beside the other
    :ivar aside: free way between the sides, across the lane [m]; below 0 they overlap
    :ivar inward: speed of the other across the lane, towards the own way [m/s]
    :ivar deviation: of the other's centre from that of its lane, towards the own way [m]
    :ivar lengths: of both vehicles together [m]
    :ivar other_braking: deceleration of the other [m/s^2], 0 or more
    """

    dt: float
    speed: float
    other_speed: float
    acceleration: float
    gap: float
    aside: float
    inward: float
    deviation: float
    lengths: float
    other_braking: float = 0.0

    @property
    def closing(self) -> float:
        """How fast the gap closes [m/s]."""
        return self.speed - self.other_speed

    @property
    def time_to_collision(self) -> float:
        """Gap over closing speed [s], infinite if it does not close."""
        return self.gap / self.closing if self.closing > 0.0 else inf


class ReferenceDriver(ABC):
    """What a driver does about one other road user, sight by sight.

    ``delay`` [s] is that before braking, ``released`` [m/s^2] the deceleration meanwhile,
    ``hardest`` [m/s^2] that of the brake, and ``jerk`` [m/s^3] how fast it builds up.
    """

    __slots__ = ("_braking", "_left")

    delay: ClassVar[float] = 0.75
    released: ClassVar[float] = 0.0
    hardest: ClassVar[float] = 0.774 * _G
    jerk: ClassVar[float] = 12.65

    def __init__(self) -> None:
        self._left = self.delay
        self._braking = 0.0

    def demand(self, sight: DriverSight) -> float | None:
        """The acceleration that it wants, 0 or less [m/s^2]; None: it sees no danger."""
        ahead = sight.gap + 0.5 * sight.lengths > 0.0
        if not (ahead and self._in_danger(sight)):
            if sight.closing <= 0.0 or not ahead:
                self._left, self._braking = self.delay, 0.0
            return None
        if self._left > 0.0:
            self._left -= sight.dt
            self._braking = self.released
        else:
            self._braking = min(self._braking + self.jerk * sight.dt, self._most(sight))
        return -self._braking

    @abstractmethod
    def _in_danger(self, sight: DriverSight) -> bool:
        """Whether it has to brake for a road user that is not behind."""

    def _most(self, sight: DriverSight) -> float:
        """The deceleration that the danger asks for [m/s^2]."""
        return self.hardest


class CarefulDriver(ReferenceDriver):
    """The competent and careful human driver; once it brakes, until nothing closes in any more.

    A vehicle that is in the own lane counts as having left its lane. A vehicle that brakes harder
    than 5 m/s^2 is a danger within a headway of 2 s, too (esmini/esmini, commit 77028d83,
    ControllerALKS_R157SM.cpp; 2 s is the distance of the scenario with deceleration).

    :ivar first_ttc: time to collision when it has first evaluated the risk [s]; None: not yet
    :param wandering: deviation up to which a vehicle stays in its lane [m]
    :param evaluation: from leaving it to the risk [s]
    """

    __slots__ = ("_brakes", "_evaluation", "_seen_s", "_wandering", "first_ttc")

    RISKY_TTC: ClassVar[float] = 2.0
    RISKY_HEADWAY: ClassVar[float] = 2.0
    HARD: ClassVar[float] = 5.0
    #: When the accelerator is released; ``CC_release_deceleration`` of JRC-FSM.
    released = 0.4

    def __init__(self, wandering: float = WANDERING, evaluation: float = RISK_EVALUATION) -> None:
        super().__init__()
        self._wandering = wandering
        self._evaluation = evaluation
        self._seen_s: float | None = None
        self._brakes = False
        self.first_ttc: float | None = None

    @property
    def was_critical(self) -> bool:
        """Whether the time to collision was 2 s or less when it first evaluated the risk."""
        return self.first_ttc is None or self.first_ttc <= self.RISKY_TTC

    def _in_danger(self, sight: DriverSight) -> bool:
        if sight.deviation <= self._wandering and sight.aside > 0.0:
            self._seen_s = self.first_ttc = None
            self._brakes = False
            return False
        self._seen_s = 0.0 if self._seen_s is None else self._seen_s + sight.dt
        if self.first_ttc is None and self._seen_s >= self._evaluation - 0.5 * sight.dt:
            self.first_ttc = sight.time_to_collision
        risky = sight.time_to_collision <= self.RISKY_TTC or (
            sight.other_braking > self.HARD and 0.0 < sight.gap <= self.RISKY_HEADWAY * sight.speed
        )
        self._brakes = sight.closing > 0.0 and (
            self._brakes or (risky and self.first_ttc is not None)
        )
        return self._brakes


class RegulationDriver(ReferenceDriver):
    """The least that 5.2.5.2 asks: no collision if the time to collision, when the other has come
    into the lane, exceeds ``closing / (2 * 6 m/s^2) + 0.35 s``.

    It reacts from 0.1 s before that, with the sides 0.5 m apart, and brakes with 6 m/s^2 at once.
    """

    delay = 0.35
    hardest = 6.0
    jerk = inf
    ASIDE: ClassVar[float] = 0.5

    def _in_danger(self, sight: DriverSight) -> bool:
        if sight.aside > self.ASIDE:
            return False
        limit = sight.closing / (2.0 * self.hardest) + self.delay + 0.1
        return sight.time_to_collision <= limit


class RssDriver(ReferenceDriver):
    """Responsibility-sensitive safety: brakes where neither distance is safe.

    Along: the own vehicle accelerates by 3 m/s^2 for 0.75 s and then brakes with 6 m/s^2; the other
    brakes with 6 m/s^2. Across: the other does not slow down for 0.75 s, accelerates by 1 m/s^2,
    and then slows down by as much; 0.3 m remain.
    """

    ACCELERATION: ClassVar[float] = 3.0
    BRAKE: ClassVar[float] = 6.0
    ACROSS: ClassVar[float] = 1.0
    REMAINS: ClassVar[float] = 0.3

    def _in_danger(self, sight: DriverSight) -> bool:
        t, most = self.delay, sight.speed + self.delay * self.ACCELERATION
        along = (
            sight.speed * t
            + 0.5 * self.ACCELERATION * t * t
            + most * most / (2.0 * self.BRAKE)
            - sight.other_speed * sight.other_speed / (2.0 * self.BRAKE)
        )
        inward, a = abs(sight.inward), self.ACROSS
        fastest = inward + a * t
        across = self.REMAINS + 0.5 * (2.0 * inward + a * t) * t + fastest * fastest / (2.0 * a)
        return sight.gap < along and sight.aside < across


class FuzzyDriver(ReferenceDriver):
    """The fuzzy safety model: brakes gently ahead of a danger (PFS), and harder in it (CFS)."""

    __slots__ = ("_wanted",)

    COMFORTABLE: ClassVar[float] = 4.0
    HARD: ClassVar[float] = 6.0
    OTHER: ClassVar[float] = 7.0
    MARGIN: ClassVar[float] = 2.0

    def __init__(self) -> None:
        super().__init__()
        self._wanted = 0.0

    def _in_danger(self, sight: DriverSight) -> bool:
        if not self._meets(sight):
            return False
        critical, ahead = self.critical(sight), self.proactive(sight)
        if critical > 0.0:
            self._wanted = critical * (self.HARD - self.COMFORTABLE) + self.COMFORTABLE
        else:
            self._wanted = ahead * self.COMFORTABLE
        return critical + ahead > 0.0

    def _most(self, sight: DriverSight) -> float:
        return min(self._wanted, self.hardest)

    def _meets(self, sight: DriverSight) -> bool:
        """Whether the other comes into the way before the own vehicle has passed."""
        if sight.aside <= 0.0:
            return True
        if sight.inward <= 0.0 or sight.closing <= 0.0:
            return False
        passed = (sight.gap + sight.lengths) / sight.closing
        return sight.aside / sight.inward <= passed + 0.1

    def proactive(self, sight: DriverSight) -> float:
        """PFS, 0 to 1: how unsafe the gap is if the other brakes."""
        v, w, t = sight.speed, sight.other_speed, self.delay
        others = w * w / (2.0 * self.OTHER)
        safe = v * t + v * v / (2.0 * self.COMFORTABLE) - others + self.MARGIN
        unsafe = v * t + v * v / (2.0 * self.HARD) - others
        return _share(sight.gap - self.MARGIN, safe, unsafe)

    def critical(self, sight: DriverSight) -> float:
        """CFS, 0 to 1: how unsafe the gap is if the other keeps its speed."""
        if sight.closing <= 0.0:
            return 0.0
        t = self.delay
        a = max(sight.acceleration, -self.COMFORTABLE)
        after = sight.closing + a * t
        if after < 0.0:
            # It slows down already, and closes in no more within the delay.
            way = sight.closing * sight.closing / abs(2.0 * sight.acceleration)
            return 1.0 if sight.gap < way else 0.0
        way = (sight.closing + 0.5 * a * t) * t
        safe = way + after * after / (2.0 * self.COMFORTABLE)
        unsafe = way + after * after / (2.0 * self.HARD)
        return _share(sight.gap, safe, unsafe)


def _share(gap: float, safe: float, unsafe: float) -> float:
    """0 from the safe gap on, 1 up to the unsafe one, straight between them."""
    if gap > safe:
        return 0.0
    return 1.0 if gap < unsafe or safe <= unsafe else (gap - safe) / (unsafe - safe)


class CutIn(NamedTuple):
    """A vehicle that comes into the lane at constant speed along it.

    :ivar speed: of the own vehicle [m/s]
    :ivar other_speed: of the vehicle that cuts in [m/s]
    :ivar gap: bumper to bumper when it begins to change over [m]
    :ivar shift: time since then [s] -> how far it has come across [m]
    :ivar away: between the centres of the two lanes [m]
    :ivar width, length: of each vehicle [m]
    """

    speed: float
    other_speed: float
    gap: float
    shift: Callable[[float], float]
    away: float = 3.5
    width: float = 1.9
    length: float = 4.3


#: A cut-in has come to its end after this time [s].
_LONGEST: Final = 35.0


def smallest_gap(cut_in: CutIn, driver: ReferenceDriver, dt: float = 0.01) -> float:
    """The smallest gap of a driver's vehicle once both are in one lane [m].

    Negative: a contact; infinite: the driver has passed before, or the other does not come. While
    it sees no danger it keeps its speed.

    :param dt: between two sights [s]
    """
    gap, speed, before, least = cut_in.gap, cut_in.speed, 0.0, inf
    acceleration, lengths = 0.0, 2.0 * cut_in.length
    for number in range(1, round(_LONGEST / dt) + 1):
        gap += (cut_in.other_speed - speed) * dt
        shift = min(cut_in.shift(number * dt), cut_in.away)
        aside = cut_in.away - shift - cut_in.width
        if aside < 0.0 and gap > -lengths:
            least = min(least, gap)
            if gap < 0.0 or (speed <= cut_in.other_speed and shift >= cut_in.away):
                break
        sight = DriverSight(
            dt, speed, cut_in.other_speed, acceleration, gap, aside, (shift - before) / dt, shift,
            lengths,
        )  # fmt: skip
        before = shift
        demand = driver.demand(sight)
        slower = max(0.0, speed + demand * dt) if demand is not None else speed
        acceleration, speed = (slower - speed) / dt, slower
    return least


def is_avoidable(cut_in: CutIn, driver: ReferenceDriver | None = None, dt: float = 0.01) -> bool:
    """Whether a driver avoids a contact; None: the careful one.

    A cut-in counts as avoidable, too, whose time to collision exceeds 2 s when the careful driver
    evaluates the risk: it is not critical. JRC-FSM (``large_TTC``) leaves such cut-ins out.
    """
    driver = driver or CarefulDriver()
    if smallest_gap(cut_in, driver, dt) >= 0.0:
        return True
    return isinstance(driver, CarefulDriver) and not driver.was_critical
