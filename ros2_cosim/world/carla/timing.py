# SPDX-License-Identifier: Apache-2.0
"""How long the simulator takes: a stopwatch around any :class:`~.simulator.Simulator`."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import ParamSpec, TypeVar

from ros2_cosim.core.scene.sensors import Measurement
from ros2_cosim.core.scene.simulator import (
    Body,
    Contact,
    MapChoice,
    Motion,
    Pose,
    SensorMount,
    Simulator,
    Size,
    Stranger,
)

_P = ParamSpec("_P")
_R = TypeVar("_R")


class TimedSimulator:
    """A simulator that passes every call on and adds up the wall time that it takes.

    :param noted: called with False before each call that takes time, with True after it
    :ivar elapsed_ns: inside the simulator so far; never feeds a result
    """

    def __init__(
        self, simulator: Simulator, noted: Callable[[bool], None] = lambda is_over: None
    ) -> None:
        self._simulator = simulator
        self._noted = noted
        self.elapsed_ns = 0

    def prepare(self, chosen: MapChoice, weather: str, step_s: float) -> None:
        """Pass on."""
        self._timed(self._simulator.prepare, chosen, weather, step_s)

    def opendrive(self) -> str:
        """Pass on."""
        return self._timed(self._simulator.opendrive)

    def spawn(self, blueprint: str, role: str, pose: Pose) -> tuple[int, Body]:
        """Pass on."""
        return self._timed(self._simulator.spawn, blueprint, role, pose)

    def spawn_sized(self, blueprint: str, role: str, pose: Pose, size: Size) -> tuple[int, Body]:
        """Pass on."""
        return self._timed(self._simulator.spawn_sized, blueprint, role, pose, size)

    def place(self, actor: int, pose: Pose, velocity: tuple[float, float, float]) -> None:
        """Pass on."""
        self._timed(self._simulator.place, actor, pose, velocity)

    def control(self, actor: int, throttle: float, steer: float, brake: float) -> None:
        """Pass on."""
        self._timed(self._simulator.control, actor, throttle, steer, brake)

    def tick(self) -> None:
        """Pass on."""
        self._timed(self._simulator.tick)

    def motion(self, actor: int) -> Motion:
        """Pass on; what was read in ``tick`` takes no time worth to be taken."""
        return self._simulator.motion(actor)

    def strangers(self) -> list[Stranger]:
        """Pass on."""
        return self._timed(self._simulator.strangers)

    def begin_lights(self) -> None:
        """Pass on; not among the steps."""
        self._simulator.begin_lights()

    def lights(self) -> dict[str, int]:
        """Pass on; what was read in ``tick`` takes no time worth to be taken."""
        return self._simulator.lights()

    def contacts(self) -> list[Contact]:
        """Pass on."""
        return self._timed(self._simulator.contacts)

    def attach(self, sensor: SensorMount) -> int:
        """Pass on."""
        return self._timed(self._simulator.attach, sensor)

    def measurements(self, sensors: Sequence[int]) -> list[Measurement]:
        """Pass on."""
        return self._timed(self._simulator.measurements, sensors)

    def finish(self) -> None:
        """Pass on; not among the steps."""
        self._simulator.finish()

    def close(self) -> None:
        """Pass on."""
        self._timed(self._simulator.close)

    def _timed(self, call: Callable[_P, _R], *args: _P.args, **named: _P.kwargs) -> _R:
        self._noted(False)
        started = time.perf_counter_ns()
        try:
            return call(*args, **named)
        finally:
            self.elapsed_ns += time.perf_counter_ns() - started
            self._noted(True)
