# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Sends heartbeats while the program does something outside the master."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from ros2_cosim.dcp.standard.errors import DcpError


class HeartbeatThread:
    """A thread that calls ``beat`` while the master's lock is free.

    :param lock: held by every method of the master
    :param beat: sends what is due and takes what has come
    """

    def __init__(self, lock: threading.RLock, beat: Callable[[float], None]) -> None:
        self._lock = lock
        self._beat = beat
        self._closed = threading.Event()
        self._thread: threading.Thread | None = None
        self._error: Exception | None = None

    def start(self, pause_s: float) -> None:
        """Beat every ``pause_s`` seconds from now on; a second call changes nothing."""
        if self._thread is None:
            self._thread = threading.Thread(
                target=self._run, args=(pause_s,), name="dcp-heartbeat", daemon=True
            )
            self._thread.start()

    def stop(self) -> None:
        """End the thread."""
        self._closed.set()
        if self._thread is not None:
            self._thread.join()
            self._thread = None

    def raise_error(self) -> None:
        """Raise the error that the thread met, if any; a step of the master does this."""
        error, self._error = self._error, None
        if error is not None:
            raise error

    def _run(self, pause_s: float) -> None:
        while not self._closed.wait(pause_s):
            if not self._lock.acquire(timeout=pause_s):
                continue
            try:
                self._beat(time.monotonic())
            except DcpError as error:
                self._error = error
                return
            finally:
                self._lock.release()
