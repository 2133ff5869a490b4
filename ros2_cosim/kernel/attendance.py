# SPDX-License-Identifier: Apache-2.0
"""Who takes part, as the owner of the clock tells it while the run goes on.

A reader hears two things that the graph cannot say: when a participant with free entry enters,
and that one the run does not need is gone. Both come together with the horizon, in order: while
such a participant has not entered, nothing of it comes before the horizon that was told.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from ros2_cosim.kernel.engine import Channel
from ros2_cosim.kernel.graph import Graph
from ros2_cosim.kernel.numbering import Numbering
from ros2_cosim.kernel.time import FOREVER


@dataclass
class _Writer:
    """A participant that may enter at any time, or be gone at any time."""

    entered: bool
    gone: bool = False
    channels: list[tuple[str, Channel]] = field(default_factory=list)
    numberings: list[Numbering] = field(default_factory=list)
    #: What came before its entry was known.
    early: list[tuple[Callable[..., None], tuple[Any, ...]]] = field(default_factory=list)


class Attendance:
    """What one reader knows of the presence of those it reads from.

    :param graph: the checked system
    """

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._writers = {
            name: _Writer(entered=not spec.free_entry) for name, spec in graph.participants.items()
        }
        self._awaited = [w for w in self._writers.values() if not w.entered]
        #: Participants that the run goes on without.
        self.gone: set[str] = set()

    def watch(self, source: str, port: str, channel: Channel) -> None:
        """Keep a channel informed of its writer's presence."""
        self._writers[source].channels.append((port, channel))

    def guard(
        self, source: str, numbering: Numbering | None, receive: Callable[..., None]
    ) -> Callable[..., None]:
        """Wrap a receiver of a writer's messages so that it hears them in their time only.

        Receivers of those whom the scenario requires are left as they are; should the system
        controller have spared one, its channels close.
        """
        spec, writer = self._graph.participants[source], self._writers[source]
        if spec.required and not spec.free_entry:
            return receive
        if numbering is not None:
            writer.numberings.append(numbering)

        def guarded(*message: Any) -> None:
            if writer.gone:
                return  # the run has gone on as if nothing more came
            if writer.entered:
                receive(*message)
            else:
                writer.early.append((receive, message))

        return guarded

    def told(self, presences: Iterable[tuple[str, int, int]], horizon: int) -> None:
        """Take what the owner of the clock tells.

        :param presences: (participant, entry, end of its presence) of all who entered freely or
            are gone
        :param horizon: activations before this time may run
        """
        for name, enter, leave in presences:
            writer = self._writers.get(name)
            if writer is None:
                continue
            if leave < FOREVER and not writer.gone:
                self._leave(name, writer)
            elif not writer.entered:
                self._enter(name, writer, enter)
        for writer in self._awaited:
            if not writer.entered:
                for _, channel in writer.channels:
                    channel.silent_until(horizon)

    def _enter(self, name: str, writer: _Writer, time: int) -> None:
        graph = self._graph.entering(name, time)
        writer.entered = True
        for port, channel in writer.channels:
            channel.silent_until(graph.first_stamp(name, port))
        for numbering in writer.numberings:
            numbering.entered(graph)
        for receive, message in writer.early:
            receive(*message)
        writer.early.clear()

    def _leave(self, name: str, writer: _Writer) -> None:
        self.gone.add(name)
        writer.gone = True
        writer.entered = True
        writer.early.clear()
        for _, channel in writer.channels:
            channel.close()
