# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Ports that a process takes over as open sockets from the one that starts it.

A port that is free when its number is chosen may be taken by another program before the server that
receives the number has started. So the starter binds the socket and the server inherits it; where,
says the environment variable ``COSIM_SOCKETS``. Until the server takes it over nothing answers
there: a client is refused, as if the socket were not there yet.
"""

from __future__ import annotations

import ctypes
import errno
import json
import os
import socket
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import NamedTuple

#: What a process inherits: a list of [descriptor, kind, host, port] in JSON.
VARIABLE = "COSIM_SOCKETS"
_KINDS = {"tcp": socket.SOCK_STREAM, "udp": socket.SOCK_DGRAM}
_SOCKADDR_SIZE = 16
_libc = ctypes.CDLL(None, use_errno=True)


class HeldSocket(NamedTuple):
    """A bound socket that a process is to take over, with the address as the process knows it."""

    sock: socket.socket
    kind: str
    host: str
    port: int


def hold(kind: str, host: str, port: int) -> HeldSocket:
    """Bind a socket on which nothing is received yet.

    :param kind: ``tcp`` or ``udp``
    :param port: not 0
    :raises OSError: the address cannot be used
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    sock = socket.socket(family, _KINDS[kind])
    try:
        try:
            # Without SO_REUSEADDR no other socket can be bound beside it, whatever that one asks.
            sock.bind((host, port))
        except OSError as error:
            if error.errno != errno.EADDRINUSE or kind != "tcp":
                raise
            # Perhaps only by connections of a server that has ended.
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            sock.bind((host, port))
        if kind == "udp":
            # Connected to itself, it takes no datagrams of others: the kernel answers them that no
            # server is there, instead of letting them wait in a queue for a server that would
            # answer far too late.
            sock.connect(sock.getsockname())
    except OverflowError as error:  # a port number that does not exist
        sock.close()
        raise OSError(str(error)) from None
    except BaseException:
        sock.close()
        raise
    return HeldSocket(sock, kind, host, port)


def passed_on(sockets: Iterable[HeldSocket]) -> dict[str, str]:
    """The environment variable for a process that inherits these sockets."""
    entries = [[held.sock.fileno(), held.kind, held.host, held.port] for held in sockets]
    return {VARIABLE: json.dumps(entries)} if entries else {}


def close_all(sockets: Iterable[HeldSocket]) -> None:
    """Close sockets here; a process that has inherited them keeps them."""
    for held in sockets:
        held.sock.close()


class Inheritance:
    """The sockets that a process has inherited; each is taken over once.

    :param environment: of the process
    """

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._entries: dict[tuple[str, str, int], int] = {}
        with suppress(ValueError, TypeError):
            for descriptor, kind, host, port in json.loads(environment.get(VARIABLE, "[]")):
                self.offer(kind, host, port, descriptor)

    def offer(self, kind: str, host: str, port: int, descriptor: int) -> None:
        """Add an open socket that is bound to this address."""
        self._entries[kind, host, port] = descriptor

    def take(self, kind: str, host: str, port: int) -> socket.socket | None:
        """The socket bound to an address, ready for use; None if it was not inherited."""
        descriptor = self._entries.pop((kind, host, port), None)
        if descriptor is None:
            return None
        try:
            sock = socket.socket(fileno=descriptor)
        except OSError:
            return None  # the variable reached a process that did not inherit the descriptors
        if sock.type != _KINDS[kind] or sock.getsockname()[1] != port:
            sock.detach()
            return None
        sock.set_inheritable(False)
        if kind == "udp":
            _disconnect(sock)
        else:
            # Its connections pass it on: when they are over they do not keep the port.
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        return sock


def _disconnect(sock: socket.socket) -> None:
    """Let a UDP socket receive from everywhere again; its address stays (udp(7)).

    :raises OSError: the system refuses
    """
    nowhere = ctypes.create_string_buffer(_SOCKADDR_SIZE)  # its family is AF_UNSPEC, 0
    if _libc.connect(sock.fileno(), nowhere, _SOCKADDR_SIZE):
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


#: Those of this process.
INHERITED = Inheritance(os.environ)
