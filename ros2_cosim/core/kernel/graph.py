# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The wiring of a system: participants, ports, connections, ranks.

A :class:`Graph` is data, checked when it is made: unknown ports, ports without a writer,
periods that make no sense, loops without delay and dead ends are refused here, never during a
run. What follows from a graph about the stamps of messages stands in ``lookahead``.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, TypeVar

from ros2_cosim.core.kernel.activation import Activation
from ros2_cosim.core.kernel.errors import ConfigurationError, DeadEndError, ZeroDelayLoopError
from ros2_cosim.core.kernel.time import FOREVER, format_ns


class Codec(Protocol):
    """Turns a record into the bytes that cross a participant border."""

    def encode(self, stamp_ns: int, seq: int, value: Any) -> bytes:
        """Encode one message."""

    def delivered(self, value: Any, data: bytes, exact: bool) -> Any:
        """What the readers of a message see, in every process the same.

        Whether that is the value itself depends on ``exact`` and the class of the value alone.

        :param value: as the model gave it
        :param data: its encoded bytes
        :param exact: whether each part of a record is known to be of the type of its field: a
            reader in another process has a float where a model gave an integer or a number of numpy
        """


class TextCodec:
    """The codec of ports that never leave the process: Python's exact text form."""

    def encode(self, stamp_ns: int, seq: int, value: Any) -> bytes:
        """Encode stamp, sequence number and ``repr`` of the value (exact for floats)."""
        return f"{stamp_ns} {seq} {value!r}".encode()

    def delivered(self, value: Any, data: bytes, exact: bool) -> Any:
        """The value itself: no other process reads it."""
        return value


@dataclass(frozen=True)
class Latency:
    """The delay between an activation and the stamp of its output.

    ``minimum_ns`` is a lower bound; ``draw`` gives the next delay (None: constant).
    """

    minimum_ns: int = 0
    draw: Callable[[], int] | None = None


@dataclass(frozen=True)
class InputPort:
    """An input of a participant.

    Ports named by the activation function deliver every sample; all others are latched
    (zero-order hold): an activation at t reads the newest value stamped <= t, or < t if
    the port is ``delayed``. A port that nothing writes to is an error unless it is declared
    ``unfed``: what would feed it has been left out on purpose. An ``unsynchronised`` port has
    none either: it shows what arrives from outside of the simulated time. Each message of a
    ``handled`` port is its own activation, at its stamp; with ``service`` it is a request
    to that service of the participant, and the answer goes out on the output port of the same
    name.
    """

    name: str
    delayed: bool = False
    unfed: bool = False
    unsynchronised: bool = False
    handled: bool = False
    service: str = ""


@dataclass(frozen=True)
class OutputPort:
    """An output of a participant.

    ``schedule`` is the promise that readers may build on: ``every`` activation sends one
    message, ``sparse`` sends or stays silent, ``once`` sends one message in a run, at the
    first activation. ``latched``: observers that come later get what was sent, too, which is so
    with ``once`` in any case.
    """

    name: str
    latency: Latency = Latency()
    schedule: str = "every"
    codec: Codec = field(default_factory=TextCodec)
    latched: bool = False

    def __post_init__(self) -> None:
        if self.schedule not in ("every", "sparse", "once"):
            raise ConfigurationError(
                f"output port '{self.name}': schedule is '{self.schedule}'; "
                "allowed are 'every', 'sparse' and 'once'"
            )
        if self.latency.minimum_ns < 0:
            raise ConfigurationError(
                f"output port '{self.name}': latency is {self.latency.minimum_ns} ns; "
                "it must not be negative"
            )


@dataclass(frozen=True)
class ParticipantSpec:
    """A participant as the kernel sees it: when it runs and through which ports.

    It takes part from ``enter_ns`` (inclusive) to ``leave_ns`` (exclusive): no activation lies
    outside. With ``free_entry`` the owner of the clock decides when it enters, and ``enter_ns``
    is the earliest time. The run goes on without one that is not ``required``.
    """

    name: str
    period_ns: int | None = None
    offset_ns: int = 0
    activation: Activation | None = None
    inputs: tuple[InputPort, ...] = ()
    outputs: tuple[OutputPort, ...] = ()
    enter_ns: int = 0
    leave_ns: int = FOREVER
    free_entry: bool = False
    required: bool = True
    #: The model decides when its next periodic activation takes place.
    dynamic_step: bool = False

    def __post_init__(self) -> None:
        label = f"participant '{self.name}'"
        self._check_timing(label)
        self._check_membership(label)
        for kind, names in (
            ("input", [port.name for port in self.inputs]),
            ("output", [port.name for port in self.outputs]),
        ):
            twice = _declared_twice(names)
            if twice is not None:
                raise ConfigurationError(f"{label}: {kind} port '{twice}' is declared twice")
        known = {port.name for port in self.inputs}
        for port in sorted(self.trigger_ports - known):
            raise ConfigurationError(
                f"{label}: the activation names port '{port}'; input ports are "
                f"{', '.join(sorted(known)) or 'none'}"
            )
        for input_port in self.inputs:
            self._check_input(input_port, label)

    def _check_timing(self, label: str) -> None:
        """Check whether it is clear when it is activated."""
        if self.period_ns is None and not self.event_ports:
            raise ConfigurationError(
                f"{label} has neither a period nor an activation nor a handled input; it would "
                "never run"
            )
        if self.period_ns is not None and self.period_ns <= 0:
            raise ConfigurationError(f"{label}: period is {self.period_ns} ns; it must be positive")
        if self.dynamic_step and self.period_ns is None:
            raise ConfigurationError(
                f"{label} has a dynamic step, but no period; the period counts until the "
                "participant decides otherwise"
            )
        if self.offset_ns < 0:
            raise ConfigurationError(
                f"{label}: offset is {self.offset_ns} ns; it must not be negative"
            )
        if self.offset_ns and self.period_ns is None:
            raise ConfigurationError(
                f"{label}: offset is {self.offset_ns} ns, but there is no period; an offset is "
                "the time of the first periodic activation"
            )

    @property
    def trigger_ports(self) -> frozenset[str]:
        """The ports that the activation function looks at."""
        return self.activation.ports if self.activation else frozenset()

    @property
    def handled_ports(self) -> frozenset[str]:
        """The ports on which each message is its own activation."""
        return frozenset(port.name for port in self.inputs if port.handled)

    @property
    def event_ports(self) -> frozenset[str]:
        """All ports whose messages can activate it."""
        return self.trigger_ports | self.handled_ports

    def _check_input(self, port: InputPort, label: str) -> None:
        """Check whether an input is read in one way only, and what is handled can be answered."""
        is_trigger = port.name in self.trigger_ports
        if port.unsynchronised and (port.delayed or is_trigger):
            raise ConfigurationError(
                f"{label}: port '{port.name}' is unsynchronised; it is read at activations and can "
                "neither be delayed nor part of the activation"
            )
        if port.delayed and is_trigger:
            raise ConfigurationError(
                f"{label}: port '{port.name}' is both delayed and part of the activation; a sample "
                "cannot activate at its own stamp and be hidden then"
            )
        if port.handled and (
            port.delayed or port.unsynchronised or port.name in self.trigger_ports
        ):
            raise ConfigurationError(
                f"{label}: port '{port.name}' is handled, each message at its stamp; it can be "
                "neither delayed nor unsynchronised nor part of the activation"
            )
        if not port.service:
            return
        answers = {output.name: output.schedule for output in self.outputs}
        if not port.handled or answers.get(port.name) != "sparse":
            raise ConfigurationError(
                f"{label}: port '{port.name}' takes requests to service '{port.service}'; it must "
                "be handled, and the answers need a sparse output port of the same name"
            )

    @property
    def first_time(self) -> int | None:
        """The first periodic activation: of the points offset + k * period that of the entry
        or the next one; None without any before it leaves.
        """
        return self.first_periodic(self.enter_ns)

    def first_periodic(self, enter_ns: int) -> int | None:
        """The first point of the grid offset + k * period at or after an entry.

        :returns: its time [ns]; None without a period, or if the participant leaves before it
        """
        if self.period_ns is None:
            return None
        missing = max(0, enter_ns - self.offset_ns)
        time = self.offset_ns + -(-missing // self.period_ns) * self.period_ns
        return time if time < self.leave_ns else None

    def can_enter(self, enter_ns: int) -> bool:
        """Whether it can be activated before it leaves if it enters at this time [ns]."""
        if enter_ns >= self.leave_ns:
            return False
        return bool(self.event_ports) or self.first_periodic(enter_ns) is not None

    def describe_membership(self) -> list[str]:
        """In words, when it takes part; nothing for one that is required from start to end."""
        words = ["enters when it is ready"] if self.free_entry else []
        words += [f"enters at {format_ns(self.enter_ns)}"] if self.enter_ns else []
        words += [f"leaves at {format_ns(self.leave_ns)}"] if self.leave_ns < FOREVER else []
        return words + ([] if self.required else ["not required"])

    def _check_membership(self, label: str) -> None:
        """Refuse a participant that could never be activated."""
        if self.enter_ns < 0:
            raise ConfigurationError(
                f"{label}: enter is {format_ns(self.enter_ns)}; it must not be negative"
            )
        if self.leave_ns <= self.enter_ns:
            raise ConfigurationError(
                f"{label}: leave is {format_ns(self.leave_ns)}; it must be after enter "
                f"({format_ns(self.enter_ns)})"
            )
        if not self.can_enter(self.enter_ns):
            raise ConfigurationError(
                f"{label}: leave is {format_ns(self.leave_ns)}, before its first periodic "
                "activation; it would never run"
            )

    @property
    def is_late(self) -> bool:
        """Whether it may connect when the run has begun."""
        return self.free_entry or self.enter_ns > 0

    @property
    def is_permanent(self) -> bool:
        """Whether it certainly takes part to the end once its entry has come."""
        return self.required and not self.free_entry and self.leave_ns == FOREVER


@dataclass(frozen=True)
class Connection:
    """One writer port feeding one reader port."""

    source: str
    source_port: str
    target: str
    target_port: str

    def __str__(self) -> str:
        return f"{self.source}.{self.source_port} -> {self.target}.{self.target_port}"


_Connections = dict[str, tuple[Connection, ...]]


class Graph:
    """Checked participants and connections.

    :raises ConfigurationError: something is named that does not exist, or an input has no
        writer
    :raises ZeroDelayLoopError: a cycle of connections without delay
    :raises DeadEndError: participants that can never run
    """

    def __init__(
        self, participants: Iterable[ParticipantSpec], connections: Iterable[Connection]
    ) -> None:
        self.participants: dict[str, ParticipantSpec] = {}
        for spec in participants:
            if spec.name in self.participants:
                raise ConfigurationError(f"participant '{spec.name}' is declared twice")
            self.participants[spec.name] = spec
        if not self.participants:
            raise ConfigurationError("the scenario has no participants")
        self.connections: tuple[Connection, ...] = tuple(connections)
        self._inputs = {
            (spec.name, port.name): port
            for spec in self.participants.values()
            for port in spec.inputs
        }
        self._outputs = {
            (spec.name, port.name): port
            for spec in self.participants.values()
            for port in spec.outputs
        }
        self._check_connections()
        self._incoming, self._outgoing = self._by_participant()
        self.ranks: dict[str, int] = self._rank()
        self._check_dead_ends()
        #: Participants in the order in which simultaneous activations run.
        self.order: tuple[str, ...] = tuple(
            sorted(self.participants, key=lambda name: (self.ranks[name], name))
        )

    def output(self, participant: str, port: str) -> OutputPort:
        """The declaration of an output port."""
        return self._outputs[participant, port]

    def input(self, participant: str, port: str) -> InputPort:
        """The declaration of an input port."""
        return self._inputs[participant, port]

    def incoming(self, participant: str) -> tuple[Connection, ...]:
        """Connections into a participant: by port in declaration order, then by writer.

        The index in this tuple is the channel number that breaks ties between stamps.
        """
        return self._incoming[participant]

    def outgoing(self, participant: str) -> tuple[Connection, ...]:
        """Connections out of a participant."""
        return self._outgoing[participant]

    def is_zero_delay(self, connection: Connection) -> bool:
        """Whether an output can be needed at the very time of the activation that made it."""
        output = self.output(connection.source, connection.source_port)
        reader = self.input(connection.target, connection.target_port)
        return output.latency.minimum_ns == 0 and not reader.delayed

    def is_kept(self, participant: str, port: str) -> bool:
        """Whether messages of an output port are kept for readers that connect late."""
        return any(
            c.source_port == port and self.participants[c.target].is_late
            for c in self.outgoing(participant)
        )

    @property
    def has_late(self) -> bool:
        """Whether a participant may connect when the run has begun."""
        return any(spec.is_late for spec in self.participants.values())

    def entering(self, participant: str, enter_ns: int) -> Graph:
        """The same system in which a participant with free entry enters at a known time."""
        specs = [
            replace(spec, enter_ns=enter_ns, free_entry=False) if spec.name == participant else spec
            for spec in self.participants.values()
        ]
        return Graph(specs, self.connections)

    def can_trigger(self, participant: str) -> bool:
        """Whether the activation function can ever hold with the writers that there are."""
        activation = self.participants[participant].activation
        fed = frozenset(c.target_port for c in self.incoming(participant))
        return activation is not None and activation.can_hold(fed)

    def _by_participant(self) -> tuple[_Connections, _Connections]:
        """Incoming and outgoing connections of each participant."""
        incoming: dict[str, list[Connection]] = {name: [] for name in self.participants}
        outgoing: dict[str, list[Connection]] = {name: [] for name in self.participants}
        for connection in self.connections:
            incoming[connection.target].append(connection)
            outgoing[connection.source].append(connection)
        for name, spec in self.participants.items():
            position = {port.name: i for i, port in enumerate(spec.inputs)}
            incoming[name].sort(key=lambda c: (position[c.target_port], c.source, c.source_port))
        return (
            {name: tuple(found) for name, found in incoming.items()},
            {name: tuple(found) for name, found in outgoing.items()},
        )

    def _check_connections(self) -> None:
        for connection in self.connections:
            for end, port, kind in (
                (connection.source, connection.source_port, "output"),
                (connection.target, connection.target_port, "input"),
            ):
                spec = self.participants.get(end)
                if spec is None:
                    raise ConfigurationError(
                        f"connection {connection}: there is no participant '{end}'; "
                        f"participants are {', '.join(sorted(self.participants))}"
                    )
                if (end, port) not in (self._outputs if kind == "output" else self._inputs):
                    names = [p.name for p in (spec.outputs if kind == "output" else spec.inputs)]
                    raise ConfigurationError(
                        f"connection {connection}: participant '{end}' has no {kind} port "
                        f"'{port}'; it has {', '.join(names) or 'none'}"
                    )
        twice = _declared_twice(self.connections)
        if twice is not None:
            raise ConfigurationError(f"connection {twice} is declared twice")
        fed = {(c.target, c.target_port) for c in self.connections}
        for spec in self.participants.values():
            for reader in spec.inputs:
                if reader.unsynchronised and (spec.name, reader.name) in fed:
                    raise ConfigurationError(
                        f"participant '{spec.name}': input port '{reader.name}' is unsynchronised; "
                        "no participant writes to it"
                    )
                outside = reader.unfed or reader.unsynchronised
                if (spec.name, reader.name) not in fed and not outside:
                    raise ConfigurationError(
                        f"participant '{spec.name}': nothing writes to input port '{reader.name}'"
                    )

    def _rank(self) -> dict[str, int]:
        """Longest path over zero-delay connections; a cycle is an error that names it."""
        before: dict[str, set[str]] = {name: set() for name in self.participants}
        for connection in self.connections:
            if self.is_zero_delay(connection):
                before[connection.target].add(connection.source)
        ranks: dict[str, int] = {}
        remaining = sorted(self.participants)
        while remaining:
            free = [name for name in remaining if before[name] <= ranks.keys()]
            if not free:
                raise ZeroDelayLoopError(self._describe_loop(before, set(remaining)))
            for name in free:
                ranks[name] = 1 + max((ranks[b] for b in before[name]), default=-1)
            remaining = [name for name in remaining if name not in ranks]
        return ranks

    def _describe_loop(self, before: dict[str, set[str]], looping: set[str]) -> str:
        # Walking upstream among the participants that could not be ranked must meet itself.
        path = [min(looping)]
        while True:
            upstream = min(before[path[-1]] & looping)
            if upstream in path:
                loop = [upstream, *reversed(path[path.index(upstream) :])]
                break
            path.append(upstream)
        edges = []
        for source, target in zip(loop, loop[1:], strict=False):
            edges += [
                str(c)
                for c in self.connections
                if (c.source, c.target) == (source, target) and self.is_zero_delay(c)
            ][:1]
        return (
            f"zero-delay loop: {', '.join(edges)}. Two ways out: give one of these outputs a "
            "latency above zero, or declare one of these inputs 'delayed' (it then reads "
            "values stamped before the activation)"
        )

    def _check_dead_ends(self) -> None:
        """Refuse participants that can never run because each waits for another's first message."""
        runs = {name for name, spec in self.participants.items() if spec.period_ns is not None}
        while True:
            more = {
                name
                for name, spec in self.participants.items()
                if name not in runs and _can_be_activated(spec, self._fed_ports(name, runs))
            }
            if not more:
                break
            runs |= more
        dead = set(self.participants) - runs
        if dead:
            raise DeadEndError(self._describe_dead_end(dead))

    def _fed_ports(self, participant: str, runs: set[str]) -> frozenset[str]:
        """Input ports that a participant in ``runs`` writes to, or whose writer was left out.

        A participant that never runs for want of what was left out is not a mistake of the wiring.
        """
        unfed = {port.name for port in self.participants[participant].inputs if port.unfed}
        written = {c.target_port for c in self.incoming(participant) if c.source in runs}
        return frozenset(unfed | written)

    def _describe_dead_end(self, dead: set[str]) -> str:
        # Each of those that never run waits for another of them: following that ends in a cycle.
        path = [min(dead)]
        edges: list[str] = []
        while True:
            triggers = self.participants[path[-1]].event_ports
            connection = min(
                (
                    c
                    for c in self.incoming(path[-1])
                    if c.source in dead and c.target_port in triggers
                ),
                key=str,
            )
            edges.append(f"{path[-1]} waits for {connection.source}.{connection.source_port}")
            if connection.source in path:
                edges = edges[path.index(connection.source) :]
                break
            path.append(connection.source)
        return (
            f"participants that can never run: {', '.join(sorted(dead))}; {', '.join(edges)}. "
            "One of them needs a period, or a trigger from a participant that runs"
        )


def _can_be_activated(spec: ParticipantSpec, fed: frozenset[str]) -> bool:
    """Whether messages on these ports can activate a participant."""
    if spec.handled_ports & fed:
        return True
    return spec.activation is not None and spec.activation.can_hold(fed)


_Item = TypeVar("_Item", bound=Hashable)


def _declared_twice(items: Sequence[_Item]) -> _Item | None:
    """The first item that comes again; None if all differ."""
    seen: set[_Item] = set()
    for item in items:
        if item in seen:
            return item
        seen.add(item)
    return None
