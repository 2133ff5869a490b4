# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The controller behind Ackermann control: CARLA's law, step by step."""

from __future__ import annotations

import pytest

from ros2_cosim.world.headless.ackermann import AckermannController
from ros2_cosim.world.headless.wire_types import AckermannControl, AckermannSettings

DT = 0.05
MOST = 0.6


def _driven(settings: AckermannSettings, demand: AckermannControl) -> list[float]:
    """Speeds of a cart of 4 m/s^2 at full pedals."""
    controller = AckermannController()
    controller.settings = settings
    controller.follow(demand)
    speed, speeds = 0.0, []
    for _ in range(200):
        control = controller.controls(demand, speed, MOST, DT)
        way = -1.0 if control.reverse else 1.0
        speed += DT * 4.0 * way * (control.throttle - control.brake)
        speeds.append(speed)
    return speeds


def test_the_first_steps_are_those_of_the_law() -> None:
    controller = AckermannController()
    demand = AckermannControl(steer=0.3, steer_speed=0.4, speed=2.0)
    controller.follow(demand)
    first = controller.controls(demand, 0.0, MOST, DT)
    # 0.15 * 2 m/s wants 0.3 m/s^2, of which the pedals take a hundredth.
    assert first.throttle == pytest.approx(0.01 * 0.3)
    assert first.steer == pytest.approx(0.4 * DT / MOST)
    second = controller.controls(demand, 0.1, MOST, DT)
    # The speed has grown by 0.1 m/s: 0.25 * 0.1 / dt is taken away, and the measured acceleration
    # is a fifth of 2 m/s^2.
    wanted = 0.3 + 0.15 * 1.9 - 0.25 * 0.1 / DT
    change = 0.01 * (wanted - 0.4) - 0.01 * 0.4 / DT
    assert second.throttle == 0.0
    assert second.brake == pytest.approx(-(0.003 + change))
    assert second.steer == pytest.approx(2.0 * 0.4 * DT / MOST)


def test_every_gain_has_its_effect() -> None:
    demand = AckermannControl(speed=5.0)
    usual = _driven(AckermannSettings(), demand)
    assert usual[-1] == pytest.approx(5.0, abs=0.5)
    for name in AckermannSettings._fields:
        changed = AckermannSettings()._replace(**{name: 0.02 + getattr(AckermannSettings(), name)})
        assert _driven(changed, demand) != usual, name


def test_an_acceleration_bounds_what_is_wanted() -> None:
    gentle = _driven(AckermannSettings(), AckermannControl(speed=5.0, acceleration=0.3))
    assert max(b - a for a, b in zip(gentle, gentle[1:], strict=False)) < 0.6 * DT


def test_it_stops_before_it_goes_backwards_and_holds() -> None:
    controller = AckermannController()
    demand = AckermannControl(speed=-2.0)
    controller.follow(demand)
    pedals = [controller.controls(demand, 3.0, MOST, DT) for _ in range(5)]
    assert all(control.brake > 0.0 and not control.reverse for control in pedals)
    back = [controller.controls(demand, 0.0, MOST, DT) for _ in range(60)][-1]
    assert back.reverse and back.throttle > 0.0
    stand = AckermannControl()
    assert controller.controls(stand, 0.0, MOST, DT).brake == 1.0
