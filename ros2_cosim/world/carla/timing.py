# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""How long the simulator takes: a stopwatch around any :class:`~.simulator.Simulator`."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

from ros2_cosim.core.scene.simulator import Simulator

_P = ParamSpec("_P")
_R = TypeVar("_R")


class TimedSimulator:
    """A simulator that passes every call on and adds up the wall time that it takes.

    :param noted: called with False before each call that takes time, with True after it; None:
        nothing is
    :ivar elapsed_ns: inside the simulator so far; never feeds a result
    """

    def __init__(self, simulator: Simulator, noted: Callable[[bool], None] | None = None) -> None:
        self._noted = noted
        self.elapsed_ns = 0
        self.prepare = self._timed(simulator.prepare)
        self.opendrive = self._timed(simulator.opendrive)
        self.spawn = self._timed(simulator.spawn)
        self.spawn_sized = self._timed(simulator.spawn_sized)
        self.destroy = self._timed(simulator.destroy)
        self.place = self._timed(simulator.place)
        self.control = self._timed(simulator.control)
        self.tick = self._timed(simulator.tick)
        self.strangers = self._timed(simulator.strangers)
        self.contacts = self._timed(simulator.contacts)
        self.attach = self._timed(simulator.attach)
        self.measurements = self._timed(simulator.measurements)
        self.close = self._timed(simulator.close)
        # What ``tick`` has read takes no time worth to be taken; the others are not in the steps.
        self.motion, self.lights = simulator.motion, simulator.lights
        self.begin_lights, self.finish = simulator.begin_lights, simulator.finish
        self.hold = simulator.hold

    def _timed(self, call: Callable[_P, _R]) -> Callable[_P, _R]:
        @wraps(call)
        def timed(*args: _P.args, **named: _P.kwargs) -> _R:
            if self._noted is not None:
                self._noted(False)
            started = time.perf_counter_ns()
            try:
                return call(*args, **named)
            finally:
                self.elapsed_ns += time.perf_counter_ns() - started
                if self._noted is not None:
                    self._noted(True)

        return timed
