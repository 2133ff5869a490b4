# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""What sessions and writers ask of a lane (:mod:`~ros2_cosim.ros.node.lane`).

Apart from it: that module is compiled, and other lanes, as the simulated one of the tests, are not.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

#: Takes a message: its bytes, stamp and sequence number.
Receive = Callable[[bytes, int, int], None]
#: Takes the value of a message as its writer has it, stamp and sequence number.
Take = Callable[[Any, int, int], None]


class NodeServer(Protocol):
    """Has what nodes wait for handled by :meth:`~.lane.SocketLane.spin_once`."""

    def add_node(self, node: Any) -> None:
        """Serve a further node."""

    def close(self) -> None:
        """Serve no node any more."""


class TopicWriter(Protocol):
    """The writing end of one topic on a lane."""

    @property
    def readers(self) -> int:
        """Readers that have been found."""

    @property
    def reader_nodes(self) -> list[str]:
        """The full name of the node of each of them."""

    def send(self, data: bytes, stamp: int = ..., seq: int = ..., value: Any = ...) -> None:
        """Send a message to all of them.

        :param value: what was encoded; readers in the same process take it unchanged
        """

    def reach(self, time: int) -> None:
        """All that was sent so far tells up to a time; FOREVER: nothing else follows.

        It counts for :meth:`RunLane.aim`, of a topic that is shown.
        """

    def flush(self) -> bool:
        """Wait until all have been given what was sent; whether they have."""


class Watch(Protocol):
    """Takes what a lane spends its time on; times on its clock [ns]."""

    def spun(self, began: int, slept: int, woke: int, ended: int) -> None:
        """A wait: first it sends, then it sleeps, then it hands over what has arrived."""

    def sent(self, at: int, node: str) -> None:
        """Something leaves for the process of a node."""


class RunLane(Protocol):
    """What sessions of one thread ask of their lane; besides it waits, as an executor.

    What one session sends another session of the same lane gets at once, by a call, unless it is
    to be handled alone.
    """

    def writer(
        self, topic: str, *, latched: bool, owner: str, shown: bool, silence: int
    ) -> TopicWriter:
        """Write a topic.

        :param latched: readers that come later, and ask for it, get what was sent before
        :param owner: full name of the node that writes it
        :param shown: of its messages without content only the newest counts, and none follows one
            with content
        :param silence: a message leads to nothing at a time that is so much later than its stamp,
            or later; 0: that is not known [ns]
        """

    def reader(
        self,
        topic: str,
        receive: Receive,
        *,
        latched: bool,
        lazy: bool,
        alone: bool,
        unused: bool,
        owner: str,
        take: Take | None = None,
    ) -> None:
        """Call ``receive`` with each message of a topic.

        :param latched: also with those that were sent before
        :param lazy: no hurry
        :param alone: a wait ends after such a message, so that what follows from it is done before
            the next one
        :param unused: the writer finds this reader, and sends it nothing
        :param owner: full name of the node that reads it
        :param take: is called instead where the value need not be decoded
        """

    def writers(self, topic: str) -> int:
        """Writers of a topic that are known to be there."""

    def writer_nodes(self, topic: str) -> set[str]:
        """The full names of the nodes of these writers."""

    @property
    def departures(self) -> int:
        """Connections that have ended."""

    #: Takes what the time is spent on; None: nothing does.
    watch: Watch | None

    def prefer(self, topic: str) -> None:
        """Nothing can be done before the writer of a topic has sent something.

        The next wait lets messages of others wait for it, for a moment: one wake-up for all.
        """

    def rest(self, until: int) -> None:
        """What waits here does nothing before a time [ns], whatever comes.

        A writer whose message leads to nothing then keeps it until it sends another one.
        """

    def aim(self, target: int) -> None:
        """Tell all that topics shown here have news, and end a wait when all others are so far.

        :param target: time that the writers of topics which are read here have to reach
        """

    def sent(self, now_ns: int) -> None:
        """An activation has sent what it sends: it leaves, unless others follow at once.

        :param now_ns: the time on the clock of the session
        """

    def flush(self) -> None:
        """Send the waiting messages, except to lazy readers."""
