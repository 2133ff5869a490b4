# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""A lane loses nothing, keeps the order of each writer, and never stands still for ever."""

from __future__ import annotations

import gc
import os
import select
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from itertools import count
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ros2_cosim.core.kernel.errors import Cancelled
from ros2_cosim.core.kernel.time import FOREVER
from ros2_cosim.core.sockets.switchboard import CallerEnd, Switchboard
from ros2_cosim.ros.node import lane as module
from ros2_cosim.ros.node.lane import SocketLane

MIB = 1 << 20
SECRET = "of this run"
#: Bytes in front of a message.
HEAD = 24
#: Guards against hanging only.
TURNS = 10_000


@contextmanager
def open_lanes(
    count: int, clock: Callable[[], int] = time.perf_counter_ns
) -> Iterator[list[SocketLane]]:
    with Switchboard(SECRET) as board, ExitStack() as stack:
        if clock is not time.perf_counter_ns:
            # One that stands would never tell that a look without sleep is over.
            stack.enter_context(pytest.MonkeyPatch.context()).setattr(module, "_LOOK_NS", 0)
        lanes = [
            SocketLane(CallerEnd(board.address, SECRET), f"/{name}", clock=clock)
            for name in range(count)
        ]
        for lane in lanes:
            stack.callback(lane.close)
        yield lanes


@pytest.fixture
def lanes() -> Iterator[list[SocketLane]]:
    with open_lanes(3) as made:
        yield made


def until(lanes: list[SocketLane], condition: Callable[[], bool]) -> None:
    """Let all of them wait in turns until something holds."""
    for _ in range(TURNS):
        if condition():
            return
        for lane in lanes:
            lane.spin_once(0.001)
    raise AssertionError("it never came to that")


def test_messages_come_with_stamp_and_number(lanes: list[SocketLane]) -> None:
    got: list[tuple[bytes, int, int]] = []
    writer = lanes[0].writer("/a", latched=False)
    lanes[1].reader("/a", lambda *message: got.append(message))
    until(lanes, lambda: writer.readers == 1)
    assert lanes[1].writers("/a") == 1
    assert (writer.reader_nodes, lanes[1].writer_nodes("/a")) == (["/1"], {"/0"})
    sent = [(b"x" * number, -number, number) for number in range(100)]
    for message in sent:
        writer.send(*message)
    until(lanes, lambda: len(got) == 100)
    assert got == sent


def test_a_reader_that_rests_is_not_woken_for_what_leads_to_nothing() -> None:
    """What it has no use for yet comes along with what it has."""
    with open_lanes(2, clock=lambda: 0) as (here, there):
        got: list[int] = []
        writer = here.writer("/a", latched=False, silence=10)
        there.reader("/a", lambda data, stamp, seq: got.append(stamp))
        until([here, there], lambda: writer.readers == 1)

        def come(*stamps: int) -> list[int]:
            """What is there right after messages of these stamps were sent."""
            got.clear()
            for stamp in stamps:
                writer.send(b"", stamp)
            here.flush()
            there.spin_once(0)
            return list(got)

        assert come(0) == [0]  # it has not said that it rests
        there.rest(40)
        assert (come(10), come(20), come(30)) == ([], [], [])
        assert come(40) == [10, 20, 30, 40]
        assert come(50, 20) == [50, 20]
        there.rest(FOREVER)
        assert come(60) == []
        # A writer that has nothing to do sends it all the same.
        here.urge()
        here.flush()
        there.spin_once(0)
        assert got == [60]


def test_a_session_reads_its_own_messages_at_its_next_wait(lanes: list[SocketLane]) -> None:
    got: list[tuple[bytes, int, int]] = []
    writer = lanes[0].writer("/a", latched=True)
    lanes[0].writer("/b", latched=False).send(b"not kept")
    writer.send(b"kept")
    for topic in ("/a", "/b"):
        lanes[0].reader(topic, lambda *message: got.append(message), latched=True)
    writer.send(b"new")
    assert got == []
    lanes[0].spin_once(60.0)
    assert got == [(b"kept", 0, 0), (b"new", 0, 0)]
    assert (writer.readers, lanes[0].writers("/a")) == (1, 1)
    assert (writer.reader_nodes, lanes[0].writer_nodes("/a")) == (["/0"], {"/0"})


def test_nothing_overtakes_what_waits_for_the_next_wait(lanes: list[SocketLane]) -> None:
    got: list[str] = []
    for topic, alone in (("/state", True), ("/data", False)):
        lanes[0].reader(
            topic, lambda *message, topic=topic: got.append(topic), alone=alone, owner="/reader"
        )
    state, data = (
        lanes[0].writer(topic, latched=False, owner="/writer") for topic in ("/state", "/data")
    )
    assert (lanes[0].writer_nodes("/data"), data.reader_nodes) == ({"/writer"}, ["/reader"])
    data.send(b"")
    assert got == ["/data"]
    state.send(b"")
    data.send(b"")
    assert got == ["/data"]
    lanes[0].spin_once(0)
    assert got == ["/data", "/state", "/data"]


def test_in_one_thread_a_value_is_taken_as_it_is_if_there_is_one(lanes: list[SocketLane]) -> None:
    got: list[Any] = []
    readers = {"/takes": lambda value, stamp, seq: got.append(value), "/reads": None}
    for topic, take in readers.items():
        lanes[0].reader(topic, lambda *message: got.append(message), owner="/reader", take=take)
        writer = lanes[0].writer(topic, latched=False, owner="/writer")
        writer.send(b"x", 1, 2, "value")
        writer.send(b"x", 3, 4)
    assert got == ["value", (b"x", 3, 4), (b"x", 1, 2), (b"x", 3, 4)]


def test_one_that_comes_late_gets_what_was_kept_only_if_it_asks(lanes: list[SocketLane]) -> None:
    kept = lanes[0].writer("/kept", latched=True)
    plain = lanes[0].writer("/plain", latched=False)
    for number in range(3):
        kept.send(b"kept", 0, number)
        plain.send(b"plain", 0, number)
    asks: list[int] = []
    takes: list[int] = []
    for topic in ("/kept", "/plain"):
        lanes[1].reader(topic, lambda data, stamp, seq: asks.append(seq), latched=True)
        lanes[2].reader(topic, lambda data, stamp, seq: takes.append(seq))
    until(lanes, lambda: kept.readers == plain.readers == 2)
    kept.send(b"kept", 0, 3)
    plain.send(b"plain", 0, 4)
    until(lanes, lambda: len(takes) == 2 and len(asks) == 5)
    assert (asks, takes) == ([0, 1, 2, 3, 4], [3, 4])


def test_a_writer_that_comes_late_finds_the_readers_that_are_known(
    lanes: list[SocketLane],
) -> None:
    got: list[bytes] = []
    lanes[1].reader("/late", lambda data, stamp, seq: got.append(data))
    lanes[1].reader("/early", lambda data, stamp, seq: None)
    early = lanes[0].writer("/early", latched=False)
    until(lanes, lambda: early.readers == 1)
    late = lanes[0].writer("/late", latched=False)
    assert late.reader_nodes == ["/1"]
    late.send(b"first")
    until(lanes, lambda: got == [b"first"])


class Nodes:
    """Those that a lane serves."""

    def __init__(self) -> None:
        self.served: list[str] | None = []

    def add_node(self, node: str) -> None:
        assert self.served is not None
        self.served.append(node)

    def close(self) -> None:
        self.served = None


@pytest.mark.parametrize("serves", [False, True])
def test_a_lane_that_is_shut_down_serves_no_node_and_has_left(
    lanes: list[SocketLane], serves: bool
) -> None:
    writer = lanes[0].writer("/a", latched=False)
    lanes[1].reader("/a", lambda data, stamp, seq: None)
    until(lanes, lambda: writer.readers == 1)
    nodes = Nodes()
    if serves:
        lanes[1].nodes = nodes
        lanes[1].add_node("/node")
    assert nodes.served == ["/node"] * serves
    lanes[1].shutdown()
    assert nodes.served == (None if serves else [])
    until(lanes[:1], lambda: writer.readers == 0)


def test_a_second_reader_of_a_session_gets_what_was_kept(lanes: list[SocketLane]) -> None:
    writer = lanes[0].writer("/a", latched=True)
    writer.send(b"kept")
    first: list[bytes] = []
    second: list[bytes] = []
    lanes[1].reader("/a", lambda data, stamp, seq: first.append(data), latched=True)
    until(lanes, lambda: len(first) == 1)
    lanes[1].reader("/a", lambda data, stamp, seq: second.append(data), latched=True)
    until(lanes, lambda: len(second) == 1)
    writer.send(b"new")
    until(lanes, lambda: first[-1:] == second[-1:] == [b"new"])
    assert writer.readers == 1


def test_one_of_several_readers_of_a_session_may_want_it_at_once_and_what_was_kept() -> None:
    got: list[tuple[str, int]] = []
    # A clock that stands: lazy readers get nothing by themselves.
    with open_lanes(2, clock=lambda: 0) as lanes:
        writer = lanes[0].writer("/a", latched=True)
        writer.send(b"", 0, 1)
        lanes[1].reader("/a", lambda data, stamp, seq: got.append(("first", seq)), latched=True)
        lanes[1].reader("/a", lambda data, stamp, seq: got.append(("second", seq)), lazy=True)
        until(lanes, lambda: len(got) == 2)
        writer.send(b"", 0, 2)
        for lane in lanes:
            lane.spin_once(0)
    assert got == [(name, seq) for seq in (1, 2) for name in ("first", "second")]


def test_the_end_of_a_process_is_seen_after_its_last_message(lanes: list[SocketLane]) -> None:
    seen: list[tuple[int, bytes]] = []
    writer = lanes[0].writer("/a", latched=False)
    lanes[1].reader("/a", lambda data, stamp, seq: seen.append((lanes[1].writers("/a"), data)))
    answers = lanes[1].writer("/b", latched=False)
    lanes[0].reader("/b", lambda data, stamp, seq: None, lazy=True)
    until(lanes, lambda: writer.readers == answers.readers == 1)
    writer.send(b"last words")
    answers.send(b"in no hurry")
    lanes[0].close()
    until(lanes[1:2], lambda: lanes[1].writers("/a") == 0)
    assert seen == [(1, b"last words")]
    assert (answers.readers, lanes[1].departures, lanes[1].lazy) == (0, 1, set())
    answers.send(b"nobody")
    assert answers.flush()


def test_the_end_of_the_switchboard_is_seen_once() -> None:
    with Switchboard(SECRET) as board:
        lanes = [SocketLane(CallerEnd(board.address, SECRET)) for _ in range(2)]
    for lane in lanes:
        # What it would tell does not reach anyone, before and after it has seen that.
        for topic in ("/a", "/b"):
            lane.writer(topic, latched=False)
            lane.spin_once(60.0 if topic == "/a" else 0.0)
        assert lane._poll.poll(0) == []
        lane.close()


def closed_lanes() -> list[SocketLane]:
    """Two that were connected: one closed after the other."""
    with Switchboard(SECRET) as board:
        lanes = [SocketLane(CallerEnd(board.address, SECRET)) for _ in range(2)]
        writer = lanes[0].writer("/a", latched=False)
        lanes[1].reader("/a", lambda data, stamp, seq: None)
        until(lanes, lambda: writer.readers == 1)
        lanes[1].close()
        until(lanes[:1], lambda: writer.readers == 0)
        lanes[0].close()
    return lanes


def test_a_lane_that_is_closed_has_no_file_open() -> None:
    lanes = closed_lanes()
    gc.collect()
    # Nothing is left for the end of the objects.
    files = len(os.listdir("/proc/self/fd"))
    lanes.clear()
    gc.collect()
    assert len(os.listdir("/proc/self/fd")) == files


class Stopped(Exception):
    pass


@pytest.mark.parametrize("size", [100_000, 64 * MIB])
def test_two_that_send_without_reading_do_not_wait_for_each_other(size: int) -> None:
    """Each sends far more than connections and queues hold before it handles anything."""
    count = max(3, 16 * MIB // size)
    with open_lanes(2) as lanes:
        got: list[list[int]] = [[], []]
        writers = []
        for index, lane in enumerate(lanes):
            writers.append(lane.writer(f"/{index}", latched=False))
            lane.reader(
                f"/{1 - index}",
                lambda data, stamp, seq, index=index: got[index].append((seq, len(data))),
            )
        until(lanes, lambda: all(writer.readers == 1 for writer in writers))

        def work(index: int) -> None:
            data = bytes(size)
            for number in range(count):
                writers[index].send(data, 0, number)
            assert got[index] == []
            while len(got[index]) < count:
                lanes[index].spin_once(0.1)
            while not writers[index].flush():
                pass

        threads = [threading.Thread(target=work, args=(index,)) for index in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert got == 2 * [[(number, size) for number in range(count)]]


def test_a_writer_waits_for_a_reader_that_does_not_keep_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    waits = 0

    def interrupted() -> None:
        nonlocal waits
        waits += 1
        if waits == 3:
            raise Cancelled("SIGTERM")

    monkeypatch.setattr(module, "_LOOK_S", 0.001)
    with Switchboard(SECRET) as board:
        near = SocketLane(CallerEnd(board.address, SECRET), interrupted=interrupted)
        far, third = (SocketLane(CallerEnd(board.address, SECRET)) for _ in range(2))
        writer = near.writer("/a", latched=False)
        got: list[int] = []
        far.reader("/a", lambda data, stamp, seq: got.append(seq))
        third.writer("/b", latched=False)
        near.reader("/b", lambda data, stamp, seq: None)
        until([near, far, third], lambda: writer.readers == near.writers("/b") == 1)
        third.close()
        (peer,) = writer.peers
        number = 0
        while not 2 * MIB < peer.link.waiting < 4 * MIB:
            writer.send(bytes(MIB), 0, number)
            number += 1
        with pytest.raises(Cancelled):
            # Exactly as many as make it wait.
            writer.send(bytes(4 * MIB - HEAD - peer.link.waiting), 0, number)
        assert peer.link.waiting == 4 * MIB
        # The end of another one is noticed meanwhile, once, and handled later.
        assert near._poll.poll(0) == []
        assert near.departures == 0
        until([near, far], lambda: len(got) == number + 1)
        assert got == list(range(number + 1))
        assert near.departures == 1
        near.close()
        far.close()


def test_who_does_not_take_its_last_messages_is_not_waited_for_long(
    monkeypatch: pytest.MonkeyPatch, lanes: list[SocketLane]
) -> None:
    monkeypatch.setattr(module, "FLUSH_S", 0.01)
    writer = lanes[0].writer("/a", latched=False)
    lanes[1].reader("/a", lambda data, stamp, seq: None)
    until(lanes, lambda: writer.readers == 1)
    assert writer.flush()
    writer.send(bytes(MIB))
    assert not writer.flush()


def test_lazy_readers_get_messages_in_portions() -> None:
    # A clock that stands: a writer that is busy for long would send them by itself.
    with open_lanes(3, clock=lambda: 0) as lanes:
        check_portions(lanes)


def check_portions(lanes: list[SocketLane]) -> None:
    eager: list[int] = []
    lazy: list[int] = []
    writer = lanes[0].writer("/a", latched=False)
    lanes[1].reader("/a", lambda data, stamp, seq: eager.append(seq))
    lanes[2].reader("/a", lambda data, stamp, seq: lazy.append(seq), lazy=True)
    until(lanes, lambda: writer.readers == 2)
    for number in range(10):
        writer.send(b"x", 0, number)
        lanes[0].spin_once(0)
        lanes[1].spin_once(0)
        lanes[2].spin_once(0)
    assert (eager, lazy) == (list(range(10)), [])
    lanes[0].urge()
    lanes[0].spin_once(0)
    lanes[2].spin_once(0)
    assert lazy == list(range(10))
    # A writer that has nothing to do sends them by itself, and so does one with much to send.
    writer.send(b"x", 0, 10)
    lanes[0].spin_once(0.01)
    lanes[2].spin_once(0)
    assert lazy[-1] == 10
    writer.send(bytes(65_535 - HEAD), 0, 11)
    lanes[2].spin_once(0)
    assert lazy[-1] == 10
    lanes[0].urge()
    lanes[0].flush()
    writer.send(bytes(65_536 - HEAD), 0, 12)
    lanes[2].spin_once(0)
    assert lazy[-2:] == [11, 12]


def test_any_thread_wakes_a_lane_and_has_things_done_in_its_thread(
    lanes: list[SocketLane],
) -> None:
    done: list[int] = []
    for act in (lambda: lanes[0].create_task(lambda: done.append(threading.get_ident())),
                lanes[0].wake):  # fmt: skip
        timer = threading.Timer(0.01, act)
        timer.start()
        lanes[0].spin_once(60.0)
        timer.join()
    assert done == [threading.get_ident()]


class Poll:
    """A poll that notes for how long it may wait."""

    def __init__(self, poll: Any, waits: list[float]) -> None:
        self.fileno = getattr(poll, "fileno", None)
        self.register, self.modify, self.unregister = poll.register, poll.modify, poll.unregister
        self.close = getattr(poll, "close", None)
        self._poll = poll.poll
        self._waits = waits

    def poll(self, limit: float, *most: int) -> Any:
        self._waits.append(limit)
        return self._poll(limit, *most)


class Waits:
    """What lanes wait with: ``epoll`` and ``select`` [s], and for those that are preferred [ms]."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.all: list[float] = []
        self.fine: list[float] = []
        self.preferred: list[float] = []
        epoll, poll, select_ = select.epoll, select.poll, select.select

        def fine(*arguments: Any) -> Any:
            self.fine.append(arguments[3])
            return select_(*arguments)

        monkeypatch.setattr(select, "epoll", lambda: Poll(epoll(), self.all))
        monkeypatch.setattr(select, "poll", lambda: Poll(poll(), self.preferred))
        monkeypatch.setattr(select, "select", fine)

    def of(self, lane: SocketLane, *seconds: float) -> tuple[list[float], ...]:
        """How it waits once, if it may wait for so long."""
        lists = self.all, self.fine, self.preferred
        for waits in lists:
            waits.clear()
        lane.spin_once(*seconds)
        return tuple(list(waits) for waits in lists)


def test_a_wait_takes_as_long_as_it_may(monkeypatch: pytest.MonkeyPatch) -> None:
    """Exactly, if it is short and the poll is one of the descriptors that ``select`` knows."""
    waits = Waits(monkeypatch)
    # The clock stands: lazy readers do not get anything because time has passed.
    with open_lanes(3, clock=lambda: 0) as lanes:
        lane = lanes[0]
        writer = lane.writer("/a", latched=False)
        lanes[1].reader("/a", lambda data, stamp, seq: None, lazy=True)
        needed = lanes[2].writer("/needed", latched=False)
        lane.reader("/needed", lambda data, stamp, seq: None)
        until(lanes, lambda: writer.readers == needed.readers == 1)
        assert waits.of(lane) == ([0.1], [], [])
        assert waits.of(lane, 0.01) == ([0.01], [], [])
        assert waits.of(lane, 0.009) == ([0], [0.009], [])
        assert waits.of(lane, 0.0) == ([0.0], [], [])
        for known, found in ((0, ([0.009], [], [])), (1, ([0], [0.009], []))):
            monkeypatch.setattr(module, "_SELECTABLE", lane._poll.fileno() + known)
            assert waits.of(lane, 0.009) == found
        for seconds, found in ((0.002, []), (0.02, [2.0])):
            lane.prefer("/needed")
            assert waits.of(lane, seconds)[2] == found
        # Lazy readers get what there is if nothing comes for a moment.
        writer.send(b"x")
        assert waits.of(lane, 0.002) == ([0], [0.002], [])
        assert lane.lazy
        assert waits.of(lane, 0.02) == ([0.002, pytest.approx(0.018)], [], [])
        assert not lane.lazy
        # What is here already is not waited for.
        lane.create_task(lambda: None)
        assert waits.of(lane, 60.0) == ([0], [], [])
        lane.reader("/a", lambda data, stamp, seq: None)
        writer.send(b"x")
        assert waits.of(lane, 60.0) == ([0], [], [])


def test_no_larger_descriptors_are_given_to_select() -> None:
    with suppress(OSError):  # it is not open
        select.select([module._SELECTABLE - 1], [], [], 0)
    with pytest.raises(ValueError, match="out of range"):
        select.select([module._SELECTABLE], [], [], 0)


class Noted:
    """What a lane tells of its waits."""

    def __init__(self) -> None:
        self.spins: list[tuple[int, int, int, int]] = []
        self.leaves: list[tuple[int, str]] = []

    def spun(self, began: int, slept: int, woke: int, ended: int) -> None:
        self.spins.append((began, slept, woke, ended))

    def sent(self, at: int, node: str) -> None:
        self.leaves.append((at, node))


def test_what_the_time_of_a_wait_is_spent_on_is_told() -> None:
    with open_lanes(2, clock=count().__next__) as lanes:
        writer = lanes[0].writer("/a", latched=False)
        lanes[1].reader("/a", lambda data, stamp, seq: None)
        until(lanes, lambda: writer.readers == 1)
        lanes[0].watch = noted = Noted()
        writer.send(b"x")
        for _ in range(2):
            lanes[0].spin_once(0)
        times = [time for spin in noted.spins for time in spin]
        assert times == sorted(set(times)) and len(times) == 8
        # It leaves once, while the first wait begins.
        ((at, node),) = noted.leaves
        assert node == "/1" and times[0] < at < times[1]


def test_lazy_readers_of_a_busy_writer_get_what_there_is_in_time() -> None:
    now = 0
    with open_lanes(2, clock=lambda: now) as lanes:
        writer = lanes[0].writer("/a", latched=False)
        lanes[1].reader("/a", lambda data, stamp, seq: None, lazy=True)
        until(lanes, lambda: writer.readers == 1)
        for start in (0, 10_000_000):
            writer.send(b"x")
            for time_ns in (start, start + 1_999_999):
                now = time_ns
                lanes[0].spin_once(0)
                assert lanes[0].lazy
            now = start + 2_000_000
            lanes[0].spin_once(0)
            assert not lanes[0].lazy
            lanes[0].spin_once(0)


def test_what_activations_send_leaves_together_unless_they_take_long() -> None:
    now = 7_000_000
    with open_lanes(2, clock=lambda: now) as lanes:
        near, far = lanes
        writer = near.writer("/a", latched=False)
        got: list[int] = []
        far.reader("/a", lambda data, stamp, seq: got.append(seq))
        until(lanes, lambda: writer.readers == 1)
        for number in range(2):
            writer.send(b"x", 0, number)
            near.sent(now + 199_999)
            far.spin_once(0)
        assert got == []
        near.sent(now + 200_000)
        far.spin_once(0)
        assert got == [0, 1]


TOPICS = ["/a", "/b"]
operations = st.lists(
    st.one_of(
        st.tuples(
            st.just("send"),
            st.integers(0, 2),
            st.sampled_from([0, 1, 1000, 70_000, 5 * MIB]),
        ),
        st.tuples(st.just("turn"), st.integers(0, 2), st.just(0)),
        st.tuples(st.just("urge"), st.integers(0, 2), st.just(0)),
    ),
    max_size=30,
)


@settings(max_examples=20)
@given(operations, st.tuples(*3 * [st.booleans()]))
def test_every_reader_gets_everything_in_order(
    steps: list[tuple[str, int, int]], lazy: tuple[bool, bool, bool]
) -> None:
    """All write one topic and read it, themselves included; threads take large messages in."""
    with open_lanes(3) as lanes:
        got: dict[tuple[int, int], list[int]] = {}
        writers = []
        for index, lane in enumerate(lanes):
            writers.append(lane.writer("/all", latched=False))

            def take(data: bytes, stamp: int, seq: int, index: int = index) -> None:
                assert data == bytes(len(data))
                got.setdefault((stamp, index), []).append(seq)

            lane.reader("/all", take, lazy=lazy[index])
        until(lanes, lambda: all(writer.readers == 3 for writer in writers))
        sent = [0, 0, 0]
        for kind, index, size in steps:
            if kind == "urge":
                lanes[index].urge()
            elif kind == "turn":
                lanes[index].spin_once(0)
            else:
                # More than a connection holds: its readers have to go on meanwhile.
                others = [lane for lane in lanes if lane is not lanes[index]]
                with serving(others if size > MIB else []):
                    writers[index].send(bytes(size), index, sent[index])
                sent[index] += 1
        until(
            lanes,
            lambda: all(
                len(got.get((writer, reader), ())) == sent[writer]
                for writer in range(3)
                for reader in range(3)
            ),
        )
    for (writer, _), numbers in got.items():
        assert numbers == list(range(sent[writer]))


@contextmanager
def serving(lanes: list[SocketLane]) -> Iterator[None]:
    """Lanes are served by threads of their own meanwhile."""
    over = threading.Event()

    def serve(lane: SocketLane) -> None:
        while not over.is_set():
            lane.spin_once(0.01)

    threads = [threading.Thread(target=serve, args=(lane,)) for lane in lanes]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        over.set()
        for thread in threads:
            thread.join()


def test_messages_of_others_wait_a_moment_for_the_one_that_is_needed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    got: list[str] = []
    with open_lanes(4) as lanes:

        def wait(seconds: float) -> None:
            lanes[0].prefer("/needed")
            lanes[0].spin_once(seconds)

        for topic in ("/needed", "/other"):
            lanes[0].reader(topic, lambda data, stamp, seq, topic=topic: got.append(topic))
        # Who writes it changes with who comes and goes.
        wait(0.01)
        gone, needed = (lanes[index].writer("/needed", latched=False) for index in (3, 1))
        other = lanes[2].writer("/other", latched=False)
        until(lanes, lambda: gone.readers == needed.readers == other.readers == 1)
        wait(0.01)
        lanes[3].close()
        until(lanes[:3], lambda: lanes[0].writers("/needed") == 1)
        monkeypatch.setattr(module, "PREFER_MS", 60_000)
        timer = threading.Timer(0.05, lanes[0].wake)
        timer.start()
        wait(100.0)
        timer.join()
        other.send(b"")
        lanes[2].flush()
        timer = threading.Timer(0.05, lambda: (needed.send(b""), lanes[1].flush()))
        timer.start()
        wait(100.0)
        timer.join()
        assert sorted(got) == ["/needed", "/other"]
        # Only for a moment, and only in one wait.
        monkeypatch.setattr(module, "PREFER_MS", 1)
        other.send(b"")
        lanes[2].flush()
        wait(100.0)
        assert got.count("/other") == 2


def test_messages_that_are_handled_alone_end_the_wait(lanes: list[SocketLane]) -> None:
    got: list[int] = []
    lanes[0].reader("/state", lambda data, stamp, seq: got.append(seq), alone=True)
    lanes[0].reader("/data", lambda data, stamp, seq: got.append(seq))
    state = lanes[1].writer("/state", latched=False)
    data = lanes[1].writer("/data", latched=False)
    until(lanes, lambda: state.readers == data.readers == 1)
    for number, writer in enumerate((data, state, state, data, data)):
        writer.send(b"", 0, number)
    lanes[1].flush()
    lanes[0].spin_once(60.0)
    assert got == [0, 1]
    lanes[0].spin_once(60.0)
    assert got == [0, 1, 2]
    lanes[0].spin_once(60.0)
    assert got == [0, 1, 2, 3, 4]


def test_what_is_shown_is_seen_and_the_last_one_wakes_the_clock(lanes: list[SocketLane]) -> None:
    """Lanes 1 and 2 run as far as lane 0 allows; a message that is replaced is not seen."""
    clock, *others = lanes
    allowed: dict[int, list[tuple[bytes, int, int]]] = {1: [], 2: []}
    done: list[tuple[int, int]] = []
    data: list[int] = []
    horizon = clock.writer("/horizon", latched=True, shown=True)
    horizon.send(b"", 5, 50)
    reports = []
    for number, lane in enumerate(others, 1):
        lane.reader("/horizon", lambda *m, n=number: allowed[n].append(m), latched=True)
        reports.append(lane.writer(f"/done{number}", latched=False, shown=True))
        clock.reader(
            f"/done{number}",
            lambda _, stamp, seq, n=number: done.append((n, stamp)),
            lazy=True,
        )
    stream = others[0].writer("/data", latched=False)
    clock.reader("/data", lambda _, stamp, seq: data.append(seq), lazy=True)
    until(lanes, lambda: all(allowed.values()) and stream.readers == 1)
    assert all(found == [(b"", 5, 50)] for found in allowed.values())
    for report in reports:
        report.send(b"", 1, 0)
        report.reach(1)
    until(lanes, lambda: len(done) == 2)
    done.clear()

    horizon.send(b"", 6, 60)
    horizon.send(b"", 7, 70)
    clock.aim(7)
    for lane in others:
        lane.spin_once(60.0)
    assert all(found[1:] == [(b"", 7, 70)] for found in allowed.values())
    stream.send(b"x", 0, 0)
    for step in (4, 7):
        reports[0].send(b"", step, 0)
        reports[0].reach(step)
    others[0].flush()
    clock.spin_once(0)
    # The first one has come as far, and so had its lazy readers told; the clock waits for both.
    assert (done, data) == ([(1, 7)], [0])
    reports[1].send(b"", 9, 0)
    reports[1].reach(FOREVER)
    others[1].flush()
    clock.spin_once(60.0)
    assert done == [(1, 7), (2, 9)]

    # One that is over is not waited for any more, and does not answer.
    clock.aim(8)
    others[1].spin_once(0)
    others[1].flush()
    reports[0].send(b"", 8, 0)
    reports[0].reach(8)
    others[0].flush()
    clock.spin_once(60.0)
    assert done[2:] == [(1, 8)]


def test_an_end_that_has_shown_nothing_yet_answers_with_its_first_message(
    lanes: list[SocketLane],
) -> None:
    """The clock aims before anything is there; and a second writer of the end comes later."""
    clock, other, _ = lanes
    first, second = (other.writer(f"/done{n}", latched=False, shown=True) for n in (1, 2))
    for number in (1, 2):
        clock.reader(f"/done{number}", lambda *message: None, lazy=True)
    until(lanes, lambda: first.readers == second.readers == 1)

    def has_rung() -> bool:
        rung = bool(select.select([clock._board.done], [], [], 0)[0])
        if rung:
            os.eventfd_read(clock._board.done)
        return rung

    clock.aim(7)
    other.flush()
    assert not has_rung()
    for writer in (first, second):
        writer.send(b"", 8, 0)
        writer.reach(8)
        other.flush()
        assert has_rung()
        other.flush()
        assert not has_rung()


def test_nothing_that_is_shown_overtakes_what_was_sent_after_it(lanes: list[SocketLane]) -> None:
    got: list[tuple[bytes, int]] = []
    writer = lanes[0].writer("/a", latched=False, shown=True)
    lanes[1].reader("/a", lambda data, stamp, seq: got.append((data, stamp)))
    until(lanes, lambda: writer.readers == 1)
    writer.send(b"", 1, 0)
    writer.send(b"content", 2, 0)
    lanes[0].spin_once(0)
    until(lanes, lambda: len(got) == 2)
    assert got == [(b"", 1), (b"content", 2)]


def test_a_reader_without_use_for_messages_is_found_and_gets_none(lanes: list[SocketLane]) -> None:
    got: list[str] = []
    writer = lanes[0].writer("/a", latched=True)
    lanes[1].reader("/a", lambda *_: got.append("used"), latched=True)
    lanes[2].reader("/a", lambda *_: got.append("unused"), latched=True, unused=True)
    until(lanes, lambda: writer.readers == 2)
    assert sorted(writer.reader_nodes) == ["/1", "/2"]
    writer.send(b"x")
    assert writer.flush()
    until(lanes, lambda: got == ["used"])
    for _ in range(3):
        lanes[2].spin_once(0)
    assert got == ["used"]
    # Another reader of the same process wants them.
    lanes[2].reader("/a", lambda *_: got.append("late"), latched=True)
    until(lanes, lambda: "late" in got)
    lanes[2].close()
    until(lanes[:2], lambda: writer.reader_nodes == ["/1"])
