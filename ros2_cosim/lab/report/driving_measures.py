# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""What a report says of the driving beyond what was recorded: measures by their usual definitions.

- *Way*: integral of the forward speed, by the trapezoidal rule.
- *Jerk*: change of the forward acceleration over ``JERK_STEP``; over shorter times it is noise.
- *Time-gap error*: ``(gap - standstill gap) / speed`` less the wanted time gap, where the vehicle
  drives.
- *Ratios down the platoon*: largest deceleration, and energy of the acceleration (root of the
  integral of its square), each over that of the vehicle ahead.

Gap, time to collision and time headway are those of ``recorded_encounters.py``.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, NamedTuple

from ros2_cosim.core.documents.plain_data import read_record
from ros2_cosim.core.documents.run_files import RESOLVED_SCENARIO
from ros2_cosim.core.documents.settings import read_section
from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.scenario.registry import available_models, find_model

#: [s]
JERK_STEP: Final = 0.1
#: Slower vehicles have no time gap [m/s].
_DRIVES: Final = 2.0
#: Smaller decelerations of the vehicle ahead give no ratio [m/s^2].
_BRAKES: Final = 0.2


@dataclass
class Way:
    """The way of one vehicle [m]."""

    position: float = 0.0
    _before: tuple[float, float] | None = None

    def add(self, time: float, speed: float) -> float:
        """The way at a time [s]."""
        if self._before is not None:
            last, old = self._before
            self.position += 0.5 * (old + speed) * (time - last)
        self._before = (time, speed)
        return self.position


@dataclass
class Braking:
    """Jerk, largest deceleration and energy of the acceleration of one vehicle."""

    peak: float = 0.0
    energy: float = 0.0
    _before: tuple[float, float] | None = None
    _jerk_from: tuple[float, float] | None = None

    def add(self, time: float, acceleration: float) -> float | None:
        """Take an acceleration [m/s^2] over; the jerk [m/s^3] where a step of it is complete."""
        self.peak = max(self.peak, -acceleration)
        if self._before is not None:
            self.energy += acceleration * acceleration * (time - self._before[0])
        self._before = (time, acceleration)
        if self._jerk_from is None:
            self._jerk_from = (time, acceleration)
            return None
        since = time - self._jerk_from[0]
        if since < JERK_STEP * (1.0 - 1e-6):
            return None
        jerk = (acceleration - self._jerk_from[1]) / since
        self._jerk_from = (time, acceleration)
        return jerk


class Policy(NamedTuple):
    """Targets of a controller: standstill gap [m] and time gap [s]."""

    standstill_gap: float
    time_gap: float


@dataclass(frozen=True)
class Intended:
    """What the scenario says of the platoon; empty where that is not known."""

    platoon: tuple[str, ...] = ()
    policies: Mapping[str, Policy] = field(default_factory=dict)


def intended(run_dir: Path) -> Intended:
    """Read the resolved scenario of a run, as far as there is one."""
    try:
        data = read_record(run_dir / RESOLVED_SCENARIO)
        platoon = tuple(str(name) for name in data["scene"].get("platoon") or ())
        policies = dict(_policies(data["participants"].values()))
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return Intended()
    return Intended(platoon, policies)


def _policies(participants: Iterable[Mapping[str, Any]]) -> Iterator[tuple[str, Policy]]:
    """Vehicle, and what its controller is to keep."""
    installed = available_models().keys()
    for participant in participants:
        # A report imports no code that the directory of a run names.
        if participant["model"] in installed and "control" in participant["outputs"]:
            policy = _policy(participant["model"], participant.get("parameters") or {})
            if policy is not None:
                topic = str(participant["outputs"]["control"]["topic"])
                yield topic.strip("/").split("/")[0], policy


def _policy(model: str, given: Mapping[str, Any]) -> Policy | None:
    """That of a model which declares both parameters; None for any other."""
    try:
        declared = find_model(model, "model").kind.Parameters
        if declared is None or not declared.model_fields.keys() >= set(Policy._fields):
            return None
        parameters = read_section(declared, given)
    except ConfigurationError:
        return None
    return Policy(parameters.standstill_gap, parameters.time_gap)


def time_gap_error(gap: float, speed: float, policy: Policy) -> float:
    """In s; NaN where the vehicle hardly drives, or has nothing ahead."""
    if speed < _DRIVES or not math.isfinite(gap):
        return math.nan
    return (gap - policy.standstill_gap) / speed - policy.time_gap


def ratio(own: float, ahead: float) -> float:
    """Own braking over that of the vehicle ahead; NaN where that did not brake."""
    return own / ahead if ahead > _BRAKES else math.nan
