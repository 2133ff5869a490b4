# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The tester's side of a test: every PDU made by hand, every answer judged."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Any

from ros2_cosim.core.kernel.errors import CosimError
from ros2_cosim.dcp.standard.enums import ErrorCode, OpMode, PduType, State, TransportProtocol
from ros2_cosim.dcp.standard.pdu import LAYOUTS, Pdu, encode_address
from ros2_cosim.dcp.standard.slave_description import (
    Causality,
    Resolution,
    SlaveDescription,
    element_count,
    start_value,
)
from ros2_cosim.dcp.standard.states import STOPPABLE
from ros2_cosim.dcp.standard.values import PayloadCodec
from ros2_cosim.dcp.tools.tester_dialogue import Deviation, Dialogue

_P = PduType
SLAVE_ID = 1
"""The id that the tester gives to the slave."""
OUTPUTS, INPUTS = 1, 2
"""data_ids that the tester gives to all outputs and to all inputs."""
_NOT_NOW = (
    ErrorCode.PROTOCOL_ERROR_PDU_NOT_ALLOWED_IN_THIS_STATE,
    ErrorCode.PROTOCOL_ERROR_STATE_TRANSITION_IN_PROGRESS,
    ErrorCode.INVALID_STATE_ID,
)


class TesterSession:
    """One test of a slave: counts requests, follows the state and judges every answer.

    :param description: what the slave says about itself
    :param host, port: its control address
    :param protocol: UDP_IPv4 or TCP_IPv4
    :param timeout_s: longest wait for an answer
    :ivar dialogue: the connection, with its transcript
    :ivar seq: sequence id of the next request
    :ivar state: state in which the slave should be
    :raises DcpPeerLostError: nothing listens there
    """

    def __init__(
        self,
        description: SlaveDescription,
        host: str,
        port: int,
        protocol: TransportProtocol,
        timeout_s: float,
    ) -> None:
        self.description = description
        self.timeout_s = timeout_s
        self.dialogue = Dialogue(host, port, protocol, timeout_s)
        self.seq = 0
        self.state = State.ALIVE
        self.mode = OpMode.NRT
        self._data_seq = 0

    def make(self, kind: PduType, **fields: Any) -> bytes:
        """A request with the next sequence id, the slave's id and the expected state."""
        values: dict[str, Any] = {"pdu_seq_id": self.seq, "receiver": SLAVE_ID, **fields}
        self.seq = (self.seq + 1) & 0xFFFF
        if "state_id" in LAYOUTS[kind].names:
            values.setdefault("state_id", self.state)
        return Pdu(kind, values).encode()

    def register_fields(self, mode: OpMode) -> dict[str, Any]:
        """The fields of a right STC_register."""
        return {
            "slave_uuid": self.description.uuid_bytes,
            "op_mode": mode,
            "major_version": 1,
            "minor_version": 0,
        }

    # -- judging -------------------------------------------------------------------------------

    def answer(self, data: bytes) -> Pdu:
        """Send a request and return its response; notifications before it are a deviation."""
        self.dialogue.send(data)
        kind, seq = PduType(data[0]), data[1] | data[2] << 8
        pdu = self.dialogue.next_control(f"the answer to {kind.name}")
        if not pdu.kind.name.startswith("RSP_"):
            raise Deviation(f"{pdu} came before the answer to {kind.name}")
        if pdu.resp_seq_id != seq:
            raise Deviation(f"{pdu} answers another request than {kind.name} number {seq}")
        return pdu

    def expect(self, kind: PduType, response: PduType, **fields: Any) -> Pdu:
        """A request that must be answered with ``response``."""
        pdu = self.answer(self.make(kind, **fields))
        if pdu.kind is not response:
            raise Deviation(f"{kind.name} must be answered with {response.name}; got {pdu}")
        if pdu.sender != SLAVE_ID:
            raise Deviation(f"{pdu}: the sender must be the slave's id {SLAVE_ID}")
        return pdu

    def accepted(self, kind: PduType, *states: State, **fields: Any) -> None:
        """A request that must be acknowledged, with these states notified one after the other."""
        self.expect(kind, _P.RSP_ack, **fields)
        for state in states:
            pdu = self.dialogue.next_control(f"NTF_state_changed {state.name}")
            if pdu.kind is not _P.NTF_state_changed or pdu.state_id != state:
                raise Deviation(f"NTF_state_changed {state.name} must follow; got {pdu}")
            self.state = state

    def refused(self, kind: PduType, *codes: ErrorCode, **fields: Any) -> None:
        """A request that must be refused with one of ``codes``."""
        pdu = self.expect(kind, _P.RSP_nack, **fields)
        if pdu.error_code not in codes:
            wanted = " or ".join(code.name for code in codes)
            raise Deviation(f"{kind.name} must be refused with {wanted}; got {pdu}")
        if pdu.exp_seq_id != self.seq:
            raise Deviation(f"{pdu}: exp_seq_id must be {self.seq}")

    def not_allowed(self, kinds: Iterable[PduType]) -> None:
        """Requests that the present state does not allow, and every slave knows."""
        for kind in kinds:
            self.refused(kind, *_NOT_NOW, **({"time": 0} if kind is _P.STC_run else {}))

    def ask_state(self, state: State) -> None:
        """INF_state must report ``state``."""
        pdu = self.expect(_P.INF_state, _P.RSP_state_ack)
        if pdu.state_id != state:
            raise Deviation(f"INF_state must report {state.name}; got {pdu}")

    # -- ways through the state machine --------------------------------------------------------

    def register(self, mode: OpMode) -> None:
        """ALIVE to CONFIGURATION."""
        self.mode, self.state = mode, State.ALIVE
        self.accepted(_P.STC_register, State.CONFIGURATION, **self.register_fields(mode))

    def configure(self, leave_out: Sequence[PduType] = ()) -> None:
        """A whole configuration: all outputs and all inputs, one data_id each."""
        for kind, fields in self.settings():
            if kind not in leave_out:
                if kind is _P.CFG_steps and self.mode is OpMode.NRT:
                    self.answer(self.make(kind, **fields))  # may be refused, need not
                else:
                    self.accepted(kind, **fields)

    def settings(self) -> list[tuple[PduType, dict[str, Any]]]:
        """The requests of a whole configuration with their fields."""
        d = self.description
        numerator, denominator = self.resolution()
        found: list[tuple[PduType, dict[str, Any]]] = [
            (_P.CFG_time_res, {"numerator": numerator, "denominator": denominator})
        ]
        outputs, inputs = d.of(Causality.OUTPUT), d.of(Causality.INPUT)
        network = {"transport_protocol": self.dialogue.protocol}
        for pos, v in enumerate(outputs):
            fields = {"data_id": OUTPUTS, "pos": pos, "source_vr": v.value_reference}
            found.append((_P.CFG_output, fields))
        if outputs:
            address = encode_address(*self.dialogue.receives_at())
            found += [
                (
                    _P.CFG_target_network_information,
                    {"data_id": OUTPUTS, **network, "address": address},
                ),
                (_P.CFG_steps, {"steps": outputs[0].default_steps, "data_id": OUTPUTS}),
                (_P.CFG_scope, {"data_id": OUTPUTS, "scope": 0}),
            ]
        for pos, v in enumerate(inputs):
            fields = {"data_id": INPUTS, "pos": pos, "target_vr": v.value_reference}
            found.append((_P.CFG_input, {**fields, "source_data_type": v.data_type}))
        if inputs:
            address = encode_address(self.dialogue.address[0], self.data_port())
            found += [
                (
                    _P.CFG_source_network_information,
                    {"data_id": INPUTS, **network, "address": address},
                ),
                (_P.CFG_scope, {"data_id": INPUTS, "scope": 0}),
            ]
        return found

    def resolution(self) -> tuple[int, int]:
        """A resolution that the slave offers."""
        for offer in self.description.resolutions:
            if isinstance(offer, Resolution):
                return offer.numerator, offer.denominator
            return offer.numerator_from, offer.denominator
        return 1, 1000

    def data_port(self) -> int:
        """A port that the slave offers for data, else its control port."""
        transport = self.description.transport(self.dialogue.protocol)
        ports = transport.data if transport is not None else None
        return (
            ports.ranges[0][0] if ports is not None and ports.ranges else self.dialogue.address[1]
        )

    def to(self, state: State) -> None:
        """From CONFIGURATION (whole configuration made) to a resting state further on."""
        run = {"time": 0}
        self.accepted(_P.STC_prepare, State.PREPARING, State.PREPARED)
        if state is State.PREPARED:
            return
        if self.description.of(Causality.INPUT):
            self.dialogue.open_data(self.data_port())
        self.accepted(_P.STC_configure, State.CONFIGURING, State.CONFIGURED)
        if state is State.CONFIGURED:
            return
        if state is State.INITIALIZED:
            self.accepted(_P.STC_initialize, State.INITIALIZING, State.INITIALIZED)
            return
        self.accepted(_P.STC_run, State.SYNCHRONIZING, State.SYNCHRONIZED, **run)
        if state is State.SYNCHRONIZED:
            return
        self.accepted(_P.STC_run, State.RUNNING, **run)
        if state is State.COMPUTED:
            steps = self.description.non_real_time
            count = steps.default_steps if steps else 1
            self.accepted(_P.STC_do_step, State.COMPUTING, State.COMPUTED, steps=count)

    def send_inputs(self) -> None:
        """Start values of all inputs, once."""
        inputs = self.description.of(Causality.INPUT)
        if not inputs:
            return
        sizes = self._structural()
        values = [start_value(v, element_count(v, sizes)) for v in inputs]
        payload = self.codec(Causality.INPUT).pack(values)
        fields = {"pdu_seq_id": self._data_seq, "data_id": INPUTS, "payload": payload}
        data = Pdu(_P.DAT_input_output, fields).encode()
        self._data_seq = (self._data_seq + 1) & 0xFFFF
        self.dialogue.send_data(data, self.data_port())

    def codec(self, causality: Causality) -> PayloadCodec:
        """Codec of all variables of a kind in the order of the description."""
        sizes = self._structural()
        variables = self.description.of(causality)
        return PayloadCodec([(v.data_type, element_count(v, sizes)) for v in variables])

    def _structural(self) -> dict[int, int]:
        parameters = self.description.of(Causality.STRUCTURAL)
        return {v.value_reference: int(v.start) for v in parameters}

    def stop(self) -> None:
        """A stoppable state to STOPPED."""
        self.accepted(_P.STC_stop, State.STOPPING, State.STOPPED)
        self.dialogue.close_data()

    def deregister(self) -> None:
        """Back to ALIVE."""
        self.accepted(_P.STC_deregister, State.ALIVE)

    def recover(self) -> None:
        """From any state to ALIVE, without judging (Appendix E)."""
        self.dialogue.close_data()
        self.dialogue.forget_control()
        until = time.monotonic() + self.timeout_s
        while time.monotonic() < until:
            state = self.follow_state()
            if state is State.ALIVE:
                break
            self.state = state
            resting = (State.CONFIGURATION, State.STOPPED, State.ERRORRESOLVED)
            if state in resting:
                self.dialogue.send(self.make(_P.STC_deregister))
            elif state in STOPPABLE:
                self.dialogue.send(self.make(_P.STC_stop))
            with suppress(CosimError):
                self.dialogue.silence(0.05, "")
        self.state = State.ALIVE
        self.dialogue.forget_control()
        self.dialogue.forget_data()

    def follow_state(self) -> State:
        """Ask for the slave's state and take over its count of sequence ids."""
        self.dialogue.send(self.make(_P.INF_state))
        until = time.monotonic() + self.timeout_s
        while time.monotonic() < until:
            pdu = self.dialogue.next_control("the answer to INF_state")
            if pdu.kind is _P.RSP_state_ack:
                return State(pdu.state_id)
            if pdu.kind is _P.RSP_nack and pdu.error_code == ErrorCode.INVALID_SEQUENCE_ID:
                self.seq = pdu.exp_seq_id
                self.dialogue.send(self.make(_P.INF_state))
        raise Deviation("the slave does not report its state")
