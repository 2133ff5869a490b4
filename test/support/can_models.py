# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Participants at a CAN bus, for tests."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ros2_cosim.core.documents.settings import Section
from ros2_cosim.core.kernel.model import FullModel, Model
from ros2_cosim.core.kernel.participant import ModelContext, Step
from ros2_cosim.core.messages.catalogue import DEFAULT
from ros2_cosim.dcp.slave.slave_model import Input, Output, SlaveModel, StepInfo
from ros2_cosim.driving.can.frames import BusFrame
from ros2_cosim.driving.can.messages import CAN_COMMAND, message_of


class CountedFrames(Section):
    """Which frames are sent."""

    id: int = 1
    length: int = 1
    fd: bool = False


class FrameCounter(FullModel):
    """Sends a numbered frame at each activation, and counts what it is told."""

    Parameters = CountedFrames

    def __init__(self, context: ModelContext, parameters: CountedFrames) -> None:
        self._parameters = parameters
        self._number = self._heard = 0

    def activate(self, step: Step) -> Mapping[str, Any]:
        self._number += 1
        data = bytes([self._number % 256, self._heard % 256] * 4)[: self._parameters.length]
        fd = self._parameters.fd
        frame = BusFrame(self._parameters.id, fd=fd, bit_rate_switch=fd, data=data)
        return {"frame": message_of(frame)}

    def handle_message(self, port: str, step: Step) -> Mapping[str, Any]:
        self._heard += 1
        return {}


class CommandSender(Model):
    """Stops a controller at its third activation, and starts it at the sixth, faster."""

    def __init__(self, context: ModelContext, parameters: Any) -> None:
        self._number = 0

    def activate(self, step: Step) -> Mapping[str, Any]:
        self._number += 1
        command = DEFAULT.record(CAN_COMMAND)
        if self._number == 3:
            return {"command": command(command=command.STOP)}
        if self._number == 6:
            return {"command": command(command=command.START, bit_rate=1_000_000)}
        return {}


class ForwardingUnit(SlaveModel):
    """A DCP slave: sends on what it has heard last, under identifiers of its own."""

    heard_id = Input("uint32", start=0, variability="discrete")
    heard = Input("binary", start=b"", variability="discrete")
    sent_id = Output("uint32", start=0x200, variability="discrete")
    sent = Output("binary", start=b"", variability="discrete")

    def do_step(self, step: StepInfo) -> None:
        self.sent_id = 0x200 + self.heard_id % 0x100
        self.sent = self.heard
