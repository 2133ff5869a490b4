# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""How scenario files name recorded road users, which move as they did when they were recorded."""

from __future__ import annotations

from typing import Annotated, Final, Literal

from pydantic import Field

from ros2_cosim.core.documents.settings import Duration, Number, Section

#: What a table of positions may say of a road user.
ColumnName = Literal[
    "time", "id", "class", "x", "y", "z", "yaw", "speed", "length", "width", "height"
]
#: Recorded road users are numbered from here.
FIRST_RECORDED_ID: Final = 2001


class RecordedSettings(Section):
    """Road users of one recording; object sensors, cameras and lidars see them.

    They start from the first time in the file. Between two rows, which are at most 2 s apart, they
    move in a straight line; nothing that happens in the run changes their way.
    """

    file: str = Field(
        min_length=1,
        description="relative to the scenario: a table (.csv), a CommonRoad scenario (.xml), a "
        "trace of ASAM OSI (.osi, .mcap), or the directory of a run or a bag",
    )
    begin: Duration = Field(
        default=0, description="how long after its first time the recording begins to play"
    )
    x: Number = Field(default=0.0, description="where the recording's origin is in the map [m]")
    y: Number = Field(default=0.0, description="where the recording's origin is in the map [m]")
    yaw: Number = Field(
        default=0.0, description="of the recording's x axis, from the map's to the left [rad]"
    )
    without: tuple[str, ...] = Field(
        default=(), description="road users of the recording that are left out, by their ids"
    )
    columns: dict[ColumnName, Annotated[str, Field(min_length=1)]] = Field(
        default_factory=dict,
        description="of a table: what the head line calls a column, where that is not the name "
        "here (units: s, m, rad, m/s); without id all rows are of one road user",
    )
