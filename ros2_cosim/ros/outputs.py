# SPDX-License-Identifier: Apache-2.0
"""The output ports of a participant as topics, and the readers that these must have."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import NamedTuple

from ros2_cosim.interfaces.wiring import Wiring
from ros2_cosim.kernel.graph import Graph
from ros2_cosim.kernel.membership import MembershipView
from ros2_cosim.kernel.runtime import Output
from ros2_cosim.ros.session import Session, Writer, data_qos


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
            qos = data_qos(latched=port.schedule == "once" or kept)
            self.writers.append(
                session.port_writer(topic.name, topic.codec, qos, for_onlookers=for_onlookers)
            )

    def publish(self, outputs: Iterable[Output]) -> None:
        """Publish the messages of one activation."""
        started = self._timer()
        for port, sample, data in outputs:
            self.writers[port].send_bytes(data, sample.stamp, sample.seq)
        self._session.sent(started)
        self.transport_ns += self._timer() - started

    def send_now(self, outputs: Iterable[Output]) -> None:
        """Publish what a step sends while it is open: others may have to answer it."""
        self.publish(outputs)
        self._session.flush()

    def flush(self) -> None:
        """Wait until every reader has what was sent."""
        for writer in self.writers:
            writer.flush()


class _Expected(NamedTuple):
    writer: Writer
    readers: frozenset[str]
    others: int
    at_start: bool


class ExpectedReaders:
    """The readers of one participant's topics.

    Those that may connect late are not awaited at the start: what is sent before is kept for
    them. Nor are those awaited that are gone.

    :param graph: the checked system
    :param membership: which participants are gone
    """

    def __init__(self, graph: Graph, membership: MembershipView) -> None:
        self._late = {name for name, spec in graph.participants.items() if spec.is_late}
        self._membership = membership
        self._expected: list[_Expected] = []

    def add(
        self, writer: Writer, readers: Collection[str], others: int, *, at_start: bool = True
    ) -> None:
        """Expect participants, and a number of others (clock, recorder), as readers of a topic.

        :param at_start: nothing may be sent before they are there
        """
        self._expected.append(_Expected(writer, frozenset(readers), int(others), at_start))

    def missing(self) -> list[str]:
        """Topics that have not all the readers that they need before the start."""
        return [
            f"{e.writer.topic} ({e.writer.readers} of {self._count(e, self._late)})"
            for e in self._expected
            if e.at_start and e.writer.readers < self._count(e, self._late)
        ]

    def have_all(self) -> bool:
        """Whether all readers, the late ones too, are there and have what was sent."""
        none: set[str] = set()
        return all(e.writer.readers >= self._count(e, none) for e in self._expected) and all(
            e.writer.flush() for e in self._expected
        )

    def _count(self, expected: _Expected, late: Collection[str]) -> int:
        present = expected.readers - self._membership.gone - set(late)
        return len(present) + expected.others
