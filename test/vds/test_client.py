# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The client of VDS1 against a server made of sockets: what counts as a state, and repetition."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from threading import Thread, Timer
from typing import NamedTuple

import pytest
from support.patience import HANG_S
from support.vds_peer import pack_command

from ros2_cosim.core.kernel.errors import ConnectionFailedError
from ros2_cosim.vds.client import VdsClient
from ros2_cosim.vds.vds1 import encode_state
from ros2_cosim.vds.vehicle_plant import PlantState, VehicleCommand

WHEELS = (0.0, 0.0, 0.0, 0.0)
STANDING = PlantState(*[0.0] * 14, WHEELS, 0.0, 0.3, WHEELS)


class Pair(NamedTuple):
    server: socket.socket
    client: VdsClient

    def tell(self, *numbers: int, sender: socket.socket | None = None) -> None:
        for number in numbers:
            self.put(encode_state(number, 0.5 * number, STANDING), sender)

    def put(self, data: bytes, sender: socket.socket | None = None) -> None:
        (sender or self.server).sendto(data, ("127.0.0.1", self.client.port))


@pytest.fixture
def pair() -> Iterator[Pair]:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as server:
        server.bind(("127.0.0.1", 0))
        server.settimeout(HANG_S)
        client = VdsClient(server.getsockname())
        yield Pair(server, client)
        client.close()


def counts(client: VdsClient) -> tuple[int, int, int, int]:
    return client.received, client.refused, client.stale, client.lost


def test_the_newest_state_is_taken_and_gaps_are_counted(pair: Pair) -> None:
    assert pair.client.poll() is None
    pair.tell(7)
    assert pair.client.wait(HANG_S) == (7, 3.5, STANDING)
    # Of the first state nobody knows how many were before it; 8 to 10 are missing here.
    assert counts(pair.client) == (1, 0, 0, 0)
    pair.tell(11, 12, 12, 10)
    found = pair.client.poll()
    assert found is not None and found.seq == 12
    assert counts(pair.client) == (3, 0, 2, 3)
    assert pair.client.poll() is None


def test_numbers_go_on_behind_the_largest(pair: Pair) -> None:
    pair.tell(2**32 - 2, 1)
    found = pair.client.poll()
    assert found is not None and found.seq == 1
    assert counts(pair.client) == (2, 0, 0, 2)


def test_what_is_no_state_of_the_server_is_refused_and_what_follows_is_read(pair: Pair) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as stranger:
        stranger.bind(("127.0.0.2", 0))
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as gone:
            # It has closed its socket before anyone asks whose it is.
            gone.bind(("127.0.0.1", 0))
            pair.tell(9, sender=gone)
        pair.tell(1, sender=stranger)
        pair.put(b"no state")
        pair.put(pack_command(3))
        pair.tell(2)
        found = pair.client.poll()
    assert found is not None and found.seq == 2
    assert counts(pair.client) == (1, 4, 0, 0)


def test_the_socket_of_the_server_may_be_another_of_its_host(pair: Pair) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as other:
        other.bind(("127.0.0.1", 0))
        pair.tell(5, sender=other)
        found = pair.client.poll()
    assert found is not None and found.seq == 5


def test_commands_are_numbered_from_nought(pair: Pair) -> None:
    sent = [pair.client.send(VehicleCommand(0.1, 0.2, 0.3), 1.5 * number) for number in range(2)]
    assert sent == [
        pack_command(number, 0.1, 0.2, 0.3, timestamp=1.5 * number) for number in range(2)
    ]
    assert [pair.server.recv(512) for _ in sent] == sent


def test_a_wait_without_a_state_ends_and_sends_nothing(pair: Pair) -> None:
    host, port = pair.server.getsockname()
    text = f"at {host}:{port}: no state on port {pair.client.port} within 0.12 s of wall time"
    with pytest.raises(ConnectionFailedError, match=text):
        pair.client.wait(0.12)
    pair.server.settimeout(0.0)
    with pytest.raises(BlockingIOError):
        pair.server.recv(512)


def test_a_wait_goes_on_behind_what_is_no_state(pair: Pair) -> None:
    """After the time at which a command would be repeated: there is none to repeat."""
    timers = [Timer(0.08, pair.put, (b"no state",)), Timer(0.16, pair.tell, (6,))]
    for timer in timers:
        timer.start()
    assert pair.client.wait(HANG_S).seq == 6
    assert counts(pair.client) == (1, 1, 0, 0)


def test_a_command_is_repeated_until_its_answer(pair: Pair) -> None:
    """The server is deaf to the first two datagrams, as if the network had lost them."""
    heard: list[bytes] = []

    def answer() -> None:
        heard.extend(pair.server.recv(512) for _ in range(3))
        pair.tell(4)

    thread = Thread(target=answer)
    thread.start()
    found = pair.client.exchange(VehicleCommand(brake=1.0), 2.0, HANG_S)
    thread.join(HANG_S)
    assert found.seq == 4
    assert heard == [pack_command(0, brake=1.0, timestamp=2.0)] * 3
