# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Lookahead: what the graph alone says about the stamps of a port.

The first stamp and the distance between two stamps let a reader compute when the next message
comes. Such a reader needs no explicit promise (null message) of its writer.
"""

from __future__ import annotations

from typing import NamedTuple
from weakref import WeakKeyDictionary

from ros2_cosim.core.kernel.graph import Connection, Graph, ParticipantSpec
from ros2_cosim.core.kernel.time import FOREVER, saturating_add


class _First(NamedTuple):
    """Lower bounds [ns] of the first activation of a participant.

    ``regular``: by its period or its activation function, where it sends on every port;
    ``any``: also by a message that it handles, where it may send on sparse ports only.
    """

    regular: int
    any: int

    def of(self, schedule: str) -> int:
        """That of an activation which may send on a port."""
        return self.any if schedule == "sparse" else self.regular


#: Graph -> participant -> its first activation; a graph never changes.
_FIRST_ACTIVATIONS: WeakKeyDictionary[Graph, dict[str, _First]] = WeakKeyDictionary()


def separation(graph: Graph, participant: str, port: str) -> int | None:
    """Distance in time [ns] between two messages of an output port; None: the graph has none.

    With it a reader concludes from a message stamped s that the next one is stamped
    s + separation, unless the activation for it would lie at or after the time at which
    the writer leaves; without it the writer has to promise explicitly.
    """
    return _separation(graph, participant, port, frozenset())


def needs_promises(graph: Graph, participant: str, port: str) -> bool:
    """Whether the writer of a port has to promise silence explicitly.

    If not, its messages come at times that follow from the graph.
    """
    if graph.output(participant, port).schedule == "once":
        return graph.participants[participant].activation is not None
    return separation(graph, participant, port) is None


def first_stamp(graph: Graph, participant: str, port: str) -> int:
    """No message on an output port is stamped before this [ns]: the promise made at the start."""
    first = _FIRST_ACTIVATIONS.get(graph)
    if first is None:
        first = _FIRST_ACTIVATIONS[graph] = _first_activations(graph)
    output = graph.output(participant, port)
    return saturating_add(first[participant].of(output.schedule), output.latency.minimum_ns)


def silent_from(graph: Graph, participant: str, port: str) -> int:
    """No message on an output port with constant latency is stamped at or after this [ns]."""
    leave = graph.participants[participant].leave_ns
    return saturating_add(leave, graph.output(participant, port).latency.minimum_ns)


def _separation(graph: Graph, participant: str, port: str, visited: frozenset[str]) -> int | None:
    """``visited``: participants on the way here, so that a loop ends."""
    spec = graph.participants[participant]
    output = graph.output(participant, port)
    if output.latency.draw is not None or output.schedule != "every" or spec.dynamic_step:
        return None
    if spec.activation is None:
        return spec.period_ns
    # An activation that is not regular leaves gaps of unknown length: readers would wait for a
    # message that never comes.
    if spec.period_ns is not None or not spec.activation.is_regular or participant in visited:
        return None
    (trigger,) = spec.trigger_ports
    writers = _writers(graph, participant, trigger)
    # So would they if the trigger falls silent while this participant stays.
    if len(writers) != 1 or not graph.participants[writers[0].source].is_permanent:
        return None
    samples = spec.activation.minimum_samples(trigger)
    inherited = _separation(
        graph, writers[0].source, writers[0].source_port, visited | {participant}
    )
    return None if inherited is None else inherited * samples


def _first_activations(graph: Graph) -> dict[str, _First]:
    """Lower bounds of the first activations: shortest paths from the periodic participants.

    They are exact wherever a port of the participant has a separation.
    """
    first: dict[str, _First] = {}
    for name, spec in graph.participants.items():
        time = FOREVER if spec.first_time is None else spec.first_time
        first[name] = _First(time, time)
    changed = True
    while changed:
        changed = False
        for name, spec in graph.participants.items():
            for connection in graph.incoming(name):
                if connection.target_port not in spec.event_ports:
                    continue
                output = graph.output(connection.source, connection.source_port)
                starts = first[connection.source].of(output.schedule)
                stamp = _first_trigger(graph, spec, connection, starts)
                regular, earliest = first[name]
                if connection.target_port in spec.trigger_ports and stamp < spec.leave_ns:
                    regular = min(regular, stamp)
                if stamp < spec.leave_ns:
                    earliest = min(earliest, stamp)
                if spec.dynamic_step:  # a message that it handles may bring a step about
                    regular = earliest
                if (regular, earliest) != first[name]:
                    first[name] = _First(regular, earliest)
                    changed = True
    return first


def _first_trigger(
    graph: Graph, spec: ParticipantSpec, connection: Connection, writer_starts: int
) -> int:
    """The earliest activation by the samples of one connection."""
    latency = graph.output(connection.source, connection.source_port).latency
    stamp = saturating_add(writer_starts, latency.minimum_ns)
    distance = separation(graph, connection.source, connection.source_port)
    # Samples stamped before the entry do not count.
    missing = max(spec.enter_ns - stamp, 0)
    stamp += missing if distance is None else -(-missing // distance) * distance
    return saturating_add(stamp, _lead_in(graph, spec, connection, distance or 0))


def _lead_in(graph: Graph, spec: ParticipantSpec, connection: Connection, distance: int) -> int:
    """How long an every-n-th participant counts before its first activation."""
    if connection.target_port not in spec.trigger_ports:
        return 0
    writers = _writers(graph, connection.target, connection.target_port)
    if spec.activation is None or len(spec.trigger_ports) > 1 or len(writers) > 1:
        return 0
    samples = spec.activation.minimum_samples(connection.target_port)
    return distance * max(samples - 1, 0)


def _writers(graph: Graph, participant: str, port: str) -> list[Connection]:
    return [c for c in graph.incoming(participant) if c.target_port == port]
