# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The control laws against published and computed numbers (frequency domain).

The linear gains are read off the laws themselves by differences; the closed loop of such a
law with the plant ``exp(-phi s) / (tau s + 1)`` is then evaluated on a grid of frequencies.
"""

import cmath
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from ros2_cosim.driving.controllers import LongitudinalLaw, Measurement, Peer
from ros2_cosim.driving.controllers.path import CruiseControl, PathAcc, PathCacc
from ros2_cosim.driving.controllers.ploeg import PloegCacc
from ros2_cosim.driving.controllers.rajamani import LeaderPredecessorCacc, RajamaniAcc

GRID = [10 ** (-4 + 6 * i / 3000) for i in range(3001)]
STEADY = Peer(20.0, 0.0, 0.0, 0.0)


def measurement(**changes: Any) -> Measurement:
    steady = Measurement(
        dt=0.04, speed=20.0, acceleration=0.0, gap=14.0, gap_rate=0.0, standstill_gap=2.0,
        time_gap=0.6, set_speed=20.0, previous_command=0.0, predecessor=STEADY, leader=STEADY,
    )  # fmt: skip
    return steady._replace(**changes)


class Gains(NamedTuple):
    """Of the demand on: gap, relative speed, own speed (gap fixed), acceleration, u_pred."""

    gap: float
    rate: float
    speed: float
    acceleration: float
    forward: float


def gains(law: LongitudinalLaw, base: Measurement) -> Gains:
    """Linear gains of a law (they are linear: the differences are exact but for rounding)."""

    def slope(**changes: Any) -> float:
        return law.acceleration(base._replace(**changes)) - law.acceleration(base)

    faster = STEADY._replace(speed=21.0)
    pushed = STEADY._replace(commanded_acceleration=1.0)
    # A law may take the predecessor's speed from the sensor or from V2V: move both.
    return Gains(
        gap=slope(gap=base.gap + 1.0),
        rate=slope(gap_rate=1.0, predecessor=faster),
        speed=slope(speed=21.0, predecessor=faster, leader=faster),
        acceleration=slope(acceleration=1.0),
        forward=slope(predecessor=pushed),
    )


def gamma(
    g: Gains, w: float, *, tau: float = 0.0, phi: float = 0.0, theta: float = 0.0, lag: float = 0.0
) -> complex:
    """Ratio of the motion of a vehicle to that of its predecessor.

    ``lag`` is the law's own filter 1/(lag s + 1).
    """
    s = 1j * w
    plant = cmath.exp(-phi * s) / (tau * s + 1)
    forward = g.forward * cmath.exp(-theta * s) * s * s / plant
    own = s * s * (lag * s + 1) / plant - g.speed * s - g.acceleration * s * s
    return (g.gap + g.rate * s + forward) / (own + g.gap + g.rate * s)


def peak(transfer: Callable[[float], complex]) -> tuple[float, float]:
    """(largest gain, frequency of it [rad/s])."""
    return max((abs(transfer(w)), w) for w in GRID)


def smallest(transfer: Callable[[float, float], complex], low: float, high: float) -> float:
    """Smallest time gap with no gain above 1, by bisection."""
    while high - low > 2e-4:
        middle = 0.5 * (low + high)
        if all(abs(transfer(middle, w)) <= 1.0 + 1e-9 for w in GRID[::4]):
            high = middle
        else:
            low = middle
    return high


def ploeg_gains(time_gap: float) -> Gains:
    # With a very long step the filter has settled: what is left is its input.
    return gains(PloegCacc(), measurement(dt=1e6, time_gap=time_gap))


@pytest.mark.parametrize(("cooperative", "expected"), [(True, 0.252), (False, math.sqrt(2 / 0.2))])
def test_ploeg_smallest_time_gap_with_and_without_v2v(cooperative: bool, expected: float) -> None:
    # Published are 0.25 s and 3.16 s; without V2V the limit lies at w = 0, sqrt(2 / kp).
    def transfer(h: float, w: float) -> complex:
        g = ploeg_gains(h)
        if not cooperative:
            g = g._replace(forward=0.0)
        return gamma(g, w, tau=0.1, phi=0.2, theta=0.02, lag=h)

    assert smallest(transfer, 0.1, 5.0) == pytest.approx(expected, abs=2e-3)


@pytest.mark.parametrize(("tau", "phi"), [(0.1, 0.2), (0.5, 0.0)])
def test_ploeg_with_an_ideal_channel_is_a_first_order_lag(tau: float, phi: float) -> None:
    for w in (0.1, 2 * math.pi * 0.2, 3.0):
        found = gamma(ploeg_gains(0.5), w, tau=tau, phi=phi, lag=0.5)
        assert found == pytest.approx(1 / (0.5j * w + 1), rel=1e-9)
    assert abs(gamma(ploeg_gains(0.5), 2 * math.pi * 0.2, tau=tau, phi=phi, lag=0.5)) == (
        pytest.approx(0.8467, abs=1e-4)
    )


@given(st.floats(1e-3, 1.0), st.floats(0.2, 3.0), st.floats(-3.0, 3.0), st.floats(-3.0, 3.0))
def test_ploeg_filter_is_solved_exactly(dt: float, h: float, start: float, wanted: float) -> None:
    pushed = STEADY._replace(commanded_acceleration=wanted)
    m = measurement(dt=dt, time_gap=h, gap=2.0 + h * 20.0, previous_command=start)
    found = PloegCacc().acceleration(m._replace(predecessor=pushed))
    exact = wanted + (start - wanted) * math.exp(-dt / h)
    assert found == pytest.approx(exact, abs=1e-12)


def test_path_acc_smallest_time_gap() -> None:
    law = PathAcc()
    exact = (-law.k2 + math.sqrt(law.k2**2 + 2 * law.k1)) / law.k1
    assert exact == pytest.approx(2.660, abs=1e-3)
    found = smallest(lambda h, w: gamma(gains(law, measurement(time_gap=h)), w), 0.5, 6.0)
    assert found == pytest.approx(exact, abs=2e-3)


@pytest.mark.parametrize(
    ("h", "gain", "frequency"), [(1.1, 1.590, 0.423), (1.6, 1.238, 0.368), (2.2, 1.044, 0.258)]
)
def test_path_acc_peak_gain(h: float, gain: float, frequency: float) -> None:
    g = gains(PathAcc(), measurement(time_gap=h))
    found_gain, found_frequency = peak(lambda w: gamma(g, w))
    assert found_gain == pytest.approx(gain, abs=1e-3)
    assert found_frequency == pytest.approx(frequency, abs=3e-3)


@pytest.mark.parametrize(
    ("period", "expected"), [(0.01, 0.211), (0.02, 0.298), (0.05, 0.471), (0.1, 0.667)]
)
@pytest.mark.parametrize("kd", [0.25, 0.1])
def test_path_cacc_smallest_time_gap(period: float, expected: float, kd: float) -> None:
    law = PathCacc(period=period, kd=kd)
    assert math.sqrt(2 * period / law.kp) == pytest.approx(expected, abs=1e-3)
    found = smallest(lambda h, w: gamma(gains(law, measurement(time_gap=h)), w), 0.05, 3.0)
    assert found == pytest.approx(expected, abs=2e-3)


def test_path_cacc_takes_the_actual_period_unless_told() -> None:
    m = measurement(gap=15.0)
    assert PathCacc().acceleration(m) == PathCacc(period=0.04).acceleration(m)
    assert PathCacc().acceleration(m) == pytest.approx(0.45 / (0.04 + 0.25 * 0.6))


@pytest.mark.parametrize(("tau", "expected"), [(0.5, 1.0), (0.2, 0.4), (0.1, 0.2)])
@pytest.mark.parametrize("lam", [0.1, 0.3])
def test_rajamani_acc_needs_twice_the_lag(tau: float, expected: float, lam: float) -> None:
    law = RajamaniAcc(lam=lam)

    def transfer(h: float, w: float) -> complex:
        return gamma(gains(law, measurement(time_gap=h)), w, tau=tau)

    assert smallest(transfer, 0.05, 3.0) == pytest.approx(expected, abs=2e-3)


def test_leader_predecessor_gains_and_error_gain() -> None:
    law = LeaderPredecessorCacc()
    assert law.alphas == pytest.approx((0.5, 0.5, -0.3, -0.1, -0.04))
    g = gains(law, measurement(gap=5.0))
    assert g.gap == pytest.approx(0.04)
    assert g.forward == pytest.approx(0.5)
    a1, _, a3, a4, a5 = law.alphas
    m = measurement(gap=5.0)
    step = law.acceleration(m._replace(gap_rate=1.0)) - law.acceleration(m)
    assert step == pytest.approx(-a3)
    slower_leader = m._replace(leader=STEADY._replace(speed=19.0))
    assert law.acceleration(slower_leader) == pytest.approx(a4)

    def error_gain(w: float) -> complex:
        s = 1j * w
        lagged = (0.5 * s + 1) * s * s
        return (a1 * lagged - a3 * s - a5) / (lagged - (a3 + a4) * s - a5)

    assert abs(error_gain(2 * math.pi * 0.2)) == pytest.approx(0.470, abs=1e-3)
    assert peak(error_gain)[0] == pytest.approx(1.0, abs=1e-6)


LAWS = [PathCacc(), PathAcc(), PloegCacc(), RajamaniAcc(), CruiseControl()]


@pytest.mark.parametrize("law", LAWS, ids=lambda law: type(law).__name__)
def test_steady_following_demands_nothing(law: LongitudinalLaw) -> None:
    for h in (0.6, 1.1, 2.2):
        steady = measurement(time_gap=h, gap=2.0 + h * 20.0)
        assert steady.gap_error == 0.0
        assert steady.desired_gap == steady.gap
        assert law.acceleration(steady) == 0.0


def test_cruise_control_closes_on_the_set_speed() -> None:
    assert CruiseControl().acceleration(measurement(set_speed=25.0)) == pytest.approx(2.0)


@pytest.mark.parametrize(
    "make",
    [
        lambda: PathCacc(kp=0.0),
        lambda: PathCacc(kd=-1.0),
        lambda: PathCacc(period=0.0),
        lambda: PathAcc(k1=math.nan),
        lambda: PloegCacc(kp=math.inf),
        lambda: RajamaniAcc(lam=-0.1),
        lambda: LeaderPredecessorCacc(c1=1.5),
        lambda: LeaderPredecessorCacc(xi=0.5),
        lambda: CruiseControl(k=True),
    ],
)
def test_impossible_gains_are_refused(make: Callable[[], Any]) -> None:
    with pytest.raises(ValidationError, match="greater than|less than|finite|valid number"):
        make()
