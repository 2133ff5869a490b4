# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The numbers in a record, by the name of their field."""

from __future__ import annotations

from collections.abc import Mapping
from math import sqrt
from typing import Any

_QUATERNION = ("qx", "qy", "qz", "qw")


def numbers_of(record: Any) -> dict[str, float]:
    """Field -> value of the fields of a record that hold a float; the others cannot be estimated.

    Elements of a field that is a tuple of floats are named ``field.index``.
    """
    found: dict[str, float] = {}
    for name, value in zip(getattr(record, "_fields", ()), record, strict=False):
        if type(value) is float:
            found[name] = value
        elif type(value) is tuple:
            found.update(
                (f"{name}.{i}", element)
                for i, element in enumerate(value)
                if type(element) is float
            )
    return found


def with_numbers(record: Any, numbers: Mapping[str, float], *, unit: bool = True) -> Any:
    """The record with other numbers.

    :param unit: an orientation (qx, qy, qz, qw) is made a unit one again
    """
    changed: dict[str, Any] = {}
    if not numbers:
        return record
    for name, value in zip(record._fields, record, strict=True):
        if name in numbers:
            changed[name] = numbers[name]
        elif type(value) is tuple and any(type(element) is float for element in value):
            changed[name] = tuple(numbers.get(f"{name}.{i}", e) for i, e in enumerate(value))
    if unit and all(name in changed for name in _QUATERNION):
        square = sum(changed[name] * changed[name] for name in _QUATERNION)
        if square > 0.0:
            length = sqrt(square)
            for name in _QUATERNION:
                changed[name] = changed[name] / length
    return record._replace(**changed)


def difference(record: Any, other: Any) -> dict[str, float]:
    """Field -> number of ``record`` minus that of ``other``, of the numbers that both have."""
    second = numbers_of(other)
    return {
        name: value - second[name] for name, value in numbers_of(record).items() if name in second
    }
