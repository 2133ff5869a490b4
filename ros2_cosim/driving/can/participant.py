# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""A CAN bus as a participant: controllers are its ports, by messages or by FMI-LS-BUS."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any, ClassVar

from pydantic import Field

from ros2_cosim.core.documents.settings import Name, Number, PositiveDuration, Section, Whole
from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.kernel.model import FullModel, Port, Report, Traits
from ros2_cosim.core.kernel.participant import ModelContext, Step
from ros2_cosim.core.kernel.random_streams import RandomStream
from ros2_cosim.core.kernel.saved_state import SavedAttributes
from ros2_cosim.core.kernel.time import format_ns
from ros2_cosim.core.messages.catalogue import DEFAULT
from ros2_cosim.core.messages.message_types import BYTES
from ros2_cosim.driving.can import ls_bus
from ros2_cosim.driving.can.bus import (
    SHORTEST,
    Bus,
    BusCounts,
    BusEvent,
    CanController,
    ControllerCommand,
    ControllerState,
    EventKind,
)
from ros2_cosim.driving.can.confinement import Confinement, ReportedState
from ros2_cosim.driving.can.frames import check_frame
from ros2_cosim.driving.can.messages import CAN_COMMAND, CAN_EVENT, CAN_FRAME, frame_of, message_of

LOAD = "std_msgs/msg/Float64"
BitRate = Annotated[Whole, Field(ge=1_000, le=20_000_000)]


class ControllerSettings(Section):
    """One controller; what is left out is as for the bus."""

    bit_rate: BitRate | None = Field(default=None, description="of the arbitration [bit/s]")
    fd_bit_rate: Annotated[Whole, Field(ge=0, le=20_000_000)] | None = Field(
        default=None, description="of the data of FD frames [bit/s]; 0: it has no FD frames"
    )
    started: bool = Field(default=True, description="whether it takes part from the beginning")
    queue: Annotated[Whole, Field(ge=1)] = Field(
        default=32, description="frames that may wait, the most urgent one first"
    )
    retransmit: bool = Field(
        default=True, description="whether a destroyed frame is sent again, until it arrives"
    )
    recover: bool = Field(
        default=True,
        description="whether it comes back from bus off by itself, after 128 times 11 recessive "
        "bits; otherwise a command starts that",
    )
    bit_error_rate: Annotated[Number, Field(ge=0, lt=1)] | None = Field(
        default=None, description="probability to read a bit wrongly [1]"
    )


class BusParameters(Section):
    """Parameters of a CAN bus."""

    controllers: dict[Name, ControllerSettings] = Field(
        description="name -> settings, {} for those of the bus"
    )
    bit_rate: BitRate = Field(default=500_000, description="of the arbitration [bit/s]")
    fd_bit_rate: Annotated[Whole, Field(ge=0, le=20_000_000)] = Field(
        default=2_000_000, description="of the data of FD frames [bit/s]; 0: a classical bus"
    )
    bit_error_rate: Annotated[Number, Field(ge=0, lt=1)] = Field(
        default=0.0, description="probability of each controller to read a bit wrongly [1]"
    )
    load_window: PositiveDuration = Field(
        default=100_000_000, description="over which the load is measured"
    )


class CanBus(FullModel):
    """A bus, bit by bit: arbitration, stuff bits, errors, repetition, error counters, load.

    A controller has the ports ``transmit/NAME``, ``command/NAME`` (handled), ``receive/NAME`` and
    ``event/NAME``, or is the bus terminal of an FMU by ``operations/NAME``, in and out. Such an FMU
    counts its errors itself. Frames arrive at the end of the last bit, within which the ``latency``
    of the outputs lies: one for all, of up to 20 bits. It is how far the participants of a loop may
    run ahead of each other; answers to commands, and the load, come that time later. The
    participant needs ``dynamic_step``; its ``period`` is that of an idle bus.

    :raises ConfigurationError: no dynamic step; latencies that differ or are too long; a frame that
        CAN does not have
    """

    Parameters = BusParameters
    traits: ClassVar[Traits] = Traits(cost_ns=60_000, needs_graph=True)
    input_ports: ClassVar[tuple[Port, ...]] = (
        Port("transmit/{controller}", CAN_FRAME, required=False, description="handled"),
        Port("command/{controller}", CAN_COMMAND, required=False, description="handled"),
        Port(
            "operations/{controller}",
            BYTES,
            required=False,
            description="handled: operations of FMI-LS-BUS of an FMU",
        ),
    )
    output_ports: ClassVar[tuple[Port, ...]] = (
        Port("receive/{controller}", CAN_FRAME, required=False, schedule="sparse"),
        Port(
            "frames",
            CAN_FRAME,
            required=False,
            schedule="sparse",
            description="every frame that arrives, once",
        ),
        Port(
            "event/{controller}",
            CAN_EVENT,
            required=False,
            schedule="sparse",
            description="sent or not, errors, states",
        ),
        Port(
            "operations/{controller}",
            BYTES,
            required=False,
            schedule="sparse",
            description="operations of FMI-LS-BUS for an FMU",
        ),
        Port(
            "load",
            LOAD,
            required=False,
            schedule="sparse",
            description="share of each window in which the bus was busy [1]",
        ),
    )
    other_ports = False

    @classmethod
    def port_names(
        cls, context: ModelContext, parameters: BusParameters
    ) -> Mapping[str, Sequence[str]]:
        """The controllers."""
        cls.check_settings(context, parameters)
        return {"controller": tuple(parameters.controllers)}

    @classmethod
    def check_settings(cls, context: ModelContext, parameters: BusParameters) -> None:
        """Check that the bus may choose its times.

        :raises ConfigurationError: it may not
        """
        if not context.dynamic_step:
            raise ConfigurationError(
                f"{context.where}: found no 'dynamic_step: true' beside them; allowed is a bus that"
                " chooses its times"
            )

    def __init__(self, context: ModelContext, parameters: BusParameters) -> None:
        self.check_settings(context, parameters)
        self._where = context.where
        self._outputs = frozenset(context.output_types)
        self._terminals = frozenset(
            name
            for name in parameters.controllers
            if f"operations/{name}" in (*context.input_types, *context.output_types)
        )
        self._bus = Bus(
            {
                name: self._controller(context, parameters, name, settings)
                for name, settings in parameters.controllers.items()
            },
            _lead(context, parameters),
        )
        self._window = parameters.load_window
        self._window_end = parameters.load_window
        self._busy_before = 0
        self._highest_load = 0.0
        self._now = 0

    def _controller(
        self, context: ModelContext, bus: BusParameters, name: str, own: ControllerSettings
    ) -> CanController:
        error_rate = bus.bit_error_rate if own.bit_error_rate is None else own.bit_error_rate
        return CanController(
            name,
            own.bit_rate or bus.bit_rate,
            bus.fd_bit_rate if own.fd_bit_rate is None else own.fd_bit_rate,
            state=ControllerState.STARTED if own.started else ControllerState.STOPPED,
            queue=own.queue,
            retransmit=own.retransmit,
            recover=own.recover,
            error_rate=error_rate,
            errors=RandomStream(context.run_seed, context.name, f"errors/{name}"),
            confinement=ReportedState() if name in self._terminals else None,
        )

    def handle_message(self, port: str, step: Step) -> Mapping[str, Any]:
        """A request, a command or operations of one controller."""
        kind, _, name = port.partition("/")
        if not step.samples[port]:
            return {}  # a seam has not taken it
        (sample,) = step.samples[port]
        if kind == "operations":
            answers = self._operations(step.time, name, bytes(sample.value.data))
            return self._told(step.time, answers[0], {name: answers[1]})
        if kind == "command":
            events = self._command(step.time, name, sample.value)
        else:
            frame = frame_of(sample.value)
            check_frame(frame, f"{self._where}.controllers.{name}")
            events = self._bus.request(step.time, name, frame)
        return self._told(step.time, events)

    def activate(self, step: Step) -> Mapping[str, Any]:
        """What happens on the bus by now; the load when a window ends."""
        time = step.time
        events: list[BusEvent] = []
        due = self._bus.next_time
        if due is not None and due <= time:
            events = self._bus.advance(time)
        outputs = dict(self._told(time, events))
        if time >= self._window_end:
            busy = self._bus.busy_ns(time)
            load = (busy - self._busy_before) / self._window
            self._highest_load = max(self._highest_load, load)
            self._busy_before = busy
            self._window_end = time + self._window
            if "load" in self._outputs:
                outputs["load"] = DEFAULT.record(LOAD)(data=load)
            self._choose(time)
        return outputs

    def report(self) -> Report:
        """Frames, errors, load, and times from a request to the end of the frame."""
        counts = self._bus.counts
        mean = counts.latency_sum_ns / counts.frames if counts.frames else 0.0
        return Report(
            {
                "frames": counts.frames,
                "destroyed": counts.errors,
                "arbitrations_lost": counts.lost_arbitrations,
                "load": self._bus.busy_ns(self._now) / self._now if self._now else 0.0,
                "highest_load": self._highest_load,
                "mean_latency_ms": mean / 1e6,
                "max_latency_ms": counts.latency_max_ns / 1e6,
            }
        )

    def save_state(self) -> Any:
        """The bus and the window."""
        return _STATE.save(self)

    def restore_state(self, state: Any) -> None:
        """Go back to a saved state."""
        _STATE.restore(self, state)

    # -- inside --------------------------------------------------------------------------------

    def _choose(self, time: int) -> None:
        self._now = time
        due = self._bus.next_time
        if due is not None and due <= time and due != self.next_time:
            due = time + 1  # a higher bit rate has brought it forward
        self.next_time = self._window_end if due is None else min(due, self._window_end)

    def _command(self, time: int, name: str, message: Any) -> list[BusEvent]:
        try:
            command = ControllerCommand(message.command)
        except ValueError:
            raise ConfigurationError(
                f"{self._where}.controllers.{name}: found command {message.command}; allowed are "
                + ", ".join(f"{c.value} ({c.name})" for c in ControllerCommand)
            ) from None
        controller = self._bus.controllers[name]
        controller.bit_rate = message.bit_rate or controller.bit_rate
        controller.fd_bit_rate = message.fd_bit_rate or controller.fd_bit_rate
        return self._bus.command(time, name, command)

    def _operations(
        self, time: int, name: str, data: bytes
    ) -> tuple[list[BusEvent], list[ls_bus.Operation]]:
        """What an FMU sends: events, and format errors that go back to it."""
        controller = self._bus.controllers[name]
        events: list[BusEvent] = []
        wrong: list[ls_bus.Operation] = []
        for operation in ls_bus.decoded(data):
            match operation:
                case ls_bus.Transmit(frame):
                    try:
                        check_frame(frame, name)
                    except ConfigurationError:
                        wrong.append(ls_bus.FormatError(ls_bus.encoded([operation])))
                        continue
                    events += self._bus.request(time, name, frame)
                case ls_bus.BusConfiguration(bit_rate, fd_bit_rate, keep_lost):
                    controller.bit_rate = bit_rate or controller.bit_rate
                    controller.fd_bit_rate = fd_bit_rate or controller.fd_bit_rate
                    if keep_lost is not None:
                        controller.keep_lost = keep_lost
                case ls_bus.NodeStatus(state):
                    controller.confinement.state = state
                case ls_bus.WakeUp():
                    events += self._bus.command(time, name, ControllerCommand.WAKE_BUS)
                case ls_bus.FormatError():
                    wrong.append(operation)
        return events, wrong

    def _told(
        self,
        time: int,
        events: Iterable[BusEvent],
        more: Mapping[str, Sequence[ls_bus.Operation]] | None = None,
    ) -> Mapping[str, Any]:
        """The messages of events."""
        outputs: dict[str, Any] = {}
        operations: dict[str, list[ls_bus.Operation]] = {}
        for event in events:
            name = event.controller
            if event.kind is EventKind.TRANSMITTED and event.frame is not None:
                outputs["frames"] = message_of(event.frame)
            if name in self._terminals:
                operations.setdefault(name, []).extend(_operation_of(event))
            elif event.kind is EventKind.RECEIVED:
                assert event.frame is not None
                outputs[f"receive/{name}"] = message_of(event.frame)
            else:
                outputs[f"event/{name}"] = self._event(event)
        for name, further in (more or {}).items():
            operations.setdefault(name, []).extend(further)
        for name, found in operations.items():
            if found:
                content = ls_bus.encoded(found)
                outputs[f"operations/{name}"] = DEFAULT.record(BYTES)(data=content)
        self._choose(time)
        return {port: value for port, value in outputs.items() if port in self._outputs}

    def _event(self, event: BusEvent) -> Any:
        controller = self._bus.controllers[event.controller]
        frame = event.frame
        return DEFAULT.record(CAN_EVENT)(
            kind=event.kind.value,
            id=frame.id if frame else 0,
            extended=frame.extended if frame else False,
            cancelled=event.cancelled,
            error=event.code.value,
            primary=event.primary,
            sender=event.sender,
            state=controller.state.value,
            error_state=controller.confinement.state.value,
            transmit_errors=controller.confinement.transmit_errors,
            receive_errors=controller.confinement.receive_errors,
        )


def _lead(context: ModelContext, parameters: BusParameters) -> int:
    """The latency of the outputs [ns]."""
    if context.graph is None:
        return 0
    latencies = {output.latency for output in context.graph.participants[context.name].outputs}
    if not latencies:
        return 0
    fastest = max(
        [parameters.bit_rate, *(c.bit_rate or 0 for c in parameters.controllers.values())]
    )
    most = SHORTEST * 1_000_000_000 // fastest
    first = min(latencies, key=lambda latency: latency.minimum_ns)
    if len(latencies) > 1 or first.draw is not None or first.minimum_ns > most:
        found = ", ".join(sorted({format_ns(latency.minimum_ns) for latency in latencies}))
        raise ConfigurationError(
            f"participants.{context.name}.outputs: found latencies {found}; allowed is one "
            f"constant latency for all, of up to {format_ns(most)}"
        )
    return first.minimum_ns


def _operation_of(event: BusEvent) -> list[ls_bus.Operation]:
    """The operations that an event is for an FMU."""
    frame = event.frame
    if event.kind is EventKind.WAKE_UP:
        return [ls_bus.WakeUp()]
    if frame is None:
        return []
    if event.kind is EventKind.RECEIVED:
        return [ls_bus.Transmit(frame)]
    if event.kind is EventKind.TRANSMITTED:
        return [ls_bus.Confirm(frame.id)]
    if event.kind is EventKind.ERROR:
        return [ls_bus.BusError(frame.id, event.code, event.primary, event.sender)]
    if event.kind in (EventKind.ARBITRATION_LOST, EventKind.QUEUE_FULL):
        return [ls_bus.ArbitrationLost(frame.id)]
    return []


_STATE = SavedAttributes(parts=(Bus, BusCounts, CanController, Confinement, ReportedState))
