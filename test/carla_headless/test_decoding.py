# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Readers of RPC arguments: right values pass unchanged, wrong ones never reach a handler."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ros2_cosim.world.headless import decoding
from ros2_cosim.world.headless.decoding import ArgumentError, read_arguments
from ros2_cosim.world.headless.methods import ALL
from ros2_cosim.world.headless.wire_types import EpisodeSettings, Transform

_ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary(),
    lambda inner: st.lists(inner, max_size=8) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=20,
)
_FLOATS = st.floats(width=32, allow_nan=False, allow_infinity=False)


@given(st.lists(_FLOATS, min_size=6, max_size=6))
def test_transform_is_read_as_sent(n: list[float]) -> None:
    assert decoding.transform([n[:3], n[3:]]) == Transform(
        Transform().location._make(n[:3]), Transform().rotation._make(n[3:])
    )


@given(_ANYTHING)
def test_readers_only_raise_argument_errors(value: object) -> None:
    for name in ALL.names():
        for reader in ALL.find(name).readers:
            try:
                reader(value)
            except ArgumentError as error:
                assert str(error)


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, 1e39, True, None, "1", [1.0]])
def test_numbers_must_be_finite_numbers(value: object) -> None:
    with pytest.raises(ArgumentError):
        decoding.real(value)


@pytest.mark.parametrize("value", [-1, 256, 1.0, True, None, "1"])
def test_integers_must_be_integers_in_range(value: object) -> None:
    with pytest.raises(ArgumentError):
        decoding.u8(value)


def test_controls_are_limited_to_their_ranges() -> None:
    control = decoding.vehicle_control([7.0, -9.0, -1.0, False, True, False, -1])
    assert control[:3] == (1.0, -1.0, 0.0)
    assert control.reverse and control.gear == -1


def test_settings_round_trip() -> None:
    for step in (None, 0.01):
        settings = EpisodeSettings(synchronous_mode=True, fixed_delta_seconds=step)
        assert decoding.episode_settings(settings.to_wire()) == settings


def test_attribute_order_does_not_reach_the_world() -> None:
    a, b = ["color", 5, "1,2,3"], ["role_name", 4, "x"]
    assert decoding.actor_description([1, "v", [a, b]]) == decoding.actor_description(
        [1, "v", [b, a]]
    )


def test_messages_name_the_argument() -> None:
    with pytest.raises(ArgumentError, match="argument 2: expected a boolean, found 1"):
        read_arguments((decoding.u32, decoding.boolean), [1, 1])
    with pytest.raises(ArgumentError, match="expected 2 arguments, found 1"):
        read_arguments((decoding.u32, decoding.boolean), [1])
