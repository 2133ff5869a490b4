# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Where the messages of a run go: a bag, a view, or nowhere."""

from __future__ import annotations

from typing import Protocol


class Sink(Protocol):
    """Takes all messages of a run."""

    def write(self, topic: str, stamp_ns: int, seq: int, data: bytes) -> None:
        """Take one message in CDR."""

    def advance(self, time_ns: int) -> None:
        """Every message stamped before ``time_ns`` has been given."""

    def conclude(self, trace_sha256: str) -> None:
        """Everything has been given, and the run is complete with this trace."""

    def close(self) -> None:
        """It gets no more messages; a second call does nothing."""
