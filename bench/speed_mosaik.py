# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Both workloads with mosaik: simulators inside its own process, its fastest way."""

from __future__ import annotations

import time
from typing import Any

import mosaik
import mosaik_api_v3
from loguru import logger
from speed_baselines import START, relay
from speed_result import STEP_S, STEPS_PER_CYCLE, Result, loop_messages
from speed_systems import plant_step

#: mosaik counts in integers: milliseconds here.
_STEP = round(1e3 * STEP_S)
_MODEL = {"public": True, "params": [], "attrs": ["input", "output"]}


class _Simulator(mosaik_api_v3.Simulator):
    """One entity with one input and one output."""

    kind = "time-based"

    def __init__(self) -> None:
        super().__init__({"type": self.kind, "models": {"Model": dict(_MODEL)}})
        self.values = START

    def init(self, sid: str, time_resolution: float = 1.0, **_: Any) -> Any:
        return self.meta

    def create(self, num: int, model: str, **_: Any) -> list[dict[str, Any]]:
        return [{"eid": "e", "type": model}]

    def get_data(self, outputs: Any) -> Any:
        return {eid: {attr: self.values for attr in attrs} for eid, attrs in outputs.items()}


def _inputs(inputs: Any) -> list[tuple[float, ...]]:
    return [v for values in inputs.get("e", {}).values() for v in values.values()]


class Plant(_Simulator):
    """Every 10 ms."""

    def step(self, time: int, inputs: Any, max_advance: int) -> int:
        """One step; returns the time of the next."""
        self.values = plant_step(self.values, sum(v[0] for v in _inputs(inputs)))
        return time + _STEP


class Sensor(_Simulator):
    """Every 40 ms."""

    def step(self, time: int, inputs: Any, max_advance: int) -> int:
        """One step; returns the time of the next."""
        (values,) = _inputs(inputs)
        self.values = relay(values, 0.5)
        return time + _STEP * STEPS_PER_CYCLE


class Controller(_Simulator):
    """Whenever a sensor has sent."""

    kind = "event-based"

    def step(self, time: int, inputs: Any, max_advance: int) -> None:
        """One step."""
        (values,) = _inputs(inputs)
        self.values = relay(values, -0.5)


class Idle(_Simulator):
    """Every 10 ms, without work."""

    def step(self, time: int, inputs: Any, max_advance: int) -> int:
        """One step; returns the time of the next."""
        return time + _STEP


def _world(names: tuple[str, ...]) -> mosaik.World:
    logger.remove()  # it reports every simulator that starts
    simulators = {name: {"python": f"speed_mosaik:{name}"} for name in names}
    return mosaik.World(simulators, skip_greetings=True)


def _run(workload: str, world: mosaik.World, size: int, sim_s: float) -> Result:
    steps = round(sim_s / STEP_S)
    messages = loop_messages(steps) if workload == "loop" else 0
    began, cpu = time.perf_counter(), time.process_time()
    world.run(until=steps * _STEP, print_progress=False)
    wall, used = time.perf_counter() - began, time.process_time() - cpu
    return Result(workload, "mosaik", size, sim_s, wall, used, sim_s, messages, "in one process")


def mosaik_loop(size: int, sim_s: float) -> Result:
    """The loop; the way back to the plant is shifted by one of its steps."""
    world = _world(("Plant", "Sensor", "Controller"))
    plant = world.start("Plant").Model()
    for _ in range(2):
        sensor, controller = world.start("Sensor").Model(), world.start("Controller").Model()
        world.connect(plant, sensor, ("output", "input"))
        world.connect(sensor, controller, ("output", "input"))
        world.connect(
            controller,
            plant,
            ("output", "input"),
            time_shifted=_STEP,
            initial_data={"output": (0.0,) * len(START)},
        )
    return _run("loop", world, size, sim_s)


def mosaik_lockstep(size: int, sim_s: float) -> Result:
    """Simulators in a ring of shifted connections: none is more than a step ahead."""
    world = _world(("Idle",))
    entities = [world.start("Idle").Model() for _ in range(size)]
    for source, target in zip(entities, entities[1:] + entities[:1], strict=True):
        world.connect(
            source,
            target,
            ("output", "input"),
            time_shifted=_STEP,
            initial_data={"output": START},
        )
    return _run("lockstep", world, size, sim_s)
