# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Small systems of participants written as step handlers, run by the reference or by engines."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from support.engine_network import EngineNetwork
from support.patience import until

from ros2_cosim.core.kernel.graph import Connection, Graph, InputPort, OutputPort, ParticipantSpec
from ros2_cosim.core.kernel.lifecycle_group import LifecycleGroup
from ros2_cosim.core.kernel.participant import ModelContext, Sample, Step
from ros2_cosim.core.kernel.sequential import SequentialScheduler
from ros2_cosim.core.kernel.time import FOREVER
from ros2_cosim.core.realtime.local_host import local_host
from ros2_cosim.core.realtime.virtual_time import VirtualTime

MS = 1_000_000


def context(name: str, period: int | None = None, **parameters: Any) -> ModelContext:
    """What a model factory would be given."""
    return ModelContext(name, parameters, {}, 1, Path("."), period_ns=period)


@dataclass
class Part:
    """One participant: its step size and what it reads (``port -> writer``).

    ``step`` gets its virtual time and the step, as do the functions of ``handles``, by port;
    every participant has one output ``out``.
    """

    period: int
    step: Callable[[VirtualTime, Step], Any] | None = None
    reads: dict[str, str] = field(default_factory=dict)
    delayed: bool = False
    schedule: str = "sparse"
    dynamic: bool = False
    asynchronous: bool = False
    enter: int = 0
    leave: int = FOREVER
    handlers: dict[str, Callable[..., None]] = field(default_factory=dict)
    handles: dict[str, Callable[[VirtualTime, Step], Any]] = field(default_factory=dict)


class StepSystem:
    """A system of parts, built anew for each run; ``log`` holds (participant, time) of steps."""

    def __init__(self, **parts: Part) -> None:
        self.parts = parts
        self.log: list[tuple[str, int]] = []
        #: All calls in their order: (participant, ``step`` or port of the handler, time).
        self.calls: list[tuple[str, str, int]] = []
        #: Messages in the order in which they were sent: (participant, stamp, value).
        self.sent: list[tuple[str, int, Any]] = []

    def graph(self) -> Graph:
        specs = [
            ParticipantSpec(
                name,
                part.period,
                inputs=tuple(
                    InputPort(port, part.delayed, handled=port in part.handles)
                    for port in part.reads
                ),
                outputs=(OutputPort("out", schedule=part.schedule),),
                dynamic_step=part.dynamic,
                enter_ns=part.enter,
                leave_ns=part.leave,
            )
            for name, part in self.parts.items()
        ]
        connections = [
            Connection(writer, "out", name, port)
            for name, part in self.parts.items()
            for port, writer in part.reads.items()
        ]
        return Graph(specs, connections)

    def behaviours(self) -> dict[str, VirtualTime]:
        return {name: self._behaviour(name, part) for name, part in self.parts.items()}

    def _behaviour(self, name: str, part: Part) -> VirtualTime:
        service = VirtualTime(context(name, part.period))

        def run(step: Step) -> Any:
            self.log.append((name, step.time))
            self.calls.append((name, "step", step.time))
            return part.step(service, step) if part.step else None

        if part.asynchronous:
            service.set_step_handler_async(run)
        else:
            service.set_step_handler(run)
        service.set_handlers(**part.handlers)
        for port, handle in part.handles.items():
            service.set_message_handler(port, self._handler(name, port, partial(handle, service)))
        return service

    def _handler(self, name: str, port: str, handle: Callable[[Step], Any]) -> Any:
        def run(step: Step) -> Any:
            self.calls.append((name, port, step.time))
            return handle(step)

        return run

    def until_sent(self, number: int) -> None:
        """Wait, in another thread, until so many messages have left."""
        until(lambda: len(self.sent) >= number, partial(time.sleep, 0.0005))

    def run(self, until: int) -> SequentialScheduler:
        """Run by the sequential reference, with the whole lifecycle around it."""
        behaviours = self.behaviours()
        scheduler = SequentialScheduler(
            self.graph(), behaviours, stop_latency_ns=10 * MS, observer=self._observe
        )
        lifecycles = LifecycleGroup(
            behaviours, host=lambda name: local_host(scheduler.runtimes[name].send_now)
        )
        with lifecycles.during(partial(time.sleep, 0.01), lambda: scheduler.active):
            end = scheduler.run(until)
            lifecycles.stop(scheduler.stop_reason or f"end at {end} ns")
            lifecycles.shut_down("complete")
        return scheduler

    def _observe(self, participant: str, port: int, sample: Sample, data: bytes) -> None:
        self.sent.append((participant, sample.stamp, sample.value))

    def engines(self, until: int, seed: int = 0) -> EngineNetwork:
        """The same participants as concurrent engines, which have their turns in a random order."""
        return EngineNetwork(self.graph(), self.behaviours(), until, seed)
