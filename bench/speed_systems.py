# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The two workloads as scenarios, and the models in them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from speed_result import DOUBLES

from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.kernel.model import Model, Traits
from ros2_cosim.core.kernel.participant import ModelContext, Step
from ros2_cosim.core.messages.records import PlatoonStatus
from ros2_cosim.core.scenario.schema import Scenario, make_scenario

#: A type of the suite that holds any number of doubles: 1 + 15 + 14 of them here.
TYPE = "ros2_cosim/msg/PlatoonStatus"
_GAPS = DOUBLES // 2


def as_record(values: tuple[float, ...]) -> PlatoonStatus:
    """Thirty doubles as a message."""
    return PlatoonStatus(values[0], 0, False, values[1 : 1 + _GAPS], values[1 + _GAPS :])


def first_of(record: PlatoonStatus) -> float:
    """The first of the thirty doubles."""
    return record.obstacle_gap


#: The models of a few microseconds declare so: they may share a process.
_TRAITS = Traits(cost_ns=10_000, exact_records=True)


class Plant(Model):
    """Thirty states that follow the sum of the controls."""

    traits = _TRAITS

    def __init__(self, context: ModelContext, parameters: Any) -> None:
        self._values = tuple(float(i) for i in range(DOUBLES))

    def activate(self, step: Step) -> Mapping[str, Any]:
        """One step."""
        control = 0.0
        for sample in step.latest.values():
            if sample is not None:
                control += first_of(sample.value)
        self._values = plant_step(self._values, control)
        return {"state": as_record(self._values)}


class Relay(Model):
    """Sensor and controller: sends on what it read, changed a little."""

    traits = _TRAITS

    def __init__(self, context: ModelContext, parameters: Any) -> None:
        self._gain = parameters["gain"]
        self._output = parameters["output"]

    def activate(self, step: Step) -> Mapping[str, Any]:
        """One activation."""
        (sample,) = step.latest.values()
        assert sample is not None
        value: PlatoonStatus = sample.value
        return {self._output: PlatoonStatus(value.obstacle_gap * self._gain, *value[1:])}


class Idle(Model):
    """Takes part in the time synchronisation and does nothing."""

    traits = _TRAITS

    def activate(self, step: Step) -> Mapping[str, Any]:
        """One activation."""
        return {}


def plant_step(values: tuple[float, ...], control: float) -> tuple[float, ...]:
    """The new states."""
    return tuple(x + 0.01 * (control - x) for x in values)


def loop_scenario(sim_s: float) -> Scenario:
    """Plant -> 2 sensors -> 2 controllers -> plant."""
    participants: dict[str, Any] = {
        "plant": {
            "model": "speed_systems:Plant",
            "period": "10ms",
            "inputs": {
                f"control{i}": {"from": f"controller{i}.control", "delayed": True} for i in (1, 2)
            },
            "outputs": {"state": {"type": TYPE, "topic": "/state"}},
        }
    }
    for i in (1, 2):
        participants[f"sensor{i}"] = {
            "model": "speed_systems:Relay",
            "parameters": {"gain": 0.5, "output": "seen"},
            "period": "40ms",
            "inputs": {"state": "plant.state"},
            "outputs": {"seen": {"type": TYPE, "topic": f"/seen{i}"}},
        }
        participants[f"controller{i}"] = {
            "model": "speed_systems:Relay",
            "parameters": {"gain": -0.5, "output": "control"},
            "activation": {"any": ["seen"]},
            "inputs": {"seen": f"sensor{i}.seen"},
            "outputs": {"control": {"type": TYPE, "topic": f"/control{i}"}},
        }
    data = {"name": "loop", "duration": f"{sim_s}s", "participants": participants}
    return make_scenario(data, "loop")


def lockstep_scenario(count: int, sim_s: float) -> Scenario:
    """``count`` participants that share nothing but the time, in lockstep."""
    idle = {"model": "speed_systems:Idle", "period": "10ms"}
    data: dict[str, Any] = {
        "name": "lockstep",
        "duration": f"{sim_s}s",
        "participants": {f"idle{i + 1}": idle for i in range(count)},
    }
    try:
        return make_scenario({**data, "run_ahead": 0}, "lockstep")
    except ConfigurationError:
        # The smallest window, where the schema allows no zero: it holds one step, too.
        return make_scenario({**data, "run_ahead": 2, "clock_step": 1}, "lockstep")
