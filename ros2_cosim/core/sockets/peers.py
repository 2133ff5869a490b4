# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Whose program is at the other end of a socket, as the operating system knows it.

A port of this machine is open to every program on it. Most protocols have no room for a secret, so
before the first byte of a peer counts the kernel is asked which user its socket belongs to.
Programs of this user and of root are served. It does not admit those of other users, unless
COSIM_OPEN says so, and no peer whose socket has gone before the look-up. Peers on other hosts are
served where a port listens to them; where hosts are listed, only those.
"""

from __future__ import annotations

import errno
import logging
import os
import socket
import struct
import time
from collections.abc import Iterable, Iterator, MutableMapping, Set
from contextlib import contextmanager
from functools import lru_cache
from ipaddress import IPv6Address, ip_address
from pathlib import Path
from pwd import getpwuid
from typing import Any, NamedTuple

#: Environment variables: "1" opens the ports to all users; the other hosts served, with commas.
OPEN, HOSTS = "COSIM_OPEN", "COSIM_ALLOW"
#: What was found of a sender over UDP holds for so long [ns]: its port may change hands.
KNOWN_NS = 100_000_000
_MOST_KNOWN = 256
_ROOT = 0
_UCRED = struct.Struct("iII")

_NETLINK_SOCK_DIAG, _SOCK_DIAG_BY_FAMILY = 4, 20
_NLM_F_REQUEST, _NLM_F_DUMP = 1, 0x300
_HEADER = struct.Struct("=IHHII")
#: inet_diag_req_v2: family, protocol, extensions, padding, states, both ports, both addresses,
#: interface, cookie.
_REQUEST = struct.Struct("=BBBBI2s2s16s16sIII")
#: inet_diag_msg: family, state, both ports, both addresses, ..., user, inode.
_FOUND = struct.Struct("=BB2x2s2s16s16s24xII")
_EVERY = 0xFFFFFFFF
_LISTENING = 10
_TABLES = {socket.AF_INET: "", socket.AF_INET6: "6"}
_logger = logging.getLogger(__name__)


class PeerProcess(NamedTuple):
    """A process (0: it cannot be seen from here), and the user and group that it runs as."""

    process: int
    user: int
    group: int


class PeerSocket(NamedTuple):
    """A socket of this machine: the user that it belongs to, and its number in the system."""

    user: int
    inode: int


def peer_of(link: socket.socket) -> PeerProcess:
    """The process that has connected, or listens, at the other end of a Unix socket.

    :raises OSError: there is none
    """
    found = link.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _UCRED.size)
    return PeerProcess(*_UCRED.unpack(found))


def own_user() -> str:
    """Name and number of the user of this process."""
    return _named(os.geteuid())


def user_of(link: socket.socket) -> str:
    """The user at the other end of a TCP connection that this end has accepted, in words."""
    try:
        here, there = link.getsockname(), link.getpeername()
    except OSError:
        return "an unknown user"
    if not _is_of_this_machine(there[0], here[0]):
        return f"an unknown user at {_plain(there[0])}"
    user = tcp_user(here, there)
    return "an unknown user" if user is None else _named(user)


def _named(user: int) -> str:
    try:
        return f"{getpwuid(user).pw_name} (uid {user})"
    except KeyError:
        return f"uid {user}"


class _Socket(NamedTuple):
    """A socket of this machine: packed addresses of both ends, its user and inode (0: closed)."""

    listens: bool
    here: bytes
    port: int
    there: bytes
    port_there: int
    user: int
    inode: int


@lru_cache(1)
def _hosts_in(text: str) -> frozenset[str]:
    try:
        return frozenset(str(ip_address(host.strip())) for host in text.split(",") if text)
    except ValueError as error:
        raise OSError(f"{HOSTS}: {error}; allowed are IP addresses with commas between") from None


class Admission:
    """Which programs are served at the ports of this process.

    :param environment: of the process, and of those that it starts
    """

    def __init__(self, environment: MutableMapping[str, str]) -> None:
        self._environment = environment
        self._refused: set[int] = set()

    @property
    def is_open(self) -> bool:
        """Whether all users of this machine are served."""
        return bool(self._environment.get(OPEN))

    @property
    def hosts(self) -> frozenset[str]:
        """Addresses of the other hosts that are served; none: all of them.

        :raises OSError: what is listed is not an address
        """
        return _hosts_in(self._environment.get(HOSTS, ""))

    @contextmanager
    def widened(self, all_users: bool) -> Iterator[None]:
        """Within the block, serve all users of this machine, if that is requested.

        Processes that are started within it do so, too.
        """
        before = self._environment.get(OPEN, "")
        self._environment[OPEN] = "1" if all_users else before
        try:
            yield
        finally:
            self._environment[OPEN] = before

    def admits(self, link: socket.socket) -> bool:
        """Whether a TCP connection that this end has accepted may be served."""
        return self._admits(link, is_server=False)

    def admits_server(self, link: socket.socket) -> bool:
        """Whether the server of a TCP connection that this end has opened may be heard.

        Another user can listen at a port before the server that is meant.
        """
        return self._admits(link, is_server=True)

    def _admits(self, link: socket.socket, is_server: bool) -> bool:
        try:
            here, there = link.getsockname(), link.getpeername()
        except OSError:  # it has gone already
            return False
        if not _is_of_this_machine(there[0], here[0]):
            return not self.hosts or _plain(there[0]) in self.hosts
        if self.is_open:
            return True
        user = tcp_user(here, there)
        if user is None and is_server:  # it has not accepted the connection yet
            return self._serves(listening_users(there), there)
        return self._serves(set() if user is None else {user}, there)

    def admits_sender(self, address: tuple[Any, ...]) -> bool:
        """Whether a datagram from an address may be heard; :class:`Senders` asks less often."""
        return self.admits_latest(address, False)

    def admits_latest(self, address: tuple[Any, ...], if_gone: bool) -> bool:
        """Whether a datagram from an address may be heard.

        :param if_gone: the answer if no socket has that address any more
        """
        if not _is_of_this_machine(address[0]):
            return not self.hosts or _plain(address[0]) in self.hosts
        if self.is_open:
            return True
        users = udp_users(address)
        return self._serves(users, address) if users else if_gone

    def _serves(self, users: Set[int], address: tuple[Any, ...]) -> bool:
        others = users - {os.geteuid(), _ROOT}
        if others - self._refused:
            self._refused |= others
            text = "refused a program of user %d at %s:%d; COSIM_OPEN=1 lets other users in"
            _logger.warning(text, min(others), *address[:2])
        return bool(users) and not others


class Senders:
    """Which senders of datagrams are heard; each is looked up again after ``KNOWN_NS``.

    :param last_words: hear also what one that has been heard sent before it closed its socket
    """

    def __init__(self, last_words: bool = False) -> None:
        self._last_words = last_words
        self._known: dict[tuple[Any, ...], tuple[int, bool]] = {}

    def admits(self, address: tuple[Any, ...]) -> bool:
        """Whether a datagram from an address may be heard."""
        now = time.monotonic_ns()
        known = self._known.get(address)
        if known is not None and now < known[0]:
            return known[1]
        if len(self._known) >= _MOST_KNOWN:
            self._known.clear()
        was_heard = known is not None and known[1]
        admitted = ADMISSION.admits_latest(address, self._last_words and was_heard)
        self._known[address] = now + KNOWN_NS, admitted
        return admitted


def tcp_user(here: tuple[Any, ...], there: tuple[Any, ...]) -> int | None:
    """The user of the socket at the other end of a connection within this machine.

    :param here, there: addresses and ports of both ends
    :return: None if there is no such socket any more, or it cannot be found out
    """
    found = _other_end(here, there)
    return None if found is None else found.user


def peer_socket(link: socket.socket) -> PeerSocket | None:
    """The socket at the other end of a connection within this machine; None: it has gone."""
    try:
        found = _other_end(link.getsockname(), link.getpeername())
    except OSError:
        return None
    return None if found is None else PeerSocket(found.user, found.inode)


def _other_end(here: tuple[Any, ...], there: tuple[Any, ...]) -> _Socket | None:
    mine, other = _packed(here[0]), _packed(there[0])
    for each in _found(socket.IPPROTO_TCP, (other, there[1]), (mine, here[1])):
        ends = (each.here, each.port, each.there, each.port_there)
        # A closed one has no inode, and seems to be root's.
        if ends == (other, there[1], mine, here[1]) and each.inode and not each.listens:
            return each
    return None


def udp_users(address: tuple[Any, ...]) -> set[int]:
    """The users of the sockets that can have sent a datagram within this machine.

    :param address: where it came from
    :return: none if there is no such socket any more
    """
    return {each.user for each in _at(socket.IPPROTO_UDP, address)}


def listening_users(address: tuple[Any, ...]) -> set[int]:
    """The users of the sockets that accept TCP connections to an address of this machine."""
    return {each.user for each in _at(socket.IPPROTO_TCP, address) if each.listens}


def _at(protocol: int, address: tuple[Any, ...]) -> Iterator[_Socket]:
    """The sockets of an address, and those of its port at any address."""
    host = _packed(address[0])
    for each in _found(protocol, (host, address[1]), None):
        if each.port == address[1] and (each.here == host or not any(each.here)):
            yield each


def _plain(host: str) -> str:
    """An address without its zone, an IPv4 address as such."""
    address = ip_address(host.partition("%")[0])
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return str(mapped or address)


def _packed(host: str) -> bytes:
    return ip_address(_plain(host)).packed


def _is_of_this_machine(host: str, own: str | None = None) -> bool:
    """Whether an address is one of this machine."""
    address = ip_address(_plain(host))
    if address.is_loopback or host == own:
        return True
    family = socket.AF_INET if address.version == 4 else socket.AF_INET6
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.bind((host, 0))
    except OSError:
        return False
    return True


def _found(
    protocol: int, end: tuple[bytes, int], other: tuple[bytes, int] | None
) -> Iterator[_Socket]:
    """The sockets at one end, of a connection to the other; or all of its port, without one."""
    try:
        yield from _asked(protocol, end, other)
    except OSError:  # this system has no such service, or does not let us use it
        yield from _listed(protocol)


def _asked(
    protocol: int, end: tuple[bytes, int], other: tuple[bytes, int] | None
) -> Iterator[_Socket]:
    """What sock_diag tells; see sock_diag(7).

    :raises OSError: it does not work here
    """
    families: Iterable[int] = (socket.AF_INET, socket.AF_INET6)
    if other is not None:
        families = (socket.AF_INET if len(end[0]) == 4 else socket.AF_INET6,)
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, _NETLINK_SOCK_DIAG) as asked:
        for family in families:
            ports = end[1].to_bytes(2, "big"), (other[1] if other else 0).to_bytes(2, "big")
            places = (end[0], other[0]) if other else (b"", b"")
            no_cookie = (0, _EVERY, _EVERY)
            body = _REQUEST.pack(family, protocol, 0, 0, _EVERY, *ports, *places, *no_cookie)
            flags = _NLM_F_REQUEST | (0 if other else _NLM_F_DUMP)
            size = _HEADER.size + len(body)
            asked.send(_HEADER.pack(size, _SOCK_DIAG_BY_FAMILY, flags, 1, 0) + body)
            yield from _answers(asked, several=other is None)


def _answers(asked: socket.socket, several: bool) -> Iterator[_Socket]:
    while True:
        data = asked.recv(65_536)
        at = 0
        while at + _HEADER.size <= len(data):
            size, kind, *_ = _HEADER.unpack_from(data, at)
            if kind == _SOCK_DIAG_BY_FAMILY:
                family, state, *ends, user, inode = _FOUND.unpack_from(data, at + _HEADER.size)
                port, port_there = (int.from_bytes(each, "big") for each in ends[:2])
                here, there = (_as_packed(family, each) for each in ends[2:])
                yield _Socket(state == _LISTENING, here, port, there, port_there, user, inode)
            elif several:
                return  # the end of them
            else:
                (number,) = struct.unpack_from("=i", data, at + _HEADER.size)
                if -number == errno.ENOENT:
                    return
                raise OSError(-number, os.strerror(-number))
            at += max(size, _HEADER.size)
        if not several:
            return


def _as_packed(family: int, field: bytes) -> bytes:
    return field[:4] if family == socket.AF_INET else _packed(str(IPv6Address(field)))


def _listed(protocol: int) -> Iterator[_Socket]:
    """What the tables below /proc/net tell; they are longer to read."""
    name = "tcp" if protocol == socket.IPPROTO_TCP else "udp"
    for family, suffix in _TABLES.items():
        try:
            lines = Path(f"/proc/net/{name}{suffix}").read_text(encoding="ascii").splitlines()
        except OSError:
            continue
        for line in lines[1:]:
            words = line.split()
            (here, port), (there, port_there) = (_end(family, word) for word in words[1:3])
            state, user, inode = int(words[3], 16), int(words[7]), int(words[9])
            yield _Socket(state == _LISTENING, here, port, there, port_there, user, inode)


def _end(family: int, text: str) -> tuple[bytes, int]:
    """An address of such a table, whose words are in the order of this machine, and its port."""
    host, _, port = text.partition(":")
    words = (int(host[at : at + 8], 16) for at in range(0, len(host), 8))
    return _as_packed(family, b"".join(struct.pack("=I", word) for word in words)), int(port, 16)


#: That of this process.
ADMISSION = Admission(os.environ)
