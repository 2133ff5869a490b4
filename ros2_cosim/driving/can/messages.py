# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Frames as messages: this project's, and those of other ROS packages by seams.

``can_msgs/msg/Frame``: ros-industrial/ros_canopen, commit 21a98882, can_msgs/msg/Frame.msg.
``ros2_socketcan_msgs/msg/FdFrame``: autowarefoundation/ros2_socketcan, commit 822ca033; it does not
say whether the data have a higher bit rate, which the seam's parameter does.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from pydantic import Field

from ros2_cosim.core.documents.settings import Section
from ros2_cosim.core.messages.catalogue import DEFAULT
from ros2_cosim.core.messages.seams import InputSeam, NoParameters, OutputSeam, SeamPlace
from ros2_cosim.driving.can.frames import BusFrame

CAN_COMMAND: Final = "ros2_cosim/msg/CanCommand"
CAN_EVENT: Final = "ros2_cosim/msg/CanEvent"
CAN_FRAME: Final = "ros2_cosim/msg/CanFrame"
STANDARD_FRAME: Final = "can_msgs/msg/Frame"
STANDARD_FD_FRAME: Final = "ros2_socketcan_msgs/msg/FdFrame"
_CLASSIC_LONGEST: Final = 8


def frame_of(message: Any) -> BusFrame:
    """The frame of a ``CanFrame``."""
    return BusFrame(
        message.id,
        message.extended,
        message.remote,
        message.fd,
        message.bit_rate_switch,
        message.error_passive,
        bytes(message.data),
        message.requested,
    )


def message_of(frame: BusFrame) -> Any:
    """A frame as a ``CanFrame``."""
    return DEFAULT.record(CAN_FRAME)(**frame._asdict())


class CanSeamParameters(Section):
    """What a frame of ``ros2_socketcan_msgs`` does not say."""

    bit_rate_switch: bool = Field(
        default=True, description="whether the data of FD frames have the data bit rate"
    )


class FromStandardFrame(InputSeam):
    """Frames of other nodes; frames that report an error are not taken."""

    Parameters = CanSeamParameters
    source_types = (STANDARD_FRAME, STANDARD_FD_FRAME)
    target_type = CAN_FRAME

    def __init__(self, place: SeamPlace, parameters: CanSeamParameters) -> None:
        self._fd = place.source == STANDARD_FD_FRAME
        self._switch = parameters.bit_rate_switch

    def convert(self, record: Any, sent: Mapping[str, Any]) -> Any:
        """The frame, whose length the standard ones have beside their bytes."""
        if record.is_error:
            return None
        if self._fd:
            data = bytes(record.data)[: record.len]
            frame = BusFrame(record.id, record.is_extended, False, True, self._switch, data=data)
            return message_of(frame)
        length = min(record.dlc, _CLASSIC_LONGEST)
        remote = bool(record.is_rtr)
        data = b"" if remote else bytes(record.data)[:length]
        requested = length if remote else 0
        return message_of(
            BusFrame(record.id, record.is_extended, remote, data=data, requested=requested)
        )


class ToStandardFrame(OutputSeam):
    """Classical frames for other nodes; FD frames leave nothing."""

    Parameters = NoParameters
    source_types = (CAN_FRAME,)
    target_type = STANDARD_FRAME

    def __init__(self, place: SeamPlace, parameters: NoParameters) -> None:
        pass

    def convert(self, time: int, *records: Any) -> Any:
        """The standard frame; None of an FD frame."""
        frame = frame_of(records[0])
        if frame.fd:
            return None
        return DEFAULT.record(STANDARD_FRAME)(
            id=frame.id,
            is_rtr=frame.remote,
            is_extended=frame.extended,
            dlc=frame.requested if frame.remote else len(frame.data),
            data=frame.data.ljust(_CLASSIC_LONGEST, b"\0"),
        )


class ToStandardFdFrame(OutputSeam):
    """FD frames for other nodes; classical ones leave nothing."""

    Parameters = NoParameters
    source_types = (CAN_FRAME,)
    target_type = STANDARD_FD_FRAME

    def __init__(self, place: SeamPlace, parameters: NoParameters) -> None:
        pass

    def convert(self, time: int, *records: Any) -> Any:
        """The standard frame; None of a classical frame."""
        frame = frame_of(records[0])
        if not frame.fd:
            return None
        return DEFAULT.record(STANDARD_FD_FRAME)(
            id=frame.id, is_extended=frame.extended, len=len(frame.data), data=frame.data
        )
