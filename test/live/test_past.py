# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""What is remembered of a whole run stays bounded, and covers all of it."""

from __future__ import annotations

from math import inf, nan

import pytest

from ros2_cosim.core.record.past import BoundedPast

MS = 1_000_000


def test_rows_are_a_tenth_of_a_second_apart_and_numbers_are_plain() -> None:
    past = BoundedPast()
    for ms in range(0, 400, 30):
        past.add("car", ms * MS, (1.23456, None, nan, inf))
    assert past.rows() == {
        "car": [(t, 1.235, None, None, None) for t in (0.0, 0.12, 0.21, 0.3)],
    }


def test_a_long_run_is_thinned_out_from_its_begin_to_its_end() -> None:
    past = BoundedPast(100)
    for ms in range(0, 60_000, 10):
        for name in ("one", "other"):
            past.add(name, ms * MS, (float(ms),))
    rows = past.rows()
    assert rows["one"] == rows["other"]
    times = [row[0] or 0.0 for row in rows["one"]]
    assert 25 <= len(times) <= 50
    assert times[0] == 0.0 and times[-1] > 58.0
    apart = {round(b - a, 6) for a, b in zip(times, times[1:], strict=False)}
    assert apart == {1.6}
    assert past.wants("one", 60_900 * MS) and not past.wants("one", 59_990 * MS)


def test_vehicles_without_end_are_not_all_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ros2_cosim.core.record.past.MOST_NAMES", 3)
    past = BoundedPast(2)
    for number in range(9):
        past.add(f"traffic {number}", number * MS, (1.0,))
    assert list(past.rows()) == ["traffic 0", "traffic 1", "traffic 2"]
    assert not past.wants("traffic 8", 10**12)
