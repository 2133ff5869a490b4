# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Membership: which participants take part in a run, from when to when, and what follows.

Pure bookkeeping beside the coordinator. :class:`Membership` is the side of the clock's owner:
participants that must be ready before time 0 is left, that enter at a declared time, that enter
when they are ready, that the run has lost and goes on without, and from when on the record can
therefore not be repeated. :class:`MembershipView` is the side of a reader. The state of the
system (:func:`system_state`) follows from the states of its required members.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from ros2_cosim.core.kernel import lookahead
from ros2_cosim.core.kernel.channel import Channel, SequenceNumbers
from ros2_cosim.core.kernel.coordinator import Coordinator, entry_step
from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.kernel.graph import Graph
from ros2_cosim.core.kernel.lifecycle import State
from ros2_cosim.core.kernel.time import FOREVER, NEVER, format_ns


class Presence(NamedTuple):
    """A participant takes part from ``enter_ns`` (inclusive) to ``leave_ns`` (exclusive)."""

    participant: str
    enter_ns: int
    leave_ns: int


class Membership:
    """The presence of all participants.

    :param graph: the checked system
    :param coordinator: what decides about time
    :param named: participants that the system controller has required for a run before this one,
        in the same processes; none: the scenario says which ones are required
    """

    def __init__(self, graph: Graph, coordinator: Coordinator, named: Collection[str] = ()) -> None:
        self._graph = graph
        self._coordinator = coordinator
        self._named = frozenset(named)
        self._has_optional = any(not spec.required for spec in graph.participants.values())
        self._ready: set[str] = set()
        self._waiting: list[str] = []
        self._entered: dict[str, int] = {}
        #: Participants that the run goes on without -> (since [ns], why).
        self.lost: dict[str, tuple[int, str]] = {}

    @property
    def at_start(self) -> set[str]:
        """Those that must be ready before time 0 is left."""
        specs = self._graph.participants
        if self._named:
            found = {name for name in self._named if specs[name].enter_ns == 0}
        else:
            found = {name for name, spec in specs.items() if not spec.is_late}
        return found - self.lost.keys()

    @property
    def dispensable(self) -> set[str]:
        """Those that could be there from the start, but are not waited for: they were not named."""
        if not self._named:
            return set()
        specs = self._graph.participants
        early = {name for name, spec in specs.items() if not spec.is_late}
        return early - self._named - self.lost.keys()

    @property
    def taking_part(self) -> set[str]:
        """Those that have something to report at the end."""
        return {n for n in self._graph.participants if self._takes_part(n)} - self.lost.keys()

    @property
    def presences(self) -> tuple[Presence, ...]:
        """What the scenario does not fix: free entries, and participants that are gone."""
        if not self._entered and not self.lost:
            return ()
        names = sorted({*self._entered, *self.lost})
        return tuple(
            Presence(
                name,
                self._entered.get(name, NEVER),
                self.lost[name][0] if name in self.lost else FOREVER,
            )
            for name in names
        )

    @property
    def may_lose(self) -> bool:
        """Whether the run can spare a participant, or could before others were required."""
        return self._has_optional or bool(self._named)

    def require(self, names: Collection[str], *, begun: bool = False) -> None:
        """From now on these participants are required, and no others; it overrules the scenario.

        :param begun: whether all that were waited for have come; time 0 has not been left
        :raises ConfigurationError: that cannot be (see :func:`check_required`), or one of them is
            not there any more, or not yet
        """
        check_required(self._graph, names)
        specs = self._graph.participants
        for name in sorted(names):
            if name in self.lost:
                raise ConfigurationError(
                    f"require: the run goes on without '{name}' already ({self.lost[name][1]})"
                )
            if begun and name not in self._ready and specs[name].enter_ns == 0:
                raise ConfigurationError(
                    f"require: too late, the run has begun, and '{name}' is not there; this is "
                    "allowed only before the system is RUNNING"
                )
        self._named = frozenset(names)

    def is_required(self, name: str) -> bool:
        """Whether the run cannot go on without a participant."""
        if self._named:
            return name in self._named
        return self._graph.participants[name].required

    def ready(self, name: str) -> None:
        """A participant is ready to run."""
        if name in self._ready or name in self.lost or name not in self._graph.participants:
            return
        self._ready.add(name)
        if self._graph.participants[name].free_entry:
            self._waiting.append(name)
        else:
            self._coordinator.arrived(name)

    def admit(self, allowed_ns: int) -> list[str]:
        """Let the participants enter that are ready and have no declared time.

        :param allowed_ns: the largest horizon that was published
        :returns: participants whose presence has changed
        """
        if not self._waiting:
            return []
        changed, self._waiting = self._waiting, []
        for name in changed:
            enter = self._coordinator.free_entry(allowed_ns)
            if enter >= self._coordinator.end:
                continue  # the run ends before
            if not self._graph.participants[name].can_enter(enter):
                self.lost[name] = enter, f"came at {format_ns(enter)}, too late to be activated"
                continue
            self._coordinator.admit(name, enter)
            self._entered[name] = enter
        return changed

    def can_spare(self, name: str) -> bool:
        """Whether the run goes on without a participant."""
        return name in self._graph.participants and not self.is_required(name)

    def defines_system(self, name: str, state: State | None, ending: bool) -> bool:
        """Whether the state of a participant enters into that of the system.

        That of a participant that comes late does once it runs, that of one that leaves early
        until it stops, that of a lost one no longer: none of them takes the system along. If the
        system controller has named the required ones, no other's does.

        :param state: its last reported state; None: it has not been seen
        :param ending: whether all are stopping
        """
        spec = self._graph.participants[name]
        if name in self.lost or (self._named and name not in self._named):
            return False
        late = spec.is_late and not (spec.enter_ns == 0 and name in self._named)
        if late and not ending:
            return state in (State.RUNNING, State.PAUSED)
        if late and name not in self.taking_part:
            return False
        leaves = spec.leave_ns < FOREVER
        return not leaves or (state or State.INVALID) < State.STOPPING

    def lose(self, name: str, reason: str) -> bool:
        """A participant is gone that the run can spare.

        :returns: whether it was not known to be gone
        """
        if name in self.lost or not self.can_spare(name):
            return False
        # Everything before the present time is complete: it had what it needed.
        self.lost[name] = max(self._coordinator.time, 0), reason + self._instead(name)
        if name in self._waiting:
            self._waiting.remove(name)
        self._coordinator.dropped(name)
        return True

    def record(self) -> dict[str, Any]:
        """Membership as the summary records it: JSON types, times in ns.

        ``presence`` (name -> [entered, left], None where it did not), ``absent`` (no report comes
        of these), ``required`` (those that the system controller has named, or None), and
        ``not_repeatable`` ([since, why] or None).
        """
        end = self._coordinator.end
        presence = {name: self._presence(name, end) for name in self._graph.participants}
        reasons: list[tuple[int, str]] = []
        for name, spec in self._graph.participants.items():
            if name in self.lost:
                since, why = self.lost[name]
                reasons.append((since, f"'{name}' was lost: {why}"))
            if not spec.free_entry:
                continue
            if name in self._entered:
                if name in self._named and self._entered[name] == 0:
                    continue  # the run waited for it, and does so each time
                since = self._entered[name]
                fixed = format_ns(since)
                why = f"'{name}' entered when it was ready (with enter: {fixed} it repeats)"
                reasons.append((since, why))
            elif name not in self.lost:
                reasons.append((end, f"'{name}' did not come before the end"))
        reasons.sort()
        return {
            "presence": presence,
            "absent": sorted(self._graph.participants.keys() - self.taking_part),
            "required": sorted(self._named) or None,
            "not_repeatable": [reasons[0][0], "; ".join(why for _, why in reasons)]
            if reasons
            else None,
        }

    def _instead(self, name: str) -> str:
        """How to have the same run again, for one that never took part."""
        spec = self._graph.participants[name]
        if name in self._ready or spec.is_late or spec.leave_ns < FOREVER:
            return ""
        if self._coordinator.time > 0:
            return ""
        return f" (with enter: {format_ns(self._coordinator.end)} it repeats)"

    def _takes_part(self, name: str) -> bool:
        spec = self._graph.participants[name]
        if spec.free_entry:
            return name in self._entered
        return name in self._ready or not spec.is_late

    def _presence(self, name: str, end: int) -> list[int | None]:
        spec = self._graph.participants[name]
        enter = self._entered.get(name) if spec.free_entry else spec.enter_ns
        if enter is None or enter >= end:
            return [None, None]
        leave = min(spec.leave_ns, self.lost[name][0] if name in self.lost else FOREVER)
        if leave <= enter:
            return [None, None]
        return [enter, leave if leave < end else None]


@dataclass
class _Writer:
    """A participant that may enter at any time, or be gone at any time."""

    entered: bool
    gone: bool = False
    channels: list[tuple[str, Channel]] = field(default_factory=list)
    sequences: list[SequenceNumbers] = field(default_factory=list)
    #: What came before its entry was known.
    early: list[tuple[Callable[..., None], tuple[Any, ...]]] = field(default_factory=list)


class MembershipView:
    """What one reader knows of the presence of the participants that it reads from.

    The owner of the clock tells a reader two things that the graph cannot say: when a participant
    with free entry enters, and that one which the run does not need is gone. Both come together
    with the horizon, in order: while such a participant has not entered, no message of it is
    stamped before the horizon that was published, nor before the step that follows it. In lockstep
    the horizon itself is only a nanosecond ahead, and a reader would follow it in such steps.

    :param graph: the checked system
    :param entry_step_ns: participants with free entry enter at multiples of this only
    """

    def __init__(self, graph: Graph, entry_step_ns: int = 1) -> None:
        self._graph = graph
        self._entry_step_ns = entry_step_ns
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
        self, source: str, sequence: SequenceNumbers | None, receive: Callable[..., None]
    ) -> Callable[..., None]:
        """Wrap a receiver of a writer's messages so that it gets them in their time only.

        Receivers of participants that the scenario requires are left unchanged; if the system
        controller has spared one, its channels close.
        """
        spec, writer = self._graph.participants[source], self._writers[source]
        if spec.required and not spec.free_entry:
            return receive
        if sequence is not None:
            writer.sequences.append(sequence)

        def guarded(*message: Any) -> None:
            if writer.gone:
                return  # the run has gone on as if nothing more came
            if writer.entered:
                receive(*message)
            else:
                writer.early.append((receive, message))

        return guarded

    def have_come(self, names: Iterable[str], horizon: int) -> bool:
        """Whether all of these participants have been there, or will never be.

        :param horizon: the largest that was published; it stands at the entry of one that is late
        """
        specs, writers = self._graph.participants, self._writers
        return all(
            name in self.gone or (writers[name].entered and horizon > specs[name].enter_ns)
            for name in names
        )

    def update(self, presences: Iterable[tuple[str, int, int]], horizon: int) -> None:
        """Take what the owner of the clock has published.

        :param presences: (participant, entry, end of its presence) of all that entered freely or
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
        if not self._awaited:
            return
        silent = entry_step(horizon, self._entry_step_ns) if horizon > 0 else horizon
        for writer in self._awaited:
            if not writer.entered:
                for _, channel in writer.channels:
                    channel.silent_until(silent)

    def _enter(self, name: str, writer: _Writer, time: int) -> None:
        graph = self._graph.entering(name, time)
        writer.entered = True
        for port, channel in writer.channels:
            channel.silent_until(lookahead.first_stamp(graph, name, port))
        for sequence in writer.sequences:
            sequence.entered(graph)
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


def check_required(graph: Graph, names: Collection[str]) -> None:
    """Refuse a set of required participants that the system cannot run with.

    Processes know the graph of the scenario, and readers conclude from it when the next message
    of a port comes. So a participant whose messages others count on in that way cannot become one
    that may fall silent; in a scenario that declares it ``required: false`` they would not count
    on it.

    :param graph: the system, as the scenario declares it
    :param names: the required participants; all others are not
    :raises ConfigurationError: no name, an unknown one, or one is left out whose silence readers
        would not notice
    """
    known = ", ".join(sorted(graph.participants))
    if not names:
        raise ConfigurationError(f"require: no participant is named; participants are {known}")
    for name in names:
        if name not in graph.participants:
            raise ConfigurationError(
                f"require: there is no participant '{name}'; participants are {known}"
            )
    for name, spec in graph.participants.items():
        if not spec.required or name in names:
            continue
        ports = _counted_on(graph, name)
        if ports:
            raise ConfigurationError(
                f"require: '{name}' is not named, but readers of {', '.join(ports)} count on its "
                "messages; name it, too, or declare it 'required: false' in the scenario"
            )


def _counted_on(graph: Graph, name: str) -> list[str]:
    """Ports that need no promises only because a participant certainly stays."""
    relaxed = Graph(
        [
            replace(spec, required=False) if spec.name == name else spec
            for spec in graph.participants.values()
        ],
        graph.connections,
    )
    return [
        f"{writer}.{port.name}"
        for writer, spec in graph.participants.items()
        for port in spec.outputs
        if lookahead.needs_promises(relaxed, writer, port.name)
        and not lookahead.needs_promises(graph, writer, port.name)
    ]


def system_state(required: Iterable[State | None]) -> State:
    """Derive the state of the system from the states of its required participants.

    The rules, in the order in which they are asked:

    1. one is ABORTING: ABORTING, for an abort reaches all, whichever is missing;
    2. one is not available: INVALID (also if none is required); one has an ERROR: ERROR;
    3. one is STOPPING, or has stopped while others have not begun to: STOPPING;
    4. one is PAUSED: PAUSED;
    5. otherwise the earliest state of all, which is their common one if they agree.

    The earliest state is what makes the system lazy: it stays in its old state until the last
    participant has reached the new one.

    :param required: the state of each required participant, None for one that has not been seen
    """
    states = list(required)
    if State.ABORTING in states:
        return State.ABORTING
    known = {state for state in states if state is not None}
    if None in states or not known or State.INVALID in known:
        return State.INVALID
    if State.ERROR in known:
        return State.ERROR
    earliest, latest = min(known), max(known)
    if earliest <= State.STOPPING <= latest:
        return State.STOPPING
    return State.PAUSED if State.PAUSED in known else earliest
