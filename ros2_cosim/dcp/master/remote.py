# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""One slave as the master sees it: its state, its sequence ids, its values."""

from __future__ import annotations

import struct
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from ros2_cosim.dcp.master.log import LogEntry, read_log
from ros2_cosim.dcp.standard.data_path import DataCounters, InputPdu, OutputPdu
from ros2_cosim.dcp.standard.data_report import TEMPLATE, read_arguments
from ros2_cosim.dcp.standard.enums import ErrorCode, PduType, State, TransportProtocol
from ros2_cosim.dcp.standard.errors import DcpError, DescriptionError, WiringError
from ros2_cosim.dcp.standard.pdu import (
    FIRST_CONFIGURATION,
    LAYOUTS,
    REQUEST_HEAD,
    STATE_CHANGE_HEAD,
)
from ros2_cosim.dcp.standard.slave_description import (
    Causality,
    Resolution,
    SlaveDescription,
    Variable,
    element_count,
    start_value,
)
from ros2_cosim.dcp.standard.states import OVERTAKEN
from ros2_cosim.dcp.standard.transport import MAX_DATAGRAM, TcpLink
from ros2_cosim.dcp.standard.values import PayloadCodec, Value

_STC = struct.Struct("<BHBB")
_INF = struct.Struct("<BHB")
STATES = {int(state): state for state in State}
_RSP_ACK, _NTF_STATE = int(PduType.RSP_ack), int(PduType.NTF_state_changed)
_ANSWERS = {
    int(PduType.INF_state): int(PduType.RSP_state_ack),
    int(PduType.INF_error): int(PduType.RSP_error_ack),
    int(PduType.INF_log): int(PduType.RSP_log_ack),
}
"""What answers a request, beside RSP_nack; all others are answered by RSP_ack."""
MAX_LOG_ENTRIES = 10_000
"""Newest log entries of a slave that are kept; ``on_log`` gets all of them."""
BEATS_PER_INTERVAL = 3
"""INF_state per longest interval of a slave: one may get lost, and one more be late."""


@dataclass
class PendingRequest:
    """A request that waits for its answer.

    :ivar first, sent: monotonic times [s] at which it left, and left for the last time
    :ivar tolerated: error codes that count as an answer
    :ivar refused: whether the answer was one of these
    """

    kind: PduType
    data: bytes
    first: float
    tolerated: frozenset[int] = frozenset()
    tries: int = 1
    refused: bool = False

    def __post_init__(self) -> None:
        self.sent = self.first

    @property
    def body(self) -> bytes:
        """What stands behind receiver and state."""
        changes_state = self.kind < FIRST_CONFIGURATION
        return self.data[STATE_CHANGE_HEAD if changes_state else REQUEST_HEAD :]


@dataclass
class Refusal(Exception):
    """An RSP_nack that is not tolerated; the master turns it into an error."""

    request: PendingRequest | None
    code: int
    expected: int


@dataclass(frozen=True)
class SlaveUse:
    """How a master uses one slave.

    :ivar resolution: time resolution [s], by default that of the master or of the description
    :ivar every: in NRT the slave steps in every so many-th master step
    :ivar steps: resolutions per STC_do_step, by default those of the description
    :ivar data_ports: ports on which the slave receives data, its data PDUs in turn; by default its
        control port or one of those it offers
    :ivar max_pdu_size: greatest data PDU in bytes, if that is less than its description
        says (slaves made with DCPLib send at most 905 bytes)
    :ivar exact_types: the slave drops data of another type than its input has, also those
        that can be converted (so do slaves made with DCPLib); the master then passes such
        values on itself
    :ivar in_order: over TCP it takes the next request once it is done with a step, and refuses what
        comes too early. In NRT one exchange makes a step then: STC_send_outputs follows STC_do_step
        at once
    """

    resolution: Fraction | None = None
    every: int = 1
    steps: int | None = None
    data_ports: tuple[int, ...] = ()
    max_pdu_size: int | None = None
    exact_types: bool = False
    in_order: bool = False


class RemoteSlave:
    """A slave of a master; made by :meth:`Master.add_slave`.

    :ivar name: name of the slave in the co-simulation
    :ivar state: last state that the slave reported, None before the first
    :ivar inputs: values that the master gives to its inputs, in order of ``input_names``
    :ivar outputs: newest outputs in the order of the description (``output_names``)
    :ivar parameters: what ``configure`` sets; ``tuned`` what changed during this run
    :ivar log: newest entries that came by notification or request, and ``log_count`` all so far
    :ivar exact_types, in_order: what it takes, see :class:`SlaveUse`
    :ivar slower_sources: data_ids from slaves that do not send for each of its steps
    :ivar data_on_udp: whether some of its data PDUs travel over UDP, where they may get lost
    :ivar every, steps: the slave makes ``steps`` resolutions in every ``every``-th step
    """

    def __init__(
        self,
        name: str,
        description: SlaveDescription,
        number: int,
        host: str,
        port: int,
        protocol: TransportProtocol,
        use: SlaveUse | None = None,
    ) -> None:
        use = use or SlaveUse()
        self.name = name
        self.description = description
        self.id = number
        self.host = host
        self.port = port
        self.protocol = protocol
        self.resolution = use.resolution or _default_resolution(description)
        self.every = use.every
        nrt = description.non_real_time
        self.steps = use.steps or (nrt.default_steps if nrt else 1)
        self.data_ports = use.data_ports
        self.data_on_udp = False
        self.slower_sources: frozenset[int] = frozenset()
        self._max_pdu_size = use.max_pdu_size
        self.exact_types = use.exact_types
        self.in_order = use.in_order and protocol is TransportProtocol.TCP_IPv4
        self.state: State | None = None
        self.seq = 0
        self.pending: dict[int, PendingRequest] = {}
        self.control: TcpLink | None = None
        self.data_links: dict[int, TcpLink] = {}
        self.local_host = "127.0.0.1"
        self.address = (host, port)
        self.parameters: dict[str, Value] = {}
        self.tuned: dict[str, Value] = {}
        self.log: deque[LogEntry] = deque(maxlen=MAX_LOG_ENTRIES)
        self.log_count = 0
        self._templates = {t.id: t for t in description.log_templates}
        self.error_code: int | None = None
        self.datagrams: list[tuple[tuple[str, int], bytes]] = []
        self.sent_pdus: list[OutputPdu] = []
        self.param_pdus: list[OutputPdu] = []
        self.received: dict[int, InputPdu] = {}
        self.run_pdus: list[InputPdu] = []
        self.init_pdus: list[InputPdu] = []
        interval = description.heartbeat
        self.heartbeat_s = None if interval is None else float(interval)
        self.next_beat = float("-inf")
        self.asking = False
        self.asked: float
        self.logging: list[dict[str, int]] = []
        self.on_log: Callable[[LogEntry], None] | None = None
        self.output_variables = description.of(Causality.OUTPUT)
        self.output_names = [v.name for v in self.output_variables]
        self.input_variables: tuple[Variable, ...] = description.of(Causality.INPUT)
        self.reset_values()

    @property
    def has_waiting(self) -> bool:
        """Whether something is queued for it."""
        links = (*self.data_links.values(), self.control)
        return bool(self.datagrams) or any(link is not None and link.has_waiting for link in links)

    def pdu_limit(self, protocol: TransportProtocol) -> int:
        """Bytes of the largest data PDU that it takes and sends over a protocol."""
        offer = self.description.transport(protocol)
        offered = MAX_DATAGRAM if offer is None else offer.max_pdu_size
        return min(self._max_pdu_size or offered, offered)

    # -- values ----------------------------------------------------------------------------

    def reset_values(self) -> None:
        """Start values for inputs and outputs, in the sizes of the structural parameters."""
        self.tuned.clear()
        sizes = self.structural()
        self.inputs = [start_value(v, element_count(v, sizes)) for v in self.input_variables]
        self.outputs = [start_value(v, element_count(v, sizes)) for v in self.output_variables]
        self.input_names = [v.name for v in self.input_variables]
        self._input_index = {name: at for at, name in enumerate(self.input_names)}

    def structural(self) -> dict[int, int]:
        """Values of the structural parameters by value reference."""
        return {
            v.value_reference: int((self.parameters | self.tuned).get(v.name, v.start) or 1)
            for v in self.description.of(Causality.STRUCTURAL)
        }

    def set_parameters(self, values: Mapping[str, Value]) -> None:
        """Parameters for the next configuration.

        :raises DescriptionError: a name that is not a parameter of the slave
        """
        kinds = (Causality.PARAMETER, Causality.STRUCTURAL)
        for name, value in values.items():
            if self.description.variable(name).causality not in kinds:
                raise DescriptionError(f"slave {self.name!r}: {name!r} is not a parameter")
            self.parameters[name] = value

    def set_inputs(self, values: Mapping[str, Value] | Sequence[Value]) -> None:
        """Inputs for the next step, by name or all of them in the order of ``input_names``.

        :raises WiringError: an unknown or wired input, or a wrong number of values
        """
        if isinstance(values, Mapping):
            for name, value in values.items():
                at = self._input_index.get(name)
                if at is None:
                    raise WiringError(
                        f"slave {self.name!r}: the master does not feed an input {name!r}, only "
                        f"{', '.join(self.input_names) or 'none'}"
                    )
                self.inputs[at] = value
        elif len(values) == len(self.inputs):
            self.inputs[:] = values
        else:
            raise WiringError(
                f"slave {self.name!r} takes {len(self.inputs)} inputs; got {len(values)}"
            )

    def output(self, name: str) -> Value:
        """Newest value of one output."""
        return self.outputs[self.output_names.index(name)]

    def log_since(self, count: int) -> list[LogEntry]:
        """The kept entries that came after the first ``count`` ones."""
        fresh = min(self.log_count - count, len(self.log))
        return list(self.log)[len(self.log) - fresh :]

    def input_counters(self) -> dict[int, DataCounters]:
        """The same of what the slave received over UDP, as far as it has told after its stop.

        Data that the master sent and the slave did not receive are lost. Of data from other slaves
        the slave alone tells: it counts steps without new data as held, also where none was due.
        """
        told = dict(
            read_arguments(entry.values) for entry in self.log if entry.template == TEMPLATE.id
        )
        sent = {pdu.data_id: pdu.sent for pdu in self.sent_pdus}
        return {
            number: found.of_sent(sent[number]) if number in sent else self._wired(number, found)
            for number, found in told.items()
        }

    def _wired(self, data_id: int, found: DataCounters) -> DataCounters:
        if data_id in self.slower_sources:
            return replace(found, held=0, extrapolated=0, first_missing=0)
        return found.beyond_start()

    def counters(self) -> dict[int, DataCounters]:
        """Received, lost, duplicated and reordered data PDUs by data_id."""
        return {number: pdu.watch.counters for number, pdu in self.received.items()}

    # -- requests --------------------------------------------------------------------------

    def numbered(
        self, kind: PduType, body: bytes = b"", state: State | None = None
    ) -> tuple[int, bytes]:
        """Sequence id and bytes of the next request.

        :param body: what stands behind the head: type, sequence id, receiver and, for a change of
            state, the state
        :param state: in which the slave takes it; None: the one that it reported last
        """
        seq = self.seq
        self.seq = (seq + 1) & 0xFFFF
        if kind < FIRST_CONFIGURATION:
            return seq, _STC.pack(kind, seq, self.id, state or self.state or 0) + body
        return seq, _INF.pack(kind, seq, self.id) + body

    # -- heartbeat ---------------------------------------------------------------------------

    def beat_due(self, now: float) -> float | None:
        """Seconds until the next INF_state must leave, at least 0; None if none has to."""
        if self.heartbeat_s is None or self.state in (None, State.ALIVE):
            return None
        return max(0.0, self.next_beat - now)

    def beat_sent(self, now: float) -> None:
        """An INF_state leaves now."""
        if self.heartbeat_s is not None:
            self.next_beat = now + self.heartbeat_s / BEATS_PER_INTERVAL

    # -- what comes back ---------------------------------------------------------------------

    def take_control(self, data: bytes) -> None:
        """Take one response or notification of this slave.

        :raises Refusal: an RSP_nack that is not tolerated
        """
        kind = data[0]
        if kind == _NTF_STATE:
            if len(data) == 3 and data[1] == self.id:
                state = STATES.get(data[2], self.state)
                if (state, self.state) not in OVERTAKEN:
                    self.state = state
            return
        if kind == _RSP_ACK:
            if len(data) == 4:
                self._answered(data[1] | data[2] << 8, kind)
            return
        layout = LAYOUTS.get(kind)
        if layout is None or not layout.fits(len(data)):
            return
        if kind == PduType.NTF_log:
            self._take_log(data[2:], notified=True)
            return
        seq = data[1] | data[2] << 8
        if kind == PduType.RSP_nack:
            _, _, _, expected, code = layout.packer.unpack(data)
            request = self.pending.pop(seq, None)
            if request is not None:
                request.refused = True
                if code not in request.tolerated:
                    raise Refusal(request, code, expected)
            return
        if kind == PduType.RSP_state_ack and data[4] not in STATES:
            return
        if not self._answered(seq, kind):
            return
        if kind == PduType.RSP_state_ack:
            self.state = STATES[data[4]]
        elif kind == PduType.RSP_error_ack:
            self.error_code = data[4] | data[5] << 8
        elif kind == PduType.RSP_log_ack:
            self._take_log(data[4:], notified=False)

    def _answered(self, seq: int, kind: int) -> bool:
        """A response of this type has come; whether a request waited for it."""
        request = self.pending.get(seq)
        if request is None or kind != _ANSWERS.get(request.kind, _RSP_ACK):
            return False
        del self.pending[seq]
        return True

    def take_empty(self) -> None:
        """Some slaves send an empty PDU if they have no log entries."""
        for seq, request in list(self.pending.items()):
            if request.kind is PduType.INF_log:
                del self.pending[seq]

    def _take_log(self, data: bytes, *, notified: bool) -> None:
        for entry in read_log(self.name, self._templates, data, notified=notified):
            self.log.append(entry)
            self.log_count += 1
            if self.on_log is not None:
                self.on_log(entry)


def codec_for(slave: RemoteSlave, variables: Sequence[Variable]) -> PayloadCodec:
    """Payload codec of a slave's variables in their own types and present sizes."""
    sizes = slave.structural()
    fields = [(v.data_type, element_count(v, sizes)) for v in variables]
    return PayloadCodec(fields, [v.name for v in variables])


def _default_resolution(description: SlaveDescription) -> Fraction:
    fixed = description.fixed_resolution()
    if fixed is not None:
        return fixed
    for offer in description.resolutions:
        if isinstance(offer, Resolution):
            return offer.seconds
        return Fraction(offer.numerator_from, offer.denominator)
    raise DcpError(
        f"slave {description.name!r} offers no time resolution",
        slave=description.name,
        code=ErrorCode.INVALID_TIME_RESOLUTION,
    )
