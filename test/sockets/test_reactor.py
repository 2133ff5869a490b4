# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The reactor: what it calls, in which order, and when its waits end."""

import os
import signal
import socket
import threading
import time
from collections.abc import Iterator

import pytest
from support.patience import HANG_S

from ros2_cosim.core.sockets.reactor import Reactor, Waker

MS = 1_000_000


@pytest.fixture
def reactor() -> Iterator[Reactor]:
    with Reactor() as made:
        yield made


@pytest.fixture
def pair() -> Iterator[tuple[socket.socket, socket.socket]]:
    near, far = socket.socketpair()
    with near, far:
        near.setblocking(False)
        far.setblocking(False)
        yield near, far


def soon() -> int:
    return time.monotonic_ns() + int(HANG_S * 1000) * MS


def test_a_readable_socket_is_called_until_it_is_read_empty(reactor, pair):
    near, far = pair
    got = []
    reactor.watch(near, lambda: got.append(near.recv(1)))
    far.send(b"ab")
    assert reactor.turn(soon()) and reactor.turn(soon())
    assert got == [b"a", b"b"]
    assert not reactor.turn(0)


def test_a_watch_is_replaced_and_forgotten(reactor, pair):
    near, far = pair
    called = []
    far.send(b"x")
    reactor.watch(near, lambda: called.append("first"))
    reactor.watch(near, lambda: called.append("second"), lambda: called.append("writable"))
    reactor.turn(0)
    assert called == ["writable", "second"]
    reactor.watch(near, None)
    assert not reactor.turn(0)
    reactor.forget(near)
    near.close()
    reactor.forget(near)


def test_a_socket_forgotten_in_the_same_turn_is_not_called(reactor):
    pairs = [socket.socketpair() for _ in range(2)]
    called = []

    def once(index: int) -> None:
        called.append(index)
        for near, _ in pairs:
            reactor.forget(near)
            near.close()

    for index, (near, far) in enumerate(pairs):
        far.send(b"x")
        reactor.watch(near, lambda index=index: once(index))
    reactor.turn(soon())
    assert len(called) == 1
    for _, far in pairs:
        far.close()


def test_a_callback_may_wait_itself_and_leave_its_own_socket_out(reactor):
    """A slave takes what lies on its other connections before it computes."""
    pairs = [socket.socketpair() for _ in range(3)]
    order = []

    def take(index: int) -> None:
        near = pairs[index][0]
        try:
            near.recv(1)
        except BlockingIOError:  # it was served by the wait inside the first callback
            return
        order.append(index)
        if order == [index]:  # the first one serves the rest
            pairs[index][1].send(b"more")
            while reactor.serve_ready(without=near):
                pass
            order.append("back")

    for index, (near, far) in enumerate(pairs):
        near.setblocking(False)
        far.send(b"x")
        reactor.watch(near, lambda index=index: take(index))
    reactor.turn(soon())
    first = order[0]
    others = sorted({0, 1, 2} - {first})
    assert sorted(order[1:3]) == others and order[3] == "back"
    for near, far in pairs:
        near.close()
        far.close()


def test_what_comes_before_a_wait_comes_once_and_not_while_something_is_ready(reactor, pair):
    near, far = pair
    got = []

    def read() -> None:
        got.append(near.recv(1))
        reactor.before_wait(lambda: got.append("wait"))
        reactor.serve_ready(without=near)  # looks without waiting
        reactor.turn(0)

    reactor.watch(near, read)
    far.send(b"a")
    reactor.turn(soon())
    reactor.turn(0)
    assert got == [b"a"]
    for _ in range(2):
        reactor.wake()  # a wait that ends at once
        reactor.turn(soon())
        assert got == [b"a", "wait"]
    far.send(b"b")
    reactor.turn(soon())
    assert got == [b"a", "wait", b"b"]


def test_timers_come_in_order_of_time_then_of_their_making(reactor):
    called, times = [], []

    def call(name: str) -> None:
        called.append(name)
        times.append(time.monotonic_ns())

    now = time.monotonic_ns()
    reactor.call_at(now + 3600_000 * MS, lambda: call("not in this test"))
    reactor.call_at(now + 2 * MS, lambda: call("late"))
    reactor.call_at(now - 1, lambda: call("first"))
    reactor.call_at(now - 1, lambda: call("second"))
    assert not reactor.turn(0)
    # On a busy machine the third may be due by now.
    assert called[:2] == ["first", "second"]
    assert reactor.run_until(lambda: len(called) == 3, soon())
    assert called[2] == "late"
    assert times[2] >= now + 2 * MS


def test_periodic_work_that_is_late_does_not_keep_sockets_waiting(reactor, pair):
    near, far = pair
    called = []
    reactor.watch(near, lambda: called.append(near.recv(1)))

    def work() -> None:
        called.append("work")
        assert len(called) < 10
        reactor.call_at(time.monotonic_ns() - 1000 * MS, work)

    far.send(b"x")
    reactor.call_at(0, work)
    reactor.turn(soon())
    far.send(b"y")
    reactor.turn(soon())
    assert called == [b"x", "work", b"y", "work"]


def test_a_wait_ends_at_its_deadline_and_never_before(reactor):
    deadline = time.monotonic_ns() + 3 * MS
    assert not reactor.run_until(lambda: False, deadline)
    assert time.monotonic_ns() >= deadline


def test_a_deadline_in_the_far_future_is_allowed(reactor, pair):
    near, far = pair
    reactor.watch(near, lambda: near.recv(1))
    far.send(b"x")
    assert reactor.turn(1 << 80)
    reactor.call_later(1 << 80, lambda: None)
    far.send(b"x")
    assert reactor.turn()


def test_an_exception_ends_the_turn_and_the_reactor_goes_on(reactor, pair):
    near, far = pair
    far.send(b"x")

    def fail() -> None:
        near.recv(1)
        raise ValueError("from the callback")

    reactor.watch(near, fail)
    reactor.call_at(0, lambda: called.append(1))
    called = []
    with pytest.raises(ValueError, match="from the callback"):
        reactor.turn()
    reactor.turn(0)
    assert called == [1]


def test_stop_from_another_thread_ends_a_wait_without_limit(reactor):
    threading.Timer(0.02, reactor.stop).start()
    reactor.run()
    assert reactor.stopped


def test_stop_before_run_is_kept(reactor):
    reactor.stop()
    reactor.run()
    assert not reactor.run_until(lambda: False)


def test_a_wake_before_the_wait_is_not_lost_and_does_not_last(reactor):
    for _ in range(100_000):  # more than the socket's buffer holds
        reactor.wake()
    assert reactor.turn()  # without a limit: it would hang
    while reactor.turn(0):
        pass
    assert not reactor.turn(time.monotonic_ns() + MS)


def test_wake_is_safe_while_and_after_the_waker_closes():
    """No descriptor of another socket may receive a wake of a closed waker."""
    for _ in range(50):
        waker = Waker()
        ending = threading.Event()

        def wake(waker: Waker = waker, ending: threading.Event = ending) -> None:
            while not ending.is_set():
                waker.wake()

        threads = [threading.Thread(target=wake) for _ in range(3)]
        for thread in threads:
            thread.start()
        waker.close()
        pairs = [socket.socketpair() for _ in range(4)]  # reuse the descriptors
        for _ in range(20):
            waker.wake()
        ending.set()
        for thread in threads:
            thread.join()
        for near, far in pairs:
            near.setblocking(False)
            with pytest.raises(BlockingIOError):
                near.recv(1)
            near.close()
            far.close()


def test_a_signal_ends_the_wait_and_former_handlers_come_back(reactor):
    before = signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT)
    seen = []

    def send() -> None:
        os.kill(os.getpid(), signal.SIGTERM)

    with reactor.handling(seen.append):
        for count in range(1, 4):
            sender = threading.Timer(0.01, send)
            sender.start()
            assert reactor.run_until(lambda count=count: len(seen) == count, soon())
            sender.join()
    assert seen == [signal.SIGTERM] * 3
    assert (signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT)) == before
    assert signal.set_wakeup_fd(-1) == -1


def test_a_signal_after_the_close_is_handled_without_a_word(capfd):
    reactor = Reactor()
    seen = []
    with reactor.handling(seen.append):
        reactor.close()
        os.kill(os.getpid(), signal.SIGTERM)
        assert seen == [signal.SIGTERM]
    assert capfd.readouterr().err == ""
    assert signal.set_wakeup_fd(-1) == -1


def test_signals_are_left_alone_outside_the_main_thread(reactor):
    before = signal.getsignal(signal.SIGTERM)
    seen = []

    def look() -> None:
        with reactor.handling(lambda number: None):
            seen.append(signal.getsignal(signal.SIGTERM))

    thread = threading.Thread(target=look)
    thread.start()
    thread.join()
    assert seen == [before]
