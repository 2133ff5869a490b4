# SPDX-License-Identifier: Apache-2.0
"""Sequence numbers of messages whose type carries none."""

from __future__ import annotations

from ros2_cosim.kernel.graph import Graph


class Numbering:
    """Sequence numbers of messages that carry none: from the stamps, where they are regular."""

    def __init__(self, graph: Graph, participant: str, port: str) -> None:
        self._port = (participant, port)
        self._separation = graph.separation(participant, port)
        self._first = graph.first_stamp(participant, port)

    @property
    def is_implied(self) -> bool:
        """Whether the stamp of a message says its number."""
        return self._separation is not None

    def entered(self, graph: Graph) -> None:
        """Learn when the writer, whose entry was not known, sends first."""
        self._first = graph.first_stamp(*self._port)

    def number(self, stamp: int, received: int) -> int:
        """The number of a message; the count of received ones where stamps tell nothing."""
        if self._separation is None:
            return received
        return (stamp - self._first) // self._separation
