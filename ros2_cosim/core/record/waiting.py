# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Messages that wait for their place in a bag: each topic is known by its number there."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from ros2_cosim.core.kernel.errors import CausalityError, ConfigurationError

#: (stamp, topic, sequence number, bytes): they are sorted as they lie in the bag.
Waiting = list[tuple[int, int, int, bytes]]


class WaitingRoom:
    """Takes the messages of a bag in any order.

    :param bag: the bag, for messages
    :param numbers: topic -> number
    :param left_out: further topics, whose messages are not wanted
    :ivar complete_to: no message stamped before this may come [ns]
    :ivar waiting: what has come
    """

    __slots__ = ("_bag", "_left_out", "_numbers", "complete_to", "waiting")

    def __init__(self, bag: str, numbers: Mapping[str, int], left_out: Collection[str]) -> None:
        self._bag = bag
        self._numbers = dict(numbers)
        self._left_out = frozenset(left_out)
        self.complete_to = 0
        self.waiting: Waiting = []

    def take(self, topic: str, stamp_ns: int, seq: int, data: bytes) -> None:
        """Take one message, in CDR.

        :raises CausalityError: its stamp lies before ``complete_to``
        :raises ConfigurationError: the topic was not declared
        """
        if stamp_ns < self.complete_to:
            raise CausalityError(
                f"bag {self._bag}: message {seq} of {topic} is stamped {stamp_ns} ns, but "
                f"all messages before {self.complete_to} ns were declared complete"
            )
        number = self._numbers.get(topic)
        if number is None:
            if topic in self._left_out:
                return
            raise ConfigurationError(f"bag {self._bag}: topic {topic} was not declared")
        self.waiting.append((stamp_ns, number, seq, data))
