# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The bench of blind sensors: a sample of it, what it draws, and its limit."""

from itertools import pairwise

import pytest

from bench.blind_sensor import (
    KINDS,
    SCENARIOS,
    Combination,
    all_of,
    blindness_of,
    is_avoidable,
    least_gap,
    run,
    table,
)
from ros2_cosim.core.scenario.library import library_file
from ros2_cosim.core.scenario.schema import load_scenario


@pytest.mark.parametrize(
    "chosen",
    [
        # The list froze at steady following, and V2V alone told of the braking: 0.05 m were left.
        Combination("braking", "frozen", 2),
        # At a standstill without V2V an empty list was a free road: 0.45 m were left.
        Combination("v2v_outage", "empty", 1),
    ],
    ids=lambda chosen: chosen.scenario,
)
def test_what_the_bench_found_keeps_its_distance(chosen: Combination) -> None:
    row = run(chosen)
    assert (row["contacts"], row["needless"]) == (0, 0)
    assert row["gap"] > 1.0
    assert table([row])[2].startswith(f"| `{chosen.scenario}` | 1 | 0 | 0 |")


def test_draws_are_of_1_to_5_s_within_the_scenario() -> None:
    chosen = list(all_of(list(SCENARIOS), 3))
    assert len(set(chosen)) == 3 * len(SCENARIOS) * len(KINDS)
    scenario = load_scenario(library_file("braking"))
    for seed in range(20):
        blind = blindness_of(Combination("braking", "empty", seed), scenario)
        assert 1.0 <= blind.end - blind.begin <= 5.0 and 1.0 <= blind.begin and blind.end <= 40.0
        assert 1 <= blind.follower <= 4


@pytest.mark.parametrize(
    ("gap", "speed", "ahead", "braking", "knows"),
    [
        (20.0, 25.0, 25.0, 8.0, 0.5),
        (18.7, 27.8, 27.8, 8.0, 1.4),
        (30.0, 25.0, 20.0, 3.0, 0.2),
        (10.0, 15.0, 22.0, 2.0, 3.0),
        (12.0, 20.0, 5.0, 9.0, 0.0),
    ],
)
def test_the_least_gap_is_that_of_the_two_motions(
    gap: float, speed: float, ahead: float, braking: float, knows: float
) -> None:
    step, least, own, other, left = 1e-3, gap, speed, ahead, gap
    for n in range(15_000):
        next_own = own if n * step < knows else max(0.0, own - 8.0 * step)
        next_other = max(0.0, other - braking * step)
        left += 0.5 * step * (other + next_other - own - next_own)
        own, other, least = next_own, next_other, min(least, left)
    assert least_gap(gap, speed, ahead, braking, knows) == pytest.approx(least, abs=3e-2)


def test_equal_brakes_leave_what_the_reaction_does_not_take() -> None:
    # 8 m/s^2 both, the same speed: the gap less speed times reaction.
    assert least_gap(18.7, 27.8, 27.8, 8.0, 0.5) == pytest.approx(18.7 - 13.9)
    gaps = [least_gap(18.7, 27.8, 27.8, 8.0, knows) for knows in (0.0, 0.3, 0.6, 0.9)]
    assert all(more > less for more, less in pairwise(gaps))


def test_a_contact_counts_if_the_limit_leaves_room() -> None:
    assert not is_avoidable({"contacts": 3, "least": -0.1})
    assert is_avoidable({"contacts": 3, "least": 0.1}) and is_avoidable(
        {"contacts": 3, "least": None}
    )
    assert not is_avoidable({"contacts": 0, "least": 5.0})
