# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""When the thread of a run looks whether the middleware has anything for it.

A look takes some 80 us, most of which the processor is idle, and on a busy machine ten times as
long, until another thread has run. So looks that find nothing are rare enough to take a small
share of the time, and frequent enough for those that ask for something.
"""

from __future__ import annotations

#: Looks follow each other after this time at the earliest, and after the second one at the latest,
#: however long they take [ns of wall time].
EARLIEST_NS = 5_000_000
LATEST_NS = 20_000_000
#: So many times its length passes after a look that has found nothing.
_SHARE = 20


class Looks:
    """The times of looks.

    :param now: wall time [ns]
    """

    def __init__(self, now: int) -> None:
        self._next = now

    def is_due(self, now: int) -> bool:
        """Whether it is time for a look, at the wall time ``now`` [ns]."""
        return now >= self._next

    def looked(self, began: int, ended: int, *, found: bool) -> None:
        """A look is over.

        :param began: wall time [ns]
        :param ended: wall time [ns]
        :param found: whether a message was there, which others may follow
        """
        pause = EARLIEST_NS if found else max(_SHARE * (ended - began), EARLIEST_NS)
        self._next = ended + min(pause, LATEST_NS)
