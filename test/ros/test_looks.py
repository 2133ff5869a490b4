# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Looks into the middleware take a small share of the time, and none waits for long."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ros2_cosim.ros.node.looks import EARLIEST_NS, LATEST_NS, Looks

MS = 1_000_000


def next_look(length: int, *, found: bool) -> int:
    """How long after a look the next one is due [ns], to the microsecond."""
    looks = Looks(0)
    assert looks.is_due(0)
    looks.looked(0, length, found=found)
    pauses = range(0, LATEST_NS + MS, 1000)
    return next(pause for pause in pauses if looks.is_due(length + pause))


def test_short_looks_follow_each_other_regularly() -> None:
    assert next_look(80_000, found=False) == EARLIEST_NS


def test_looks_that_find_nothing_take_a_twentieth_of_the_time() -> None:
    assert next_look(800_000, found=False) == 16 * MS


def test_a_look_that_finds_something_is_followed_by_another_one_soon() -> None:
    assert next_look(10 * MS, found=True) == EARLIEST_NS


@given(st.integers(0, 10**12), st.booleans())
def test_requests_wait_no_longer_than_that(length: int, found: bool) -> None:
    looks = Looks(0)
    looks.looked(0, length, found=found)
    assert not looks.is_due(length + EARLIEST_NS - 1)
    assert looks.is_due(length + LATEST_NS)
