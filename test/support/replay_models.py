# SPDX-License-Identifier: Apache-2.0
"""A writer whose messages come from a recording, and a reader that sends them on."""

from __future__ import annotations

from ros2_cosim.kernel.model import Model


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
