# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""How data travel between two slaves: by which transport protocol, to which port."""

from __future__ import annotations

from ros2_cosim.core.sockets.endpoints import is_loopback
from ros2_cosim.dcp.master.remote import RemoteSlave
from ros2_cosim.dcp.standard.enums import TransportProtocol
from ros2_cosim.dcp.standard.errors import WiringError

_TCP, _UDP = TransportProtocol.TCP_IPv4, TransportProtocol.UDP_IPv4


def common_protocol(source: RemoteSlave, target: RemoteSlave) -> TransportProtocol | None:
    """The protocol for data from one slave to another, None if there is no way between them.

    That over which the receiver is controlled comes first, for there it surely listens; then that
    of the sender. Addresses of the loopback lead nowhere else: there is no way between a slave
    that the master reaches over it and one on another host.
    """
    if is_loopback(source.host) is not is_loopback(target.host):
        return None
    for protocol in (target.protocol, source.protocol, _TCP, _UDP):
        if all(slave.description.transport(protocol) for slave in (source, target)):
            return protocol
    return None


class ReceivePorts:
    """The ports on which slaves receive data, each chosen once per protocol."""

    def __init__(self) -> None:
        self._chosen: dict[tuple[str, TransportProtocol], int] = {}
        self._used: set[tuple[str, int]] = set()

    def of(self, slave: RemoteSlave, protocol: TransportProtocol, data_id: int = 0) -> int:
        """The port of a slave for a data PDU, or for the parameter PDU.

        :raises WiringError: all offered ports are taken by other slaves of the same host
        """
        if slave.data_ports:
            return slave.data_ports[data_id % len(slave.data_ports)]
        key = (slave.name, protocol)
        if key not in self._chosen:
            self._chosen[key] = self._choose(slave, protocol)
        return self._chosen[key]

    def _choose(self, slave: RemoteSlave, protocol: TransportProtocol) -> int:
        """One of those it offers, or its control port.

        Over TCP an offered port is preferred, because some slaves close their control
        connection together with the data connections on the same port.
        """
        transport = slave.description.transport(protocol)
        assert transport is not None  # a way over it was chosen, so that it is offered
        ports = transport.data
        control = slave.port
        if protocol is not slave.protocol and transport.port:
            control = transport.port
        own = ports is None or ports.allows(control)
        if protocol is _UDP and own:
            return control
        for low, high in ports.ranges if ports else ():
            for port in range(low, high + 1):
                if port != control and (slave.host, port) not in self._used:
                    self._used.add((slave.host, port))
                    return port
        if own:
            return control
        raise WiringError(f"slave {slave.name!r} offers no free port for data")
