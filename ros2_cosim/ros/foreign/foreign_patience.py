# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""How long a foreign node is waited for, and what is said when it does not come."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable
from types import FrameType
from typing import NoReturn

from ros2_cosim.core.kernel.errors import ParticipantError
from ros2_cosim.core.kernel.time import NEVER
from ros2_cosim.ros.foreign.foreign_process import ForeignProcess

#: After so long [s of wall time] the user reads what is waited for.
TOLD_AFTER_S = 5.0


class NodeEndedError(ParticipantError):
    """A node that only calls others has done what it was for, and has ended in good order."""


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
        #: Whether it may end in good order.
        self.may_end = False
        #: Where in the run the adapter is, for error messages.
        self.place = "at the start"
        #: Gives what is known to be wrong with the node: the cause of its silence or its end.
        self.causes: Callable[[], list[str]] = list
        #: What a user can do about a node that does not appear.
        self.hint = ""
        self._name = name
        self._deadline = NEVER
        #: When the user is to read what is waited for, and what was read last.
        self._tell_at = NEVER
        self._told = ""
        self._waits_for: Callable[[], str] = lambda: "nothing"
        self._interrupted = False
        self._previous = {
            number: signal.signal(number, self._on_signal)
            for number in (signal.SIGINT, signal.SIGTERM)
        }

    def begin(self, waits_for: Callable[[], str]) -> None:
        """Begin to wait for something new.

        :param waits_for: gives what is missing, for messages
        """
        self._waits_for = waits_for
        now = time.monotonic_ns()
        self._deadline = now + int(self.seconds * 1e9)
        self._tell_at = now + int(TOLD_AFTER_S * 1e9)
        self._told = ""

    def check(self) -> None:
        """Called while waiting; says what is waited for when that lasts, and when it changes.

        :raises ParticipantError: there is nothing to wait for any more, or it takes too long
        :raises KeyboardInterrupt: a signal asked the process to end
        """
        if self._interrupted:
            raise KeyboardInterrupt
        if self.process is not None:
            ended = self.process.ended()
            if ended is not None:
                if self.may_end and self.process.ended_well:
                    raise NodeEndedError(f"participant '{self._name}': the node has ended")
                self.fail(f"the foreign process {ended}. Missing: {self._missing()}")
        now = time.monotonic_ns()
        if now > self._deadline:
            self.fail(
                f"the foreign node keeps the run waiting for {self.seconds:g} s. Missing: "
                f"{self._missing()}{self.hint}"
            )
        if now >= self._tell_at:
            missing = self._missing()
            if missing != self._told:
                self._told = missing
                place = f"participant '{self._name}', {self.place}"
                print(f"{place}: waits for the foreign node. Missing: {missing}", flush=True)

    def _missing(self) -> str:
        return "; ".join([self._waits_for(), *self.causes()])

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
