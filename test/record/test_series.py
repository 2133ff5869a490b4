# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Curves of any length in bounded memory: short ones as they are, of long ones the extremes."""

from __future__ import annotations

import math
from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ros2_cosim.core.record import series as module
from ros2_cosim.core.record.series import LIMIT, Events, Series, extremes


def curve(values: Iterable[float]) -> Series:
    found = Series()
    for number, value in enumerate(values):
        found.add(0.01 * number, value)
    found.finish()
    return found


def test_a_short_curve_is_kept_as_it_is() -> None:
    values = [math.sin(0.01 * k) for k in range(2 * LIMIT - 1)]
    found = curve(values)
    assert found.values == values
    assert found.times == [0.01 * k for k in range(len(values))]


def test_an_hour_at_a_hundred_hertz_is_a_few_thousand_points() -> None:
    found = curve(math.sin(0.001 * k) for k in range(360_000))
    assert LIMIT <= len(found.times) < 2 * LIMIT
    assert found.times == sorted(found.times)
    # Evenly over the whole of it.
    assert found.times[0] < 1.0
    assert found.times[-1] > 3599.0
    middle = sum(time < 1800.0 for time in found.times)
    assert abs(middle - len(found.times) / 2) < 0.02 * len(found.times)


@given(
    st.lists(st.floats(-1e6, 1e6) | st.sampled_from([math.nan, math.inf]), min_size=1, max_size=300)
)
def test_extremes_stay_whatever_the_curve(values: list[float]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "LIMIT", 8)
        found = curve(values)
    assert len(found.times) < 2 * 8 + 2
    assert found.times == sorted(found.times)
    finite = [value for value in values if math.isfinite(value)]
    kept = [value for value in found.values if math.isfinite(value)]
    assert bool(kept) == bool(finite)
    if finite:
        assert (min(kept), max(kept)) == (min(finite), max(finite))


def test_of_many_events_some_are_kept_evenly() -> None:
    found = Events()
    for number in range(100_000):
        found.add(0.01 * number)
    assert (found.count, found.last) == (100_000, pytest.approx(999.99))
    assert LIMIT <= len(found.times) < 2 * LIMIT
    assert not found.is_whole
    gaps = {round(b - a, 6) for a, b in zip(found.times, found.times[1:], strict=False)}
    assert len(gaps) == 1


@pytest.mark.parametrize(
    ("count", "kept"),
    [
        (7, [0, 1, 2, 3, 4, 5, 6]),
        (8, [0, 2, 4, 6]),
        (14, [0, 2, 4, 6, 8, 10, 12]),
        (15, [0, 4, 8, 12]),
    ],
)
def test_events_are_all_kept_up_to_twice_the_limit(
    monkeypatch: pytest.MonkeyPatch, count: int, kept: list[float]
) -> None:
    monkeypatch.setattr(module, "LIMIT", 4)
    found = Events()
    for number in range(count):
        found.add(float(number))
    assert (found.count, found.times) == (count, kept)
    assert found.is_whole == (len(kept) == count)


def test_a_long_curve_keeps_two_points_of_four(monkeypatch: pytest.MonkeyPatch) -> None:
    """At twice the limit; from then on the smallest and the largest value of each four."""
    monkeypatch.setattr(module, "LIMIT", 4)
    found = Series()
    for number, value in enumerate([3.0, 1.0, 2.0, 9.0, 5.0, 4.0, 4.5, 7.0]):
        found.add(float(number), value)
    assert list(zip(found.times, found.values, strict=True)) == [(1, 1), (3, 9), (5, 4), (7, 7)]
    for number, value in enumerate([6.0, 8.0, 0.0, 5.0, 2.0], 8):
        found.add(float(number), value)
    assert (found.times[4:], found.values[4:]) == ([9.0, 10.0], [8.0, 0.0])
    found.finish()
    assert (found.times[6:], found.values[6:]) == ([12.0], [2.0])


def test_the_last_values_are_kept_as_they_are_where_they_are_few(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Two that are equal stay two; what was taken is not taken again."""
    monkeypatch.setattr(module, "LIMIT", 4)
    found = curve([3.0, 1.0, 2.0, 9.0, 5.0, 4.0, 4.5, 7.0, 6.0, 6.0])
    assert found.times[4:] == pytest.approx([0.08, 0.09]) and found.values[4:] == [6.0, 6.0]
    found.finish()
    assert len(found.times) == 6


def test_stretches_double_each_time_a_curve_is_thinned(monkeypatch: pytest.MonkeyPatch) -> None:
    """A curve that grows: of 4, then of 8, then of 16 values the first and the last are kept."""
    monkeypatch.setattr(module, "LIMIT", 4)
    found = Series()
    lengths = []
    for number in range(64):
        found.add(float(number), float(number))
        lengths.append(len(found.times))
    assert [n for n in range(1, 64) if lengths[n] < lengths[n - 1]] == [7, 15, 31, 63]
    assert found.times == [0.0, 31.0, 32.0, 63.0]


def test_extremes_are_in_the_order_of_their_times() -> None:
    assert extremes([(0.0, 5.0), (1.0, math.nan), (2.0, -1.0), (3.0, 2.0)]) == [(0, 5), (2, -1)]
    assert extremes([(0.0, -1.0), (2.0, 5.0)]) == [(0, -1), (2, 5)]
    first, second = extremes([(4.0, math.nan), (5.0, math.inf)])
    assert first == second and first[0] == 4.0
