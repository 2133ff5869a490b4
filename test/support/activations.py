# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Activation functions for tests: random ones, and what they mean, said the long way."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hypothesis import strategies as st

from ros2_cosim.core.kernel.activation import Activation, Combination, Count, Predicate
from ros2_cosim.core.kernel.time_advance import QueuedSample

PORTS = ("a", "b", "c")


class MultipleOf:
    """A predicate over integer values, with a readable name in failures."""

    def __init__(self, divisor: int) -> None:
        self._divisor = divisor

    def __call__(self, sample: Any) -> bool:
        return int(sample.value) % self._divisor == 0

    def __repr__(self) -> str:
        return f"MultipleOf({self._divisor})"


def _leaves(ports: Sequence[str]) -> st.SearchStrategy[Activation]:
    port = st.sampled_from(ports)
    return st.one_of(
        st.builds(Count, port, st.integers(1, 3)),
        st.builds(Predicate, port, st.builds(MultipleOf, st.integers(1, 4))),
    )


def activations(ports: Sequence[str] = PORTS) -> st.SearchStrategy[Activation]:
    """Counts and predicates over the ports, and their combinations by ``&`` and ``|``."""
    return st.recursive(
        _leaves(ports),
        lambda parts: st.one_of(
            st.builds(lambda x, y: x & y, parts, parts),
            st.builds(lambda x, y: x | y, parts, parts),
        ),
        max_leaves=4,
    )


def holds(alpha: Activation, samples: Sequence[QueuedSample]) -> bool:
    """Whether alpha is true of a set of samples, without any state in between."""
    if isinstance(alpha, Count):
        return sum(entry.port == alpha.port for entry in samples) >= alpha.n
    if isinstance(alpha, Predicate):
        return any(entry.port == alpha.port and alpha.predicate(entry.sample) for entry in samples)
    assert isinstance(alpha, Combination)
    results = [holds(part, samples) for part in alpha.parts]
    return all(results) if alpha.require_all else any(results)


def all_activations(
    alpha: Activation, samples: Sequence[QueuedSample], lbts: int
) -> list[list[QueuedSample]]:
    """Algorithm 1 word by word, again and again: the prefixes that activate, in order.

    Each time every prefix of the safe samples is tried, from the shortest on.
    """
    safe = sorted(entry for entry in samples if entry.stamp < lbts)
    found = []
    while True:
        for length in range(1, len(safe) + 1):
            if holds(alpha, safe[:length]):
                found.append(safe[:length])
                safe = safe[length:]
                break
        else:
            return found
