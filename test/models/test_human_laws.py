# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Drivers, the sampled CACC, and the estimate that replaces V2V: against published numbers."""

from __future__ import annotations

import cmath
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from ros2_cosim.driving.controllers.estimation import SingerEstimator
from ros2_cosim.driving.controllers.human import GippsDriver, IntelligentDriver
from ros2_cosim.driving.controllers.measurement import Measurement, Peer
from ros2_cosim.driving.controllers.path import PathCacc, PathCaccSampled

Law = Callable[[Measurement], float]


def seen(**changes: Any) -> Measurement:
    base = Measurement(
        dt=0.1, speed=20.0, acceleration=0.0, gap=14.0, gap_rate=0.0, standstill_gap=2.0,
        time_gap=0.6, set_speed=30.0, predecessor=Peer(20.0, 0.0, 0.0, 0.0),
    )  # fmt: skip
    return base._replace(**changes)


def followed(law: Law, *, seconds: float, speed: float, gap: float, **rest: Any) -> list[float]:
    """[gap, speed] after a while behind a vehicle of constant speed."""
    v, d = speed, gap
    for _ in range(round(seconds / 0.1)):
        a = law(seen(speed=v, gap=d, gap_rate=20.0 - v, **rest))
        new = max(0.0, v + 0.1 * a)
        d += 0.1 * (20.0 - 0.5 * (v + new))
        v = new
    return [d, v]


def test_idm_follows_with_its_published_gap() -> None:
    gap, speed = followed(
        IntelligentDriver().acceleration, seconds=200, speed=25.0, gap=60.0, time_gap=1.5
    )
    assert speed == pytest.approx(20.0, abs=1e-3)
    # (s0 + v T) / sqrt(1 - (v / v0)^4), Treiber et al. eq. (3)
    assert gap == pytest.approx((2.0 + 30.0) / math.sqrt(1.0 - (20.0 / 30.0) ** 4), rel=1e-3)


def test_idm_accelerates_freely_and_brakes_within_its_bound() -> None:
    law = IntelligentDriver()
    assert law.acceleration(seen(speed=0.0, gap=1e9)) == pytest.approx(1.5, abs=1e-6)
    assert law.acceleration(seen(speed=30.0, gap=1e9)) == pytest.approx(0.0, abs=1e-6)
    assert law.acceleration(seen(gap=1.0, gap_rate=-20.0)) == -8.0


def test_gipps_follows_with_its_published_gap() -> None:
    gap, speed = followed(GippsDriver().acceleration, seconds=300, speed=15.0, gap=60.0)
    assert speed == pytest.approx(20.0, abs=1e-3)
    # Equal decelerations: half a reaction time is to spare (Gipps, section 3).
    assert gap == pytest.approx(2.0 + 1.5 * 20.0 * 0.7, rel=1e-3)


def test_gipps_stops_behind_a_standing_object() -> None:
    law = GippsDriver()
    v, d = 20.0, 120.0
    hardest = 0.0
    for _ in range(600):
        a = law.acceleration(seen(dt=0.1, speed=v, gap=d, gap_rate=-v))
        hardest = min(hardest, a)
        new = max(0.0, v + 0.1 * a)
        d -= 0.05 * (v + new)
        v = new
    assert v < 0.01 and 1.5 < d < 2.6 and hardest > -3.3


def gain_of(law: Law, w: float, *, period: float, time_gap: float) -> float:
    """Gain of a follower without actuator lag behind a sinusoidal leader, by simulation."""
    steps = round(2.0 * math.pi / w / period)
    w = 2.0 * math.pi / (steps * period)
    v, d = 20.0, 2.0 + time_gap * 20.0
    total = 0j
    ahead = 20.0
    for k in range(20 * steps):
        peer = Peer(ahead, 0.0, 0.0, 0.0)
        a = law(seen(dt=period, speed=v, gap=d, gap_rate=ahead - v, time_gap=time_gap,
                     predecessor=peer))  # fmt: skip
        following = 20.0 + 0.1 * math.sin(w * period * (k + 1))
        d += 0.5 * period * (ahead + following - 2.0 * v - period * a)
        v += period * a
        ahead = following
        if k >= 19 * steps:
            total += (v - 20.0) * cmath.exp(-1j * w * period * (k + 1))
    return abs(total) * 2.0 / steps / 0.1


@pytest.mark.parametrize(("sample_time", "stable"), [(0.1, False), (0.05, True)])
def test_the_sampled_cacc_is_string_stable_at_20_hz_and_not_at_10_hz(
    sample_time: float, stable: bool
) -> None:
    worst = max(
        gain_of(
            PathCaccSampled(sample_time=sample_time).acceleration,
            0.02 * i,
            period=sample_time,
            time_gap=0.6,
        )
        for i in range(5, 60, 3)
    )
    # In the continuous limit 1.0028 and 1 (its limits are 0.667 s and 0.471 s).
    assert worst == pytest.approx(1.0 if stable else 1.0034, abs=1e-3)
    assert (worst <= 1.0 + 1e-6) is stable


def test_the_published_differences_have_the_published_gains_and_are_not_stable() -> None:
    """Why they are not offered: v(k+1) = v(k) + kp e(k) + kd (e(k) - e(k-1)) / T."""
    kp, kd = 0.45, 0.25
    for period, time_gap, gain in ((0.1, 0.6, 1.0093), (0.05, 0.4, 1.0077)):

        def transfer(w: float, t: float = period, h: float = time_gap) -> float:
            z = cmath.exp(1j * w * t)
            command, way = kp + kd * (1.0 - 1.0 / z) / t, t / (z - 1.0)
            return abs(command * way / (z - 1.0 + command * (way + h)))

        assert max(transfer(0.01 * i) for i in range(1, 1000)) == pytest.approx(gain, abs=2e-4)
        # z (z - 1)^2 + (kp z + kd (z - 1) / T) (T + h (z - 1)) = 0 has a root below -1.
        rate, room = kd / period, period - time_gap
        poles = np.roots(
            [
                1.0,
                -2.0 + kp * time_gap + rate * time_gap,
                1.0 + kp * room + rate * (room - time_gap),
                -rate * room,
            ]
        )
        assert min(poles.real) < -1.5


def test_the_sampled_cacc_holds_between_its_samples() -> None:
    law = PathCaccSampled(sample_time=0.1)
    found = [law.acceleration(seen(dt=0.04, gap=14.0 + e)) for e in range(7)]
    # Samples at 0, 120 and 240 ms: the first activations that are a sample time later.
    assert found[0] == found[1] == found[2] == 0.0
    assert found[3] == found[4] == found[5] == PathCacc(period=0.1).acceleration(seen(gap=17.0))
    assert found[6] == PathCacc(period=0.1).acceleration(seen(gap=20.0))


def test_steady_following_demands_nothing_of_the_sampled_form() -> None:
    law = PathCaccSampled()
    assert all(law.acceleration(seen()) == 0.0 for _ in range(10))
    assert PathCacc().acceleration(seen()) == 0.0


def test_the_estimate_follows_an_acceleration_and_forgets_a_vehicle() -> None:
    estimator = SingerEstimator()
    speed = 25.0
    for k in range(200):
        acceleration = -3.0 if k >= 100 else 0.0
        speed += 0.04 * acceleration
        found = estimator.update(1, speed, 0.04)
        if k == 99:
            assert found == pytest.approx((25.0, 0.0), abs=1e-9)
        if k == 115:  # 0.6 s later most of it is known
            assert -3.2 < found.acceleration < -2.0
    assert found.speed == pytest.approx(speed, abs=0.05)
    assert found.acceleration == pytest.approx(-3.0, abs=0.3)
    assert estimator.update(2, 10.0, 0.04) == (10.0, 0.0)


def test_the_estimate_is_as_uncertain_as_the_filter_says() -> None:
    # The covariance of a filter that runs long is that of the Riccati equation: it repeats itself.
    estimator = SingerEstimator()
    for _ in range(500):
        estimator.update(1, 20.0, 0.04)
    before = (estimator._ss, estimator._sa, estimator._aa)
    estimator.update(1, 20.0, 0.04)
    assert (estimator._ss, estimator._sa, estimator._aa) == pytest.approx(before, rel=1e-9)
    assert 0.0 < estimator._ss < 0.05**2 and 0.0 < estimator._aa < 2.82


def test_a_driver_who_wants_to_stand_brakes_as_usual_and_stands() -> None:
    law = IntelligentDriver(deceleration=1.5)
    assert law.acceleration(seen(set_speed=0.0, speed=10.0, gap=None)) == pytest.approx(-1.5)
    assert law.acceleration(seen(set_speed=0.0, speed=0.0, gap=None)) == 0.0
