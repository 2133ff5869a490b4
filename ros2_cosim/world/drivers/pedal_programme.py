# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The model that presses the pedals of a vehicle one after the other, to find out what they do."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from pydantic import Field

from ros2_cosim.core.documents.settings import Number, Section
from ros2_cosim.core.kernel.model import FullModel, Port
from ros2_cosim.core.kernel.participant import ModelContext, Step
from ros2_cosim.core.kernel.saved_state import SavedAttributes
from ros2_cosim.core.kernel.time import SECOND
from ros2_cosim.core.messages.message_types import CONTROL, ODOMETRY
from ros2_cosim.core.messages.records import ControlCommand

#: Slower than this a vehicle stands [m/s].
_STANDS = 0.05


class PedalPhase(NamedTuple):
    """A pedal (above 0 throttle, below 0 brake) until a speed [m/s], or for a time [s]."""

    pedal: float
    until: float | None
    longest: float


def pedal_phases(top: float) -> tuple[PedalPhase, ...]:
    """The programme up to a speed [m/s]: some 100 s and, up to 25 m/s, 1.5 km."""
    middle, low = 0.6 * top, 0.3 * top

    def brake(pedal: float, until: float = 0.0) -> PedalPhase:
        return PedalPhase(-pedal, until, 25.0)

    def drive(pedal: float, longest: float = 25.0) -> PedalPhase:
        return PedalPhase(pedal, top, longest)

    def hold(pedal: float, seconds: float) -> PedalPhase:
        return PedalPhase(pedal, None, seconds)

    rest = hold(-0.5, 1.0)
    return (
        brake(0.5), rest,
        drive(1.0), hold(0.0, 4.0), brake(0.2, middle), hold(0.0, 4.0), brake(0.2, low),
        hold(0.0, 4.0), brake(0.2), rest,
        drive(0.6), hold(0.3, 3.0), brake(0.4, middle), hold(0.3, 3.0), brake(0.4), rest,
        drive(0.3, 12.0), drive(1.0), brake(0.7), rest,
        drive(1.0), brake(1.0), rest,
    )  # fmt: skip


class PedalProgrammeParameters(Section):
    """Parameters of the programme."""

    top_speed: Number = Field(default=25.0, ge=5, le=100, description="up to which it goes [m/s]")


class PedalProgramme(FullModel):
    """Presses pedals phase by phase; afterwards it brakes.

    Input ``odometry``, latched; output ``control`` at every activation.
    """

    Parameters = PedalProgrammeParameters
    input_ports = (Port("odometry", ODOMETRY, description="of the vehicle"),)
    output_ports = (Port("control", CONTROL),)
    other_ports = False

    def __init__(self, context: ModelContext, parameters: PedalProgrammeParameters) -> None:
        self._phases = pedal_phases(parameters.top_speed)
        self._number = 0
        self._since: int | None = None

    def activate(self, step: Step) -> Mapping[str, Any]:
        """The pedals of the phase that the speed is in."""
        odometry = step.latest["odometry"]
        if odometry is not None:
            if self._since is None:
                self._since = step.time
            self._go_on(step.time, odometry.value.vx)
        done = self._number >= len(self._phases)
        pedal = -1.0 if done else self._phases[self._number].pedal
        control = ControlCommand(0.0, max(0.0, pedal), max(0.0, 0.0 - pedal), 0.0)
        return {"control": control}

    def save_state(self) -> Any:
        """The phase, and since when."""
        return _STATE.save(self)

    def restore_state(self, state: Any) -> None:
        """Go back to a state that ``save_state`` gave."""
        _STATE.restore(self, state)

    def _go_on(self, now: int, speed: float) -> None:
        if self._number >= len(self._phases) or self._since is None:
            return
        phase = self._phases[self._number]
        over = now - self._since >= round(phase.longest * SECOND)
        if phase.until is not None:
            reached = max(phase.until, _STANDS)
            over = over or (speed >= reached if phase.pedal > 0.0 else speed <= reached)
        if over:
            self._number += 1
            self._since = now


_STATE = SavedAttributes(values=(PedalPhase,))
