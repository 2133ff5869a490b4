# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The output ports of a participant as topics."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable

from ros2_cosim.core.kernel.graph import Graph
from ros2_cosim.core.kernel.lookahead import separation
from ros2_cosim.core.kernel.runtime import Output
from ros2_cosim.core.messages.wiring import Wiring
from ros2_cosim.ros.node.session import Session
from ros2_cosim.ros.node.writers import Writer, data_qos

#: So long [ns] the last messages of a run may take to its onlookers.
_ONLOOKERS_NS = 1_000_000_000


class OutputTopics:
    """Publishes what the activations of a participant send.

    :param session: the ROS node
    :param wiring: the system and its topics
    :param name: the participant
    :param timer: monotonic wall clock [ns]
    :param for_late: whether late readers need the messages that were sent before they came
    :param for_onlookers: no participant reads them, for all are in this process
    """

    def __init__(
        self,
        session: Session,
        wiring: Wiring,
        name: str,
        timer: Callable[[], int],
        *,
        for_late: bool = False,
        for_onlookers: bool = False,
    ) -> None:
        self._session = session
        self._timer = timer
        #: Wall time [ns] spent on publishing.
        self.transport_ns = 0
        #: Of each output port, in its order.
        self.writers: list[Writer] = []
        for port in wiring.graph.participants[name].outputs:
            topic = wiring.topics[name, port.name]
            kept = for_late and wiring.graph.is_kept(name, port.name)
            qos = data_qos(latched=port.latched or port.schedule == "once" or kept)
            self.writers.append(
                session.port_writer(
                    topic.name,
                    topic.codec,
                    qos,
                    silence=_silence(wiring.graph, name, port.name),
                    for_onlookers=for_onlookers,
                )
            )

    def publish(self, outputs: Collection[Output]) -> None:
        """Publish the messages of one activation."""
        if not outputs:
            return
        started = self._timer()
        for port, sample, data in outputs:
            self.writers[port].send_bytes(data, sample.stamp, sample.seq, sample.value)
        self._session.sent(started)
        self.transport_ns += self._timer() - started

    def send_now(self, outputs: Collection[Output]) -> None:
        """Publish what a step sends while it is open: others may have to answer it."""
        self.publish(outputs)
        self._session.flush()

    def flush(self) -> None:
        """Wait until every reader has what was sent."""
        for writer in self.writers:
            writer.flush()


def _silence(graph: Graph, name: str, port: str) -> int:
    """A message lets a reader advance only to times less than this after its stamp [ns].

    A reader advances to a time when it knows all messages up to that time; a reader with a delayed
    input, when it knows those before it. 0: a message may let a reader advance to any time.
    """
    distance = separation(graph, name, port)
    if distance is None:
        return 0
    return distance + has_delayed_reader(graph, name, port)


def has_delayed_reader(graph: Graph, name: str, port: str) -> bool:
    """Whether an input that is delayed reads an output port."""
    readers = [c for c in graph.outgoing(name) if c.source_port == port]
    return any(graph.input(c.target, c.target_port).delayed for c in readers)


def flush_onlookers(writers: Iterable[Writer], timer: Callable[[], int]) -> None:
    """At the end of a run: wait for onlookers, but not long for one that stands still.

    :param timer: monotonic clock [ns]
    """
    deadline = timer() + _ONLOOKERS_NS
    for writer in writers:
        writer.flush_onlookers(max(deadline - timer(), 0))
