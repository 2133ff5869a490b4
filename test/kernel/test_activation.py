# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Activation functions: what they say, and what they promise before a run."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.activations import PORTS, MultipleOf, activations

from ros2_cosim.core.kernel.activation import (
    Activation,
    Combination,
    Count,
    NewerThan,
    Predicate,
    all_of,
    any_of,
)
from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.kernel.participant import Sample


def fed(alpha: Activation, text: str) -> list[bool]:
    """What alpha says after each sample; a sample's value is its position, a dot resets."""
    evaluator = alpha.evaluator()
    said = []
    for position, port in enumerate(text):
        if port == ".":
            evaluator.reset()
        else:
            said.append(evaluator.feed(port, Sample(position, position, position)))
    return said


def test_count_says_yes_from_the_nth_sample_of_its_port_on() -> None:
    assert fed(Count("a", 2), "abba") == [False, False, False, True]
    assert fed(Count("a", 2), "aa.a") == [False, True, False]


def test_predicate_says_yes_once_a_sample_of_its_port_satisfies_it() -> None:
    alpha = Predicate("a", MultipleOf(2))
    assert fed(alpha, "bbabaab") == [False, False, True, True, True, True, True]
    assert fed(alpha, "bbab.ab") == [False, False, True, True, False, False]


def test_predicate_is_not_asked_again_once_it_holds() -> None:
    asked: list[int] = []

    def ask(sample: Sample) -> bool:
        asked.append(sample.value)
        return sample.value >= 1

    fed(Predicate("a", ask), "aabaa")
    assert asked == [0, 1]


def test_any_needs_one_sample_of_one_port_and_all_one_of_each() -> None:
    assert fed(any_of(["a", "b"]), "cb") == [False, True]
    assert fed(all_of(["a", "b"]), "acaab.ba") == [False, False, False, False, True, False, True]
    assert any_of(["a"]) == all_of(["a"]) == Count("a")


def test_combinations_nest_and_every_part_sees_every_sample() -> None:
    alpha = (Count("a", 2) & Count("b")) | Predicate("c", MultipleOf(3))
    assert fed(alpha, "aab") == [False, False, True]
    assert fed(alpha, "abbc") == [False, False, False, True]
    # The b that came while the first part was not yet satisfied counts.
    assert fed(Count("a", 2) & Count("b"), "baa") == [False, False, True]
    assert alpha.ports == frozenset("abc")


@pytest.mark.parametrize("n", [0, -3])
def test_count_below_one_is_refused(n: int) -> None:
    with pytest.raises(ConfigurationError, match=rf"port 'objects' is {n}; .* at least 1"):
        Count("objects", n)


@pytest.mark.parametrize("combine", [any_of, all_of])
def test_a_combination_of_nothing_is_refused(combine: object) -> None:
    with pytest.raises(ConfigurationError, match="combines no ports; name at least one"):
        combine([])  # type: ignore[operator]


@settings(max_examples=200)
@given(
    alpha=activations(),
    samples=st.lists(st.tuples(st.sampled_from(PORTS), st.integers(0, 12)), max_size=30),
)
def test_each_activation_consumes_at_least_the_minimum(
    alpha: Activation, samples: list[tuple[str, int]]
) -> None:
    evaluator = alpha.evaluator()
    consumed = dict.fromkeys(PORTS, 0)
    for seq, (port, value) in enumerate(samples):
        consumed[port] += 1
        if evaluator.feed(port, Sample(seq, seq, value)):
            for each in PORTS:
                assert consumed[each] >= alpha.minimum_samples(each)
                if alpha.is_regular and each in alpha.ports:
                    assert consumed[each] == alpha.minimum_samples(each)
            evaluator.reset()
            consumed = dict.fromkeys(PORTS, 0)


@pytest.mark.parametrize(
    ("alpha", "minimum", "regular"),
    [
        (Count("a", 3), 3, True),
        (Count("b", 3), 0, True),
        (Count("a", 2) & Count("a", 3), 3, True),
        (Count("a", 2) | Count("a", 3), 2, True),
        (Count("a", 2) & Count("b"), 2, False),
        (Count("a", 2) | Count("b"), 0, False),
        (Predicate("a", MultipleOf(2)), 1, False),
        (Predicate("a", MultipleOf(2)) & Count("a", 4), 4, False),
        (Combination((Count("a", 2),), require_all=True), 2, True),
    ],
)
def test_what_is_known_before_a_run(alpha: Activation, minimum: int, regular: bool) -> None:
    assert (alpha.minimum_samples("a"), alpha.is_regular) == (minimum, regular)


def test_newer_holds_after_a_sample_stamped_after_the_newest_of_the_other_port() -> None:
    alpha = NewerThan("a", "b")
    evaluator = alpha.evaluator()

    def feed(port: str, stamp: int) -> bool:
        return evaluator.feed(port, Sample(stamp, 0, None))

    assert feed("a", 0)  # nothing has come of the other
    evaluator.reset()
    assert not feed("b", 5)
    assert not feed("c", 9)
    assert not feed("a", 5)
    assert feed("a", 6)
    assert feed("b", 7)  # it holds until it is reset
    evaluator.reset()
    assert not feed("a", 7)
    assert feed("a", 8)


def test_what_ports_each_function_needs() -> None:
    newer, count, predicate = NewerThan("a", "b"), Count("a", 3), Predicate("a", bool)
    assert newer.ports == {"a", "b"} and count.ports == predicate.ports == {"a"}
    assert [newer.can_hold(frozenset(fed)) for fed in ("a", "b", "ab")] == [True, False, True]
    assert [count.can_hold(frozenset(fed)) for fed in ("a", "b", "ab")] == [True, False, True]
    assert [each.minimum_samples("a") for each in (newer, count, predicate)] == [1, 3, 1]
    assert [each.minimum_samples("b") for each in (newer, count, predicate)] == [0, 0, 0]
    assert [each.is_regular for each in (newer, count, predicate)] == [False, True, False]
    with pytest.raises(ConfigurationError, match="compares port 'a' with itself"):
        NewerThan("a", "a")


def test_a_function_says_which_ports_it_has_and_makes_an_evaluator() -> None:
    with pytest.raises(NotImplementedError, match="Activation"):
        _ = Activation().ports
    with pytest.raises(NotImplementedError, match="Activation"):
        Activation().evaluator()
    assert Activation().minimum_samples("a") == 0
