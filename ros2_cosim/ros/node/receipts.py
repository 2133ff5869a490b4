# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""What has reached a session: how many messages, and what its next wait has to raise.

Apart from the session: each message passes through here, so that this module is compiled, and the
session, whose callbacks the middleware looks into, is not.
"""

from __future__ import annotations

import signal
from collections.abc import Callable
from typing import Any

from ros2_cosim.core.kernel.errors import Cancelled
from ros2_cosim.core.kernel.time import NEVER


class Receipts:
    """The messages of one session, and what its next wait is for.

    :ivar first: a topic of whose writer something is needed before there is anything to do, if the
        session waits by itself
    :ivar rests: what runs there does nothing before this time [ns], whatever comes while it waits
    """

    def __init__(self) -> None:
        self.first = ""
        self.rests: int = NEVER
        #: Messages that have been handled.
        self.handled = 0
        #: The signal that asked the process to end; any thread may set it.
        self.stop_signal: int | None = None
        self._failure: Exception | None = None

    def guarded(self, receive: Callable[[Any, int, int], None]) -> Callable[[Any, int, int], None]:
        """A receiver that counts, and whose errors wait for :meth:`raise_pending`.

        :param receive: takes a message, its stamp and its sequence number
        """

        def guarded(message: Any, stamp: int, seq: int) -> None:
            self.handled += 1
            try:
                receive(message, stamp, seq)
            except Exception as error:  # it is raised again
                self.failed(error)

        return guarded

    def failed(self, error: Exception) -> None:
        """A receiver has raised an error; the first one counts."""
        if self._failure is None:
            self._failure = error

    @property
    def has_pending(self) -> bool:
        """Whether :meth:`raise_pending` would raise something."""
        return self._failure is not None or self.stop_signal is not None

    def raise_pending(self) -> None:
        """Raise what a receiver has raised.

        :raises Cancelled: the process was asked to end
        """
        if self._failure is not None:
            failure = self._failure
            self._failure = None
            raise failure
        if self.stop_signal is not None:
            raise Cancelled(signal.Signals(self.stop_signal).name)


def by_numbers(
    take: Callable[[bytes], None], numbers: Callable[[int, int], None] | None
) -> Callable[[bytes, int, int], None]:
    """A receiver of records, some of which two numbers stand for.

    :param take: takes the bytes of a record
    :param numbers: takes the two numbers of one without content; None: ``take`` does
    """

    def receive(data: bytes, stamp: int, seq: int) -> None:
        if data or numbers is None:
            take(data)
        else:
            numbers(stamp, seq)

    return receive
