# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Tracks of objects along the lane: prediction, gate, correction, and whether they are real.

A track is a Kalman filter of distance and speed along the lane, with a speed that white noise
changes (constant velocity), and a second one of offset and drift across it. The own speed is
known: the distance grows with the object's speed less the own one.

Whether a track is an object is a probability that each look changes by Bayes' rule: up where it
is seen, down where it is not (the existence of D. Musicki, R. Evans, S. Stankovic, IEEE Trans.
Automatic Control 39 (1994) 1237-1241, with a fixed probability of false detections).
"""

from __future__ import annotations

from typing import Final

from pydantic import Field

from ros2_cosim.core.documents.settings import Number, Section
from ros2_cosim.core.messages.records import DetectedObject

#: Variance of the drift across the lane of a new track: a lane change takes some 2 m/s [m^2/s^2].
_DRIFT: Final = 1.0
#: Drift is at rest after this time: an object stays in its lane unless it is seen leaving [s].
_DRIFT_TIME: Final = 2.0
#: Noise below this is taken for it: exact measurements would make a filter that trusts no other.
_LEAST_NOISE: Final = 1e-3
#: Certainty stops there, or an object that was seen for long would never be given up [1].
_MOST_CERTAIN: Final = 0.999
#: Acceleration of objects across the lane: standard deviation [m/s^2].
_LATERAL_ACCELERATION: Final = 1.0
#: Probability of a detection where there is no object [1].
_FALSE: Final = 0.1


class TrackParameters(Section):
    """How objects are believed to move, how sensors err, and when a track is believed."""

    distance_noise: Number = Field(
        default=0.1, ge=0, description="of the sensors: standard deviation [m]"
    )
    speed_noise: Number = Field(
        default=0.1, ge=0, description="of the sensors: standard deviation [m/s]"
    )
    lateral_noise: Number = Field(
        default=0.1, ge=0, description="of the sensors: standard deviation [m]"
    )
    acceleration: Number = Field(
        default=5.0,
        gt=0,
        description="of objects along the lane: standard deviation; emergency braking has to stay "
        "within the gate [m/s^2]",
    )
    gate: Number = Field(
        default=16.27,
        gt=0,
        description="largest squared distance between a track and a measurement of it, in standard "
        "deviations; the default leaves out one true pair of a thousand [1]",
    )
    detection_probability: Number = Field(
        default=0.9, gt=0, lt=1, description="of an object at one look [1]"
    )
    birth: Number = Field(
        default=0.3, gt=0, lt=1, description="existence probability at the first detection [1]"
    )
    confirmed: Number = Field(
        default=0.95, gt=0, lt=1, description="existence probability to report a track [1]"
    )
    given_up: Number = Field(
        default=0.1, gt=0, lt=1, description="existence probability below which it is dropped [1]"
    )


class Axis:
    """Place and rate along one direction with their covariance (constant rate, white noise).

    :ivar place: [m]
    :ivar rate: [m/s]
    """

    __slots__ = ("p11", "p12", "p22", "place", "rate")

    def __init__(self, place: float, rate: float, place_var: float, rate_var: float) -> None:
        self.place = place
        self.rate = rate
        self.p11 = place_var
        self.p12 = 0.0
        self.p22 = rate_var

    def predict(self, dt: float, acceleration: float, own: float = 0.0) -> None:
        """Go on by ``dt`` [s].

        :param acceleration: standard deviation [m/s^2]
        :param own: rate of the frame in which the place is measured [m/s]
        """
        q = acceleration * acceleration
        self.place += (self.rate - own) * dt
        self.p11 += dt * (2.0 * self.p12 + dt * self.p22) + 0.25 * q * dt * dt * dt * dt
        self.p12 += dt * self.p22 + 0.5 * q * dt * dt * dt
        self.p22 += q * dt * dt

    def far(self, place: float, rate: float, place_var: float, rate_var: float) -> float:
        """Squared distance of a measurement in standard deviations (Mahalanobis)."""
        s11, s12, s22 = self.p11 + place_var, self.p12, self.p22 + rate_var
        dp, dr = place - self.place, rate - self.rate
        return (s22 * dp * dp - 2.0 * s12 * dp * dr + s11 * dr * dr) / (s11 * s22 - s12 * s12)

    def correct(self, place: float, rate: float, place_var: float, rate_var: float) -> None:
        """Take a measurement of both over."""
        s11, s12, s22 = self.p11 + place_var, self.p12, self.p22 + rate_var
        det = s11 * s22 - s12 * s12
        p11, p12, p22 = self.p11, self.p12, self.p22
        k11, k12 = (p11 * s22 - p12 * s12) / det, (p12 * s11 - p11 * s12) / det
        k21, k22 = (p12 * s22 - p22 * s12) / det, (p22 * s11 - p12 * s12) / det
        dp, dr = place - self.place, rate - self.rate
        self.place += k11 * dp + k12 * dr
        self.rate += k21 * dp + k22 * dr
        self.p11 = p11 - k11 * p11 - k12 * p12
        self.p12 = p12 - k11 * p12 - k12 * p22
        self.p22 = p22 - k21 * p12 - k22 * p22

    def far_place(self, place: float, place_var: float) -> float:
        """Squared distance of a measurement of the place alone."""
        return (place - self.place) * (place - self.place) / (self.p11 + place_var)

    def correct_place(self, place: float, place_var: float) -> None:
        """Take a measurement of the place alone over."""
        s = self.p11 + place_var
        k1, k2 = self.p11 / s, self.p12 / s
        error = place - self.place
        self.place += k1 * error
        self.rate += k2 * error
        p12 = self.p12
        self.p11 -= k1 * self.p11
        self.p12 -= k1 * p12
        self.p22 -= k2 * p12


class Track:
    """One object as it is believed to be.

    :ivar number: of the track, never given twice
    :ivar along: distance, bumper to bumper, and speed over ground, along the lane
    :ivar across: lateral offset, and its rate
    :ivar existence: probability that it is an object
    :ivar is_believed: whether that was once high enough; it is reported from then on until it ends
    :ivar sender: identity by V2V, None if nothing that was heard belongs to it
    :ivar last: what was measured last, for what does not change
    """

    __slots__ = ("across", "along", "existence", "is_believed", "last", "number", "sender")

    def __init__(
        self, number: int, found: DetectedObject, own_speed: float, p: TrackParameters
    ) -> None:
        self.number = number
        self.along = Axis(
            found.distance,
            found.relative_speed + own_speed,
            _variance(p.distance_noise),
            _variance(p.speed_noise),
        )
        self.across = Axis(found.lateral_offset, 0.0, _variance(p.lateral_noise), _DRIFT)
        self.existence = p.birth
        self.is_believed = p.birth >= p.confirmed
        self.sender: int | None = None
        self.last = found

    def predict(self, dt: float, own_speed: float, p: TrackParameters) -> None:
        """Go on by ``dt`` [s], while the own vehicle drove with a mean speed [m/s]."""
        self.along.predict(dt, p.acceleration, own_speed)
        self.across.predict(dt, _LATERAL_ACCELERATION)
        self.across.rate *= max(0.0, 1.0 - dt / _DRIFT_TIME)

    def far(self, found: DetectedObject, own_speed: float, p: TrackParameters) -> float:
        """How far a measurement is from what was expected; compare with the gate."""
        return self.along.far(
            found.distance,
            found.relative_speed + own_speed,
            _variance(p.distance_noise),
            _variance(p.speed_noise),
        ) + self.across.far_place(found.lateral_offset, _variance(p.lateral_noise))

    def correct(self, found: DetectedObject, own_speed: float, p: TrackParameters) -> None:
        """Take a measurement over."""
        self.along.correct(
            found.distance,
            found.relative_speed + own_speed,
            _variance(p.distance_noise),
            _variance(p.speed_noise),
        )
        self.across.correct_place(found.lateral_offset, _variance(p.lateral_noise))
        self.last = found

    def seen(self, hit: bool, p: TrackParameters) -> None:
        """Change the probability of existence after a look."""
        there = p.detection_probability if hit else 1.0 - p.detection_probability
        false = _FALSE if hit else 1.0 - _FALSE
        real = self.existence * there
        self.existence = min(_MOST_CERTAIN, real / (real + (1.0 - self.existence) * false))
        self.is_believed = self.is_believed or self.existence >= p.confirmed


def _variance(noise: float) -> float:
    return max(noise, _LEAST_NOISE) * max(noise, _LEAST_NOISE)
