# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""What opens sockets closes all of them, whether it was used or not."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable

import pytest
from support.dcp_models import Offset
from support.patience import HANG_S

from ros2_cosim.dcp.master.master import Master
from ros2_cosim.dcp.slave.declare import describe
from ros2_cosim.dcp.slave.interfaces import Endpoint
from ros2_cosim.dcp.slave.server import SlaveServer
from ros2_cosim.dcp.standard.enums import TransportProtocol
from ros2_cosim.dcp.tools.proxy import Proxy
from ros2_cosim.dcp.tools.tester_dialogue import Dialogue

TCP, UDP = TransportProtocol.TCP_IPv4, TransportProtocol.UDP_IPv4
HOST = "127.0.0.1"


def master(port: int) -> Callable[[], None]:
    made = Master(timeout_s=HANG_S)
    for transport in (TCP, UDP):
        slave = made.add_slave(
            describe(Offset), port=port, transport=transport, name=transport.name
        )
        made._requests.sockets.open(slave)
        made._requests.sockets.data_address(slave, transport)
        if transport is TCP:
            made._requests.sockets.connect_data(slave, HOST, port)
    return made.close


def slave(port: int) -> Callable[[], None]:
    made = SlaveServer(Offset(), describe(Offset), port=0)
    other = [Endpoint(protocol, "127.0.0.2", made.port) for protocol in (TCP, UDP)]
    made.sockets.listen(other)
    for protocol in (TCP, UDP):
        made.sockets.connect(Endpoint(protocol, HOST, port))
    return made.close


def dialogue(port: int, transport: TransportProtocol) -> Callable[[], None]:
    made = Dialogue(HOST, port, transport, HANG_S)
    with socket.create_server((HOST, 0)) as other:
        made.open_data(other.getsockname()[1])
    return made.close


MAKERS: dict[str, Callable[[int], Callable[[], None]]] = {
    "master": master,
    "slave": slave,
    "dialogue over TCP": lambda port: dialogue(port, TCP),
    "dialogue over UDP": lambda port: dialogue(port, UDP),
    "proxy": lambda port: Proxy(HOST, 0, HOST, port, print).close,
}


@pytest.mark.parametrize("name", MAKERS)
def test_all_sockets_are_closed(name: str) -> None:
    """Two at once: each takes ports that are free."""
    with socket.create_server((HOST, 0)) as listener:
        before = os.listdir("/proc/self/fd")
        ends = [MAKERS[name](listener.getsockname()[1]) for _ in range(2)]
        assert len(os.listdir("/proc/self/fd")) > len(before)
        for close in ends:
            close()
        assert os.listdir("/proc/self/fd") == before
