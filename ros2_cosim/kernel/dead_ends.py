# SPDX-License-Identifier: Apache-2.0
"""Participants that wait for each other's first message: found before anything runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ros2_cosim.kernel.errors import DeadEndError

if TYPE_CHECKING:
    from ros2_cosim.kernel.graph import Graph


def check_dead_ends(graph: Graph) -> None:
    """Refuse participants that can never run because all wait for somebody's first message.

    :raises DeadEndError: there are some; the message names who waits for whom
    """
    runs = {name for name, spec in graph.participants.items() if spec.period_ns is not None}
    while True:
        more = {
            name
            for name, spec in graph.participants.items()
            if name not in runs
            and spec.activation is not None
            and spec.activation.can_hold(_fed_ports(graph, name, runs))
        }
        if not more:
            break
        runs |= more
    dead = set(graph.participants) - runs
    if not dead:
        return
    # Among those that never run, everyone waits for another one: following that ends in
    # a cycle.
    path = [min(dead)]
    edges: list[str] = []
    while True:
        connection = min(
            (
                c
                for c in graph.incoming(path[-1])
                if c.source in dead and c.target_port in graph.participants[path[-1]].trigger_ports
            ),
            key=str,
        )
        edges.append(f"{path[-1]} waits for {connection.source}.{connection.source_port}")
        if connection.source in path:
            edges = edges[path.index(connection.source) :]
            break
        path.append(connection.source)
    raise DeadEndError(
        f"participants that can never run: {', '.join(sorted(dead))}; {', '.join(edges)}. "
        "One of them needs a period, or a trigger from a participant that runs"
    )


def _fed_ports(graph: Graph, participant: str, runs: set[str]) -> frozenset[str]:
    """Input ports that somebody in ``runs`` writes to, or whose writer was left out.

    Whoever never runs for want of what was left out is no mistake of the wiring.
    """
    unfed = {port.name for port in graph.participants[participant].inputs if port.unfed}
    written = {c.target_port for c in graph.incoming(participant) if c.source in runs}
    return frozenset(unfed | written)
