# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Numbers of the theory that no other file holds: lane capacity, stopping, lags, one braking."""

from __future__ import annotations

import math
from collections import deque
from itertools import pairwise

import pytest
from models.test_laws import GRID, gamma, ploeg_gains

from ros2_cosim.driving.controllers.measurement import Measurement, Peer
from ros2_cosim.driving.controllers.parameters import EmergencyBrake
from ros2_cosim.driving.controllers.ploeg import PloegCacc
from ros2_cosim.driving.controllers.safety import EmergencyBraking
from ros2_cosim.world.vehicle import SEDAN, ActuatorCommand, Vehicle


@pytest.mark.parametrize(("time_gap", "expected"), [(1.4, 2217), (1.1, 2720), (0.6, 4371)])
def test_lane_capacity_of_the_spacing_policy(time_gap: float, expected: int) -> None:
    """3600 v / (gap + length) vehicles an hour at 29.06 m/s, vehicles of 4.5 m, 2 m at rest."""
    speed = 29.06
    policy = Measurement(0.04, speed, 0.0, 0.0, 0.0, 2.0, time_gap, speed)
    assert 3600.0 * speed / (policy.desired_gap + 4.5) == pytest.approx(expected, abs=0.5)
    assert Measurement(0.04, 25.0, 0.0, 17.0, 0.0, 2.0, 0.6, 25.0).gap_error == pytest.approx(0.0)


STOPPING = {
    50.0: (22.07, 18.85, 14.83, 13.49),
    80.0: (53.83, 45.60, 35.31, 31.88),
    100.0: (82.72, 69.86, 53.78, 48.42),
}


@pytest.mark.parametrize("kmh", STOPPING)
@pytest.mark.parametrize(("column", "braking"), [(0, 5.0), (1, 6.0), (2, 8.0), (3, 9.0)])
def test_the_emergency_brake_knows_the_stopping_distance(
    kmh: float, column: int, braking: float
) -> None:
    """Of ``v t_r + v^2 / (2 b)``, t_r = 0.2 s: what is left after the reaction needs b."""
    speed = kmh / 3.6
    distance = STOPPING[kmh][column]
    assert speed * 0.2 + speed * speed / (2.0 * braking) == pytest.approx(distance, abs=0.006)
    brake = EmergencyBraking(EmergencyBrake(trigger=1.0, gain=1.0, margin=1.0))
    demand = brake.demand(distance - 0.2 * speed + 1.0, -speed, speed, 0.0, 12.0)
    assert demand == pytest.approx(-braking, rel=1e-3)


def test_a_lag_has_gone_two_thirds_of_its_way_after_its_time_constant() -> None:
    """Exactly 1 - 1/e, whatever the step."""
    for steps in (1, 3, 15):
        vehicle = Vehicle(SEDAN, speed=10.0)
        for _ in range(steps):
            vehicle.step(SEDAN.throttle_lag / steps, ActuatorCommand(throttle=1.0))
        assert vehicle.throttle == pytest.approx(1.0 - math.exp(-1.0), rel=1e-12)


def test_ploeg_beyond_its_limit_has_a_gain_above_one() -> None:
    """0.6 s, V2V delayed by 0.15 s: unstable by 1.7 %, though a single braking looks damped."""
    g = ploeg_gains(0.6)
    found = max(abs(gamma(g, w, tau=0.1, phi=0.2, theta=0.15, lag=0.6)) for w in GRID)
    assert found == pytest.approx(1.017, abs=1e-3)


def braking_peaks(time_gap: float, theta: float, vehicles: int) -> tuple[list[float], list[float]]:
    """Peaks of deceleration, and L2 norms of the speed less that before, of a leader's braking.

    The leader demands 3 m/s^2 for 3 s; every actuator has a dead time of 0.2 s and a lag of 0.1 s.
    """
    dt, tau, phi, v0 = 1e-3, 0.1, 0.2, 25.0
    law = PloegCacc()
    share = 1.0 - math.exp(-dt / tau)
    speed, acceleration, demand = [v0] * vehicles, [0.0] * vehicles, [0.0] * vehicles
    gap = [2.0 + time_gap * v0] * vehicles
    actuator = [deque([0.0] * round(phi / dt)) for _ in range(vehicles)]
    radio = [deque([0.0] * max(1, round(theta / dt))) for _ in range(vehicles)]
    peaks, energy = [0.0] * vehicles, [0.0] * vehicles
    for step in range(30_000):
        heard = [line[0] for line in radio]
        demand[0] = -3.0 if 1.0 <= step * dt < 4.0 else 0.0
        for i in range(1, vehicles):
            demand[i] = law.acceleration(
                Measurement(
                    dt, speed[i], acceleration[i], gap[i], speed[i - 1] - speed[i], 2.0, time_gap,
                    50.0, demand[i], Peer(speed[i - 1], acceleration[i - 1], heard[i - 1], theta),
                )
            )  # fmt: skip
        for i in range(vehicles):
            if i:
                gap[i] += (speed[i - 1] - speed[i]) * dt
            speed[i] += acceleration[i] * dt
            actuator[i].append(demand[i])
            acceleration[i] += share * (actuator[i].popleft() - acceleration[i])
            radio[i].append(demand[i])
            radio[i].popleft()
            peaks[i] = max(peaks[i], -acceleration[i])
            energy[i] += (speed[i] - v0) ** 2 * dt
    return peaks, [math.sqrt(value) for value in energy]


def test_one_braking_manoeuvre_does_not_decide() -> None:
    """Peaks rise by 6 % and fall again; the speed looks damped, though a frequency grows."""
    peaks, deviations = braking_peaks(0.6, 0.15, 6)
    assert peaks == pytest.approx([3.00, 3.10, 3.17, 3.17, 3.13, 3.08], abs=0.01)
    assert all(own < ahead for ahead, own in pairwise(deviations))
