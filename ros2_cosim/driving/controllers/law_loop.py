# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""What surrounds the control law of a scenario's controller, and whether its time gap is doubtful.

The limit is that of :mod:`ros2_cosim.driving.controllers.theory`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from ros2_cosim.core.kernel.loading import is_own_module
from ros2_cosim.core.kernel.random_streams import LatencyDistribution
from ros2_cosim.core.scenario.registry import find_model
from ros2_cosim.core.scenario.schema import Scenario
from ros2_cosim.driving.controllers.file_law import FileLaw
from ros2_cosim.driving.controllers.measurement import Measurement
from ros2_cosim.driving.controllers.registry import adapted, check_law, make_law
from ros2_cosim.driving.controllers.theory import (
    Loop,
    SteadyFollowing,
    is_string_stable,
    smallest_time_gap,
)
from ros2_cosim.world.vehicle import VEHICLES
from ros2_cosim.world.vehicle.pedal_table import read_pedal_table

#: Parameters that make a model a controller with a control law.
CONTROLLER: Final = ("law", "time_gap")
#: Where a controller hears other vehicles.
V2V_PORTS: Final = ("v2v_leader", "v2v_predecessor")
#: Longer time gaps are not looked for [s].
LONGEST: Final = 4.0
_DEFAULT_PERIOD_NS: Final = 40_000_000


class LawInUse(NamedTuple):
    """The law of a controller, what it follows, and what surrounds it.

    ``loop.v2v_delay`` is the mean age of what is heard, ``oldest`` the largest that it has while
    no message is lost [s]; both are 0 without V2V.
    """

    law: str
    law_parameters: Mapping[str, Any]
    following: SteadyFollowing
    loop: Loop
    oldest: float
    base_directory: Path

    @property
    def needs_v2v(self) -> bool:
        """Whether the law needs to hear another vehicle."""
        made = make_law(self.law, self.law_parameters, base_directory=self.base_directory)
        return bool(adapted(made, self.law).needs)

    def make(self) -> Callable[[Measurement], float]:
        """The law anew.

        :raises ConfigurationError: there is no such law, or its parameters are wrong
        """
        made = make_law(self.law, self.law_parameters, base_directory=self.base_directory)
        return adapted(made, self.law).acceleration


def declares(model: str, parameters: Sequence[str]) -> bool:
    """Whether a model declares all of these parameters."""
    declared = find_model(model, "model").kind.Parameters
    return declared is not None and declared.model_fields.keys() >= set(parameters)


def controllers_of(scenario: Scenario) -> list[str]:
    """The participants that have a control law."""
    return [n for n, p in scenario.participants.items() if declares(p.model, CONTROLLER)]


def law_in_use(scenario: Scenario, name: str) -> LawInUse:
    """The law of a controller of a checked scenario, and what surrounds it.

    The vehicle is one of the mean lag of throttle and brake. A demand is held for a period: on the
    average it is half a period late.
    """
    participant = scenario.participants[name]
    given = dict(participant.parameters)
    lag = _lag(given.get("vehicle", "sedan"), Path(scenario.base_directory))
    period = _period(scenario, participant.inputs["objects"].source[0]) or _DEFAULT_PERIOD_NS
    ages = [
        _ages(scenario, participant.inputs[port].source[0])
        for port in V2V_PORTS
        if port in participant.inputs and participant.inputs[port].source
    ]
    set_speed = float(given.get("set_speed", math.inf))
    speed = _leaders_speed(scenario) or set_speed / 1.5
    mean, oldest = (max(age) for age in zip(*ages, strict=True)) if ages else (0.0, 0.0)
    return LawInUse(
        given.get("law", "path_cacc"),
        given.get("law_parameters") or {},
        SteadyFollowing(
            speed,
            set_speed,
            float(given.get("standstill_gap", 2.0)),
            float(given.get("time_gap", 0.6)),
        ),
        Loop(period * 1e-9, lag, 0.5 * period * 1e-9, mean),
        oldest,
        Path(scenario.base_directory),
    )


def _lag(vehicle: str, base_directory: Path) -> float:
    """The mean lag of throttle and brake of a vehicle, or of that of a pedal map [s]."""
    known = VEHICLES.get(vehicle)
    if known is None:
        return read_pedal_table(base_directory / vehicle).lag
    return 0.5 * (known.throttle_lag + known.brake_lag)


def doubts(scenario: Scenario) -> list[str]:
    """The time gaps of a checked scenario at which disturbances grow, in lines."""
    of: dict[str, list[tuple[str, LawInUse]]] = {}
    for name in controllers_of(scenario):
        used = law_in_use(scenario, name)
        of.setdefault(repr(used), []).append((name, used))
    lines = []
    for same in of.values():
        name, used = same[0]
        limit = _limit(used)
        if limit is None:
            continue
        others = f" (as of {', '.join(other for other, _ in same[1:])})" if len(same) > 1 else ""
        heard = f" and beacons up to {used.oldest:.3g} s old" if used.needs_v2v else ""
        lines.append(
            f"participants.{name}.parameters.time_gap: found {used.following.time_gap:g} s{others};"
            f" in a platoon of {used.law} disturbances grow below {limit:.2f} s, with a lag of the "
            f"vehicle of {used.loop.lag:.3g} s{heard} (linear theory of string stability, "
            "docs/study.md)"
        )
    return lines


def _limit(used: LawInUse) -> float | None:
    """The smallest string-stable time gap [s], if the used one is below it.

    None too for a law of others, whose code is not asked before it drives, for one that does not
    hear what it needs, and for one that no time gap makes string stable.
    """
    kind = check_law(used.law, used.law_parameters, base_directory=used.base_directory)
    if kind is None or not is_own_module(kind.__module__) or issubclass(kind, FileLaw):
        return None
    if used.needs_v2v and not used.oldest:
        return None
    loop, following = used.loop._replace(v2v_delay=used.oldest), used.following
    if is_string_stable(used.make, loop, following):
        return None
    return smallest_time_gap(used.make, loop, following, following.time_gap, LONGEST)


def _period(scenario: Scenario, port: str) -> int:
    """Of the participant of an output port [ns]; 0: it has none."""
    return scenario.participants[port.partition(".")[0]].period or 0


def _ages(scenario: Scenario, port: str) -> tuple[float, float]:
    """Mean and largest age [s] of what is read of an output port, if none is lost."""
    name, _, output = port.partition(".")
    latency = LatencyDistribution.from_spec(scenario.participants[name].outputs[output].latency)
    period = _period(scenario, port)
    return (latency.mean_ns + 0.5 * period) * 1e-9, (latency.maximum_ns + period) * 1e-9


def _leaders_speed(scenario: Scenario) -> float:
    """The speed at which a platoon of the scene begins [m/s]; 0: there is none."""
    scene = scenario.scene or {}
    names = scene.get("platoon") or []
    return float(scene["vehicles"][names[0]].get("speed") or 0.0) if names else 0.0
