# SPDX-License-Identifier: Apache-2.0
"""How long the simulator takes: a stopwatch around any :class:`~.simulator.Simulator`."""

from __future__ import annotations

import time
from typing import Any

from ros2_cosim.carla_bridge.simulator import Simulator


class TimedSimulator:
    """Passes every call on and adds up the wall time that it takes.

    :ivar elapsed_ns: inside the simulator so far; never feeds a result
    """

    def __init__(self, simulator: Simulator) -> None:
        self._simulator = simulator
        self.elapsed_ns = 0

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._simulator, name)

        def timed(*arguments: Any) -> Any:
            started = time.perf_counter_ns()
            try:
                return method(*arguments)
            finally:
                self.elapsed_ns += time.perf_counter_ns() - started

        # The next call finds it without coming here.
        self.__dict__[name] = timed
        return timed
