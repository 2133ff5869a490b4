# SPDX-License-Identifier: Apache-2.0
"""From nothing to CONFIGURED and back to ALIVE: the configuration phases of a master."""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import suppress
from types import TracebackType
from typing import Any, TypeVar

from ros2_cosim.dcp.description.data_report import TEMPLATE as DATA_TEMPLATE
from ros2_cosim.dcp.description.data_report import tells_data
from ros2_cosim.dcp.master.core import MasterCore
from ros2_cosim.dcp.master.plan import (
    choose_port,
    data_settings,
    make_groups,
    parameter_settings,
    prepare_data_path,
    relayed_wires,
    tunable_names,
    tunable_settings,
)
from ros2_cosim.dcp.master.remote import RemoteSlave, codec_for
from ros2_cosim.dcp.master.wiring import common_step
from ros2_cosim.dcp.wire.data_path import OutputPdu
from ros2_cosim.dcp.wire.enums import (
    ErrorCode,
    LogMode,
    OpMode,
    PduType,
    State,
    TransportProtocol,
)
from ros2_cosim.dcp.wire.errors import DcpError, DcpPeerLostError, DcpTimeoutError, WiringError
from ros2_cosim.dcp.wire.pdu import encode_address
from ros2_cosim.dcp.wire.states import STOPPABLE
from ros2_cosim.dcp.wire.values import Value

_M = TypeVar("_M", bound="MasterSetup")
_TCP = TransportProtocol.TCP_IPv4
_STEPS_REFUSALS = frozenset(
    {
        ErrorCode.NOT_SUPPORTED_PDU,
        ErrorCode.PROTOCOL_ERROR_PDU_NOT_ALLOWED_IN_THIS_STATE,
        ErrorCode.INVALID_STEPS,
    }
)


class MasterSetup(MasterCore):
    """Registration, configuration, reset and recovery of all slaves."""

    def configure(self, parameters: Mapping[str, Mapping[str, Value]] | None = None) -> None:
        """From nothing to CONFIGURED: connect, register, configure, prepare, configure.

        :param parameters: values by slave and parameter name
        :raises WiringError: the wiring or a parameter does not fit; nothing was sent yet
        :raises DcpError: a slave refused a request
        """
        with self._lock:
            self._plan(parameters)
            for slave in self._all():
                if slave.state is State.ALIVE and slave.protocol is _TCP:
                    self._io.close_control(slave)  # some slaves hang up when deregistered
                    slave.state = None
                if slave.state is None:
                    self._io.open(slave)
                    self._recover(slave)
            for slave in self._all():
                self._register(slave)
            self._io.await_state(self._all(), State.CONFIGURATION)
            self._send_configuration()
            self._start_heartbeat()

    def reset(self, parameters: Mapping[str, Mapping[str, Value]] | None = None) -> None:
        """From STOPPED or the error state back to CONFIGURED, for another run.

        :raises DcpError: a slave cannot be reset
        """
        with self._lock:
            self._plan(parameters)
            chosen = [s for s in self._all() if s.state is not State.CONFIGURATION]
            for slave in chosen:
                self._io.close_data(slave)
                slave.pending.clear()
                self._stc(slave, PduType.STC_reset)
                self._io.await_state([slave], State.CONFIGURATION)
                self._io.poll_state(slave)
            self._send_configuration()

    def deregister(self) -> None:
        """Every slave back to ALIVE."""
        with self._lock:
            places = (State.CONFIGURATION, State.STOPPED, State.ERRORRESOLVED)
            chosen = [s for s in self._all() if s.state in places]
            for slave in chosen:
                self._io.expect_loss(slave, True)
                self._stc(slave, PduType.STC_deregister)
            self._io.wait(chosen, lambda: all(s.state is State.ALIVE for s in chosen), "ALIVE")
            for slave in chosen:
                slave.pending.clear()

    def close(self) -> None:
        """Bring every slave back to ALIVE as far as it still answers, close all sockets."""
        self._closed.set()
        if self._beating is not None:
            self._beating.join()
            self._beating = None
        with self._lock:
            for slave in self._all():
                if slave.state not in (None, State.ALIVE):
                    with suppress(DcpError, DcpPeerLostError, OSError):
                        self._to_alive(slave, min(self._io.timeout_s, 5.0))
            self._io.close()

    def __enter__(self: _M) -> _M:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    # -- inside ------------------------------------------------------------------------------

    def _plan(self, parameters: Mapping[str, Mapping[str, Value]] | None) -> None:
        for name, values in (parameters or {}).items():
            self._slave(name).set_parameters(values)
        if not self._io.slaves:
            raise WiringError("the master has no slaves")
        for slave in self._all():
            slave.tuned.clear()
        self._groups = make_groups(self._io.slaves, self._wires)
        # With data-PDU synchronisation, data PDUs between slaves would make them step each
        # other: the master passes the values on instead.
        relayed = self._wires if self._data_sync else relayed_wires(self._io.slaves, self._wires)
        self._relayed = list(relayed)
        if self._relayed:
            direct = [wire for wire in self._wires if wire not in self._relayed]
            self._groups = make_groups(self._io.slaves, direct)
        prepare_data_path(self._groups)
        self._io.route_data()
        self._step = common_step({s.name: (s.resolution, s.steps, s.every) for s in self._all()})

    def _register(self, slave: RemoteSlave) -> None:
        if slave.state is State.CONFIGURATION:
            return
        description = slave.description
        extra = description.uuid_bytes + bytes(
            (self.op_mode, description.major_version, description.minor_version)
        )
        self._io.expect_loss(slave, False)
        self._stc(slave, PduType.STC_register, extra)
        self._io.flush(slave)

    def _send_configuration(self) -> None:
        addresses: dict[str | None, tuple[int, bytes]] = {}
        ports: dict[str, int] = {}
        used: set[tuple[str, int]] = set()
        for slave in self._all():
            ports[slave.name] = choose_port(slave, slave.protocol, used)
            addresses[slave.name] = (
                slave.protocol,
                encode_address(self._ip_of(slave), ports[slave.name]),
            )
        for slave in self._all():
            host, port = self._io.data_address(slave, slave.protocol)
            addresses[None] = (slave.protocol, encode_address(host, port))
            self._configure_slave(slave, addresses)
        self._io.wait(
            self._all(),
            lambda: not any(s.pending for s in self._all()),
            "the answers to the configuration",
        )
        self._all_to(PduType.STC_prepare, State.PREPARED)
        for slave in self._all():
            self._open_inputs(slave, ports[slave.name])
        self._all_to(PduType.STC_configure, State.CONFIGURED)

    def _ip_of(self, slave: RemoteSlave) -> str:
        if slave.control is not None:
            return str(slave.control.sock.getpeername()[0])
        return slave.address[0]

    def _configure_slave(
        self, slave: RemoteSlave, addresses: Mapping[str | None, tuple[int, bytes]]
    ) -> None:
        resolution = slave.resolution
        settings: list[tuple[PduType, Mapping[str, object]]] = [
            (
                PduType.CFG_time_res,
                {"numerator": resolution.numerator, "denominator": resolution.denominator},
            ),
            *parameter_settings(slave),
            *data_settings(slave, self._groups, addresses),
            *tunable_settings(slave, tunable_names(slave), *addresses[slave.name]),
            *((PduType.CFG_logging, fields) for fields in slave.logging),
        ]
        template = slave.description.error_template()
        if template is not None and slave.description.capabilities.can_provide_log_on_request:
            switch = {
                "log_category": template.category,
                "log_level": template.level,
                "log_mode": LogMode.ON_REQUEST,
            }
            request = slave.next_cfg(PduType.CFG_logging, **switch)
            self._io.request(slave, PduType.CFG_logging, request, ErrorCode)
        if slave.protocol is not _TCP and tells_data(slave.description):
            switch = {
                "log_category": DATA_TEMPLATE.category,
                "log_level": DATA_TEMPLATE.level,
                "log_mode": LogMode.ON_REQUEST,
            }
            request = slave.next_cfg(PduType.CFG_logging, **switch)
            self._io.request(slave, PduType.CFG_logging, request, ErrorCode)
        for kind, fields in settings:
            tolerated: frozenset[Any] = frozenset()
            if kind is PduType.CFG_steps and self.op_mode is OpMode.NRT:
                tolerated = _STEPS_REFUSALS
            self._io.request(slave, kind, slave.next_cfg(kind, **fields), tolerated)
        self._io.flush(slave)

    def _open_inputs(self, slave: RemoteSlave, port: int) -> None:
        names = tunable_names(slave)
        slave.param_pdus = []
        if names:
            variables = [slave.description.variable(n) for n in names]
            slave.param_pdus.append(
                OutputPdu(
                    1,
                    codec_for(slave, variables),
                    range(len(names)),
                    kind=PduType.DAT_parameter,
                )
            )
        target: Any = (self._ip_of(slave), port)
        if slave.protocol is _TCP:
            if port == slave.port:
                target = slave.control
            elif slave.sent_pdus or slave.param_pdus:
                self._io.connect_data(slave, *target)
                target = slave.data_link
        for pdu in (*slave.sent_pdus, *slave.param_pdus):
            pdu.targets[:] = [target]

    def _recover(self, slave: RemoteSlave) -> None:
        """A slave may still be registered by a master that is gone: bring it to ALIVE."""
        if self._io.poll_state(slave) is not State.ALIVE:
            self._to_alive(slave, self._io.timeout_s)

    def _to_alive(self, slave: RemoteSlave, timeout_s: float) -> None:
        """Recovery of the standard's appendix: stop, wait, deregister.

        The slave's notifications may still go to an earlier master, so its state is asked.
        """
        io = self._io
        slave.pending.clear()
        if io.poll_state(slave) in STOPPABLE:
            self._stc(slave, PduType.STC_stop)
        until = time.monotonic() + timeout_s
        rest = (State.STOPPED, State.CONFIGURATION, State.ERRORRESOLVED, State.ALIVE)
        while (state := io.poll_state(slave)) not in rest:
            if time.monotonic() >= until:
                raise DcpTimeoutError(
                    f"slave {slave.name!r} stays in {state.name}; it cannot be deregistered",
                    slave=slave.name,
                )
            io.pump(0.01)
        if slave.state is not State.ALIVE:
            io.expect_loss(slave, True)
            self._stc(slave, PduType.STC_deregister)
            io.wait(
                [slave],
                lambda: not slave.pending or slave.state is State.ALIVE,
                "the answer to STC_deregister",
                timeout_s=timeout_s,
                errors=False,
            )
            slave.state = State.ALIVE
        slave.pending.clear()
