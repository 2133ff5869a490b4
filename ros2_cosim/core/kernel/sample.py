# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""One message as it is received."""

from __future__ import annotations

from typing import Any, NamedTuple


class Sample(NamedTuple):
    """One message as a participant receives it.

    ``stamp`` is simulated time in integer nanoseconds, ``seq`` counts the messages of the
    writing port from 0, ``value`` is an immutable record.
    """

    stamp: int
    seq: int
    value: Any
