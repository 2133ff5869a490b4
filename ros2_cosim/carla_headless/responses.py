# SPDX-License-Identifier: Apache-2.0
"""Wrappers that CARLA puts around results (``Response<T>``, ``Response<void>``, optionals)."""

from __future__ import annotations

from typing import Any


def value(result: Any) -> list[Any]:
    """A successful ``Response<T>``."""
    return [[1, result]]


def failure(message: str) -> list[Any]:
    """A failed ``Response<T>``; the client raises RuntimeError with this text."""
    return [[0, [message]]]


def done() -> list[Any]:
    """A successful ``Response<void>``."""
    return [[False]]


def failed(message: str) -> list[Any]:
    """A failed ``Response<void>``."""
    return [[True, [message]]]
