# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""What a foreign node publishes in an activation, held against what is declared."""

from __future__ import annotations

from typing import Any

from ros2_cosim.core.kernel.errors import ProtocolError
from ros2_cosim.core.kernel.graph import OutputPort
from ros2_cosim.core.kernel.time import NEVER, format_ns
from ros2_cosim.core.messages.foreign import ForeignOutput, HeaderDelay
from ros2_cosim.core.messages.wiring import wire_codec
from ros2_cosim.ros.foreign.foreign_patience import Patience
from ros2_cosim.ros.foreign.foreign_topics import ForeignMessage


class CheckedOutput:
    """An output port: what the node has published on it, checked against what is declared.

    :param port: the port
    :param settings: what is expected on it
    :param received: the messages that have come since the last activation; filled elsewhere
    """

    def __init__(
        self,
        port: OutputPort,
        settings: ForeignOutput,
        received: list[ForeignMessage],
        patience: Patience,
    ) -> None:
        self.name = port.name
        self.settings = settings
        self._codec = wire_codec(port)
        #: Whether it sends one message in a run.
        self.sends_once = port.schedule == "once"
        self._least_ns = port.latency.minimum_ns
        self._delay = port.latency.draw if isinstance(port.latency.draw, HeaderDelay) else None
        self._received = received
        self._patience = patience
        #: Whether a message was published after the node had answered that it was done.
        self.came_late = False
        #: Whether others publish there, too: the numbers of one publisher follow each other.
        self.has_others = False
        #: Messages that were not sent on, where any number may come and the last one is sent.
        self.left_out = 0
        #: Of a message that was published before the first activation, and counts; 0: none was.
        self._early = 0
        self._sent = False
        #: Of the last message; 0: none has come this way.
        self.number = 0
        self._stamp = NEVER

    def begin(self, *, latched: bool = False) -> None:
        """Drop what the node published while it started: it belongs to no activation.

        A message of a port that sends once is kept, and the last one of a latched topic, which
        readers would get that come now: the first activation sends it, or one that follows it.

        :param latched: whether the topic is known to be latched
        """
        if not self._received or self.sends_once:
            return
        self.number = self._received[-1].number
        del self._received[:-1]
        if latched and self.settings.expect == "any" and self.settings.take == "last":
            self._early = self.number
            self.number -= 1
        else:
            self._received.clear()

    def is_complete(self) -> bool:
        """Whether nothing has to be waited for in this activation."""
        expected = self.settings.expect
        return expected == "any" or self._is_spent or len(self._received) >= expected

    @property
    def _is_spent(self) -> bool:
        return self.sends_once and self._sent

    def has_come(self, number: int) -> bool:
        """Whether the node's message with a number is here."""
        return max([self.number, *(message.number for message in self._received)]) >= number

    def missing(self) -> str:
        """What is not there yet."""
        return (
            f"output '{self.name}': {len(self._received)} of {self.settings.expect} messages came "
            f"on {self.settings.topic}"
        )

    def refuse_more(self) -> None:
        """Refuse what has come since the last activation.

        :raises ParticipantError: something has
        """
        if self._received:
            self._patience.fail(
                f"{len(self._received)} messages came on {self._place} that belong to no "
                "activation: the node publishes on its own account, or from several threads"
            )

    def take(self, time_ns: int, earliest: int | None, done: int) -> Any:
        """The value that an activation sends, None if it sends none.

        :param time_ns: of the activation
        :param done: wall time [ns] at which the callbacks were known to have returned; 0: unknown.
            Messages published later do not belong to them, whether they came in time or not
        :param earliest: messages published before this wall time [ns] belong to no activation;
            None: the wall clock of the node may be another one
        :raises ParticipantError: something else came than what is declared
        """
        taken = self._received[:]
        self._received.clear()
        for message in taken:
            self._check(message, earliest)
            if earliest is not None and 0 < done < message.published_ns:
                self.came_late = True
        found, allowed = len(taken), self.settings.expect
        wrong = found > 1 and self.settings.take == "only"
        if wrong or (allowed != "any" and found != allowed and not self._is_spent):
            self._patience.fail(
                f"{found} messages came on {self._place}; expected "
                f"{'is at most one' if allowed == 'any' else f'are {allowed}'}"
            )
        if not taken:
            return None
        self.left_out += found - 1 if allowed == "any" else 0
        if self._is_spent:
            self._patience.fail(
                f"a second message came on {self._place}, which is declared to be sent once"
            )
        self._sent = True
        try:
            value = self._codec.value(taken[-1].data)
        except ProtocolError as error:
            self._patience.fail(f"on {self._place} came: {error}")
        if self._delay is not None:
            self._delay.delay_ns = self._header_delay(taken[-1], time_ns)
        return value

    def _check(self, message: ForeignMessage, earliest: int | None) -> None:
        if self.number and message.number > self.number + 1:
            self._patience.fail(
                f"on {self._place} came the node's message number {message.number} after number "
                f"{self.number}: messages are lost"
            )
        if self.number and message.number <= self.number:
            self.has_others = True
        self.number = max(self.number, message.number)
        is_early = self.sends_once or message.number == self._early
        if earliest is not None and message.published_ns < earliest and not is_early:
            self._patience.fail(
                f"a message on {self._place} was published before this activation began: the node "
                "publishes on its own account, or from several threads"
            )

    def _header_delay(self, message: ForeignMessage, time_ns: int) -> int:
        stamp = self._codec.decode(message.data)[0]
        least = time_ns + self._least_ns
        most = least + self.settings.window
        if not least <= stamp <= most or stamp < self._stamp:
            allowed = format_ns(least)
            if most != least:
                allowed += f" to {format_ns(most)}"
            if stamp < self._stamp:
                allowed += f", and not before the last one ({format_ns(self._stamp)})"
            self._patience.fail(
                f"output '{self.name}': the node stamped its message {format_ns(stamp)}; allowed "
                f"is {allowed}"
            )
        self._stamp = stamp
        return stamp - time_ns

    @property
    def _place(self) -> str:
        return f"{self.settings.topic} (port '{self.name}')"
