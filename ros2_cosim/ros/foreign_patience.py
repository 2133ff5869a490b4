# SPDX-License-Identifier: Apache-2.0
"""How long a foreign node is waited for, and what is said when it does not come."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable
from types import FrameType
from typing import NoReturn

from ros2_cosim.kernel.errors import ParticipantError
from ros2_cosim.kernel.time import NEVER
from ros2_cosim.ros.foreign_process import ForeignProcess


class Patience:
    """What the adapter does while it waits: notices signals, a dead process and a silent node.

    From its construction to :meth:`close` it has the signals of the process, for the node may
    keep the adapter waiting inside an activation.

    :param name: the participant
    :param seconds: wall time after which a silent node ends the run
    """

    def __init__(self, name: str, seconds: float) -> None:
        self.seconds = seconds
        #: The foreign process, if the adapter has started it.
        self.process: ForeignProcess | None = None
        #: Where in the run the adapter is, for error messages.
        self.place = "at the start"
        #: What a user can do about a node that does not appear.
        self.hint = ""
        self._name = name
        self._deadline = NEVER
        self._waits_for: Callable[[], str] = lambda: "nothing"
        self._interrupted = False
        self._previous = {
            number: signal.signal(number, self._on_signal)
            for number in (signal.SIGINT, signal.SIGTERM)
        }

    def begin(self, waits_for: Callable[[], str]) -> None:
        """Begin to wait for something new.

        :param waits_for: gives what is missing, for error messages
        """
        self._waits_for = waits_for
        self._deadline = time.monotonic_ns() + int(self.seconds * 1e9)

    def check(self) -> None:
        """Called while waiting.

        :raises ParticipantError: there is nothing to wait for any more, or it takes too long
        :raises KeyboardInterrupt: a signal asked the process to end
        """
        if self._interrupted:
            raise KeyboardInterrupt
        if self.process is not None:
            ended = self.process.ended()
            if ended is not None:
                self.fail(f"the foreign process {ended}. Missing: {self._waits_for()}")
        if time.monotonic_ns() > self._deadline:
            self.fail(
                f"the foreign node keeps the run waiting for {self.seconds:g} s. Missing: "
                f"{self._waits_for()}{self.hint}"
            )

    def fail(self, text: str) -> NoReturn:
        """End the run.

        :raises ParticipantError: always; it names the participant and the place
        """
        raise ParticipantError(f"participant '{self._name}', {self.place}: {text}")

    def close(self) -> None:
        """Give the signals back."""
        for number, handler in self._previous.items():
            if signal.getsignal(number) == self._on_signal:
                signal.signal(number, handler)

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        self._interrupted = True
        previous = self._previous.get(signal.Signals(number))
        if callable(previous):
            previous(number, frame)
