# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Programs of other users of the machine are not served: a second uid tries it."""

import os
import socket
import subprocess
import sys
import time

import pytest
from support.patience import HANG_S, until

from ros2_cosim.core.sockets import peers
from ros2_cosim.core.sockets.endpoints import Listener, open_listener
from ros2_cosim.core.sockets.peers import Admission, Senders, tcp_user, udp_users
from ros2_cosim.core.sockets.reactor import Reactor
from ros2_cosim.dcp.standard.transport import tcp_connect

STRANGER = 65534
STRANGE = f"""
import os, socket, sys
os.setgroups([]); os.setgid({STRANGER}); os.setuid({STRANGER})
kind, host, port = int(sys.argv[1]), sys.argv[2], int(sys.argv[3])
with socket.socket(socket.AF_INET6 if ':' in host else socket.AF_INET, kind) as sock:
    sock.connect((host, port))
    sock.sendall(b"hello")
    print("sent", flush=True)
    sys.stdin.read()
"""

SQUATTING = f"""
import os, socket, sys
os.setgroups([]); os.setgid({STRANGER}); os.setuid({STRANGER})
with socket.create_server(("127.0.0.1", 0)) as listener:
    print(listener.getsockname()[1], flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def stranger():
    """A connection of another user; ended behind the test."""
    if os.getuid() != 0:
        pytest.skip("a second user: only root can become one")
    started = []

    def connect(kind, address):
        words = [sys.executable, "-S", "-c", STRANGE, str(int(kind)), *map(str, address)]
        process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        started.append(process)
        assert process.stdout.readline() == "sent\n"

    yield connect
    for process in started:
        process.communicate(timeout=HANG_S)


@pytest.fixture
def squatter():
    """The port at which a program of another user listens; it accepts nothing."""
    if os.getuid() != 0:
        pytest.skip("a second user: only root can become one")
    words = [sys.executable, "-S", "-c", SQUATTING]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        yield int(process.stdout.readline())
        process.stdin.close()


@pytest.fixture(params=["sock_diag", "tables"])
def way(request, monkeypatch):
    if request.param == "tables":

        def refused(*_):
            raise PermissionError

        monkeypatch.setattr(peers, "_asked", refused)


@pytest.mark.parametrize("host", ["127.0.0.1", "::1"])
def test_a_server_is_heard_before_it_has_accepted_a_connection_and_after(way, host):
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.create_server((host, 0), family=family) as listener:
        with socket.create_connection(listener.getsockname()[:2], HANG_S) as link:
            assert Admission({}).admits_server(link)
            accepted, _ = listener.accept()
            with accepted:
                assert Admission({}).admits_server(link)


def test_a_server_of_another_user_is_not_heard_unless_open_says_so(way, squatter):
    with socket.create_connection(("127.0.0.1", squatter), HANG_S) as link:
        assert not Admission({}).admits_server(link)
        assert Admission({"COSIM_OPEN": "1"}).admits_server(link)
    with pytest.raises(PermissionError, match="what listens there is not of this user"):
        tcp_connect("127.0.0.1", squatter, HANG_S)


def test_addresses_of_ipv4_within_ipv6_are_those_of_ipv4(way, stranger):
    with socket.socket(socket.AF_INET6, socket.SOCK_STREAM) as listener:
        listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        listener.bind(("::", 0))
        listener.listen()
        port = listener.getsockname()[1]
        for host in ("127.0.0.1", "::1"):
            with socket.create_connection((host, port), HANG_S) as own:
                assert Admission({}).admits_server(own)
                link, address = listener.accept()
                with link:
                    assert Admission({}).admits(link), address
        for host in ("127.0.0.1", "::1"):
            stranger(socket.SOCK_STREAM, (host, port))
            link, address = listener.accept()
            with link:
                assert not Admission({}).admits(link), address


@pytest.mark.parametrize("host", ["127.0.0.1", "::1"])
def test_the_user_of_a_connection_is_told_while_it_is_there(way, host):
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.create_server((host, 0), family=family) as listener:
        with socket.create_connection(listener.getsockname()[:2], HANG_S):
            link, address = listener.accept()
            with link:
                assert tcp_user(link.getsockname(), address) == os.getuid()
                assert Admission({}).admits(link)
        assert tcp_user(listener.getsockname(), address) is None


def test_a_connection_of_another_user_is_not_admitted_unless_open_says_so(way, stranger):
    with socket.create_server(("127.0.0.1", 0)) as listener:
        stranger(socket.SOCK_STREAM, listener.getsockname())
        link, address = listener.accept()
        with link:
            assert tcp_user(link.getsockname(), address) == 65534
            assert not Admission({}).admits(link)
            assert Admission({"COSIM_OPEN": "1"}).admits(link)


def test_a_datagram_of_another_user_is_not_heard_unless_open_says_so(way, stranger):
    with (
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as port,
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as own,
    ):
        port.bind(("127.0.0.1", 0))
        own.sendto(b"x", port.getsockname())
        _, address = port.recvfrom(10)
        assert udp_users(address) == {os.getuid()}
        assert Admission({}).admits_sender(address)
        stranger(socket.SOCK_DGRAM, port.getsockname())
        _, address = port.recvfrom(10)
        assert udp_users(address) == {65534}
        assert not Admission({}).admits_sender(address)
        assert Admission({"COSIM_OPEN": "1"}).admits_sender(address)
    assert not Admission({}).admits_sender(own_address := ("127.0.0.1", 1)), own_address


def test_the_last_words_of_a_sender_that_has_been_heard_are_heard_where_that_is_asked_for(
    monkeypatch,
):
    monkeypatch.setattr(peers, "KNOWN_NS", 0)  # looked up each time
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as own:
        own.bind(("127.0.0.1", 0))
        address = own.getsockname()
        patient, strict = Senders(last_words=True), Senders()
        assert patient.admits(address) and strict.admits(address)
    assert patient.admits(address) and not strict.admits(address)
    assert not Senders(last_words=True).admits(address)  # it had not been heard before


def test_other_hosts_are_served_where_none_or_they_are_listed():
    assert Admission({}).admits_sender(("192.0.2.1", 5))
    assert Admission({"COSIM_ALLOW": "192.0.2.1"}).admits_sender(("192.0.2.1", 5))
    listed = Admission({"COSIM_ALLOW": "2001:DB8::1, 192.0.2.1"})
    assert listed.admits_sender(("192.0.2.1", 5))
    assert listed.admits_sender(("2001:db8::1", 5, 0, 0))
    assert not listed.admits_sender(("192.0.2.2", 5))


@pytest.mark.parametrize("listed", ["lab", ",", "192.0.2.1,", "192.0.2.0/24"])
def test_a_list_of_hosts_that_is_wrong_is_refused_before_anything_listens(listed, monkeypatch):
    monkeypatch.setenv("COSIM_ALLOW", listed)
    with pytest.raises(OSError, match="^COSIM_ALLOW: .*; allowed are IP addresses with"):
        open_listener("127.0.0.1", 0)


@pytest.mark.parametrize("before", [False, True])
def test_an_option_holds_for_a_block_and_the_processes_that_it_starts(before):
    environment = {"COSIM_OPEN": "1"} if before else {}
    admission = Admission(environment)
    with admission.widened(True):
        assert admission.is_open and environment["COSIM_OPEN"] == "1"
    with admission.widened(False):
        assert admission.is_open == before
    assert admission.is_open == before


def test_a_client_that_has_only_ended_its_requests_is_served_one_that_has_gone_is_not(way):
    """Its user cannot be told; no protocol here has a client that needs no answer."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        with socket.create_connection(listener.getsockname(), HANG_S) as own:
            own.sendall(b"hello")
            own.shutdown(socket.SHUT_WR)
            link, _ = listener.accept()
            with link:
                assert link.recv(5) == b"hello" and link.recv(5) == b""
                assert Admission({}).admits(link)
        with socket.create_connection(listener.getsockname(), HANG_S) as own:
            own.sendall(b"hello")
        link, _ = listener.accept()
        with link:
            assert link.recv(5) == b"hello" and link.recv(5) == b""
            assert not Admission({}).admits(link)


def test_a_listener_closes_a_connection_of_another_user_unread_and_serves_its_own(stranger):
    taken = []
    with Reactor() as reactor:
        listener = Listener(reactor, "127.0.0.1", 0, taken.append)
        stranger(socket.SOCK_STREAM, ("127.0.0.1", listener.port))
        with socket.create_connection(("127.0.0.1", listener.port), HANG_S) as own:
            address = own.getsockname()
            until(lambda: taken, lambda: reactor.turn(time.monotonic_ns() + 10_000_000))
            assert [sock.getpeername() for sock in taken] == [address]
        for sock in taken:
            sock.close()
        listener.close()
