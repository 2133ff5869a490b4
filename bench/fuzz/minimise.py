# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Chooses from many inputs the few that reach as much code, by Python's own tracing."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from types import CodeType, FrameType
from typing import Any

from bench.fuzz.target import Target

#: The corpus of a target in the repository [bytes].
BUDGET = 6_000
_OWN = "ros2_cosim"

_Arc = tuple[CodeType, int, int]


def arcs_of(target: Target, data: bytes) -> frozenset[_Arc]:
    """From which line to which the package's code went for an input.

    :raises Exception: it breaks the reader
    """
    found: set[_Arc] = set()

    def enter(frame: FrameType, event: str, argument: Any) -> Any:
        if _OWN not in frame.f_code.co_filename:
            return None
        code, before = frame.f_code, 0

        def step(frame: FrameType, event: str, argument: Any) -> Any:
            nonlocal before
            if event == "line":
                found.add((code, before, frame.f_lineno))
                before = frame.f_lineno
            return step

        return step

    sys.settrace(enter)
    try:
        target.check(data)
    finally:
        sys.settrace(None)
    return frozenset(found)


def smallest(target: Target, inputs: Iterable[bytes], budget: int = BUDGET) -> list[bytes]:
    """Inputs that add most to what the seeds reach, for each of their bytes, within a budget."""
    known: set[_Arc] = set()
    for seed in target.seeds():
        known |= arcs_of(target, seed)
    left = {data: arcs_of(target, data) - known for data in set(inputs) if len(data) <= budget}
    chosen: list[bytes] = []
    while left:
        data = max(left, key=lambda data: (len(left[data]) / (len(data) + 20), data))
        new = left.pop(data)
        if not new:
            break
        if len(data) > budget:
            continue
        budget -= len(data)
        chosen.append(data)
        left = {other: arcs - new for other, arcs in left.items()}
    return chosen
