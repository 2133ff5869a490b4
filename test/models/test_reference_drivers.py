# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The reference drivers of UN R157: their numbers, what follows from them, and their laws."""

from __future__ import annotations

from collections.abc import Callable
from math import inf

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ros2_cosim.core.messages.records import CLASS_CAR, DetectedObject
from ros2_cosim.core.run.inproc import run_inproc
from ros2_cosim.core.scenario.library import library_file
from ros2_cosim.core.scenario.schema import load_scenario
from ros2_cosim.driving.controllers.measurement import Measurement
from ros2_cosim.driving.controllers.reference_drivers import (
    CarefulDriver,
    CutIn,
    DriverSight,
    FuzzyDriver,
    ReferenceDriver,
    RegulationDriver,
    RssDriver,
    is_avoidable,
    smallest_gap,
)
from ros2_cosim.driving.controllers.reference_laws import following_distance
from ros2_cosim.driving.controllers.registry import adapted, make_law

DRIVERS: dict[str, Callable[[], ReferenceDriver]] = {
    "r157_careful": CarefulDriver,
    "r157_fsm": FuzzyDriver,
    "r157_regulation": RegulationDriver,
    "r157_rss": RssDriver,
}
FAST = 30.0
BRAKE, BUILD_UP = 0.774 * 9.81, 0.6


def coming(gap: float, closing: float, across: float = 1.0) -> CutIn:
    return CutIn(FAST, FAST - closing, gap, lambda time: across * time)


def in_lane(gap: float, closing: float) -> CutIn:
    """A vehicle that is in the lane from the start."""
    return CutIn(FAST, FAST - closing, gap, lambda time: 3.5)


def sight(**changes: float) -> DriverSight:
    return DriverSight(0.1, FAST, 20.0, 0.0, 15.0, -1.0, 0.0, 3.5, 8.6)._replace(**changes)


@pytest.mark.parametrize("closing", [5.0, 10.0])
def test_the_way_that_the_careful_driver_needs(closing: float) -> None:
    """Evaluation, delay with 0.4 m/s^2, 12.65 m/s^3 up to 0.774 g: close to the closed form."""
    delay = closing * (0.4 + 0.75) - 0.5 * 0.4 * 0.75**2
    left = closing - 0.4 * 0.75
    build_up = left * BUILD_UP - BRAKE * BUILD_UP**2 / 6.0
    need = delay + build_up + (left - 0.5 * BRAKE * BUILD_UP) ** 2 / (2.0 * BRAKE)
    assert need - 0.4 * closing < 2.0 * closing, "it is risky when the driver is ready"
    assert smallest_gap(in_lane(need + 1.0, closing), CarefulDriver()) == pytest.approx(
        1.0, abs=0.3
    )
    assert not is_avoidable(in_lane(need - 0.5, closing))


def test_the_delay_counts_from_the_risk_and_not_from_the_perception() -> None:
    """Perceived long before: at 2 s it brakes neither at once, nor only then 0.4 s later."""
    driver, since, gap = CarefulDriver(), None, 40.0
    for step in range(4000):
        gap -= 10.0 * 0.001
        demand = driver.demand(sight(dt=0.001, gap=gap))
        if since is None and gap <= 20.0:
            since = step
        if demand is not None and demand < -0.5:
            break
    assert since is not None and (step - since) * 0.001 == pytest.approx(0.75, abs=0.02)


def test_a_cut_in_far_ahead_is_not_critical() -> None:
    """27 m/s of closing speed are too much from 2 s on, but the driver sees it in time."""
    far = coming(100.0, 27.0)
    assert smallest_gap(far, CarefulDriver()) < 0.0 and is_avoidable(far)
    assert not is_avoidable(coming(70.0, 27.0))


def test_a_wandering_vehicle_is_none_that_cuts_in() -> None:
    driver = CarefulDriver()
    looks = [driver.demand(sight(aside=1.3, deviation=0.37)) for _ in range(40)]
    assert looks == [None] * 40
    looks = [driver.demand(sight(aside=1.2, deviation=0.38)) for _ in range(40)]
    assert [demand is None for demand in looks] == [True] * 4 + [False] * 36


def test_a_vehicle_that_brakes_hard_within_two_seconds_is_a_danger() -> None:
    for braking, gap, brakes in ((5.1, 59.0, True), (4.9, 59.0, False), (5.1, 61.0, False)):
        driver = CarefulDriver()
        seen = sight(other_speed=29.0, gap=gap, other_braking=braking)
        looks = [driver.demand(seen) for _ in range(20)]
        assert (looks[-1] is not None) == brakes


def test_the_regulations_driver_brakes_at_its_limit() -> None:
    """10 m/s: 10 / 12 + 0.35 s, and 0.1 s before."""
    for ttc, brakes in ((1.2, True), (1.3, False)):
        driver = RegulationDriver()
        looks = [driver.demand(sight(gap=10.0 * ttc, aside=0.4)) for _ in range(6)]
        assert looks == ([0.0] * 4 + [-6.0] * 2 if brakes else [None] * 6)
    assert RegulationDriver().demand(sight(gap=5.0, aside=0.6)) is None


def test_the_safe_distance_of_rss_is_that_of_its_formula() -> None:
    along = 30.0 * 0.75 + 0.5 * 3.0 * 0.75**2 + 32.25**2 / 12.0 - 20.0**2 / 12.0
    across = 0.3 + 0.5 * (2.0 * 0.8 + 0.75) * 0.75 + 1.55**2 / 2.0
    near = sight(gap=along - 0.1, aside=across - 0.01, inward=0.8)
    assert RssDriver().demand(near) == 0.0
    assert RssDriver().demand(near._replace(gap=along + 0.1)) is None
    assert RssDriver().demand(near._replace(aside=across + 0.01)) is None


def test_the_fuzzy_shares_are_those_of_the_formulas() -> None:
    driver = FuzzyDriver()
    reaction, critical = 10.0 * 0.75, [100.0 / (2.0 * b) for b in (4.0, 6.0)]
    safe, unsafe = reaction + critical[0], reaction + critical[1]
    for gap, share in ((safe, 0.0), (unsafe, 1.0), (0.5 * (safe + unsafe), 0.5), (1.0, 1.0)):
        assert driver.critical(sight(gap=gap)) == pytest.approx(share)
    ahead = [30.0 * 0.75 + 900.0 / (2.0 * b) - 400.0 / 14.0 for b in (4.0, 6.0)]
    safe, unsafe = ahead[0] + 2.0 + 2.0, ahead[1] + 2.0
    for gap, share in ((safe, 0.0), (unsafe, 1.0), (0.5 * (safe + unsafe), 0.5)):
        assert driver.proactive(sight(gap=gap)) == pytest.approx(share)
    # It slows down already: 2 m/s are gone in less than 0.75 s, after 0.5 m.
    slowing = sight(other_speed=28.0, acceleration=-4.0)
    assert [driver.critical(slowing._replace(gap=gap)) for gap in (0.4, 0.6)] == [1.0, 0.0]
    assert driver.critical(sight(other_speed=31.0)) == 0.0


def test_the_fuzzy_driver_lets_one_pass_that_comes_behind_it() -> None:
    beside = sight(gap=1.0, aside=1.0)
    assert FuzzyDriver().demand(beside._replace(inward=0.0)) is None
    assert FuzzyDriver().demand(beside._replace(inward=0.9)) is None  # 1.11 s; passed after 1.06 s
    assert FuzzyDriver().demand(beside._replace(inward=1.2)) is not None


@given(
    speed=st.floats(0.0, 40.0), other=st.floats(0.0, 40.0), gap=st.floats(-8.0, 150.0),
    aside=st.floats(-1.9, 3.0), inward=st.floats(-2.0, 2.0), acceleration=st.floats(-8.0, 3.0),
    name=st.sampled_from(sorted(DRIVERS)),
)  # fmt: skip
def test_a_demand_is_a_deceleration_within_the_limits(
    speed, other, gap, aside, inward, acceleration, name
) -> None:
    driver = DRIVERS[name]()
    seen = sight(
        speed=speed, other_speed=other, gap=gap, aside=aside, inward=inward,
        acceleration=acceleration, deviation=1.6 - aside,
    )  # fmt: skip
    for _ in range(30):
        demand = driver.demand(seen)
        assert demand is None or -driver.hardest <= demand <= 0.0
    if other >= speed and name in ("r157_careful", "r157_regulation"):
        assert demand is None or (name == "r157_regulation" and gap < 0.0)


@settings(max_examples=30, deadline=None)
@given(
    closing=st.floats(2.0, 14.0),
    across=st.floats(0.3, 1.8),
    # That of the regulation brakes along its limit, which leaves no gap: it is not among them.
    name=st.sampled_from(["r157_careful", "r157_fsm", "r157_rss"]),
)
def test_what_is_avoidable_is_so_from_a_gap_on(closing, across, name) -> None:
    """Beyond the farthest gap with a contact there is none, and each wider step is no nearer."""
    gaps = [smallest_gap(coming(gap, closing, across), DRIVERS[name](), 0.1) for gap in
            range(1, 100, 7)]  # fmt: skip
    assert gaps[-1] >= 0.0
    contacts = [number for number, gap in enumerate(gaps) if gap < 0.0]
    assert contacts == list(range(contacts[0], contacts[-1] + 1)) if contacts else True


def test_a_faster_vehicle_and_one_that_does_not_come_are_no_danger() -> None:
    assert smallest_gap(coming(3.0, -1.0), CarefulDriver()) >= 3.0
    assert smallest_gap(coming(3.0, 5.0, 0.0), CarefulDriver()) == inf


def look(gap: float, speed: float, other_speed: float, aside: float, last: float) -> Measurement:
    seen = DetectedObject(7, CLASS_CAR, gap, other_speed - speed, aside, 4.3, 1.637, 1.0)
    ahead = gap if abs(aside) <= 1.75 else 1e9
    rate = other_speed - speed if ahead < 1e9 else 0.0
    return Measurement(0.02, speed, last, ahead, rate, 2.0, 1.0, FAST, last, objects=(seen,))


def law_avoids(name: str, gap: float, closing: float, save: bool = False) -> bool:
    """Drive a vehicle without any lag by a law, which measures the speed across by itself."""
    law = make_law(name, {"comfort": 0.0})
    other, speed, last = FAST - closing, FAST, 0.0
    for step in range(1, 1000):
        aside = 3.5 - min(step * 0.02, 3.5)
        gap += (other - speed) * 0.02
        if aside < 1.9 and -8.6 < gap < 0.0:
            return False
        if aside == 0.0 and speed <= other:
            break
        last = min(law.acceleration(look(gap, speed, other, aside, last)), 0.0)
        speed = max(0.0, speed + last * 0.02)
        if save:
            state = adapted(law, name).save_state()
            law = make_law(name, {"comfort": 0.0})
            adapted(law, name).restore_state(state)
    return True


@pytest.mark.parametrize("name", DRIVERS)
def test_a_law_needs_the_gap_that_its_driver_needs(name: str) -> None:
    """It knows the speed across after 0.2 to 0.4 s, in which the gap closes by up to 4 m."""
    gaps = range(12, 40)
    drivers = [gap for gap in gaps if smallest_gap(coming(gap, 10.0), DRIVERS[name](), 0.02) < 0]
    laws = [gap for gap in gaps if not law_avoids(name, gap, 10.0)]
    assert drivers and abs(max(laws) - max(drivers)) <= 3


@pytest.mark.parametrize("name", DRIVERS)
def test_a_law_goes_on_from_a_saved_state(name: str) -> None:
    gaps = range(12, 36, 6)
    assert [law_avoids(name, g, 10.0) for g in gaps] == [
        law_avoids(name, g, 10.0, save=True) for g in gaps
    ]


@pytest.mark.parametrize(
    ("kmh", "distance"), [(7.2, 2.0), (10, 3.1), (20, 6.7), (40, 15.6), (60, 26.7)]
)
def test_the_following_distance_is_that_of_the_table(kmh: float, distance: float) -> None:
    assert following_distance(kmh / 3.6) == pytest.approx(distance, abs=0.06)


@pytest.mark.parametrize("name", DRIVERS)
def test_without_danger_a_law_brakes_no_harder_than_comfort(name: str) -> None:
    """45 m behind a vehicle as fast: 62.4 m are due, and 0.84 m/s^2 would restore them."""
    near = look(45.0, FAST, FAST, 0.0, 0.0)
    demands = [make_law(name, {"comfort": c}).acceleration(near) for c in (0.5, 2.0)]
    assert demands == [-0.5, pytest.approx(0.1 * (45.0 - FAST * 2.08) / 2.08)]
    assert make_law(name, {"comfort": 0.0}).acceleration(near) >= 0.0


def test_in_wider_lanes_a_vehicle_has_to_come_further_to_cut_in() -> None:
    """It stands 3.2 m aside, 0.3 m from the middle of a lane of 3.5 m, then 0.9 m."""

    def brakes(width: float) -> bool:
        law = make_law("r157_careful", {"comfort": 0.0, "lane_width": width})
        seen = [law.acceleration(look(20.0, FAST, 20.0, 3.2, 0.0)) for _ in range(80)]
        return min(seen) < 0.0

    assert [brakes(width) for width in (3.5, 4.1)] == [False, True]


def test_reference_drivers_follow_a_leader_that_stops_and_goes(tmp_path) -> None:
    """Each of the four followers has another one; none of them has an emergency brake."""
    changes = ["platoon.vehicles=5", "duration=20s"]
    changes += [f"participants.cacc{n}.parameters.law={law}" for n, law in enumerate(DRIVERS, 1)]
    scenario = load_scenario(library_file("stop_and_go"), changes)
    summary = run_inproc(scenario, tmp_path, record=False)
    assert summary.collisions == 0
    for number in range(1, 5):
        modes = (summary.figures or {})[f"cacc{number}"]["modes"]
        assert "emergency" not in modes and modes["law"] > 0.5
