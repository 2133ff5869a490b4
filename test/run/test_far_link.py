# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The connection between a run and its part on another host."""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Callable, Iterator
from typing import TypeVar

import pytest
from support.patience import HANG_S

from ros2_cosim.ros.bringup import far_link
from ros2_cosim.ros.bringup.far_link import (
    Alive,
    EndPart,
    FarLine,
    FarLink,
    FarMessage,
    Joined,
    LinkEnd,
    LinkError,
    greet,
)

Found = TypeVar("Found")


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    reader, writer = os.pipe()
    yield reader, writer
    for descriptor in (reader, writer):
        try:
            os.close(descriptor)
        except OSError:
            continue  # the test has closed it


@pytest.fixture
def pair() -> Iterator[tuple[socket.socket, socket.socket]]:
    one, other = socket.socketpair()
    with one, other:
        yield one, other


def received(link: FarLink, count: int = 1) -> list[FarMessage]:
    """So many messages; fails if they do not come."""
    found: list[FarMessage] = []
    while len(found) < count:
        new = link.receive(HANG_S)
        found += new
    return found


def beside(work: Callable[[], Found]) -> Callable[[], Found]:
    """Begin work in a thread; what it gives is awaited with the answer."""
    found: list[Found | BaseException] = []

    def run() -> None:
        try:
            found.append(work())
        except BaseException as error:  # raised where it is awaited
            found.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()

    def result() -> Found:
        thread.join(HANG_S)
        if isinstance(found[0], BaseException):
            raise found[0]
        return found[0]

    return result


def test_messages_are_told_from_what_a_shell_prints(pipe: tuple[int, int]) -> None:
    reader, writer = pipe
    link = FarLink(reader, writer)
    os.write(writer, b"Welcome to lab2!\nLast login: ")
    link.send(Joined(version="1"))
    os.write(writer, b"\xff half\n")
    link.send(FarLine(process="a", text="cosim-far {} \u00e4"))
    assert received(link, 2) == [
        Joined(version="1"),
        FarLine(process="a", text="cosim-far {} \u00e4"),
    ]
    assert link.others() == ["Welcome to lab2!", "Last login: ", "\ufffd half"]
    assert link.others() == []


def test_a_message_larger_than_the_pipe_arrives(pipe: tuple[int, int]) -> None:
    reader, writer = pipe
    link = FarLink(reader, writer)
    text = "x" * (1 << 20)
    sent = beside(lambda: link.send(FarLine(process="a", text=text)))
    assert received(link) == [FarLine(process="a", text=text)]
    sent()


def test_a_side_that_takes_nothing_has_gone(
    pipe: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    reader, writer = pipe
    monkeypatch.setattr(far_link, "SILENCE_S", 0.1)
    with pytest.raises(LinkEnd, match="nothing was taken there for 0.1 s"):
        FarLink(reader, writer).send(FarLine(process="a", text="x" * (1 << 20)))


def test_the_end_of_the_other_side_is_told(pipe: tuple[int, int]) -> None:
    reader, writer = pipe
    link = FarLink(reader, writer)
    os.close(writer)
    with pytest.raises(LinkEnd, match="the connection was closed"):
        link.receive(HANG_S)
    other_reader, other_writer = os.pipe()
    os.close(other_reader)
    with pytest.raises(LinkEnd, match="the connection broke"):
        FarLink(reader, other_writer).send(EndPart())
    os.close(other_writer)


def test_what_is_no_message_is_refused(pipe: tuple[int, int]) -> None:
    reader, writer = pipe
    os.write(writer, b'cosim-far {"kind": "none"}\n')
    with pytest.raises(LinkError, match="found no message of this version"):
        FarLink(reader, writer).receive(HANG_S)


def test_a_line_without_end_is_refused(
    pipe: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(far_link, "LINE_LIMIT", 10)
    reader, writer = pipe
    os.write(writer, b"x" * 11)
    with pytest.raises(LinkError, match="more than 10 bytes"):
        FarLink(reader, writer).receive(HANG_S)


def test_silence_is_an_end_and_a_sign_of_life_is_none(
    pipe: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    reader, writer = pipe
    now = [0.0]
    monkeypatch.setattr(far_link.time, "monotonic", lambda: now[0])
    other_reader, other_writer = os.pipe()
    link, other = FarLink(reader, other_writer), FarLink(other_reader, writer)
    for _ in range(20):
        now[0] += far_link.SIGN_S + 0.1
        assert other.receive(0) == link.receive(HANG_S) == []
    now[0] += far_link.SILENCE_S + 1
    with pytest.raises(LinkError, match="no sign of life for 31 s"):
        link.receive(0)
    for descriptor in (other_reader, other_writer):
        os.close(descriptor)


def greeted(
    pair: tuple[socket.socket, socket.socket], secrets: tuple[str, str], hosts: tuple[str, str]
) -> tuple[FarLink, FarLink]:
    """The links of the run and of the part."""
    part = beside(lambda: greet(pair[1], secrets[1], hosts[1], is_part=True))
    return greet(pair[0], secrets[0], hosts[0], is_part=False), part()


def test_two_sides_with_one_secret_understand_each_other(
    pair: tuple[socket.socket, socket.socket],
) -> None:
    run, part = greeted(pair, ("s", "s"), ("lab", "lab"))
    part.send(Joined(version="1"))
    part.send(Alive())
    part.send(FarLine(process="a", text="b"))
    assert received(run, 2) == [Joined(version="1"), FarLine(process="a", text="b")]
    run.send(EndPart())
    assert received(part) == [EndPart()]


@pytest.mark.parametrize(
    ("secrets", "hosts"), [(("s", "t"), ("lab", "lab")), (("s", "s"), ("lab", "shed"))]
)
def test_another_secret_or_host_is_refused(
    pair: tuple[socket.socket, socket.socket], secrets: tuple[str, str], hosts: tuple[str, str]
) -> None:
    part = beside(lambda: greet(pair[1], secrets[1], hosts[1], is_part=True))
    with pytest.raises(LinkError, match="has another secret, or is not the host"):
        greet(pair[0], secrets[0], hosts[0], is_part=False)
    with pytest.raises(LinkError, match="has another secret, or is not the host"):
        part()


@pytest.mark.parametrize("said", [b"GET / HTTP/1.1\r\n", b"x" * 5000, b""])
def test_a_stranger_is_refused(pair: tuple[socket.socket, socket.socket], said: bytes) -> None:
    pair[1].sendall(said)
    pair[1].shutdown(socket.SHUT_WR)
    with pytest.raises(LinkError, match="found no greeting of a part of a run"):
        greet(pair[0], "s", "lab", is_part=False)


def test_a_greeting_that_drips_is_not_waited_for(
    pair: tuple[socket.socket, socket.socket], monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [0.0]

    def later() -> float:
        now[0] += far_link._GREETING_S / 10
        return now[0]

    monkeypatch.setattr(far_link.time, "monotonic", later)
    pair[1].sendall(b"0" * 5000)
    with pytest.raises(LinkError, match="no greeting: timed out"):
        greet(pair[0], "s", "lab", is_part=False)


def test_a_side_that_sends_back_what_it_hears_is_refused(
    pair: tuple[socket.socket, socket.socket],
) -> None:
    def echo() -> None:
        while data := pair[1].recv(1000):
            pair[1].sendall(data)

    beside(echo)
    with pytest.raises(LinkError, match="found no greeting"):
        greet(pair[0], "s", "lab", is_part=False)
    pair[0].shutdown(socket.SHUT_RDWR)


@pytest.mark.parametrize("change", ["twice", "other", "plain"])
def test_what_is_changed_on_the_way_is_refused(
    pair: tuple[socket.socket, socket.socket], change: str
) -> None:
    run, part = greeted(pair, ("s", "s"), ("lab", "lab"))
    part.send(FarLine(process="a", text="b"))
    line = pair[0].recv(1000)
    changed = {
        "twice": line + line,
        "other": line.replace(b'"b"', b'"c"'),
        "plain": b"hello\n",
    }[change]
    pair[1].sendall(changed)
    with pytest.raises(LinkError, match="wrong seal|without a seal"):
        run.receive(HANG_S)
