# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The readers that the topics of a node must have, known by their nodes.

A number of readers does not do: that of a process that was killed stays for the time of a lease,
and any other program may read along. Each of them would stand in for a reader that is not there
yet, and what is sent then would be lost to it.

Which node a participant is tells the topic that it alone publishes; its name need not.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from functools import cache
from typing import NamedTuple

from ros2_cosim.core.kernel.graph import Graph
from ros2_cosim.core.kernel.membership import MembershipView
from ros2_cosim.ros.node import topics
from ros2_cosim.ros.node.session import Session
from ros2_cosim.ros.node.writers import Writer

#: Readers that are not participants.
CLOCK = "clock"
RECORDER = "recorder"


class _Expected(NamedTuple):
    writer: Writer
    participants: frozenset[str]
    others: frozenset[str]
    at_start: bool


class ExpectedReaders:
    """The readers of one node's topics.

    The writer does not wait at the start for readers that may connect late: it keeps earlier
    messages for them. It does not wait for readers that have gone either.

    :param session: of the node
    :param graph: the checked system
    :param membership: which participants are gone
    """

    def __init__(self, session: Session, graph: Graph, membership: MembershipView) -> None:
        self._session = session
        self._late = frozenset(name for name, spec in graph.participants.items() if spec.is_late)
        self._membership = membership
        self._expected: list[_Expected] = []

    def add(
        self,
        writer: Writer,
        participants: Collection[str],
        others: Collection[str],
        *,
        at_start: bool = True,
    ) -> None:
        """Expect participants, and others (clock, recorder), as readers of a topic.

        :param at_start: nothing may be sent before they are there
        """
        self._expected.append(
            _Expected(writer, frozenset(participants), frozenset(others), at_start)
        )

    def may_start(self) -> bool:
        """Whether all readers are there that have to be before the start."""
        return self._are_there([e for e in self._expected if e.at_start], self._late)

    def have_all(self) -> bool:
        """Whether all readers, the late ones too, are there and have what was sent."""
        return self._are_there(self._expected, frozenset()) and all(
            e.writer.flush() for e in self._expected
        )

    def _are_there(self, expected: Collection[_Expected], spared: Collection[str]) -> bool:
        """Whether each writer is connected with all readers that it needs.

        :param spared: participants that need not be there
        """
        away = self._membership.gone | set(spared)
        needed = [(e.writer, sorted((e.participants - away) | e.others)) for e in expected]
        # Most often it fails here; to ask which readers they are takes longer.
        if any(writer.readers < len(names) for writer, names in needed):
            return False
        nodes = cache(self._nodes_of)
        return all(_reach(writer, map(nodes, names)) for writer, names in needed)

    def _nodes_of(self, name: str) -> frozenset[str]:
        announced = topics.HORIZON if name == CLOCK else topics.completion(name)
        return frozenset(self._session.publishing_nodes(announced)) - {""}


def _reach(writer: Writer, needed: Iterable[frozenset[str]]) -> bool:
    """Whether a writer is connected with a reader of each participant, given by its nodes."""
    known = writer.reader_nodes()
    # It does not tell which of them it is connected with: so it must be with all.
    return writer.readers >= len(known) and all(nodes & set(known) for nodes in needed)
