# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Frames of a recorded run as logs that other tools for CAN read, by python-can."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final, Literal

from pydantic import Field

from ros2_cosim.core.documents.extras import need_extra
from ros2_cosim.core.documents.settings import Section
from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.messages.catalogue import DEFAULT
from ros2_cosim.core.record.bag_reader import read_bag
from ros2_cosim.core.scenario.exports import Export
from ros2_cosim.core.scenario.schema import Scenario
from ros2_cosim.driving.can.gateway import message_of_frame
from ros2_cosim.driving.can.messages import CAN_FRAME, frame_of

_MONITOR: Final = "frames"
_MODEL: Final = "can_bus"


class LogParameters(Section):
    """Which log is written."""

    format: Literal["asc", "blf", "log"] = Field(
        default="blf",
        description="of Vector, as text (asc; it names the day of its making) or binary (blf), or "
        "of candump (log)",
    )


class CanLog(Export):
    """A file ``BUS.FORMAT`` for each ``can_bus`` with the output ``frames``."""

    Parameters = LogParameters

    def __init__(self, scenario: Scenario, parameters: LogParameters, where: str) -> None:
        need_extra("can", ("can",), where)
        self._format = parameters.format
        self._topics = {
            str(settings.outputs[_MONITOR].topic): name
            for name, settings in scenario.participants.items()
            if settings.model == _MODEL and _MONITOR in settings.outputs
        }
        missing = [topic for topic in self._topics if not scenario.bag.has(topic)]
        if missing or not self._topics:
            found = f"a bag without {missing[0]}" if missing else "no bus"
            raise ConfigurationError(
                f"{where}: found {found}; allowed is a {_MODEL} with the output {_MONITOR}, in the "
                "bag"
            )

    def versions(self) -> Mapping[str, str]:
        """The version of the package that writes the files."""
        import can

        return {"python-can": can.__version__}

    def write(self, bag: Path, directory: Path) -> None:
        """Write the logs, of a run that ended early as far as it is recorded."""
        import can

        codec = DEFAULT.wire_codec(CAN_FRAME)
        writers = {
            topic: can.Logger(directory / f"{name}.{self._format}")
            for topic, name in self._topics.items()
        }
        try:
            for message in read_bag(bag):
                writer = writers.get(message.topic)
                if writer is not None:
                    frame = frame_of(codec.decode(message.data)[2])
                    writer(message_of_frame(frame, message.stamp))
        finally:
            for writer in writers.values():
                writer.stop()
