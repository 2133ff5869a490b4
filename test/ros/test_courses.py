# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Several courses in one thread: order, waiting, errors, and calls instead of messages."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from threading import Thread, Timer
from typing import Any

import pytest

pytest.importorskip("rclpy", reason="needs rclpy, which make setup installs")

from ros2_cosim.core.kernel.errors import Cancelled
from ros2_cosim.core.process.seal import RUN_SECRET
from ros2_cosim.core.sockets.switchboard import Switchboard
from ros2_cosim.ros.node.courses import Traveller, run_alone, run_together
from ros2_cosim.ros.node.session import Session
from ros2_cosim.ros.node.writers import data_qos

TYPE = "ros2_cosim/msg/ControlCommand"
SECRET = "0" * 32
#: Longer than any test [s].
LONG_S = 300.0


@pytest.fixture
def process(ros_domain: int, monkeypatch: pytest.MonkeyPatch) -> Iterator[Session]:
    """The session of a process on a lane."""
    monkeypatch.setenv(RUN_SECRET, SECRET)
    with Switchboard(SECRET) as board, Session("process", []) as session:
        session.join_lane(board.address)
        yield session


def member(process: Session, name: str) -> Session:
    return Session(name, host=process, waits=False)


def together(process: Session, **courses: Any) -> list[tuple[str, bool, str]]:
    """How they ended."""
    found: list[tuple[str, bool, str]] = []
    run_together(
        process,
        [Traveller(name, session, course) for name, (session, course) in courses.items()],
        lambda one, again, error: found.append((one.name, again, str(error or ""))),
    )
    return found


def test_what_one_sends_the_other_gets_within_the_call(process: Session) -> None:
    sender, receiver = member(process, "sender"), member(process, "receiver")
    writer = sender.writer("/a", TYPE, data_qos())
    got: list[Any] = []
    values = [object(), object()]
    receiver.reader(
        "/a",
        TYPE,
        data_qos(),
        lambda data: got.append(data),
        take=lambda value, stamp, seq: got.append((value, stamp, seq)),
    )
    counts: list[int] = []

    def send() -> Generator[float, None, bool]:
        for number, value in enumerate(values):
            writer.send_bytes(b"bytes", 10 * number, number, value)
            counts.append(len(got))
        yield 0.0
        return True

    def receive() -> Generator[float, None, bool]:
        while len(got) < 2:
            yield LONG_S
        return False

    # The receiver begins first and waits: the message of the other one is what wakes it.
    ends = together(process, receiver=(receiver, receive()), sender=(sender, send()))
    assert counts == [1, 2]
    assert got == [(values[0], 0, 0), (values[1], 10, 1)]
    assert sorted(ends) == [("receiver", False, ""), ("sender", True, "")]
    assert writer.reader_nodes() == ["/receiver"]


def test_an_error_ends_one_and_leaves_the_others(process: Session) -> None:
    def fail() -> Generator[float, None, bool]:
        yield 0.0
        raise ValueError("fell over")

    def go_on() -> Generator[float, None, bool]:
        for _ in range(3):
            yield 0.0
        return True

    one, other = member(process, "one"), member(process, "other")
    ends = together(process, one=(one, fail()), other=(other, go_on()))
    assert ends == [("one", False, "fell over"), ("other", True, "")]


def test_what_a_receiver_raises_comes_out_in_its_own_course(process: Session) -> None:
    sender, receiver = member(process, "sender"), member(process, "receiver")
    writer = sender.writer("/a", TYPE, data_qos())

    def refuse(data: bytes) -> None:
        raise ValueError("not this")

    receiver.reader("/a", TYPE, data_qos(), refuse)

    def send() -> Generator[float, None, bool]:
        writer.send_bytes(b"bytes")
        yield 0.0
        return True

    def receive() -> Generator[float, None, bool]:
        try:
            yield LONG_S
        except ValueError as error:
            raise RuntimeError(f"heard: {error}") from None
        return True

    ends = together(process, sender=(sender, send()), receiver=(receiver, receive()))
    assert sorted(ends) == [("receiver", False, "heard: not this"), ("sender", True, "")]


def until_cancelled() -> Generator[float, None, bool]:
    """Wait; whether the wait was cancelled."""
    try:
        yield LONG_S
    except Cancelled:
        return True
    return False


def test_one_that_is_asked_to_end_does_so(process: Session) -> None:
    session = member(process, "one")

    def wait() -> Generator[float, None, bool]:
        session.stop(15)
        return (yield from until_cancelled())

    assert together(process, one=(session, wait())) == [("one", True, "")]


def test_a_wake_lets_each_look(process: Session) -> None:
    session = member(process, "one")
    rung: list[str] = []

    def ring() -> None:
        rung.append("bell")
        session.wake()

    def wait() -> Generator[float, None, bool]:
        Thread(target=ring).start()
        while not rung:
            yield LONG_S
        return True

    assert together(process, one=(session, wait())) == [("one", True, "")]


def test_one_that_is_asked_to_end_before_it_begins_can_still_clean_up(process: Session) -> None:
    session = member(process, "one")
    session.stop(15)

    assert together(process, one=(session, until_cancelled())) == [("one", True, "")]


def test_they_wait_as_long_as_the_first_of_them_can(process: Session) -> None:
    ends: list[str] = []

    def wait() -> Generator[float, None, bool]:
        yield 0.05
        ends.append("short")
        process.wake()
        return True

    def stay() -> Generator[float, None, bool]:
        while not ends:
            yield LONG_S
        ends.append("long")
        return True

    one, other = member(process, "one"), member(process, "other")
    together(process, one=(one, stay()), other=(other, wait()))
    assert ends == ["short", "long"]


def test_one_that_can_wait_is_left_alone(process: Session) -> None:
    session = member(process, "one")
    rung: list[str] = []
    looks: list[None] = []

    def ring() -> None:
        rung.append("bell")
        session.wake()

    def wait() -> Generator[float, None, bool]:
        Timer(0.05, ring).start()
        while not rung:
            looks.append(None)
            yield LONG_S
        return True

    together(process, one=(session, wait()))
    # One before the wait; the middleware may wake it now and then.
    assert len(looks) < 10


def test_they_wait_until_the_first_of_them_is_due(
    process: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 0
    waits: list[float] = []
    turns: list[str] = []

    def serve(seconds: float, first: str = "") -> None:
        nonlocal now
        waits.append(seconds)
        now += int(seconds * 1e9)

    def wait(*seconds: float) -> Generator[float, None, bool]:
        yield from seconds
        return True

    def turn(name: str) -> None:
        nonlocal now
        turns.append(name or "-")
        # The time goes on between its last look and its wait.
        now += 0 if name or len(waits) < 4 else 2_000_000_000

    monkeypatch.setattr(process, "timer", lambda: now)
    monkeypatch.setattr(process, "serve", serve)
    courses = {"one": wait(0.25, 0.0, 0.25, 2.0), "other": wait(1.0, 0.5, 0.5)}
    run_together(
        process,
        [Traveller(name, member(process, name), course) for name, course in courses.items()],
        lambda one, again, error: turns.append(f"{one.name}_ends"),
        turn,
    )
    assert waits == [0.25, 0.25, 0.5, 0.5, 0.0]
    expected = "one other - one one - one - other - other - one one_ends other other_ends -"
    assert turns == expected.split()


def test_alone_it_waits_for_itself(process: Session) -> None:
    session = Session("alone", host=process)
    seen: list[str] = []

    def wait() -> Generator[float, None, bool]:
        yield 0.0
        session.stop(15)
        try:
            yield LONG_S
        except Cancelled as error:
            seen.append(str(error))
        return True

    with session:
        assert run_alone(session, wait())
    assert seen == ["SIGTERM"]
