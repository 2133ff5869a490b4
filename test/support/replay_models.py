# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Writers, and a reader that sends on what it reads."""

from __future__ import annotations

from ros2_cosim.core.kernel.model import Model
from ros2_cosim.core.messages.records import Acceleration


class Silent(Model):
    """Sends nothing."""

    def activate(self, step):
        """Send nothing."""
        return {}


class Echo(Model):
    """Sends on the newest ``text``."""

    def activate(self, step):
        """Send it on."""
        return {"text": step.latest["text"].value}


class Counter(Model):
    """Sends accelerations 0, 1, 2, ... m/s^2."""

    def __init__(self, context, parameters):
        self._next = 0

    def activate(self, step):
        """Send the next one."""
        self._next += 1
        return {"out": Acceleration(self._next - 1.0, 0.0, 0.0)}
