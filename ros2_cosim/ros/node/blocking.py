# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Which participant is blocked by which promise, and since when.

Derived from what the clock receives anyway (lower bounds, explicit promises) and from the graph;
a participant that has not advanced for a while reports itself (heartbeat). Nothing of it is
on the data path, and no decision about simulated time is made from it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from ros2_cosim.core.kernel import lookahead
from ros2_cosim.core.kernel.graph import Graph
from ros2_cosim.core.kernel.lifecycle import State, known_state
from ros2_cosim.core.kernel.time import FOREVER, NEVER, format_ns, saturating_add
from ros2_cosim.core.messages.protocol import Completion, Heartbeat, ParticipantState

#: The source of what a participant waits for that has used up its grant.
HORIZON = "horizon"


class AwaitedPromise(NamedTuple):
    """A promise that is wanted: ``source`` (``writer.port`` or the horizon) reaches ``time``."""

    source: str
    time: int

    @property
    def writer(self) -> str:
        """The participant that has to promise; empty: the clock."""
        return self.source.partition(".")[0] if self.source != HORIZON else ""


class BlockingEntry:
    """What is known of one participant; wall times in nanoseconds."""

    def __init__(self, now: int) -> None:
        self.state: State | None = None
        self.reason = ""
        self.bound = NEVER
        self.activations = 0
        self.promises: dict[str, int] = {}
        #: Since when it has this bound, and when its last message came.
        self.since = now
        self.heard = now
        #: What it reports to wait for; None: no report since it advanced last.
        self.reported: tuple[AwaitedPromise, ...] | None = None


class BlockingTable:
    """How far all participants are.

    :param graph: the checked system
    :param names: all nodes that gate the clock; those that are not in the graph (the recorder)
        read everything
    :param now: wall time [ns]
    """

    def __init__(self, graph: Graph, names: Iterable[str], now: int) -> None:
        self._graph = graph
        self.entries = {name: BlockingEntry(now) for name in names}
        self._latencies = {
            (name, port.name): (port.latency.minimum_ns, port.schedule)
            for name, spec in graph.participants.items()
            for port in spec.outputs
        }
        # (writer, port, whether its promise has to go beyond the activation's time)
        self._reads: dict[str, list[tuple[str, str, bool]]] = {}
        for name in graph.participants:
            self._reads[name] = [
                (c.source, c.source_port, not graph.input(name, c.target_port).delayed)
                for c in graph.incoming(name)
            ]
        self._late = {name for name, spec in graph.participants.items() if spec.is_late}
        self._everything = [(name, port, True) for name, port in self._latencies]

    def on_state(self, state: ParticipantState, now: int) -> None:
        """Take the reported state of a participant; a state that does not exist changes nothing."""
        entry = self.entries.get(state.participant)
        known = known_state(state.state)
        if entry is not None and known is not None:
            entry.state, entry.reason = known, state.reason
            entry.heard = now

    def on_completion(self, completion: Completion, now: int) -> None:
        """Take how far a participant is."""
        entry = self.entries.get(completion.participant)
        if entry is None:
            return
        for promise in completion.ports:
            entry.promises[promise.port] = promise.time_ns
        self.on_progress(completion.participant, completion.bound_ns, completion.activations, now)

    def on_progress(self, name: str, bound_ns: int, activations: int, now: int) -> None:
        """Take how far a participant is that promises nothing else."""
        entry = self.entries.get(name)
        if entry is None:
            return
        entry.heard = now
        entry.activations = max(entry.activations, activations)
        self._advance(entry, bound_ns, now)

    def on_heartbeat(self, beat: Heartbeat, now: int) -> None:
        """Take what a participant that stands waits for."""
        entry = self.entries.get(beat.participant)
        if entry is None:
            return
        entry.heard = now
        entry.activations = max(entry.activations, beat.activations)
        self._advance(entry, beat.bound_ns, now)
        entry.reported = tuple(map(AwaitedPromise, beat.waits_for, beat.promised_ns))

    def needs(self, name: str, horizon: int) -> tuple[AwaitedPromise, ...]:
        """What a participant waits for; empty: for nothing, it is running or has gone."""
        entry = self.entries[name]
        if entry.bound >= horizon:
            return (AwaitedPromise(HORIZON, horizon),)
        if entry.reported is not None:
            return entry.reported
        found = []
        for source, port, beyond in self._reads.get(name, self._everything):
            promise = self._promise(source, port)
            if promise < entry.bound or (beyond and promise == entry.bound):
                found.append(AwaitedPromise(f"{source}.{port}", promise))
        return tuple(sorted(found, key=lambda need: (need.time, need.source)))

    def chain(self, horizon: int) -> list[tuple[str, tuple[AwaitedPromise, ...]]]:
        """From the participant that is furthest behind to the one that all wait for.

        Each one waits for the next; the last one waits for nothing, for the horizon, or, in a
        dead end, for one of those before it.
        """
        present = [name for name in self.entries if not self._is_absent(name)]
        behind = min(present, key=lambda n: (self.entries[n].bound, n))
        found: list[tuple[str, tuple[AwaitedPromise, ...]]] = []
        while behind in self.entries and behind not in (name for name, _ in found):
            needs = self.needs(behind, horizon)
            found.append((behind, needs))
            if not needs:
                break
            behind = needs[0].writer
        return found

    def blocking(self, horizon: int, now: int, silent_ns: int) -> tuple[str, str]:
        """(participant that holds back the run, why); empty texts if all wait for the horizon."""
        chain = self.chain(horizon)
        name, needs = chain[-1]
        entry = self.entries[name]
        if not needs:
            quiet = now - entry.heard
            if entry.state is None:
                return name, "not seen yet"
            if quiet > silent_ns:
                return name, f"no sign of life for {_seconds(quiet)}"
            return name, f"runs its activation, for {_seconds(now - entry.since)}"
        if needs[0].source == HORIZON:
            return "", ""
        names = " -> ".join([entry for entry, _ in chain] + [needs[0].writer])
        return name, f"waits for {needs[0].source}: {names}"

    def silent(self, end: int, now: int, silent_ns: int) -> list[str]:
        """Participants before their end that have given no sign of life for so long.

        :param end: end of the run [ns]: what comes after it takes its time and is not watched
        """
        return [
            name
            for name, entry in self.entries.items()
            if entry.state is not None
            and State.READY_TO_RUN <= entry.state < State.STOPPED
            and entry.bound < end
            and now - entry.heard > silent_ns
        ]

    def explain(self, horizon: int, now: int) -> str:
        """Where each one is, what it waits for, since when: for the report of a standstill."""
        lines = []
        for name, entry in self.entries.items():
            needs = self.needs(name, horizon)
            since = f"at {format_ns(max(entry.bound, 0))} for {_seconds(now - entry.since)}"
            what = ", ".join(f"{n.source} ({_reach(n)})" for n in needs)
            lines.append(f"{name} {since}" + (f" waits for {what}" if what else ""))
        return "; ".join(lines)

    def _is_absent(self, name: str) -> bool:
        """Whether a participant may enter later and has not been seen yet: none waits for it."""
        return name in self._late and self.entries[name].state is None

    def _promise(self, source: str, port: str) -> int:
        if self._is_absent(source):
            return FOREVER
        entry = self.entries[source]
        latency, schedule = self._latencies[source, port]
        if schedule == "once" and entry.activations:
            return FOREVER
        bound = max(
            saturating_add(entry.bound, latency), lookahead.first_stamp(self._graph, source, port)
        )
        return max(bound, entry.promises.get(port, NEVER))

    @staticmethod
    def _advance(entry: BlockingEntry, bound: int, now: int) -> None:
        if bound > entry.bound:
            entry.bound, entry.since, entry.reported = bound, now, None


def _reach(need: AwaitedPromise) -> str:
    return f"promised up to {format_ns(max(need.time, 0))}"


def _seconds(wall_ns: int) -> str:
    return f"{wall_ns / 1e9:.1f} s"
