# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The switchboard connects those that share a topic, once, and no stranger."""

from __future__ import annotations

import json
import os
import select
import socket
from collections.abc import Iterator

import pytest
from support.patience import HANG_S

from ros2_cosim.core.sockets import switchboard
from ros2_cosim.core.sockets.peers import PeerProcess
from ros2_cosim.core.sockets.switchboard import CallerEnd, Switchboard

SECRET = "of this run"


@pytest.fixture
def board() -> Iterator[Switchboard]:
    with Switchboard(SECRET) as made:
        yield made


@pytest.fixture
def lines(board: Switchboard) -> Iterator[list[CallerEnd]]:
    made = [CallerEnd(board.address, SECRET) for _ in range(3)]
    yield made
    for line in made:
        line.close()


def connection(line: CallerEnd) -> socket.socket:
    """The next connection of a line."""
    assert select.select([line], [], [], HANG_S)[0]
    return next(line.connections())


def has_none(board: Switchboard, line: CallerEnd) -> bool:
    """Whether no connection has come once the switchboard has handled everything before."""
    witness, other = CallerEnd(board.address, SECRET), CallerEnd(board.address, SECRET)
    witness.tell(["witness"], [])
    other.tell([], ["witness"])
    connection(other).close()
    witness.close()
    other.close()
    return not select.select([line], [], [], 0)[0]


def test_a_writer_and_a_reader_of_a_topic_are_connected_once(
    board: Switchboard, lines: list[CallerEnd]
) -> None:
    writer, reader, other = lines
    writer.tell(["/a", "/b"], [])
    other.tell(["/a"], ["/c"])
    reader.tell([], ["/a"])
    near, ends = connection(writer), [connection(reader), connection(reader)]
    connection(other).close()
    near.sendall(b"hello")
    # The end of the other connection is ready, too: it has been closed.
    heard = {end.recv(5): end for end in ends}
    far = heard.pop(b"hello")
    heard.pop(b"").close()
    # The same two share one more topic, in the other direction, too.
    reader.tell(["/d"], ["/b"])
    writer.tell([], ["/d"])
    assert has_none(board, writer)
    assert has_none(board, reader)
    near.close()
    far.close()


def test_two_writers_of_a_topic_are_strangers(board: Switchboard, lines: list[CallerEnd]) -> None:
    for line in lines:
        line.tell(["/a"], [])
    assert all(has_none(board, line) for line in lines)


def test_more_topics_than_fit_into_one_packet(lines: list[CallerEnd]) -> None:
    names = [f"/{'x' * 250}/{index}" for index in range(2000)]
    lines[0].tell(names, [])
    lines[1].tell([], [names[-1]])
    connection(lines[0]).close()
    connection(lines[1]).close()


def test_the_end_of_one_side_is_the_end_of_the_connection(lines: list[CallerEnd]) -> None:
    lines[0].tell(["/a"], [])
    lines[1].tell([], ["/a"])
    near, far = connection(lines[0]), connection(lines[1])
    near.close()
    far.settimeout(HANG_S)
    assert far.recv(1) == b""
    far.close()


def test_one_that_comes_again_is_connected_again(
    board: Switchboard, lines: list[CallerEnd]
) -> None:
    lines[0].tell(["/a"], [])
    for _ in range(2):
        again = CallerEnd(board.address, SECRET)
        again.tell([], ["/a"])
        connection(again).close()
        connection(lines[0]).close()
        again.close()


@pytest.mark.parametrize(
    "packet",
    [
        json.dumps({"secret": "of another run", "writes": [], "reads": ["/a"]}).encode(),
        json.dumps({"secret": 1, "writes": [], "reads": ["/a"]}).encode(),
        json.dumps({"secret": SECRET, "writes": "/a", "reads": ["/a"]}).encode(),
        json.dumps({"secret": SECRET, "reads": ["/a"]}).encode(),
        b"[" * 50_000,
        b"\xff\xfe",
    ],
)
def test_what_is_no_message_of_this_run_is_not_heard(
    board: Switchboard, lines: list[CallerEnd], packet: bytes
) -> None:
    lines[0].tell(["/a"], [])
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as stranger:
        stranger.connect("\0" + board.address)
        stranger.send(packet)
        stranger.settimeout(HANG_S)
        assert stranger.recv(10) == b""
    assert has_none(board, lines[0])


def test_another_user_gets_nothing(board: Switchboard, monkeypatch: pytest.MonkeyPatch) -> None:
    stranger_of = PeerProcess(os.getpid(), os.getuid() + 1, os.getgid())
    monkeypatch.setattr(switchboard, "peer_of", lambda link: stranger_of)
    with pytest.raises(PermissionError, match="another user"):
        CallerEnd(board.address, SECRET)
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as stranger:
        stranger.connect("\0" + board.address)
        stranger.settimeout(HANG_S)
        assert stranger.recv(10) == b""


def test_without_a_switchboard_there_is_no_line() -> None:
    with Switchboard(SECRET) as gone:
        line = CallerEnd(gone.address, SECRET)
    with pytest.raises(ConnectionError, match="has gone"):
        list(line.connections())
    line.close()
    with pytest.raises(ConnectionRefusedError):
        CallerEnd(gone.address, SECRET)
