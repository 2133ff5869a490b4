# SPDX-License-Identifier: Apache-2.0
"""The wiring of a system: participants, ports, connections, ranks.

A :class:`Graph` is checked when it is made: unknown ports, ports without a writer, periods
that make no sense and loops without delay are refused here, never during a run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from ros2_cosim.kernel.activation import Activation
from ros2_cosim.kernel.dead_ends import check_dead_ends
from ros2_cosim.kernel.errors import ConfigurationError, ZeroDelayLoopError
from ros2_cosim.kernel.implied import first_activations, separation
from ros2_cosim.kernel.presence import check_presence, first_periodic
from ros2_cosim.kernel.time import FOREVER, saturating_add


class Codec(Protocol):
    """Turns a record into the bytes that cross a participant border."""

    def encode(self, stamp_ns: int, seq: int, value: Any) -> bytes:
        """Encode one message."""


class TextCodec:
    """The codec of ports that never leave the process: Python's exact text form."""

    def encode(self, stamp_ns: int, seq: int, value: Any) -> bytes:
        """Encode stamp, sequence number and ``repr`` of the value (exact for floats)."""
        return f"{stamp_ns} {seq} {value!r}".encode()


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
    none either: it shows what arrives from outside of the simulated time.
    """

    name: str
    delayed: bool = False
    unfed: bool = False
    unsynchronised: bool = False


@dataclass(frozen=True)
class OutputPort:
    """An output of a participant.

    ``schedule`` is the promise that readers may build on: ``every`` activation sends one
    message, ``sparse`` sends or stays silent, ``once`` sends one message in a run, at the
    first activation.
    """

    name: str
    latency: Latency = Latency()
    schedule: str = "every"
    codec: Codec = field(default_factory=TextCodec)

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
    """What the kernel knows of a participant: when it runs and through which ports.

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
    #: The behaviour decides when its next periodic activation takes place.
    dynamic_step: bool = False

    def __post_init__(self) -> None:
        who = f"participant '{self.name}'"
        if self.period_ns is None and self.activation is None:
            raise ConfigurationError(
                f"{who} has neither a period nor an activation; it would never run"
            )
        if self.period_ns is not None and self.period_ns <= 0:
            raise ConfigurationError(f"{who}: period is {self.period_ns} ns; it must be positive")
        if self.dynamic_step and self.period_ns is None:
            raise ConfigurationError(
                f"{who} has a dynamic step, but no period; the period counts until the "
                "participant decides otherwise"
            )
        if self.offset_ns < 0:
            raise ConfigurationError(
                f"{who}: offset is {self.offset_ns} ns; it must not be negative"
            )
        if self.offset_ns and self.period_ns is None:
            raise ConfigurationError(
                f"{who}: offset is {self.offset_ns} ns, but there is no period; an offset is "
                "the time of the first periodic activation"
            )
        check_presence(self)
        for kind, names in (
            ("input", [port.name for port in self.inputs]),
            ("output", [port.name for port in self.outputs]),
        ):
            for name in names:
                if names.count(name) > 1:
                    raise ConfigurationError(f"{who}: {kind} port '{name}' is declared twice")
        known = {port.name for port in self.inputs}
        for port in sorted(self.trigger_ports - known):
            raise ConfigurationError(
                f"{who}: the activation names port '{port}'; input ports are "
                f"{', '.join(sorted(known)) or 'none'}"
            )
        for input_port in self.inputs:
            if input_port.unsynchronised and (
                input_port.delayed or input_port.name in self.trigger_ports
            ):
                raise ConfigurationError(
                    f"{who}: port '{input_port.name}' is unsynchronised; it is read at activations "
                    "and can neither be delayed nor part of the activation"
                )
            if input_port.delayed and input_port.name in self.trigger_ports:
                raise ConfigurationError(
                    f"{who}: port '{input_port.name}' is both delayed and part of the "
                    "activation; a sample cannot activate at its own stamp and be hidden then"
                )

    @property
    def trigger_ports(self) -> frozenset[str]:
        """The ports that the activation function looks at."""
        return self.activation.ports if self.activation else frozenset()

    @property
    def first_time(self) -> int | None:
        """The first periodic activation: of the points offset + k * period that of the entry
        or the next one; None without any before it leaves.
        """
        return first_periodic(self, self.enter_ns)

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
        self._check_connections()
        self.ranks: dict[str, int] = self._rank()
        check_dead_ends(self)
        self._first_activation = first_activations(self)
        #: Participants in the order in which simultaneous activations run.
        self.order: tuple[str, ...] = tuple(
            sorted(self.participants, key=lambda name: (self.ranks[name], name))
        )

    def output(self, participant: str, port: str) -> OutputPort:
        """The declaration of an output port."""
        return next(p for p in self.participants[participant].outputs if p.name == port)

    def input(self, participant: str, port: str) -> InputPort:
        """The declaration of an input port."""
        return next(p for p in self.participants[participant].inputs if p.name == port)

    def incoming(self, participant: str) -> tuple[Connection, ...]:
        """Connections into a participant: by port in declaration order, then by writer.

        The index in this tuple is the channel number that breaks ties between stamps.
        """
        position = {p.name: i for i, p in enumerate(self.participants[participant].inputs)}
        mine = [c for c in self.connections if c.target == participant]
        return tuple(sorted(mine, key=lambda c: (position[c.target_port], c.source, c.source_port)))

    def outgoing(self, participant: str) -> tuple[Connection, ...]:
        """Connections out of a participant."""
        return tuple(c for c in self.connections if c.source == participant)

    def is_zero_delay(self, connection: Connection) -> bool:
        """Whether an output can be needed at the very time of the activation that made it."""
        output = self.output(connection.source, connection.source_port)
        reader = self.input(connection.target, connection.target_port)
        return output.latency.minimum_ns == 0 and not reader.delayed

    def separation(self, participant: str, port: str) -> int | None:
        """Distance in time between two messages of an output port, if the graph implies it.

        With it a reader concludes from a message stamped s that the next one is stamped
        s + separation, unless the activation for it would lie at or after the time at which
        the writer leaves; without it (None) the writer has to promise explicitly.
        """
        return separation(self, participant, port)

    def needs_promises(self, participant: str, port: str) -> bool:
        """Whether the writer of a port has to promise silence explicitly.

        If not, its messages come at times that the graph implies.
        """
        if self.output(participant, port).schedule == "once":
            return self.participants[participant].activation is not None
        return self.separation(participant, port) is None

    def first_stamp(self, participant: str, port: str) -> int:
        """Nothing is ever stamped before this on an output port: the promise made at the start."""
        bound = self._first_activation[participant]
        return saturating_add(bound, self.output(participant, port).latency.minimum_ns)

    def silent_from(self, participant: str, port: str) -> int:
        """Nothing is ever stamped at or after this on an output port with constant latency."""
        leave = self.participants[participant].leave_ns
        return saturating_add(leave, self.output(participant, port).latency.minimum_ns)

    def is_kept(self, participant: str, port: str) -> bool:
        """Whether messages of an output port are kept for readers that connect late."""
        return any(
            c.source_port == port and self.participants[c.target].is_late
            for c in self.outgoing(participant)
        )

    @property
    def has_late(self) -> bool:
        """Whether somebody may connect when the run has begun."""
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
                names = [p.name for p in (spec.outputs if kind == "output" else spec.inputs)]
                if port not in names:
                    raise ConfigurationError(
                        f"connection {connection}: participant '{end}' has no {kind} port "
                        f"'{port}'; it has {', '.join(names) or 'none'}"
                    )
            if self.connections.count(connection) > 1:
                raise ConfigurationError(f"connection {connection} is declared twice")
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
