# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""From nothing to CONFIGURED and back to ALIVE: the configuration phases of a master."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any

from ros2_cosim.dcp.master.plan import (
    CouplingPlan,
    data_settings,
    parameter_settings,
    tunable_names,
    tunable_settings,
)
from ros2_cosim.dcp.master.remote import RemoteSlave, codec_for
from ros2_cosim.dcp.master.requests import Requests
from ros2_cosim.dcp.master.routes import ReceivePorts
from ros2_cosim.dcp.standard.data_path import OutputPdu
from ros2_cosim.dcp.standard.data_report import TEMPLATE as DATA_TEMPLATE
from ros2_cosim.dcp.standard.data_report import tells_data
from ros2_cosim.dcp.standard.enums import (
    ErrorCode,
    LogMode,
    OpMode,
    PduType,
    State,
    TransportProtocol,
)
from ros2_cosim.dcp.standard.errors import DcpError, DcpTimeoutError
from ros2_cosim.dcp.standard.pdu import REQUEST_HEAD, Pdu, encode_address
from ros2_cosim.dcp.standard.states import STOPPABLE

_TCP = TransportProtocol.TCP_IPv4
#: A slave that does not say within this time [s] in which state it is has gone, or is of no use any
#: more to a master that leaves; a slave that does has this long to get back to ALIVE.
_ANSWER_S = 1.0
_LEAVE_S = 5.0
_STEPS_REFUSALS = frozenset(
    {
        ErrorCode.NOT_SUPPORTED_PDU,
        ErrorCode.PROTOCOL_ERROR_PDU_NOT_ALLOWED_IN_THIS_STATE,
        ErrorCode.INVALID_STEPS,
    }
)


class Setup:
    """Registration, configuration, reset and recovery of all slaves.

    :param op_mode: operating mode in which slaves are registered
    """

    def __init__(self, requests: Requests, op_mode: OpMode) -> None:
        self._requests = requests
        self._sockets = requests.sockets
        self._op_mode = op_mode

    def _all(self) -> list[RemoteSlave]:
        return list(self._requests.slaves.values())

    def configure(self, plan: CouplingPlan) -> None:
        """Connect, register, configure and prepare all slaves; then they are CONFIGURED.

        :raises DcpError: a slave refused a request
        """
        for slave in self._all():
            if slave.state is State.ALIVE and slave.protocol is _TCP:
                self._sockets.close_control(slave)  # some slaves hang up when deregistered
                slave.state = None
            if slave.state is None:
                self._sockets.open(slave)
                self._recover(slave)
        for slave in self._all():
            self._register(slave)
        self._requests.await_state(self._all(), State.CONFIGURATION)
        self._send_configuration(plan)

    def reset(self, plan: CouplingPlan) -> None:
        """From STOPPED or the error state back to CONFIGURED, for another run.

        :raises DcpError: a slave cannot be reset
        """
        for slave in [s for s in self._all() if s.state is not State.CONFIGURATION]:
            self._sockets.close_data(slave)
            slave.pending.clear()
            self._requests.request(slave, PduType.STC_reset)
            self._requests.await_state([slave], State.CONFIGURATION)
            self._requests.poll_state(slave)
        self._send_configuration(plan)

    def deregister(self) -> None:
        """Bring every slave back to ALIVE."""
        places = (State.CONFIGURATION, State.STOPPED, State.ERRORRESOLVED)
        chosen = [s for s in self._all() if s.state in places]
        for slave in chosen:
            self._sockets.expect_loss(slave, True)
            self._requests.request(slave, PduType.STC_deregister)
        self._requests.wait(chosen, lambda: all(s.state is State.ALIVE for s in chosen), "ALIVE")
        for slave in chosen:
            slave.pending.clear()

    def abandon(self) -> None:
        """Bring every slave that still answers back to ALIVE."""
        for slave in self._all():
            self._sockets.expect_loss(slave, True)  # the end of one keeps no other from its own
        for slave in self._all():
            if slave.state not in (None, State.ALIVE):
                with suppress(DcpError, OSError):
                    slave.pending.clear()
                    self._requests.poll_state(slave, min(self._requests.timeout_s, _ANSWER_S))
                    self._to_alive(slave, min(self._requests.timeout_s, _LEAVE_S))

    # -- inside ------------------------------------------------------------------------------

    def _register(self, slave: RemoteSlave) -> None:
        if slave.state is State.CONFIGURATION:
            return
        description = slave.description
        extra = description.uuid_bytes + bytes(
            (self._op_mode, description.major_version, description.minor_version)
        )
        self._sockets.expect_loss(slave, False)
        self._requests.request(slave, PduType.STC_register, extra)
        self._sockets.flush(slave)

    def _send_configuration(self, plan: CouplingPlan) -> None:
        ports = ReceivePorts()
        for slave in self._all():
            self._configure_slave(slave, plan, ports)
        self._requests.wait(
            self._all(),
            lambda: not any(s.pending for s in self._all()),
            "the answers to the configuration",
        )
        self._requests.all_to(PduType.STC_prepare, State.PREPARED)
        for slave in self._all():
            self._open_inputs(slave, ports)
        self._requests.all_to(PduType.STC_configure, State.CONFIGURED)

    def _configure_slave(self, slave: RemoteSlave, plan: CouplingPlan, ports: ReceivePorts) -> None:
        resolution = slave.resolution

        def address_of(
            receiver: RemoteSlave | None, protocol: TransportProtocol, data_id: int
        ) -> bytes:
            if receiver is None:
                return encode_address(*self._sockets.data_address(slave, protocol))
            return encode_address(receiver.address[0], ports.of(receiver, protocol, data_id))

        home = (slave.protocol, address_of(slave, slave.protocol, 0))
        settings: list[tuple[PduType, Mapping[str, object]]] = [
            (
                PduType.CFG_time_res,
                {"numerator": resolution.numerator, "denominator": resolution.denominator},
            ),
            *parameter_settings(slave),
            *data_settings(slave, plan.groups, address_of),
            *tunable_settings(slave, *home),
            *((PduType.CFG_logging, fields) for fields in slave.logging),
        ]
        logged = []
        error = slave.description.error_template()
        if error is not None and slave.description.capabilities.can_provide_log_on_request:
            logged.append(error)
        if slave.data_on_udp and tells_data(slave.description):
            logged.append(DATA_TEMPLATE)
        for template in logged:
            switch = {
                "log_category": template.category,
                "log_level": template.level,
                "log_mode": LogMode.ON_REQUEST,
            }
            self._set(slave, PduType.CFG_logging, switch, ErrorCode)
        for kind, fields in settings:
            tolerates = kind is PduType.CFG_steps and self._op_mode is OpMode.NRT
            self._set(slave, kind, fields, _STEPS_REFUSALS if tolerates else ())
        self._sockets.flush(slave)

    def _set(
        self,
        slave: RemoteSlave,
        kind: PduType,
        fields: Mapping[str, object],
        tolerated: Iterable[int],
    ) -> None:
        """Queue a configuration request."""
        head = {"pdu_seq_id": 0, "receiver": slave.id}
        body = Pdu(kind, {**head, **fields}).encode()[REQUEST_HEAD:]
        self._requests.request(slave, kind, body, tolerated)

    def _open_inputs(self, slave: RemoteSlave, ports: ReceivePorts) -> None:
        names = tunable_names(slave)
        slave.param_pdus = []
        if names:
            variables = [slave.description.variable(n) for n in names]
            codec, kind = codec_for(slave, variables), PduType.DAT_parameter
            slave.param_pdus.append(OutputPdu(1, codec, range(len(names)), kind=kind))
        self._sockets.close_data(slave)
        numbered = [(pdu, pdu.data_id) for pdu in slave.sent_pdus]
        for pdu, data_id in (*numbered, *((pdu, 0) for pdu in slave.param_pdus)):
            port = ports.of(slave, slave.protocol, data_id)
            target: Any = (slave.address[0], port)
            if slave.protocol is _TCP and port == slave.port:
                target = slave.control
            elif slave.protocol is _TCP:
                target = self._sockets.connect_data(slave, *target)
            pdu.targets[:] = [target]

    def _recover(self, slave: RemoteSlave) -> None:
        """A slave may still be registered with a lost master: bring it to ALIVE."""
        if self._requests.poll_state(slave) is not State.ALIVE:
            self._to_alive(slave, self._requests.timeout_s)

    def _to_alive(self, slave: RemoteSlave, timeout_s: float) -> None:
        """Recovery of the standard's appendix: stop, wait, deregister.

        The slave's notifications may still go to an earlier master, so its state is asked.
        """
        requests = self._requests
        slave.pending.clear()
        if requests.poll_state(slave, timeout_s) in STOPPABLE:
            self._requests.request(slave, PduType.STC_stop)
        until = time.monotonic() + timeout_s
        rest = (State.STOPPED, State.CONFIGURATION, State.ERRORRESOLVED, State.ALIVE)
        while (state := requests.poll_state(slave, timeout_s)) not in rest:
            if time.monotonic() >= until:
                raise DcpTimeoutError(
                    f"slave {slave.name!r} stays in {state.name}; it cannot be deregistered",
                    slave=slave.name,
                )
            self._sockets.pump(0.01)
        if slave.state is not State.ALIVE:
            self._sockets.expect_loss(slave, True)
            self._requests.request(slave, PduType.STC_deregister)
            requests.wait(
                [slave],
                lambda: not slave.pending or slave.state is State.ALIVE,
                "the answer to STC_deregister",
                timeout_s=timeout_s,
                errors=False,
            )
            slave.state = State.ALIVE
        slave.pending.clear()
