# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""What takes note of a model's exchange with another process, in a run that is profiled."""

from __future__ import annotations

from typing import Protocol


class HopWatch(Protocol):
    """Is told by the thread that the exchange takes place on."""

    def sleeps(self) -> None:
        """The thread begins to wait for another process."""

    def woke(self) -> None:
        """The wait is over."""

    def sent(self, process: str) -> None:
        """Something leaves for a process."""
