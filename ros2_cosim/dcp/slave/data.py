# SPDX-License-Identifier: Apache-2.0
"""The data of a slave: receiving, taking effect, computing a step, sending."""

from __future__ import annotations

from collections.abc import Hashable
from fractions import Fraction

from ros2_cosim.dcp.description.data_report import TEMPLATE, log_arguments, tells_data
from ros2_cosim.dcp.description.model import Causality, Variable
from ros2_cosim.dcp.description.properties import DataWatch
from ros2_cosim.dcp.slave.core import SlaveCore
from ros2_cosim.dcp.slave.model import StepInfo
from ros2_cosim.dcp.wire.data_path import DataCounters, InputPdu, Missing, OutputPdu
from ros2_cosim.dcp.wire.enums import ErrorCode, PduType, Scope, State, TransportProtocol
from ros2_cosim.dcp.wire.errors import PduError, SlaveFault
from ros2_cosim.dcp.wire.states import ALLOWED, INITIALIZATION, RUN

_OK = ErrorCode.NONE
_DAT_IO, _DAT_PARAM = int(PduType.DAT_input_output), int(PduType.DAT_parameter)
_USED = ALLOWED[PduType.DAT_input_output]


class SlaveData(SlaveCore):
    """The data path on top of the core.

    Received values wait until the next computation begins, so that none changes under a
    running callback; in which order sockets are served does not matter then.
    """

    _inputs: dict[int, InputPdu]
    _params: dict[int, InputPdu]
    _outputs: list[OutputPdu]
    _watch: DataWatch | None = None

    def _build_data_path(self) -> None:
        """At STC_prepare: everything at its start, codecs for the configured PDUs."""
        config, model = self.config, self.model
        model.bind(self.description, config.structural, config.parameters)
        self._inputs = config.input_pdus(model.index)
        self._params = config.parameter_pdus(model.index)
        self._outputs = config.output_pdus(model.index)
        self._arrived: list[InputPdu] = []
        self._arrived_params: list[InputPdu] = []
        self._ticks = 0
        self._properties_from_now_on()

    def _properties_from_now_on(self) -> None:
        """Begin watching the properties of the variables, if that is wanted."""
        config = self.config
        received: dict[Hashable, list[Variable]] = {
            (_DAT_IO, number): config.received_in(number) for number in config.inputs
        }
        for number in config.tunables:
            received[_DAT_PARAM, number] = config.variables_of(number)
        sent: dict[Hashable, list[Variable]] = {
            number: config.sent_in(number) for number in config.outputs
        }
        watch = DataWatch(self.properties, received, sent)
        self._watch = watch if self.properties.any else None

    def _clear_data_path(self) -> None:
        self._inputs, self._params, self._outputs = {}, {}, []

    def _receive_data(self, kind: int, data: bytes) -> None:
        if len(data) < 5:
            return
        number = data[3] | data[4] << 8
        pdu = (self._inputs if kind == _DAT_IO else self._params).get(number)
        state = self.state
        if pdu is None or state not in _USED:
            return
        initial = state in INITIALIZATION
        if pdu.scope and (pdu.scope == Scope.INITIALIZATION) != initial:
            return
        missed = pdu.watch.take(data[1] | data[2] << 8)
        if missed < 0 and self.options.newest_only:
            return
        try:
            pdu.take(data)
        except PduError:
            pdu.watch.counters.refused += 1
            return
        if self._watch is not None and self._violates_on_arrival(kind, pdu):
            return
        arrived = self._arrived if kind == _DAT_IO else self._arrived_params
        if pdu not in arrived:
            arrived.append(pdu)
        if missed > 0:
            self._check_loss(pdu, missed)
        if kind == _DAT_PARAM and not self._busy and self._sizes_hang_on(number):
            # What is received after it already has the new sizes.
            self._guard(self._take_inputs)
        if self.options.data_synchronisation and self.state is State.RUNNING and not self._busy:
            self._data_step()

    def _violates_on_arrival(self, kind: int, pdu: InputPdu) -> bool:
        assert self._watch is not None
        assert pdu.pending is not None
        deviation = None
        if kind == _DAT_IO and self.state in RUN and not self.options.data_synchronisation:
            deviation = self.plan.deviation(self._io.monotonic())
        text = self._watch.arrived((kind, pdu.data_id), pdu.pending, deviation)
        if text is not None:
            pdu.pending = None
            self.fail(ErrorCode.PROTOCOL_ERROR_PROPERTY_VIOLATED, text)
        return text is not None

    def _check_rate(self, kind: int, pdu: InputPdu) -> None:
        """Raise a SlaveFault if what is about to take effect changes a value too fast."""
        if self._watch is None or pdu.pending is None:
            return
        resolution = self.config.resolution or Fraction(0)
        key = (kind, pdu.data_id)
        text = self._watch.used(key, pdu.pending, self._ticks, resolution)
        if text is not None:
            raise SlaveFault(text, ErrorCode.PROTOCOL_ERROR_PROPERTY_VIOLATED)

    def _check_loss(self, pdu: InputPdu, missed: int) -> None:
        limit = self.options.acceptable_loss
        rate = pdu.watch.counters.loss_rate
        if pdu.max_missed is not None and missed > pdu.max_missed:
            text = f"data_id {pdu.data_id}: {missed} PDUs missed, {pdu.max_missed} allowed"
        elif limit is not None and rate > limit:
            text = f"data_id {pdu.data_id}: {rate:.3f} of the PDUs lost, {limit} allowed"
        else:
            return
        self.fail(ErrorCode.PROTOCOL_ERROR_PROPERTY_VIOLATED, text)

    def _take_inputs(self) -> None:
        """Let what has arrived take effect; inputs first, they still have the old sizes."""
        for pdu in self._arrived:
            self._check_rate(_DAT_IO, pdu)
            pdu.apply(self.model.inputs)
        self._arrived.clear()
        if self._arrived_params:
            self._take_parameters()

    def _take_parameters(self) -> None:
        names: list[str] = []
        resize = False
        for pdu in self._arrived_params:
            self._check_rate(_DAT_PARAM, pdu)
            pdu.apply(self.model.parameters)
            for variable in self.config.variables_of(pdu.data_id):
                names.append(variable.name)
                value = self.model.get(variable.name)
                if variable.value_reference in self.config.structural:
                    resize = resize or self.config.structural[variable.value_reference] != value
                    self.config.structural[variable.value_reference] = max(1, value)
        self._arrived_params.clear()
        if resize:
            self._resize()
        self.model.parameters_changed(names)

    def _sizes_hang_on(self, param_id: int) -> bool:
        variables = self.config.variables_of(param_id)
        return any(v.causality is Causality.STRUCTURAL for v in variables)

    def _resize(self) -> None:
        """Arrays whose size hangs on a structural parameter that has just changed."""
        if self.config.check_sizes() is not _OK:
            raise SlaveFault(
                "a structural parameter makes a data PDU too large",
                ErrorCode.NOT_SUPPORTED_PDU_SIZE,
            )
        self.model.resize(self.description, self.config.structural)
        fresh_in = self.config.input_pdus(self.model.index)
        fresh_params = self.config.parameter_pdus(self.model.index)
        for old, new in ((self._inputs, fresh_in), (self._params, fresh_params)):
            for number, pdu in old.items():
                new[number].watch = pdu.watch
        for pdu_out, again in zip(
            self._outputs, self.config.output_pdus(self.model.index), strict=True
        ):
            pdu_out.codec = again.codec
        self._inputs, self._params = fresh_in, fresh_params

    def _due_inputs(self) -> list[InputPdu]:
        return [
            pdu
            for pdu in self._inputs.values()
            if pdu.pending is None and pdu.scope != Scope.INITIALIZATION
        ]

    def _handle_missing(self) -> None:
        """Apply the policy for data_ids without anything new for this step."""
        missing = self._due_inputs()
        if missing and self.options.input_wait_s > 0:
            self._io.await_input(lambda: not self._due_inputs())
            missing = self._due_inputs()
        for pdu in missing:
            if self.options.missing is Missing.STOP:
                raise SlaveFault(
                    f"data_id {pdu.data_id} brought no new data for the step",
                    ErrorCode.PROTOCOL_ERROR_PROPERTY_VIOLATED,
                )
            guess = pdu.extrapolated() if self.options.missing is Missing.EXTRAPOLATE else None
            pdu.watch.counters.miss(self._ticks + 1, extrapolated=guess is not None)
            if guess is not None:
                pdu.put(guess, self.model.inputs)

    def _step_model(self, steps: int) -> bool:
        """One computation step of the model; False when the state changed meanwhile."""
        options = self.options
        cares = options.input_wait_s > 0 or options.missing is not Missing.HOLD
        if cares and not self._guard(self._handle_missing):
            return False
        if not self._guard(self._take_inputs):
            return False
        assert self.config.resolution is not None
        step = StepInfo(self._ticks, steps, self.config.resolution)
        if not self._call(self.model.do_step, step):
            return False
        self._ticks += steps
        return True

    def _transmit(self, pdus: list[OutputPdu]) -> bool:
        """Send data PDUs; False when that ended in the error state."""
        values = self.model.outputs
        for pdu in pdus:
            if self._watch is not None:
                sent = [values[index] for index in pdu.indices]
                resolution = self.config.resolution or Fraction(0)
                text = self._watch.sent(pdu.data_id, sent, self._ticks, resolution)
                if text is not None:
                    self.fail(ErrorCode.PROTOCOL_ERROR_PROPERTY_VIOLATED, text)
                    return False
            try:
                data = pdu.encode(values)
                for target in pdu.targets:
                    self._io.send_data(target, data)
            except (PduError, OSError) as error:
                self.fail(
                    ErrorCode.PROTOCOL_ERROR_GENERIC, f"sending data_id {pdu.data_id}: {error}"
                )
                return False
        return True

    def _data_step(self) -> None:
        """Data-PDU synchronisation: all inputs are new, so compute and answer."""
        if self._due_inputs():
            return
        if self._step_model(1) and self.state is State.RUNNING:
            self._transmit([p for p in self._outputs if p.scope != Scope.INITIALIZATION])
            self._check_own_stop()

    def _begin_stop(self) -> None:
        """Begin STOPPING (a state change, so the derived class does it)."""
        raise NotImplementedError

    def _check_own_stop(self) -> None:
        if self.model.stop_requested and self.state in RUN:
            self.model.stop_requested = False
            self._begin_stop()

    def _report_data(self) -> None:
        """Log what became of the inputs on their way over UDP."""
        if not tells_data(self.description):
            return
        for number, counters in self.counters().items():
            if self.config.sources[number].protocol == TransportProtocol.UDP_IPv4:
                self.log.write(TEMPLATE.id, *log_arguments(number, counters))

    def counters(self) -> dict[int, DataCounters]:
        """Received, lost, duplicated and reordered PDUs by data_id."""
        return {number: pdu.watch.counters for number, pdu in self._inputs.items()}
