# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""What a process without ROS offers to the models in it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from ros2_cosim.core.kernel.hop_watch import HopWatch
from ros2_cosim.core.kernel.participant import Host


def local_host(send: Callable[[str, Any], None], watch: HopWatch | None = None) -> Host:
    """A host for a model that waits for its own threads only.

    :param send: sends within an activation, as :class:`~ros2_cosim.core.kernel.participant.Host`
        says
    :param watch: takes note of exchanges with other processes
    """
    woken = threading.Event()

    def wait(seconds: float) -> None:
        woken.wait(seconds)
        # What is new was said before the call that woke: it is looked at after this.
        woken.clear()

    return Host(wait, woken.set, send=send, watch=watch)
