# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""How scenario files write a manoeuvre: a list of actions of one vehicle, one after the other.

Each action is a mapping with one key that says what is done, and optionally ``when``.
"""

from collections.abc import Mapping, Sequence
from typing import Annotated, Final, Literal

from pydantic import Field, model_validator
from typing_extensions import Self

from ros2_cosim.core.documents.settings import Number, PositiveDuration, Section, Whole

#: Actions of one vehicle: a manoeuvre that is longer belongs into a file (``csv``).
MAX_ACTIONS: Final = 1000

_Positive = Annotated[Number, Field(gt=0)]
_NotNegative = Annotated[Number, Field(ge=0)]
_Speed = Annotated[Number, Field(ge=0, le=100)]

CycleName = Literal["nedc", "ece15", "eudc", "udds", "ftp75", "hwfet", "wltc_3b"]
#: Largest speed of each standard drive cycle [m/s]; the sources stand with their tables.
LARGEST_SPEED: Final[Mapping[CycleName, float]] = {
    "nedc": 120.0 / 3.6,
    "ece15": 50.0 / 3.6,
    "eudc": 120.0 / 3.6,
    "udds": 56.7 * 1609.344 / 3600.0,
    "ftp75": 56.7 * 1609.344 / 3600.0,
    "hwfet": 59.9 * 1609.344 / 3600.0,
    "wltc_3b": 131.3 / 3.6,
}


class Condition(Section):
    """When an action begins; the one before may still be under way."""

    time: PositiveDuration | None = Field(
        default=None, description="time after the start of the run"
    )
    distance: _Positive | None = Field(
        default=None, description="so far from where the vehicle started [m]"
    )
    gap: _Positive | None = Field(
        default=None, description="as soon as the gap is at most this, bumper to bumper [m]"
    )
    ttc: _Positive | None = Field(
        default=None, description="as soon as the time to collision is at most this [s]"
    )
    past: _NotNegative | None = Field(
        default=None,
        description="as soon as the vehicle 'of' is so far behind, bumper to bumper [m]",
    )
    of: str | None = Field(
        default=None,
        description="the vehicle that gap and ttc are measured to, in any lane, ahead or behind; "
        "default: what is next ahead in the own lane; past needs it",
    )

    @model_validator(mode="after")
    def _one(self) -> Self:
        given = [name for name, value in self if name != "of" and value is not None]
        if len(given) != 1:
            raise ValueError("allowed is one of time, distance, gap, ttc and past")
        if self.of is not None and given[0] not in ("gap", "ttc", "past"):
            raise ValueError(f"'of' belongs to gap, ttc and past; found it with {given[0]}")
        if self.of is None and self.past is not None:
            raise ValueError("past: allowed with 'of', the vehicle that is passed")
        return self


class Ramp(Section):
    """To another speed at constant acceleration."""

    speed: _Speed = Field(description="at the end [m/s]")
    acceleration: _Positive = Field(description="its size, up or down [m/s^2]")


class Sine(Section):
    """Sinusoidal speed about the present one."""

    amplitude: _Positive = Field(description="of the speed [m/s]")
    period: PositiveDuration = Field(description="of the oscillation")
    cycles: Annotated[Whole, Field(ge=1, le=10_000)] = Field(default=1, description="how many")


class SineSweep(Section):
    """Sinusoidal speed about the present one, its frequency growing evenly."""

    amplitude: _Positive = Field(description="of the speed [m/s]")
    start: _Positive = Field(description="frequency at the start [Hz]")
    end: _Positive = Field(description="frequency at the end [Hz]")
    duration: PositiveDuration = Field(description="of the sweep")


class Multisine(Section):
    """Several sines at once, harmonics of one period; the usual excitation to measure gains."""

    amplitude: _Positive = Field(description="of the acceleration of each harmonic [m/s^2]")
    period: PositiveDuration = Field(description="of the first harmonic")
    harmonics: tuple[Annotated[Whole, Field(ge=1, le=1000)], ...] = Field(
        min_length=1, max_length=100, description="multiples of the frequency of that period"
    )
    cycles: Annotated[Whole, Field(ge=1, le=10_000)] = Field(default=1, description="periods")


class StopAndGo(Section):
    """Down to a standstill and up again, several times."""

    speed: _Speed = Field(description="between the stops [m/s]")
    acceleration: _Positive = Field(default=1.0, description="to the speed [m/s^2]")
    deceleration: _Positive = Field(default=1.5, description="to the stop, its size [m/s^2]")
    stop: PositiveDuration = Field(default=4_000_000_000, description="at rest")
    go: PositiveDuration = Field(default=4_000_000_000, description="at speed")
    cycles: Annotated[Whole, Field(ge=1, le=10_000)] = Field(default=1, description="stops")


class SpeedFile(Section):
    """A speed over time from a file: lines of time [s] and speed, with a head line or without.

    Times count from the first one, in whole nanoseconds; in between the speed is interpolated
    linearly.
    """

    file: str = Field(min_length=1, description="relative to the scenario; comma, semicolon or tab")
    unit: Literal["m/s", "km/h", "mph"] = Field(default="m/s", description="of the speed")
    time: str | None = Field(
        default=None,
        min_length=1,
        description="column of the time, by the head line; default: the first one",
    )
    speed: str | None = Field(
        default=None,
        min_length=1,
        description="column of the speed, by the head line, as Speed1 in files of OpenACC; rows "
        "without one are left out; default: the second one",
    )
    cycle: Literal["wltc_3b", "udds", "hwfet", "ftp75"] | None = Field(
        default=None,
        description="the standard drive cycle that the file contains: its duration, distance and "
        "largest speed are compared with the published ones",
    )


class LaneChange(Section):
    """To another lane of the same road; the speed stays."""

    lane: Whole = Field(description="OpenDRIVE lane that is driven along afterwards")
    against_traffic: bool = Field(
        default=False,
        strict=True,
        description="whether it may be a lane of the other direction, as to overtake on a road "
        "with one lane for each",
    )
    duration: PositiveDuration = Field(
        default=4_000_000_000, description="from one centre to the other"
    )


class Action(Section):
    """One action; without ``when`` it begins when the one before is complete."""

    when: Condition | None = Field(default=None, description="when it begins")
    constant: PositiveDuration | None = Field(
        default=None, description="hold the speed for so long"
    )
    ramp: Ramp | None = Field(default=None, description="to another speed")
    sine: Sine | None = Field(default=None, description="sinusoidal speed")
    sweep: SineSweep | None = Field(
        default=None, description="sinusoidal speed of growing frequency"
    )
    multisine: Multisine | None = Field(default=None, description="several sines at once")
    stop_and_go: StopAndGo | None = Field(default=None, description="stops")
    csv: SpeedFile | None = Field(default=None, description="speed from a file")
    cycle: CycleName | None = Field(
        default=None,
        description="a standard drive cycle (UN R83, Annex 4a; US 40 CFR parts 86 and 600; UN GTR "
        "No. 15, whose table comes with the package wltp)",
    )
    lane_change: LaneChange | None = Field(default=None, description="to another lane")

    @property
    def kind(self) -> str:
        """The key that says what is done."""
        return next(n for n in _KINDS if n in self.model_fields_set)

    @model_validator(mode="after")
    def _one(self) -> Self:
        given = [name for name, value in self if name in _KINDS and value is not None]
        if len(given) != 1:
            raise ValueError(
                f"found {' and '.join(given) or 'no action'}; allowed is one of {', '.join(_KINDS)}"
            )
        return self


_KINDS: Final = tuple(name for name in Action.model_fields if name != "when")


def highest_speed(actions: Sequence[Action], speed: float) -> float:
    """The highest speed that actions ask for, those of files (``csv``) aside.

    :param speed: at their begin [m/s]
    """
    highest = speed
    for action in actions:
        above = 0.0
        if action.ramp is not None:
            speed = action.ramp.speed
        elif action.stop_and_go is not None:
            speed = action.stop_and_go.speed
        elif action.cycle is not None:
            highest = max(highest, LARGEST_SPEED[action.cycle])
        elif action.sine is not None:
            above = action.sine.amplitude
        elif action.sweep is not None:
            above = action.sweep.amplitude
        highest = max(highest, speed + above)
    return highest


#: The actions of a vehicle.
Manoeuvre = Annotated[tuple[Action, ...], Field(max_length=MAX_ACTIONS)]
