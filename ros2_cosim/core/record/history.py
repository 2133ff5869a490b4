# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""What a viewer that comes late is shown of a topic."""

from __future__ import annotations

from collections import deque

#: Messages closer together than this [ns of simulated time] are not all kept: a curve of the past
#: needs no more of them.
APART_NS = 100_000_000
#: So many messages are kept of a topic, 20 s of a fast one; of a latched one they all count.
KEPT = 200
KEPT_LATCHED = 2000
#: Newer messages push older ones out beyond so many bytes of a topic (pictures, point clouds).
KEPT_BYTES = 4 << 20


class TopicHistory:
    """The past of one topic, thinned out, and its newest message.

    :param latched: all messages matter, whatever their times
    """

    def __init__(self, latched: bool = False) -> None:
        self._apart = 0 if latched else APART_NS
        self._kept: deque[tuple[int, bytes]] = deque()
        self._most = KEPT_LATCHED if latched else KEPT
        self._bytes = 0
        self._newest: tuple[int, bytes] | None = None

    def add(self, stamp_ns: int, data: bytes) -> None:
        """Take a message."""
        kept = self._kept
        self._newest = (stamp_ns, data)
        if kept and stamp_ns - kept[-1][0] < self._apart:
            return
        kept.append(self._newest)
        self._bytes += len(data)
        while len(kept) > self._most or (self._bytes > KEPT_BYTES and len(kept) > 1):
            self._bytes -= len(kept.popleft()[1])

    def messages(self) -> list[tuple[int, bytes]]:
        """(stamp [ns], message), in the order in which they came."""
        found = list(self._kept)
        if self._newest is not None and (not found or found[-1] is not self._newest):
            found.append(self._newest)
        return found
