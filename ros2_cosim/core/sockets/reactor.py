# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The one event loop: it waits for sockets and timers, and calls back.

The reactor has no thread. It runs in the thread that calls :meth:`Reactor.run` (a server) or
:meth:`Reactor.turn` (a client that waits for an answer). Other threads and signal handlers may
call :meth:`Reactor.stop` and :meth:`Reactor.wake` and nothing else.

Times are ``time.monotonic_ns()``. A wait is rounded up to the resolution of the operating system
(1 ms), so that a timer is never early.
"""

from __future__ import annotations

import heapq
import itertools
import selectors
import signal
import socket
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from math import inf
from time import monotonic_ns
from typing import Protocol

from ros2_cosim.core.sockets.brief_waits import BriefWaits

Callback = Callable[[], object]

#: The longest single wait [s]; selectors refuse waits that do not fit into their integers.
_LONGEST_WAIT_S = 3600.0
_NS = 1e-9


class Descriptor(Protocol):
    """A socket, or an object that holds one."""

    def fileno(self) -> int:
        """Number of the open socket."""


class Waker:
    """Makes one waiting thread return from its wait: a socket pair with a byte in it.

    Any thread and any signal handler may call :meth:`wake`, also after :meth:`close`. Wakes that
    come before the reader has seen the first one count as one.
    """

    def __init__(self) -> None:
        self._receiver, self._sender = socket.socketpair()
        self._receiver.setblocking(False)
        self._sender.setblocking(False)
        # Reentrant: a signal handler may wake while its own thread does. Without a lock, close()
        # could free the descriptor between its lookup and its use in another thread.
        self._lock = threading.RLock()

    def fileno(self) -> int:
        """Readable after a wake."""
        return self._receiver.fileno()

    @property
    def writable_descriptor(self) -> int:
        """For ``signal.set_wakeup_fd``: a byte written here is a wake."""
        return self._sender.fileno()

    def wake(self) -> None:
        """Make the reader's wait end, now or when it next begins."""
        # A full buffer wakes as well; a closed waker has no reader.
        with self._lock, suppress(OSError):
            self._sender.send(b"\0")

    def drain(self) -> None:
        """Forget all wakes so far (the reader calls this)."""
        with suppress(OSError):
            self._receiver.recv(4096)

    def close(self) -> None:
        """Release both sockets."""
        with self._lock:
            self._sender.close()
            self._receiver.close()


class _Watch:
    """What to call for one socket; both None once the socket is forgotten."""

    __slots__ = ("readable", "writable")

    def __init__(self, readable: Callback | None, writable: Callback | None) -> None:
        self.readable = readable
        self.writable = writable


class Reactor:
    """Calls back when sockets are ready or timers are due.

    Callbacks may watch and forget sockets, set timers, and wait themselves (:meth:`turn`,
    :meth:`serve_ready`): a socket that was forgotten meanwhile is not called any more, and one
    that was read meanwhile may be called once with nothing to read, so watched sockets must not
    block. A callback that raises ends the turn with its exception; the reactor stays usable.

    :param look_ns: how long it looks for messages before it sleeps, see :class:`BriefWaits`
    """

    def __init__(self, look_ns: int = 0) -> None:
        self._selector = selectors.DefaultSelector()
        self._waits = BriefWaits(look_ns)
        self._timers: list[tuple[int, int, Callback]] = []
        self._before_wait: list[Callback] = []
        self._timer_numbers = itertools.count()
        self._stopped = False
        self._waker = Waker()
        self._sleeps: Callback | None = None
        self._woke: Callback | None = None
        #: What signals woke before; None: this reactor handles none.
        self._former_wakeup: int | None = None
        self.watch(self._waker, self._waker.drain)

    # -- what to wait for ------------------------------------------------------------------------

    def watch(
        self,
        sock: Descriptor,
        on_readable: Callback | None,
        on_writable: Callback | None = None,
    ) -> None:
        """Call back while ``sock`` can be read or written; replaces an earlier watch.

        A socket stays ready until it is read empty (level-triggered), so that a callback may read
        a bounded amount and leave the rest to the next turn. The end of a connection and an error
        count as readable. With both callbacks None the socket is forgotten. Forget a socket before
        it is closed.
        """
        events = (selectors.EVENT_READ if on_readable else 0) | (
            selectors.EVENT_WRITE if on_writable else 0
        )
        if not events:
            self.forget(sock)
            return
        known = self._selector.get_map().get(sock)
        if known is None:
            self._selector.register(sock, events, _Watch(on_readable, on_writable))
            return
        known.data.readable, known.data.writable = on_readable, on_writable
        if known.events != events:
            self._selector.modify(sock, events, known.data)

    def forget(self, sock: Descriptor) -> None:
        """Call back no more for ``sock``; nothing happens if it is not watched."""
        with suppress(KeyError, ValueError):  # not watched, or closed
            watch: _Watch = self._selector.unregister(sock).data
            watch.readable = watch.writable = None

    def call_at(self, time_ns: int, callback: Callback) -> None:
        """Call once, when the monotonic clock has reached ``time_ns``."""
        heapq.heappush(self._timers, (time_ns, next(self._timer_numbers), callback))

    def call_later(self, delay_ns: int, callback: Callback) -> None:
        """Call once, ``delay_ns`` from now; callbacks that are due together keep their order."""
        self.call_at(monotonic_ns() + delay_ns, callback)

    def before_wait(self, callback: Callback) -> None:
        """Call once, when all that is ready has been served and the next wait begins."""
        self._before_wait.append(callback)

    def note_waits(self, sleeps: Callback | None, woke: Callback | None) -> None:
        """Call ``sleeps`` when a wait begins and ``woke`` when it is over, before any callback.

        None: no call.
        """
        self._sleeps, self._woke = sleeps, woke

    # -- waiting ---------------------------------------------------------------------------------

    def run(self) -> None:
        """Serve until :meth:`stop`."""
        while not self._stopped:
            self.turn()

    def run_until(self, done: Callable[[], bool], deadline_ns: int | None = None) -> bool:
        """Serve until ``done()``, :meth:`stop` or the deadline; returns ``done()``.

        :param done: asked after every turn, and once before the first
        :param deadline_ns: monotonic time; None waits without limit
        """
        while not done():
            if self._stopped or (deadline_ns is not None and monotonic_ns() >= deadline_ns):
                return False
            self.turn(deadline_ns)
        return True

    def turn(self, deadline_ns: int | None = None) -> bool:
        """Wait once, then serve what is ready and what is due.

        The wait ends when a socket is ready, a timer is due, :meth:`wake` was called or the
        deadline has come; it may end early without a reason.

        :param deadline_ns: monotonic time; None waits without limit, 0 (the past) does not wait
        :return: whether a socket was ready
        """
        timers = self._timers
        if timers and (deadline_ns is None or timers[0][0] < deadline_ns):
            deadline_ns = timers[0][0]
        if deadline_ns is None:
            served = self._serve(None)
        else:
            left = (deadline_ns - monotonic_ns()) * _NS if deadline_ns > 0 else 0.0
            served = self._serve(left if left < _LONGEST_WAIT_S else _LONGEST_WAIT_S)
        if timers:
            # Timers that the callbacks set wait for the next turn, or a server that is late
            # with its periodic work would not serve its sockets any more.
            now, limit = monotonic_ns(), next(self._timer_numbers)
            while timers and timers[0][0] <= now and timers[0][1] < limit:
                heapq.heappop(timers)[2]()
        return served

    def serve_ready(self, without: Descriptor | None = None) -> bool:
        """Serve the sockets that are ready now, without waiting and without timers.

        :param without: leave this socket for later
        :return: whether another socket was ready
        """
        return self._serve(0.0, -1 if without is None else without.fileno())

    def _select(self, seconds: float) -> list[tuple[selectors.SelectorKey, int]]:
        return self._selector.select(None if seconds == inf else seconds)

    def _serve(self, timeout_s: float | None, without: int = -1) -> bool:
        served = False
        if self._before_wait and (timeout_s is None or timeout_s > 0.0):
            callbacks, self._before_wait = self._before_wait, []
            for callback in callbacks:
                callback()
        if timeout_s == 0.0:
            ready = self._selector.select(0.0)
        elif self._sleeps is None or self._woke is None:
            ready = self._waits.wait(self._select, inf if timeout_s is None else timeout_s)
        else:
            self._sleeps()
            ready = self._waits.wait(self._select, inf if timeout_s is None else timeout_s)
            self._woke()
        for key, events in ready:
            if key.fd == without:
                continue
            watch: _Watch = key.data
            served = True
            if events & selectors.EVENT_WRITE and watch.writable is not None:
                watch.writable()
            if events & selectors.EVENT_READ and watch.readable is not None:
                watch.readable()
        return served

    # -- from other threads and signal handlers --------------------------------------------------

    @property
    def stopped(self) -> bool:
        """Whether :meth:`stop` was called."""
        return self._stopped

    def stop(self) -> None:
        """End :meth:`run` after the current turn, or before its first one."""
        self._stopped = True
        self._waker.wake()

    def wake(self) -> None:
        """Make the current wait, or the next one, end at once."""
        self._waker.wake()

    @contextmanager
    def handling(
        self,
        handler: Callable[[int], None],
        signals: Iterable[int] = (signal.SIGTERM, signal.SIGINT),
    ) -> Iterator[None]:
        """Handle signals while the block runs; each one also wakes the reactor.

        Without the wake, a signal between the last check and the wait would be handled only when
        something else ends the wait. Outside the main thread, where Python takes no handlers, the
        block runs without them.
        """
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        former = {
            number: signal.signal(number, lambda number, frame: handler(number))
            for number in signals
        }
        self._former_wakeup = signal.set_wakeup_fd(
            self._waker.writable_descriptor, warn_on_full_buffer=False
        )
        try:
            yield
        finally:
            self._leave_signals()
            for number, action in former.items():
                # None: a handler that was not installed from Python cannot be put back.
                signal.signal(number, signal.SIG_DFL if action is None else action)

    def _leave_signals(self) -> None:
        """Signals wake this reactor no longer."""
        if self._former_wakeup is None or (
            threading.current_thread() is not threading.main_thread()
        ):
            return
        signal.set_wakeup_fd(self._former_wakeup)
        self._former_wakeup = None

    def close(self) -> None:
        """Release the reactor's own descriptors; the watched sockets stay open."""
        # It may be closed while it still handles signals: none may be written to a closed socket.
        self._leave_signals()
        self._selector.close()
        self._timers.clear()
        self._waker.close()

    def __enter__(self) -> Reactor:
        return self

    def __exit__(self, *ignored: object) -> None:
        self.close()
