# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The order in which a master steps its slaves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum
from graphlib import CycleError, TopologicalSorter

from ros2_cosim.dcp.master.wiring import Wire
from ros2_cosim.dcp.standard.errors import WiringError


class Stepping(Enum):
    """Which slaves step at the same time, and so which outputs a slave reads.

    ``PARALLEL``: all; each reads what the others had before the step. ``SEQUENTIAL``: one after the
    other, in the order in which they were added. ``DEPENDENCY``: each after those whose outputs it
    reads, those of equal rank at the same time.
    """

    PARALLEL = "parallel"
    SEQUENTIAL = "sequential"
    DEPENDENCY = "dependency"


def step_order(
    slaves: Sequence[str], wires: Sequence[Wire], stepping: Stepping
) -> list[tuple[str, ...]]:
    """The slaves in batches that step together, one batch after the other.

    :param slaves: their names, in the order in which they were added
    :raises WiringError: with ``DEPENDENCY``, a loop in which no wire is delayed
    """
    if stepping is Stepping.PARALLEL:
        return [tuple(slaves)]
    if stepping is Stepping.SEQUENTIAL:
        return [(name,) for name in slaves]
    sources: dict[str, set[str]] = {name: set() for name in slaves}
    for wire in wires:
        if not wire.delayed:
            sources[wire.target].add(wire.source)
    sorter = TopologicalSorter(sources)
    try:
        sorter.prepare()
    except CycleError as error:
        raise _loop(error.args[1], wires) from None
    batches = []
    while sorter.is_active():
        ready = set(sorter.get_ready())
        batches.append(tuple(name for name in slaves if name in ready))
        sorter.done(*ready)
    return batches


def delayed_in(batches: Sequence[Sequence[str]], wires: Sequence[Wire]) -> list[Wire]:
    """Delayed wires whose target would otherwise read what its source has just computed."""
    rank: Mapping[str, int] = {name: at for at, batch in enumerate(batches) for name in batch}
    return [wire for wire in wires if wire.delayed and rank[wire.source] < rank[wire.target]]


def _loop(names: Sequence[str], wires: Sequence[Wire]) -> WiringError:
    """The error of a loop, given by the names along it."""
    parts = []
    for source, target in zip(names, names[1:], strict=False):
        found = (w for w in wires if not w.delayed and (w.source, w.target) == (source, target))
        parts.append(str(next(found)))
    return WiringError(
        f"connections: {', '.join(parts)} are a loop without a delay, so that no order of steps "
        "follows from it; mark one of them as delayed ({from: a.y, to: b.u, delayed: true}), or "
        "use stepping: parallel"
    )
