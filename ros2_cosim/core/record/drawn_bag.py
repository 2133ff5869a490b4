# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""A bag that shows the scene when it is played: with ``/clock``, ``/tf`` and markers.

They are derived from the messages of the run at multiples of a period of simulated time, so that
they are the same in every run shape. They are not in the trace: no participant has sent them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ros2_cosim.core.kernel.time import FOREVER
from ros2_cosim.core.messages.catalogue import DEFAULT as CATALOGUE
from ros2_cosim.core.record.bag import BagWriter
from ros2_cosim.core.record.bag_metadata import BagTopic, Qos
from ros2_cosim.core.scenario.pictures import Picture

CLOCK_TOPIC = "/clock"
CLOCK = "rosgraph_msgs/msg/Clock"


def derived_topics(picture: Picture, taken: Iterable[str]) -> list[BagTopic]:
    """What is derived for a bag, except for topics that the run has itself.

    :param taken: topics of the run
    """
    types: Mapping[str, str] = {CLOCK_TOPIC: CLOCK, **picture.topics}
    own = set(taken)
    return [
        BagTopic(topic, kind, Qos(transient_local=topic in picture.latched))
        for topic, kind in types.items()
        if topic not in own
    ]


class DrawnBag:
    """The sink of a bag with what is derived.

    :param bag: has all topics declared, or left out
    :param picture: draws the scene; it is this object's alone
    :param topics: those that are derived, of which the bag may leave some out
    :param period_ns: of simulated time [ns]
    :param start_ns: when the run starts, as ROS counts [ns]
    """

    def __init__(
        self,
        bag: BagWriter,
        picture: Picture,
        topics: Iterable[BagTopic],
        period_ns: int,
        start_ns: int = 0,
    ) -> None:
        self._bag = bag
        self._picture = picture
        self._period = period_ns
        self._count = dict.fromkeys((topic.name for topic in topics), 0)
        self._clock = CATALOGUE.codec(CLOCK, start_ns=start_ns)
        #: (stamp, topic, sequence number, message), which the picture has not received yet.
        self._pending: list[tuple[int, str, int, bytes]] = []
        self._next: int | None = None
        self._earliest = FOREVER
        self._latest = -1
        self._closed = False

    def write(self, topic: str, stamp_ns: int, seq: int, data: bytes) -> None:
        """Take one message in CDR."""
        self._bag.write(topic, stamp_ns, seq, data)
        self._earliest = min(self._earliest, stamp_ns)
        self._latest = max(self._latest, stamp_ns)
        if topic in self._picture.wanted:
            self._pending.append((stamp_ns, topic, seq, data))

    def advance(self, time_ns: int) -> None:
        """Every message stamped before ``time_ns`` has been given.

        :raises StorageError: see :meth:`BagWriter.advance`
        """
        self._draw(time_ns)
        self._bag.advance(time_ns if self._next is None else min(time_ns, self._next))

    def conclude(self, trace_sha256: str) -> None:
        """The run is complete with this trace."""
        self._bag.conclude(trace_sha256)

    def close(self) -> None:
        """It gets no more messages; a second call does nothing.

        :raises StorageError: see :meth:`BagWriter.close`
        """
        if not self._closed:
            self._closed = True
            self._draw(FOREVER)
        self._bag.close()

    def _draw(self, time_ns: int) -> None:
        """Draw at all times before ``time_ns`` that are not after the last message.

        So it makes no difference how far the run had got when it was closed.
        """
        if self._next is None:
            if self._earliest >= time_ns:
                return
            # The run may go on from a checkpoint.
            self._next = -(-self._earliest // self._period) * self._period
            for topic, data in self._picture.begin():
                self._derived(topic, self._next, data)
        if self._next >= time_ns or self._next > self._latest:
            return
        self._pending.sort()
        taken = 0
        while self._next < time_ns and self._next <= self._latest:
            while taken < len(self._pending) and self._pending[taken][0] <= self._next:
                _, topic, _, data = self._pending[taken]
                self._picture.take(topic, data)
                taken += 1
            time = CATALOGUE.record(CLOCK)()
            self._derived(CLOCK_TOPIC, self._next, self._clock.encode(self._next, 0, time))
            for topic, data in self._picture.draw(self._next):
                self._derived(topic, self._next, data)
            self._next += self._period
        del self._pending[:taken]

    def _derived(self, topic: str, stamp_ns: int, data: bytes) -> None:
        if topic in self._count:
            self._bag.write(topic, stamp_ns, self._count[topic], data)
            self._count[topic] += 1
