# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Numbers of records: which there are, and a record with others."""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest

from ros2_cosim.core.messages.records import Odometry
from ros2_cosim.core.realtime.record_fields import numbers_of, with_numbers


class Mixed(NamedTuple):
    x: float
    count: int
    values: tuple[Any, ...]
    names: tuple[str, ...]


MIXED = Mixed(1.5, 3, (2.5, 7, 4.5), ("a",))


def test_numbers_are_fields_and_elements_that_hold_a_float() -> None:
    assert numbers_of(MIXED) == {"x": 1.5, "values.0": 2.5, "values.2": 4.5}


def test_a_record_takes_the_numbers_that_are_given_and_keeps_the_others() -> None:
    assert with_numbers(MIXED, {}) is MIXED
    changed = with_numbers(MIXED, {"values.2": 0.5})
    assert changed == Mixed(1.5, 3, (2.5, 7, 0.5), ("a",))
    assert changed.names is MIXED.names
    assert with_numbers(MIXED, {"x": 9.0}) == Mixed(9.0, 3, (2.5, 7, 4.5), ("a",))


@pytest.mark.parametrize(
    ("unit", "numbers", "expected"),
    [
        (True, (0.0, 0.0, 3.0, 4.0), (0.0, 0.0, 0.6, 0.8)),
        (True, (1.0, -1.0, 1.0, -1.0), (0.5, -0.5, 0.5, -0.5)),
        (False, (0.0, 0.0, 3.0, 4.0), (0.0, 0.0, 3.0, 4.0)),
        (True, (0.0, 0.0, 0.0, 0.0), (0.0, 0.0, 0.0, 0.0)),
    ],
)
def test_an_orientation_is_made_a_unit_one(
    unit: bool, numbers: tuple[float, ...], expected: tuple[float, ...]
) -> None:
    record = Odometry(1.0, 2.0, 0.0, 0.0, 0.0, 0.0, 1.0, 5.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    given = dict(zip(("qx", "qy", "qz", "qw"), numbers, strict=True))
    changed = with_numbers(record, given, unit=unit)
    assert changed[3:7] == expected
    assert changed[:3] == record[:3] and changed[7:] == record[7:]
