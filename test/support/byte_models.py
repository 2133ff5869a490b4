# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""A participant that sends bytes and makes the next ones of what comes back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ros2_cosim.core.kernel.errors import ParticipantError
from ros2_cosim.core.kernel.model import Model
from ros2_cosim.core.kernel.participant import ModelContext, Step
from ros2_cosim.core.messages.catalogue import DEFAULT as CATALOGUE

Octets: Any = CATALOGUE.record("std_msgs/msg/UInt8MultiArray")


class World(Model):
    """Sends one byte more each time; some messages are empty, and some long.

    What comes back is each byte of the message before, raised by the number of steps until then.
    """

    def __init__(self, context: ModelContext, parameters: Any) -> None:
        self.count = 0
        self.sent = b""

    def activate(self, step: Step) -> Mapping[str, Any]:
        seen = step.latest["seen"]
        found = b"" if seen is None else bytes(seen.value.data)
        steps = max(0, self.count - 1)
        expected = bytes((byte + steps) % 256 for byte in self.sent) if steps else b""
        if found != expected:
            raise ParticipantError(f"found {found[:9]!r} after {steps} steps, not {expected[:9]!r}")
        self.count += 1
        self.sent = found[:40] + bytes([self.count % 256]) * (70_000 if self.count == 20 else 1)
        if self.count % 7 == 0:
            self.sent = b""
        return {"view": Octets(data=self.sent)}
