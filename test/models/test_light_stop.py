# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The stop at a traffic light, driven in closed loop with a vehicle that obeys at once."""

from __future__ import annotations

import pytest

from ros2_cosim.world.drivers.light_stop import STAND, LightStop
from ros2_cosim.world.map.traffic_lights import GREEN, OFF, RED, UNKNOWN, YELLOW

STEP = 0.02


def approach(speed: float, distance: float, state: int) -> tuple[float, float, float]:
    """Where a vehicle stands before (-: behind) the line, its speed, and its hardest braking."""
    stop, hardest = LightStop(), 0.0
    for _ in range(3000):
        most = stop.most(speed, state, max(distance, 0.0))
        acceleration = 0.0 if most is None else most
        hardest = max(hardest, -acceleration if speed > 0.1 else 0.0)
        following = max(0.0, speed + acceleration * STEP)
        distance -= 0.5 * (speed + following) * STEP
        speed = following
        if distance < 0.0 or speed == 0.0:
            break
    return distance, speed, hardest


@pytest.mark.parametrize("speed", [3.0, 6.0, 14.0, 25.0])
def test_it_stops_before_a_red_light_with_constant_deceleration(speed: float) -> None:
    distance, end, hardest = approach(speed, 40.0 + speed * speed / 3.0, RED)
    assert end == 0.0
    assert distance == pytest.approx(STAND, abs=0.3)
    # v^2 / (2 b) with b = 1.8 m/s^2: what is kept is what began.
    assert hardest == pytest.approx(1.8, abs=0.25)


def test_at_yellow_it_goes_on_only_if_the_stop_would_be_hard() -> None:
    # 10 m/s: v^2 / (2 * 3) = 16.7 m before the place where it would stand.
    near, speed, _ = approach(10.0, STAND + 16.0, YELLOW)
    assert near < 0.0 and speed == 10.0
    far, speed, hardest = approach(10.0, STAND + 17.5, YELLOW)
    assert far > 0.0 and speed == 0.0
    assert hardest < 3.2


@pytest.mark.parametrize("state", [GREEN, OFF, UNKNOWN])
def test_other_states_ask_for_nothing(state: int) -> None:
    assert LightStop().most(14.0, state, 5.0) is None


def test_it_is_held_until_green() -> None:
    stop = LightStop()
    assert stop.most(0.0, RED, STAND) == -1.0
    assert stop.stopping
    assert stop.most(0.0, YELLOW, STAND) == -1.0
    assert stop.most(0.0, GREEN, STAND) is None
    assert not stop.stopping
