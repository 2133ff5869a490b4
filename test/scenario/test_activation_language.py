# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Activation functions as a scenario writes them."""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ros2_cosim.core.kernel.activation import Activation
from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.kernel.participant import Sample
from ros2_cosim.core.messages.records import ControlCommand
from ros2_cosim.core.scenario.activation_language import read_activation


class Value(NamedTuple):
    x: float


def held(activation: Activation, *fed: tuple[str, int, float]) -> list[bool]:
    """What alpha says after each (port, stamp, x), until it is reset by an activation."""
    evaluator = activation.evaluator()
    result = []
    for port, stamp, x in fed:
        result.append(evaluator.feed(port, Sample(stamp, 0, Value(x))))
        if result[-1]:
            evaluator.reset()
    return result


def read(value: Any) -> Activation:
    activation = read_activation(value, "here")
    assert activation is not None
    return activation


def test_none_is_no_activation_function() -> None:
    assert read_activation(None, "here") is None


def test_a_port_by_itself_activates_at_each_sample() -> None:
    assert held(read("a"), ("a", 1, 0.0), ("a", 2, 0.0)) == [True, True]


def test_nested_expressions() -> None:
    both_or_third = read({"any": [{"all": ["a", "b"]}, "c"]})
    assert both_or_third.ports == {"a", "b", "c"}
    fed = [("a", 1, 0.0), ("b", 2, 0.0), ("b", 3, 0.0), ("c", 4, 0.0), ("a", 5, 0.0)]
    assert held(both_or_third, *fed) == [False, True, False, True, False]


def test_every_nth() -> None:
    samples = [("a", stamp, 0.0) for stamp in range(7)]
    assert held(read({"every": {"a": 3}}), *samples) == [False, False, True] * 2 + [False]


def test_newer_compares_stamps_of_two_ports() -> None:
    newer = read({"newer": {"port": "a", "than": "b"}})
    fed = [("b", 5, 0.0), ("a", 5, 0.0), ("a", 6, 0.0), ("b", 9, 0.0), ("a", 9, 0.0)]
    assert held(newer, *fed) == [False, False, True, False, False]


def test_newer_without_a_sample_of_the_other_port_holds() -> None:
    assert held(read({"newer": {"port": "a", "than": "b"}}), ("a", 0, 0.0)) == [True]


@pytest.mark.parametrize(
    ("comparison", "expected"),
    [
        ("<", [True, False, False]),
        ("<=", [True, True, False]),
        ("==", [False, True, False]),
        ("!=", [True, False, True]),
        (">=", [False, True, True]),
        (">", [False, False, True]),
    ],
)
def test_when_compares_a_field(comparison: str, expected: list[bool]) -> None:
    when = read({"when": {"port": "a", "field": "x", "is": comparison, "value": 2}})
    assert held(when, ("a", 1, 1.0), ("a", 2, 2.0), ("a", 3, 3.0)) == expected
    assert not when.is_regular


@pytest.mark.parametrize(
    "value",
    [
        *(3, [], {}, {"any": []}, {"all": "a"}, {"every": {"a": 0}}, {"every": {"a": True}}),
        *({"every": {"a": "2"}}, {"every": {}}, {"any": ["a"], "all": ["a"]}, {"most": ["a"]}),
        *({"newer": {"port": "a"}}, {"newer": {"port": "a", "than": 1}}, {"when": {"port": "a"}}),
    ],
)
def test_what_is_not_understood_is_refused(value: Any) -> None:
    with pytest.raises(ConfigurationError) as caught:
        read_activation(value, "participants.a.activation")
    message = str(caught.value)
    assert message.startswith(f"participants.a.activation: found {value!r}; allowed are a port, ")


def test_the_place_of_a_wrong_part_is_named() -> None:
    with pytest.raises(ConfigurationError, match=r"^here\.all\[1\]\.any\[0\]: found 7; allowed"):
        read_activation({"all": ["a", {"any": [7]}]}, "here")


def test_two_ports_are_needed_to_compare() -> None:
    with pytest.raises(ConfigurationError, match="'newer' compares port 'a' with itself"):
        read_activation({"newer": {"port": "a", "than": "a"}}, "here")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"field": "speed"}, "when.field: found 'speed'; the messages of port 'u' have acceler"),
        ({"is": "~"}, "when.is: found '~'; allowed are ==, !=, <, <=, >, >="),
        ({"value": "fast"}, "when.value: found 'fast'; allowed is a number"),
    ],
)
def test_wrong_comparisons_are_refused(changes: dict[str, Any], message: str) -> None:
    good = {"port": "u", "field": "brake", "is": ">", "value": 0.5}
    read_activation({"when": good}, "here", lambda port: ControlCommand)
    with pytest.raises(ConfigurationError) as caught:
        read_activation({"when": good | changes}, "here", lambda port: ControlCommand)
    assert message in str(caught.value)


anything: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.sampled_from(["a", "b"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["any", "all", "every", "newer", "when", "port", "than", "a"]),
            inner,
            max_size=3,
        )
    ),
    max_leaves=12,
)


@given(value=anything)
def test_whatever_is_written_the_error_is_ours(value: Any) -> None:
    try:
        activation = read_activation(value, "here")
    except ConfigurationError as error:
        assert str(error)
    else:
        assert (activation is None) == (value is None)
