# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Membership of small runs: participants with a period of 10 ns and one output."""

from __future__ import annotations

from collections.abc import Sequence

from ros2_cosim.core.kernel.coordinator import Coordinator
from ros2_cosim.core.kernel.graph import Graph, OutputPort, ParticipantSpec
from ros2_cosim.core.kernel.membership import Membership

END = 1000
OUT = (OutputPort("out"),)


def spec(name: str, **changes: object) -> ParticipantSpec:
    return ParticipantSpec(name, 10, outputs=OUT, **changes)  # type: ignore[arg-type]


def system(*specs: ParticipantSpec, named: Sequence[str] = ()) -> tuple[Membership, Coordinator]:
    """Membership of a run of ``a``, which is always there, and others.

    :param named: those that the run is to require; none: as declared
    """
    graph = Graph([spec("a"), *specs], [])
    coordinator = Coordinator(
        graph.order,
        duration_ns=END,
        run_ahead_ns=50,
        stop_latency_ns=50,
        enters={s.name: s.enter_ns for s in specs if s.enter_ns},
        free=[s.name for s in specs if s.free_entry],
    )
    return Membership(graph, coordinator, named), coordinator
