# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The data of a slave: receiving, taking effect, computing a step, sending."""

from __future__ import annotations

import logging
from collections.abc import Hashable, Iterable, Sequence
from fractions import Fraction
from typing import Any

from ros2_cosim.core.documents.files import cause_of
from ros2_cosim.dcp.slave.configuration import Configuration
from ros2_cosim.dcp.slave.interfaces import SlaveContext
from ros2_cosim.dcp.slave.slave_model import StepInfo
from ros2_cosim.dcp.slave.state_machine import StateMachine
from ros2_cosim.dcp.standard.data_path import DataCounters, InputPdu, Missing, OutputPdu
from ros2_cosim.dcp.standard.data_report import TEMPLATE, log_arguments, tells_data
from ros2_cosim.dcp.standard.enums import ErrorCode, PduType, Scope, TransportProtocol
from ros2_cosim.dcp.standard.errors import PduError, SlaveFault
from ros2_cosim.dcp.standard.property_checks import DataWatch, PropertyChecks
from ros2_cosim.dcp.standard.slave_description import Causality, Variable
from ros2_cosim.dcp.standard.states import ALLOWED, INITIALIZATION, RUN
from ros2_cosim.dcp.standard.ticks import TickPlan
from ros2_cosim.dcp.standard.values import SIZED, Value

logger = logging.getLogger(__name__)

_DAT_IO, _DAT_PARAM = int(PduType.DAT_input_output), int(PduType.DAT_parameter)
_SENT = "sent"
_USED = ALLOWED[PduType.DAT_input_output]


class DataExchange:
    """Data PDUs in and out, and the model's values between them.

    Received values wait until the next computation begins, so that none changes under a
    running callback; in which order sockets are served does not matter then.

    :param plan: ticks of a real-time run, with which arrivals are compared
    :ivar ticks: resolutions computed since the start of the run
    """

    def __init__(
        self,
        context: SlaveContext,
        configuration: Configuration,
        properties: PropertyChecks,
        machine: StateMachine,
        plan: TickPlan,
    ) -> None:
        self.ticks = 0
        self._context = context
        self._model = context.model
        self._options = context.options
        self._transport = context.transport
        self._configuration = configuration
        self._properties = properties
        self._machine = machine
        self._plan = plan
        self._inputs: dict[int, InputPdu] = {}
        self._params: dict[int, InputPdu] = {}
        self._outputs: list[OutputPdu] = []
        self._arrived: list[InputPdu] = []
        self._arrived_params: list[InputPdu] = []
        self._watch: DataWatch | None = None
        #: Kind of data PDU, number -> position, name and maxSize of what has one.
        self._limits: dict[Hashable, list[tuple[int, str, int]]] = {}

    @property
    def time_ns(self) -> int:
        """Simulated time [ns] at which the next step begins, rounded down."""
        return StepInfo(self.ticks, 0, self._resolution()).time_ns

    # -- building ----------------------------------------------------------------------------

    def build(self) -> None:
        """At STC_prepare: all values at their start, codecs for the configured PDUs."""
        configuration, model = self._configuration, self._model
        model.bind(self._context.description, configuration.structural, configuration.parameters)
        self._inputs = configuration.input_pdus(model.index)
        self._params = configuration.parameter_pdus(model.index)
        self._outputs = configuration.output_pdus(model.index)
        self._arrived = []
        self._arrived_params = []
        self.ticks = 0
        received = {_DAT_IO: configuration.inputs, _DAT_PARAM: configuration.tunables}
        carried: dict[Hashable, list[Variable]] = {
            (kind, number): configuration.received_in(slots)
            for kind, table in received.items()
            for number, slots in table.items()
        }
        carried |= {(_SENT, n): configuration.sent_in(n) for n in configuration.outputs}
        checked = self._properties.any
        self._watch = DataWatch(self._properties, carried) if checked else None
        limited = {key: self._limited(variables) for key, variables in carried.items()}
        self._limits = {key: found for key, found in limited.items() if found}

    def _limited(self, variables: Sequence[Variable]) -> list[tuple[int, str, int]]:
        found = []
        for position, variable in enumerate(variables):
            limit = self._context.description.attributes(variable).max_size
            if limit is not None and variable.data_type in SIZED:
                found.append((position, variable.name, limit))
        return found

    def _too_long(self, key: Hashable, values: Sequence[Value]) -> str | None:
        """Says which string or binary is longer than its maxSize."""
        for position, name, limit in self._limits.get(key, ()):
            value = values[position]
            for each in value if isinstance(value, tuple) else (value,):
                size = len(each.encode("utf-8") if isinstance(each, str) else each)
                if size > limit:
                    return f"variable {name!r}: found {size} bytes; allowed are {limit} (maxSize)"
        return None

    def clear(self) -> None:
        """Drop all data PDUs."""
        self._inputs, self._params, self._outputs = {}, {}, []

    def connect(self) -> bool:
        """Open the connections of all outputs; False when that ended in the error state."""
        for pdu in self._outputs:
            for endpoint in self._configuration.targets[pdu.data_id]:
                try:
                    pdu.targets.append(self._transport.connect(endpoint))
                except OSError as error:
                    self._machine.fail(
                        ErrorCode.PROTOCOL_ERROR_GENERIC,
                        f"cannot connect to {endpoint.host}:{endpoint.port}: {cause_of(error)}",
                    )
                    return False
        return True

    # -- receiving ---------------------------------------------------------------------------

    def receive(self, kind: int, data: bytes) -> bool:
        """Take one data PDU; whether it has brought values for the next computation."""
        if len(data) < 5:
            return False
        number = data[3] | data[4] << 8
        pdu = (self._inputs if kind == _DAT_IO else self._params).get(number)
        machine = self._machine
        state = machine.state
        if pdu is None or state not in _USED:
            return False
        initial = state in INITIALIZATION
        if pdu.scope and (pdu.scope == Scope.INITIALIZATION) != initial:
            return False
        missed = pdu.watch.take(data[1] | data[2] << 8)
        if missed < 0 and self._options.newest_only:
            return False
        try:
            pdu.take(data)
        except PduError:
            pdu.watch.counters.refused += 1
            return False
        assert pdu.pending is not None
        text = self._too_long((kind, number), pdu.pending) if self._limits else None
        if text is None and self._watch is not None:
            text = self._violation_on_arrival(self._watch, kind, pdu, pdu.pending)
        if text is not None:
            pdu.pending = None
            machine.fail(ErrorCode.PROTOCOL_ERROR_PROPERTY_VIOLATED, text)
            return False
        arrived = self._arrived if kind == _DAT_IO else self._arrived_params
        if pdu not in arrived:
            arrived.append(pdu)
        if missed > 0:
            self._check_loss(pdu, missed)
        if kind == _DAT_PARAM and not machine.busy and self._sizes_hang_on(number):
            # What is received after it already has the new sizes.
            machine.guard(self.take_inputs)
        return True

    def _violation_on_arrival(
        self, watch: DataWatch, kind: int, pdu: InputPdu, values: Sequence[Value]
    ) -> str | None:
        deviation = None
        in_run = self._machine.state in RUN
        if kind == _DAT_IO and in_run and not self._options.data_synchronisation:
            deviation = self._plan.deviation(self._context.host.monotonic())
        return watch.arrived((kind, pdu.data_id), values, deviation)

    def _check_loss(self, pdu: InputPdu, missed: int) -> None:
        limit = self._options.acceptable_loss
        rate = pdu.watch.counters.loss_rate
        if pdu.max_missed is not None and missed > pdu.max_missed:
            text = f"data_id {pdu.data_id}: {missed} PDUs missed, {pdu.max_missed} allowed"
        elif limit is not None and rate > limit:
            text = f"data_id {pdu.data_id}: {rate:.3f} of the PDUs lost, {limit} allowed"
        else:
            return
        self._machine.fail(ErrorCode.PROTOCOL_ERROR_PROPERTY_VIOLATED, text)

    def _sizes_hang_on(self, param_id: int) -> bool:
        slots = self._configuration.tunables[param_id]
        variables = self._configuration.received_in(slots)
        return any(v.causality is Causality.STRUCTURAL for v in variables)

    # -- taking effect -----------------------------------------------------------------------

    def take_inputs(self) -> None:
        """Move arrived values to the model; inputs first, they still have the old sizes.

        :raises SlaveFault: a value changes too fast, or a size does not fit any more
        """
        for pdu in self._arrived:
            self._check_rate(_DAT_IO, pdu)
            pdu.apply(self._model.inputs)
        self._arrived.clear()
        if self._arrived_params:
            self._take_parameters()

    def _check_rate(self, kind: int, pdu: InputPdu) -> None:
        """Raise a SlaveFault if what is about to take effect changes a value too fast."""
        if self._watch is None or pdu.pending is None:
            return
        key = (kind, pdu.data_id)
        text = self._watch.used(key, pdu.pending, self.ticks, self._resolution())
        if text is not None:
            raise SlaveFault(text, ErrorCode.PROTOCOL_ERROR_PROPERTY_VIOLATED)

    def _resolution(self) -> Fraction:
        return self._configuration.resolution or Fraction(0)

    def _take_parameters(self) -> None:
        structural = self._configuration.structural
        names: list[str] = []
        resize = False
        for pdu in self._arrived_params:
            self._check_rate(_DAT_PARAM, pdu)
            pdu.apply(self._model.parameters)
            slots = self._configuration.tunables[pdu.data_id]
            for variable in self._configuration.received_in(slots):
                names.append(variable.name)
                value = self._model.get(variable.name)
                if variable.value_reference in structural:
                    resize = resize or structural[variable.value_reference] != value
                    structural[variable.value_reference] = max(1, value)
        self._arrived_params.clear()
        if resize:
            self._resize()
        self._model.parameters_changed(names)

    def _resize(self) -> None:
        """Arrays whose size hangs on a structural parameter that has just changed."""
        configuration, index = self._configuration, self._model.index
        if configuration.check_sizes() is not ErrorCode.NONE:
            raise SlaveFault(
                "a structural parameter makes a data PDU too large",
                ErrorCode.NOT_SUPPORTED_PDU_SIZE,
            )
        self._model.resize(self._context.description, configuration.structural)
        fresh_in = configuration.input_pdus(index)
        fresh_params = configuration.parameter_pdus(index)
        for old, new in ((self._inputs, fresh_in), (self._params, fresh_params)):
            for number, pdu in old.items():
                new[number].watch = pdu.watch
        for sent, fresh in zip(self._outputs, configuration.output_pdus(index), strict=True):
            sent.codec = fresh.codec
        self._inputs, self._params = fresh_in, fresh_params

    # -- computing ---------------------------------------------------------------------------

    def due_inputs(self) -> list[InputPdu]:
        """Inputs of the run without new data."""
        return [
            pdu
            for pdu in self._inputs.values()
            if pdu.pending is None and pdu.scope != Scope.INITIALIZATION
        ]

    def initialise(self) -> bool:
        """One computation of the initialization; False when the state changed meanwhile."""
        machine = self._machine
        for pdu in self._inputs.values():
            if pdu.pending is None and pdu.newest is None and pdu.scope != Scope.RUN_NRT:
                pdu.watch.counters.miss(1, extrapolated=False)
        return machine.guard(self.take_inputs) and machine.call(self._model.initialise)

    def step(self, steps: int, *, on_request: bool) -> bool:
        """One computation step of the model; False when the state changed meanwhile.

        :param on_request: a request made it step; there are new data for each such step then,
            and data that come late count as missing
        """
        options, machine = self._options, self._machine
        cares = on_request or options.input_wait_s > 0 or options.missing is not Missing.HOLD
        if cares and not machine.guard(self._handle_missing):
            return False
        if not machine.guard(self.take_inputs):
            return False
        assert self._configuration.resolution is not None
        info = StepInfo(self.ticks, steps, self._configuration.resolution)
        if not machine.call(self._model.do_step, info):
            return False
        self.ticks += steps
        return True

    def _handle_missing(self) -> None:
        """Apply the policy for data_ids without new data for this step."""
        missing = self.due_inputs()
        if missing and self._options.input_wait_s > 0:
            self._context.host.await_input(lambda: not self.due_inputs())
            missing = self.due_inputs()
        policy = self._options.missing
        for pdu in missing:
            if policy is Missing.STOP:
                raise SlaveFault(
                    f"data_id {pdu.data_id} brought no new data for the step",
                    ErrorCode.PROTOCOL_ERROR_PROPERTY_VIOLATED,
                )
            guess = pdu.extrapolated() if policy is Missing.EXTRAPOLATE else None
            pdu.watch.counters.miss(self.ticks + 1, extrapolated=guess is not None)
            if guess is not None:
                pdu.put(guess, self._model.inputs)

    # -- sending -----------------------------------------------------------------------------

    def send_initial(self) -> bool:
        """Outputs of SENDING_I; False when that ended in the error state."""
        return self._send(p for p in self._outputs if p.scope != Scope.RUN_NRT)

    def send_step(self) -> bool:
        """Outputs of SENDING_D, and of a step that data PDUs have driven."""
        return self._send(p for p in self._outputs if p.scope != Scope.INITIALIZATION)

    def send_tick(self) -> bool:
        """Outputs that are due at this tick of the clock (CFG_steps)."""
        ticks = self.ticks
        return self._send(
            p for p in self._outputs if p.scope != Scope.INITIALIZATION and ticks % p.steps == 0
        )

    def _send(self, pdus: Iterable[OutputPdu]) -> bool:
        values = self._model.outputs
        leaving: dict[Any, list[bytes]] = {}
        for pdu in pdus:
            text = None
            if self._limits or self._watch is not None:
                key, sent = (_SENT, pdu.data_id), [values[index] for index in pdu.indices]
                text = self._too_long(key, sent)
            if text is None and self._watch is not None:
                text = self._watch.sent(key, sent, self.ticks, self._resolution())
            if text is not None:
                self._machine.fail(ErrorCode.PROTOCOL_ERROR_PROPERTY_VIOLATED, text)
                return False
            try:
                data = pdu.encode(values)
            except PduError as error:
                return self._not_sent(f"data_id {pdu.data_id}", error)
            for target in pdu.targets:
                leaving.setdefault(target, []).append(data)
        for target, data_pdus in leaving.items():
            try:
                self._transport.send_data(target, data_pdus)
            except OSError as error:
                return self._not_sent("outputs", error)
        return True

    def _not_sent(self, what: str, error: Exception) -> bool:
        self._machine.fail(ErrorCode.PROTOCOL_ERROR_GENERIC, f"sending {what}: {error}")
        return False

    # -- counting ----------------------------------------------------------------------------

    def counters(self) -> dict[int, DataCounters]:
        """Received, lost, duplicated and reordered PDUs by data_id."""
        return {number: pdu.watch.counters for number, pdu in self._inputs.items()}

    def report(self) -> None:
        """Say which inputs never came; log the counts of those that came over UDP."""
        self._model.unheard = tuple(
            variable.name
            for number, pdu in self._inputs.items()
            if self.ticks and pdu.scope != Scope.INITIALIZATION and not pdu.watch.counters.received
            for variable in self._configuration.received_in(self._configuration.inputs[number])
        )
        if self._model.unheard:
            logger.warning(
                "slave %s: inputs that are connected and never came, so that they kept their start "
                "values: %s",
                self._context.description.name,
                ", ".join(self._model.unheard),
            )
        if not tells_data(self._context.description):
            return
        for number, counters in self.counters().items():
            if self._configuration.sources[number].protocol == TransportProtocol.UDP_IPv4:
                self._context.log.write(TEMPLATE.id, *log_arguments(number, counters))
