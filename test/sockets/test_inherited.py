# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Ports that are handed over as open sockets: nothing else gets them in between."""

from __future__ import annotations

import os
import socket
import subprocess
import sys

import pytest
from support.ports import free_port

from ros2_cosim.core.sockets.inherited import VARIABLE, Inheritance, close_all, hold, passed_on

HOST = "127.0.0.1"
KINDS = {"tcp": socket.SOCK_STREAM, "udp": socket.SOCK_DGRAM}


@pytest.mark.parametrize("reuse", [0, 1])
@pytest.mark.parametrize("kind", KINDS)
def test_nothing_else_can_be_bound_there(kind: str, reuse: int) -> None:
    held = hold(kind, HOST, free_port())
    with held.sock, socket.socket(socket.AF_INET, KINDS[kind]) as thief:
        thief.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, reuse)
        with pytest.raises(OSError, match="in use"):
            thief.bind((HOST, held.port))


def test_a_client_is_refused_until_the_server_takes_it_over() -> None:
    held = hold("tcp", HOST, free_port())
    with held.sock, socket.socket() as client:
        assert client.connect_ex((HOST, held.port)) != 0


def test_datagrams_are_refused_until_then_and_do_not_wait() -> None:
    held = hold("udp", HOST, free_port())
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
        client.settimeout(10.0)
        client.connect((HOST, held.port))
        client.send(b"early")
        with pytest.raises(ConnectionRefusedError):
            client.recv(100)
        # The descriptor is that of the socket, as in a process that has inherited it.
        server = Inheritance(passed_on([held])).take("udp", HOST, held.port)
        assert server is not None
        held.sock.detach()
        with server:
            client.send(b"in time")
            server.settimeout(10.0)
            assert server.recv(100) == b"in time"


SERVER = f"""
import sys
from ros2_cosim.core.sockets.endpoints import open_listener, open_udp
host, port = "{HOST}", int(sys.argv[1])
listener, datagrams = open_listener(host, port), open_udp(host, port)
listener.setblocking(True)
datagrams.setblocking(True)
print("ready", flush=True)
connection, _ = listener.accept()
connection.sendall(datagrams.recv(100))
"""


@pytest.mark.usefixtures("nothing_left")
def test_a_process_serves_the_sockets_that_it_has_inherited() -> None:
    port = free_port()
    held = [hold("tcp", HOST, port), hold("udp", HOST, port)]
    paths = os.pathsep.join(filter(None, sys.path))
    server = subprocess.Popen(
        [sys.executable, "-c", SERVER, str(port)],
        env={**os.environ, "PYTHONPATH": paths, **passed_on(held)},
        pass_fds=[each.sock.fileno() for each in held],
        stdout=subprocess.PIPE,
    )
    # Held to this moment: the server could not have bound the port itself.
    assert server.stdout is not None
    assert server.stdout.readline() == b"ready\n"
    close_all(held)
    with (
        server,
        socket.create_connection((HOST, port), 10.0) as client,
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender,
    ):
        sender.sendto(b"through", (HOST, port))
        assert client.recv(100) == b"through"


def test_a_port_can_be_used_again_at_once() -> None:
    """Though the server has closed its connections first, which the system remembers a minute."""
    port = free_port()
    for _ in range(3):
        held = hold("tcp", HOST, port)
        listener = Inheritance(passed_on([held])).take("tcp", HOST, port)
        assert listener is not None
        held.sock.detach()
        with listener:
            listener.listen()
            with socket.create_connection((HOST, port), 10.0) as client:
                connection, _ = listener.accept()
                connection.close()
                assert client.recv(1) == b""


def test_each_socket_is_taken_once_and_what_is_none_is_left_alone() -> None:
    held = hold("tcp", HOST, free_port())
    with held.sock:
        inheritance = Inheritance(passed_on([held]))
        assert inheritance.take("udp", HOST, held.port) is None
        taken = inheritance.take("tcp", HOST, held.port)
        assert taken is not None
        taken.detach()
        assert inheritance.take("tcp", HOST, held.port) is None
    # The variable came to a process that did not inherit the descriptors.
    entries = f'[[9999, "tcp", "{HOST}", {held.port}], [0, "tcp", "{HOST}", 1]]'
    stale = Inheritance({VARIABLE: entries})
    assert stale.take("tcp", HOST, held.port) is None
    assert stale.take("tcp", HOST, 1) is None
    assert Inheritance({VARIABLE: "nonsense"}).take("tcp", HOST, 1) is None
    assert Inheritance({VARIABLE: "7"}).take("tcp", HOST, 1) is None
