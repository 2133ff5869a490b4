# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""A pedal map that was measured: which pedals give an acceleration, at each speed.

A file (YAML) that ``cosim study pedals`` writes has it; see :class:`PedalTable` for the numbers.
"""

from __future__ import annotations

from bisect import bisect_right
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any, Final, Literal

from pydantic import Field, model_validator
from typing_extensions import Self

from ros2_cosim.core.documents.plain_data import read_mapping
from ros2_cosim.core.documents.settings import Number, Section, read_section
from ros2_cosim.world.vehicle.pedals import HOLD_BRAKE, STANDSTILL_SPEED

_Speed = Annotated[Number, Field(ge=0, le=150)]
_Pedal = Annotated[Number, Field(ge=-1, le=1)]
_Row = Annotated[tuple[Number, ...], Field(min_length=2, max_length=100)]


class PedalTable(Section):
    """Accelerations over speed and pedal; the inverse is linear between the points.

    A pedal above 0 is the throttle, below 0 the brake. Beyond the first and the last speed those
    two hold.
    """

    pedal_map: Literal[1] = Field(description="version of the format")
    vehicle: str = Field(default="", description="what was measured")
    lag: Number = Field(
        gt=0, le=5, description="from pedal to acceleration, mean of throttle and brake [s]"
    )
    throttle_lag: Number | None = Field(default=None, gt=0, description="of the throttle [s]")
    brake_lag: Number | None = Field(default=None, gt=0, description="of the brake [s]")
    speeds: Annotated[tuple[_Speed, ...], Field(min_length=1, max_length=1000)] = Field(
        description="growing [m/s]"
    )
    pedals: Annotated[tuple[_Pedal, ...], Field(min_length=2, max_length=100)] = Field(
        description="growing, -1: full brake, 1: full throttle"
    )
    accelerations: Annotated[tuple[_Row, ...], Field(min_length=1, max_length=1000)] = Field(
        description="for each speed those of all pedals, growing [m/s^2]"
    )

    @model_validator(mode="after")
    def _fits(self) -> Self:
        for name, values in (("speeds", self.speeds), ("pedals", self.pedals)):
            if any(after <= before for before, after in pairwise(values)):
                raise ValueError(f"{name} must grow")
        if len(self.accelerations) != len(self.speeds) or any(
            len(row) != len(self.pedals) for row in self.accelerations
        ):
            raise ValueError("accelerations must have a row for each speed, a value for each pedal")
        for speed, row in zip(self.speeds, self.accelerations, strict=True):
            if any(after <= before for before, after in pairwise(row)):
                raise ValueError(f"accelerations at {speed:g} m/s must grow")
        return self

    def pedals_for(self, acceleration: float, speed: float) -> tuple[float, float]:
        """(throttle, brake), each 0..1, for an acceleration [m/s^2] at a forward speed [m/s]."""
        if speed < STANDSTILL_SPEED and acceleration <= 0.0:
            return 0.0, HOLD_BRAKE
        row = self._row(speed)
        pedals = self.pedals
        if acceleration <= row[0]:
            pedal = pedals[0]
        elif acceleration >= row[-1]:
            pedal = pedals[-1]
        else:
            i = bisect_right(row, acceleration) - 1
            share = (acceleration - row[i]) / (row[i + 1] - row[i])
            pedal = pedals[i] + share * (pedals[i + 1] - pedals[i])
        return (pedal, 0.0) if pedal > 0.0 else (0.0, 0.0 - pedal)

    def _row(self, speed: float) -> tuple[float, ...]:
        speeds, rows = self.speeds, self.accelerations
        if speed <= speeds[0]:
            return rows[0]
        if speed >= speeds[-1]:
            return rows[-1]
        i = bisect_right(speeds, speed) - 1
        share = (speed - speeds[i]) / (speeds[i + 1] - speeds[i])
        return tuple(a + share * (b - a) for a, b in zip(rows[i], rows[i + 1], strict=True))


_KEYS: Final = "pedal map"


@lru_cache(maxsize=8)
def read_pedal_table(path: Path) -> PedalTable:
    """Read the file of a pedal map.

    :raises ConfigurationError: it cannot be read, or is wrong; the message names file and key
    """
    data: dict[str, Any] = dict(read_mapping(path, _KEYS))
    return read_section(PedalTable, data, origin=str(path))
