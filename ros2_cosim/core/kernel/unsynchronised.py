# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Messages of nodes that take no part in the simulated time.

A node without simulated time cannot be waited for: its messages come when they come. A port that
reads them shows at each activation what has been received since the one before, stamped with the
time of that activation. The participant sends what it read as the output port ``NAME/received``, so
that the record says which activation read what.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any, Final

from ros2_cosim.core.kernel.participant import Sample

#: So many messages are kept between two activations; older ones are dropped.
KEPT: Final = 2000


def received_port(port: str) -> str:
    """The output port that tells what an unsynchronised input port has read."""
    return f"{port}/received"


class Inbox:
    """What has been received on one unsynchronised input port.

    :param port: the input port
    """

    def __init__(self, port: str) -> None:
        self.port = port
        self._waiting: deque[Any] = deque(maxlen=KEPT)
        self._newest: Sample | None = None
        #: Time of the first activation that read a message [ns]; None: nothing has been read.
        self.first_read: int | None = None

    def receive(self, value: Any) -> None:
        """Take a message, at any time."""
        self._waiting.append(value)

    def read(
        self,
        time: int,
        samples: dict[str, tuple[Sample, ...]],
        latest: dict[str, Sample | None],
        record: Callable[[str, Any], Sample],
    ) -> None:
        """Show an activation what has been received since the one before.

        :param record: sends a value on an output port and gives the sample that it became
        """
        taken = []
        for _ in range(len(self._waiting)):
            taken.append(record(received_port(self.port), self._waiting.popleft()))
        if taken:
            self._newest = taken[-1]
            if self.first_read is None:
                self.first_read = time
        samples[self.port] = tuple(taken)
        latest[self.port] = self._newest
