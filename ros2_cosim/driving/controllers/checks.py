# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Checks of parameters at construction, so that nothing is refused in the loop."""

from __future__ import annotations

from ros2_cosim.core.kernel.errors import ConfigurationError

_LARGEST = 1e300


def is_number(value: object) -> bool:
    """Whether the value is a finite int or float (a bool is not)."""
    return (
        isinstance(value, (int, float))
        and not isinstance(value, bool)
        and -_LARGEST < value < _LARGEST
    )


def require_positive(owner: str, **values: float) -> None:
    """Refuse any value that is not a finite number > 0.

    :raises ConfigurationError: naming owner, parameter and value
    """
    for name, value in values.items():
        if not is_number(value) or value <= 0:
            raise ConfigurationError(
                f"{owner}: {name} is {value!r}; it must be a finite number > 0"
            )


def require_not_negative(owner: str, **values: float) -> None:
    """Refuse any value that is not a finite number >= 0.

    :raises ConfigurationError: naming owner, parameter and value
    """
    for name, value in values.items():
        if not is_number(value) or value < 0:
            raise ConfigurationError(
                f"{owner}: {name} is {value!r}; it must be a finite number >= 0"
            )
