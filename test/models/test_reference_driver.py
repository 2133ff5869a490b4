# SPDX-License-Identifier: Apache-2.0
"""The reference driver of UN R157: numbers of the regulation, and what follows from them."""

from __future__ import annotations

import pytest

from ros2_cosim.world.drivers.reference_driver import (
    BRAKE_DELAY,
    BUILD_UP,
    DECELERATION,
    RISK_EVALUATION,
    CutIn,
    is_avoidable,
    smallest_gap,
)


def test_the_numbers_are_those_of_the_regulation() -> None:
    assert (RISK_EVALUATION, BRAKE_DELAY, BUILD_UP) == (0.4, 0.75, 0.6)
    assert DECELERATION == pytest.approx(0.774 * 9.81)


@pytest.mark.parametrize("closing", [5.0, 10.0])
def test_the_way_that_the_driver_needs(closing: float) -> None:
    """Perceived at once: closed form of reaction, build-up and full braking."""
    b, t = DECELERATION, BUILD_UP
    reaction = closing * (RISK_EVALUATION + BRAKE_DELAY)
    left = closing - 0.5 * b * t
    build_up = closing * t - b * t * t / 6.0
    need = reaction + build_up + left * left / (2.0 * b)
    assert need - reaction < 2.0 * closing, "it is risky when the driver is ready"
    assert smallest_gap(CutIn(30.0, 30.0 - closing, need + 1.0, 0.0)) == pytest.approx(1.0, abs=0.1)
    assert not is_avoidable(CutIn(30.0, 30.0 - closing, need - 0.3, 0.0))


def test_a_vehicle_that_is_faster_is_no_danger() -> None:
    assert smallest_gap(CutIn(20.0, 21.0, 3.0, 0.5)) == 3.0


def test_a_late_perception_needs_more_room() -> None:
    early, late = CutIn(25.0, 15.0, 22.0, 0.0), CutIn(25.0, 15.0, 22.0, 0.8)
    assert is_avoidable(early) and not is_avoidable(late)


def test_the_driver_waits_until_it_is_risky() -> None:
    """Far away nothing is done, so that the smallest gap does not depend on the first one."""
    gaps = [smallest_gap(CutIn(25.0, 15.0, gap, 0.0)) for gap in (40.0, 60.0, 90.0)]
    assert gaps[0] == pytest.approx(gaps[1], abs=0.11)
    assert gaps[1] == pytest.approx(gaps[2], abs=0.11)


def test_the_delay_of_the_brake_counts_from_the_risk() -> None:
    """30 m at 15 m/s: 11.25 m of delay and 19.2 m of braking are more than there is."""
    assert not is_avoidable(CutIn(30.0, 15.0, 60.0, 0.0))
    # 12 m/s: 24 m less 9 m, and 12.96 m of braking.
    assert smallest_gap(CutIn(30.0, 18.0, 60.0, 0.0)) == pytest.approx(1.93, abs=0.2)
