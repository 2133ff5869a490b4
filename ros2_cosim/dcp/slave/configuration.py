# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The configuration of a slave, and the checks of every configuration PDU.

Each ``set_*`` method returns the error code of the first failed check (NONE if it took the
setting); a refused setting leaves the former one untouched. Nothing here does any I/O.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from ros2_cosim.dcp.slave.interfaces import Endpoint
from ros2_cosim.dcp.standard.data_path import HEADER, InputPdu, OutputPdu
from ros2_cosim.dcp.standard.enums import DataType, ErrorCode, LogLevel, LogMode, OpMode, Scope
from ros2_cosim.dcp.standard.errors import PduError
from ros2_cosim.dcp.standard.pdu import ADDRESS_SIZES, decode_address
from ros2_cosim.dcp.standard.property_checks import PropertyChecks
from ros2_cosim.dcp.standard.sizes import MAX_PDU_BYTES, largest_received
from ros2_cosim.dcp.standard.slave_description import (
    Causality,
    SlaveDescription,
    Variable,
    element_count,
)
from ros2_cosim.dcp.standard.values import SIZED, SIZES, PayloadCodec, Value, converter, convertible

_OK = ErrorCode.NONE


@dataclass(frozen=True)
class Slot:
    """A received variable at one position: its reference and its type on the wire."""

    vr: int
    source: DataType


class Configuration:
    """All settings of the configuration phase.

    :param control_ports: the slave's own control port per transport protocol; always
        allowed as data port
    :param usable_host: whether the slave can listen on an IPv4 address
    :param properties: the checks of limits that CFG_parameter has to pass
    """

    def __init__(
        self,
        description: SlaveDescription,
        control_ports: Mapping[int, int],
        usable_host: Callable[[str], bool],
        properties: PropertyChecks | None = None,
    ) -> None:
        self.description = description
        self._properties = properties or PropertyChecks(description, ())
        self.control_ports = control_ports
        self._usable_host = usable_host
        self._largest = largest_received(description)
        self._by_vr: dict[int, Variable] = {v.value_reference: v for v in description.variables}
        self.clear()

    def clear(self) -> None:
        """CFG_clear: back to an empty configuration."""
        self.inputs: dict[int, dict[int, Slot]] = {}
        self.outputs: dict[int, dict[int, int]] = {}
        self.tunables: dict[int, dict[int, Slot]] = {}
        self.sources: dict[int, Endpoint] = {}
        self.targets: dict[int, list[Endpoint]] = {}
        self.param_sources: dict[int, Endpoint] = {}
        self.scopes: dict[int, Scope] = {}
        self.steps: dict[int, int] = {}
        self.logging: dict[tuple[int, int], LogMode] = {}
        self.parameters: dict[int, Value] = {}
        self.resolution = self.description.fixed_resolution()
        self.structural: dict[int, int] = {
            v.value_reference: int(v.start) for v in self.description.of(Causality.STRUCTURAL)
        }

    # -- one method per configuration PDU ------------------------------------------------

    def set_time_res(self, numerator: int, denominator: int) -> ErrorCode:
        """CFG_time_res."""
        if not self.description.allows_resolution(numerator, denominator):
            return ErrorCode.INVALID_TIME_RESOLUTION
        self.resolution = Fraction(numerator, denominator)
        return _OK

    def set_steps(self, steps: int, data_id: int) -> ErrorCode:
        """CFG_steps; must suit every output that is already in the data_id."""
        outputs = self.outputs.get(data_id, {}).values()
        if steps < 1 or not all(self._by_vr[vr].allows_steps(steps) for vr in outputs):
            return ErrorCode.INVALID_STEPS
        self.steps[data_id] = steps
        return _OK

    def set_input(self, data_id: int, pos: int, vr: int, source: int) -> ErrorCode:
        """CFG_input."""
        code, slot = self._slot(vr, source, (Causality.INPUT,))
        if slot is not None:
            self.inputs.setdefault(data_id, {})[pos] = slot
        return code

    def set_output(self, data_id: int, pos: int, vr: int) -> ErrorCode:
        """CFG_output; must suit the steps that are already set for the data_id."""
        variable = self._by_vr.get(vr)
        if variable is None or variable.causality is not Causality.OUTPUT:
            return ErrorCode.INVALID_VALUE_REFERENCE
        steps = self.steps.get(data_id)
        if steps is not None and not variable.allows_steps(steps):
            return ErrorCode.INVALID_STEPS
        self.outputs.setdefault(data_id, {})[pos] = vr
        return _OK

    def set_tunable(self, param_id: int, pos: int, vr: int, source: int) -> ErrorCode:
        """CFG_tunable_parameter.

        Only the causality of a parameter is checked, as the standard's text and its
        reference implementation do; a structural parameter must be tunable, because its
        value changes sizes.
        """
        variable = self._by_vr.get(vr)
        structural = variable is not None and variable.causality is Causality.STRUCTURAL
        if variable is not None and structural and variable.variability != "tunable":
            return ErrorCode.INVALID_VALUE_REFERENCE
        code, slot = self._slot(vr, source, (Causality.PARAMETER, Causality.STRUCTURAL))
        if slot is not None:
            self.tunables.setdefault(param_id, {})[pos] = slot
        return code

    def set_target(self, data_id: int, protocol: int, address: bytes) -> ErrorCode:
        """CFG_target_network_information; several targets of one data_id add up."""
        code, endpoint = self._endpoint(protocol, address)
        if endpoint is not None:
            known = self.targets.setdefault(data_id, [])
            if endpoint not in known:
                known.append(endpoint)
        return code

    def set_source(self, data_id: int, protocol: int, address: bytes) -> ErrorCode:
        """CFG_source_network_information."""
        code, endpoint = self._listening(protocol, address, parameter=False)
        if endpoint is not None:
            self.sources[data_id] = endpoint
        return code

    def set_param_source(self, param_id: int, protocol: int, address: bytes) -> ErrorCode:
        """CFG_param_network_information."""
        code, endpoint = self._listening(protocol, address, parameter=True)
        if endpoint is not None:
            self.param_sources[param_id] = endpoint
        return code

    def set_scope(self, data_id: int, scope: int) -> ErrorCode:
        """CFG_scope."""
        if scope not in Scope.__members__.values():
            return ErrorCode.INVALID_SCOPE
        self.scopes[data_id] = Scope(scope)
        return _OK

    def set_logging(self, category: int, level: int, mode: int) -> ErrorCode:
        """CFG_logging; category 0 stands for all."""
        flags = self.description.capabilities
        if mode == LogMode.ON_REQUEST and not flags.can_provide_log_on_request:
            return ErrorCode.NOT_SUPPORTED_LOG_ON_REQUEST
        if mode == LogMode.ON_NOTIFICATION and not flags.can_provide_log_on_notification:
            return ErrorCode.NOT_SUPPORTED_LOG_ON_NOTIFICATION
        categories = [c.id for c in self.description.log_categories]
        if category != 0 and category not in categories:
            return ErrorCode.INVALID_LOG_CATEGORY
        if level not in LogLevel.__members__.values():
            return ErrorCode.INVALID_LOG_LEVEL
        if mode not in LogMode.__members__.values():
            return ErrorCode.INVALID_LOG_MODE
        for one in categories if category == 0 else [category]:
            self.logging[one, level] = LogMode(mode)
        return _OK

    def parameter_length(self, vr: int, source: int) -> int | None:
        """Exact payload length that CFG_parameter must have, None if it is not fixed."""
        variable = self._by_vr.get(vr)
        if variable is None or source not in SIZES:
            return None
        count = element_count(variable, self.structural)
        return SIZES[DataType(source)] * (1 if count is None else count)

    def set_parameter(self, vr: int, source: int, payload: bytes) -> ErrorCode:
        """CFG_parameter: any parameter or structural parameter."""
        code, slot = self._slot(vr, source, (Causality.PARAMETER, Causality.STRUCTURAL))
        if slot is None:
            return code
        variable = self._by_vr[vr]
        count = element_count(variable, self.structural)
        try:
            (value,) = PayloadCodec([(slot.source, count)]).unpack(payload)
        except PduError:
            return ErrorCode.INVALID_PAYLOAD
        if not self.fits_size(variable, value):
            return ErrorCode.INVALID_PAYLOAD
        convert = converter(slot.source, variable.data_type)
        if convert is not None:
            value = convert(value)
        if self._properties.limits(variable, value) is not None:
            return ErrorCode.PROTOCOL_ERROR_PROPERTY_VIOLATED
        if variable.causality is Causality.STRUCTURAL:
            if value < 1:
                return ErrorCode.INVALID_PAYLOAD
            self.structural[vr] = value
        self.parameters[vr] = value
        return _OK

    # -- judging the whole at STC_prepare ------------------------------------------------

    def check_complete(self, mode: OpMode) -> ErrorCode:
        """First fault of the configuration in the order of the standard, or NONE."""
        for table, code in (
            (self.inputs, ErrorCode.INCOMPLETE_CONFIG_GAP_INPUT_POS),
            (self.outputs, ErrorCode.INCOMPLETE_CONFIG_GAP_OUTPUT_POS),
            (self.tunables, ErrorCode.INCOMPLETE_CONFIG_GAP_TUNABLE_POS),
        ):
            if any(set(slots) != set(range(len(slots))) for slots in table.values()):
                return code
        if not self.inputs.keys() <= self.sources.keys():
            return ErrorCode.INCOMPLETE_CONFIG_NW_INFO_INPUT
        if not self.outputs.keys() <= self.targets.keys():
            return ErrorCode.INCOMPLETE_CONFIG_NW_INFO_OUTPUT
        if not self.tunables.keys() <= self.param_sources.keys():
            return ErrorCode.INCOMPLETE_CONFIG_NW_INFO_TUNABLE
        if mode is not OpMode.NRT and not self.outputs.keys() <= self.steps.keys():
            return ErrorCode.INCOMPLETE_CONFIG_STEPS
        if self.resolution is None:
            return ErrorCode.INCOMPLETE_CONFIG_TIME_RESOLUTION
        if not (self.inputs.keys() | self.outputs.keys()) <= self.scopes.keys():
            return ErrorCode.INCOMPLETE_CONFIG_SCOPE
        return self.check_sizes()

    def check_sizes(self) -> ErrorCode:
        """NOT_SUPPORTED_PDU_SIZE when a data PDU cannot fit its transport."""
        loads: list[tuple[list[Endpoint], list[tuple[int, DataType]], int]] = [
            ([places[number]], [(s.vr, s.source) for s in slots.values()], self._largest)
            for table, places in (
                (self.inputs, self.sources),
                (self.tunables, self.param_sources),
            )
            for number, slots in table.items()
        ]
        for data_id, vrs in self.outputs.items():
            pairs = [(vr, self._by_vr[vr].data_type) for vr in vrs.values()]
            loads.append((self.targets[data_id], pairs, MAX_PDU_BYTES))
        for endpoints, pairs, most in loads:
            size = HEADER.size + sum(self._bytes_of(vr, kind) for vr, kind in pairs)
            for endpoint in endpoints:
                transport = self.description.transport(endpoint.protocol)
                limit = transport.max_pdu_size if transport else MAX_PDU_BYTES
                if size > min(limit, most):
                    return ErrorCode.NOT_SUPPORTED_PDU_SIZE
        for variable in self.description.variables:
            count = element_count(variable, self.structural)
            if count is not None and count * SIZES[variable.data_type] > MAX_PDU_BYTES:
                return ErrorCode.NOT_SUPPORTED_PDU_SIZE
        return _OK

    def _bytes_of(self, vr: int, kind: DataType) -> int:
        variable = self._by_vr[vr]
        if kind in SIZED:
            return 4 + (self.description.attributes(variable).max_size or 0)
        count = element_count(variable, self.structural)
        return SIZES[kind] * (1 if count is None else count)

    # -- what the data path is built from ------------------------------------------------

    def input_pdus(self, index: Mapping[str, int]) -> dict[int, InputPdu]:
        """Received data PDUs by data_id; ``index`` places variables in their list."""
        return {i: self._incoming(i, slots, index) for i, slots in self.inputs.items()}

    def parameter_pdus(self, index: Mapping[str, int]) -> dict[int, InputPdu]:
        """Received parameter PDUs by param_id."""
        return {i: self._incoming(i, slots, index) for i, slots in self.tunables.items()}

    def _incoming(self, data_id: int, slots: dict[int, Slot], index: Mapping[str, int]) -> InputPdu:
        sources = [slots[pos].source for pos in sorted(slots)]
        variables = self.received_in(slots)
        missed = [v.max_consec_missed_pdus for v in variables]
        return InputPdu(
            data_id,
            self._codec(variables, sources),
            [index[v.name] for v in variables],
            [converter(kind, v.data_type) for kind, v in zip(sources, variables, strict=True)],
            self.scopes.get(data_id, Scope.INITIALIZATION_RUN_NRT),
            min((limit for limit in missed if limit is not None), default=None),
        )

    def _codec(self, variables: Sequence[Variable], kinds: Sequence[DataType]) -> PayloadCodec:
        counts = [element_count(v, self.structural) for v in variables]
        return PayloadCodec(list(zip(kinds, counts, strict=True)), [v.name for v in variables])

    def output_pdus(self, index: Mapping[str, int]) -> list[OutputPdu]:
        """Sent data PDUs in the order of their data_id."""
        pdus = []
        for data_id in sorted(self.outputs):
            variables = self.sent_in(data_id)
            codec = self._codec(variables, [v.data_type for v in variables])
            scope = self.scopes.get(data_id, Scope.INITIALIZATION_RUN_NRT)
            indices = [index[v.name] for v in variables]
            pdus.append(OutputPdu(data_id, codec, indices, scope, self.steps.get(data_id, 1)))
        return pdus

    def received_in(self, slots: Mapping[int, Slot]) -> list[Variable]:
        """Variables of a data_id of ``inputs``, or a param_id of ``tunables``, by position."""
        return [self._by_vr[slots[pos].vr] for pos in sorted(slots)]

    def sent_in(self, data_id: int) -> list[Variable]:
        """Outputs of a data_id in the order of their positions."""
        slots = self.outputs[data_id]
        return [self._by_vr[slots[pos]] for pos in sorted(slots)]

    def fits_size(self, variable: Variable, value: Value) -> bool:
        """Whether a string or binary keeps to its maxSize."""
        limit = self.description.attributes(variable).max_size
        if limit is None or variable.data_type not in SIZED:
            return True
        data = value.encode("utf-8") if isinstance(value, str) else value
        return len(data) <= limit

    # -- shared checks -------------------------------------------------------------------

    def _slot(
        self, vr: int, source: int, wanted: tuple[Causality, ...]
    ) -> tuple[ErrorCode, Slot | None]:
        variable = self._by_vr.get(vr)
        if variable is None or variable.causality not in wanted:
            return ErrorCode.INVALID_VALUE_REFERENCE, None
        if not convertible(source, variable.data_type):
            return ErrorCode.INVALID_SOURCE_DATA_TYPE, None
        return _OK, Slot(vr, DataType(source))

    def _endpoint(self, protocol: int, address: bytes) -> tuple[ErrorCode, Endpoint | None]:
        if self.description.transport(protocol) is None:
            return ErrorCode.INVALID_TRANSPORT_PROTOCOL, None
        host, port = decode_address(address)
        if port == 0:
            return ErrorCode.INVALID_NETWORK_INFORMATION, None
        return _OK, Endpoint(protocol, host, port)

    def _listening(
        self, protocol: int, address: bytes, *, parameter: bool
    ) -> tuple[ErrorCode, Endpoint | None]:
        code, endpoint = self._endpoint(protocol, address)
        if endpoint is None:
            return code, None
        transport: Any = self.description.transport(protocol)
        ports = transport.parameter if parameter else transport.data
        own = endpoint.port == self.control_ports.get(protocol)
        if not own and ports is not None and not ports.allows(endpoint.port):
            return ErrorCode.INVALID_NETWORK_INFORMATION, None
        if not self._usable_host(endpoint.host):
            return ErrorCode.INVALID_NETWORK_INFORMATION, None
        return _OK, endpoint


def address_length(protocol: int, part: int) -> int | None:
    """Length of the transport part (0 target, 1 source, 2 param); None if unknown."""
    sizes = ADDRESS_SIZES.get(protocol)
    return None if sizes is None else sizes[part]
