# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Declared processor times of the car-following models, and what they alone do to causality.

Each activation takes a declared time, as on a separate processor, so that the idle share of a
step is a parameter. The publication gives no times of single models. It speaks of one computational
and one idle share of all units: each model here gets the same share of its own step. The one number
that is left, this share, follows from one condition, the real-time factor that the synchronised
run reaches (:func:`calibrate`). Nothing is known of unsynchronised runs then.

:func:`computed` is a run without synchronisation whose wall clock is a number: activations take the
declared times and messages none. What a real run shows beyond it, comes from the machine.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from heapq import heappop, heappush
from typing import Final, NamedTuple

from ros2_cosim.core.kernel.graph import Graph
from ros2_cosim.core.kernel.participant import Sample
from ros2_cosim.core.kernel.time import MILLISECOND
from ros2_cosim.core.realtime.pacing import TimeScale
from ros2_cosim.core.scenario.schema import Scenario
from ros2_cosim.core.scenario.system import build_graph, build_model
from ros2_cosim.lab.study.free_running import FreeRunning, FreeRunningCounts

#: Step of each model [ns]. The driving function has none: it runs for each value of two sensors.
STEPS: Final = {
    "traffic": 10 * MILLISECOND,
    "front_sensor": 40 * MILLISECOND,
    "rear_sensor": 40 * MILLISECOND,
    "driving": 20 * MILLISECOND,
}
#: Where the search begins: traffic, one sensor and two activations of the driving function follow
#: each other within 40 ms, each busy for its share of them.
_FIRST_GUESS: Final = 1.0 / 3.0
_CLOSE: Final = 0.01
_MOST: Final = 5


class Reached(NamedTuple):
    """A synchronised run as fast as possible: busy share of a step at factor 1, factor reached."""

    busy: float
    rtf: float


def processor_times(busy: float) -> dict[str, int]:
    """Processor time [ns] of an activation of each model.

    :param busy: computational share of a step, at factor 1
    """
    return {name: round(busy * step) for name, step in STEPS.items()}


def changes(busy: float) -> list[str]:
    """The same as changes of the scenario."""
    return [
        f"participants.{name}.parameters.processor_time={time}ns"
        for name, time in processor_times(busy).items()
    ]


def calibrate(
    wanted: float, run: Callable[[float], float], known: list[Reached], most: int = _MOST
) -> float:
    """Find the busy share at which the synchronised run reaches a factor, to one per cent.

    Wall time grows with the share along a line nearly, which two runs give.

    :param wanted: real-time factor
    :param run: busy share -> factor reached
    :param known: runs of an earlier attempt, to which those of this one are added
    :param most: at most so many runs
    :returns: the share that came closest
    """
    while len(known) < most:
        if not known:
            busy = 0.0
        elif len(known) == 1:
            busy = _FIRST_GUESS * max(0.0, 1.0 / wanted - 1.0 / known[0].rtf)
        else:
            a, b = known[0], closest(wanted, known[1:])
            slope = (1.0 / b.rtf - 1.0 / a.rtf) / (b.busy - a.busy)
            busy = a.busy + (1.0 / wanted - 1.0 / a.rtf) / slope
        known.append(Reached(busy, run(busy)))
        if abs(known[-1].rtf / wanted - 1.0) < _CLOSE:
            break
    return closest(wanted, known).busy


def closest(wanted: float, known: list[Reached]) -> Reached:
    """The run whose factor is nearest to the wanted one."""
    return min(known, key=lambda reached: abs(reached.rtf - wanted))


class _Unit:
    """One participant on a separate processor."""

    def __init__(self, free: FreeRunning, takes_ns: int) -> None:
        self.free = free
        self.takes_ns = takes_ns
        self.busy_until = 0
        self.arrived: deque[tuple[int, Sample]] = deque()


def computed(scenario: Scenario, factor: float, busy: float) -> dict[str, FreeRunningCounts]:
    """What each reader meets in a run without synchronisation, if only declared times count.

    As in a real one, an activation begins when it is due and its participant has time, takes first
    what has arrived, and sends when it is complete. What happens at one time happens in the order
    of the graph; messages are there before an activation of that time.

    :param factor: real-time factor
    :param busy: computational share of a step, at factor 1
    """
    graph = build_graph(scenario)
    scale = TimeScale(factor)
    scale.start(0)
    times = processor_times(busy)
    with ExitStack() as opened:
        units = {}
        for name in graph.order:
            model = build_model(scenario, name, "inproc")
            opened.callback(model.close)
            free = FreeRunning(graph, name, model, end_ns=scenario.duration)
            units[name] = _Unit(free, times[name])
        _run(graph, units, scale)
        return {name: unit.free.counts for name, unit in units.items()}


def _run(graph: Graph, units: Mapping[str, _Unit], scale: TimeScale) -> None:
    readers: dict[tuple[str, str], list[tuple[str, int]]] = {}
    for name, unit in units.items():
        for index, connection in enumerate(unit.free.runtime.channels):
            key = connection.source, connection.source_port
            readers.setdefault(key, []).append((name, index))
    #: (wall time [ns], number, participant, (connection, message) or None: time to look).
    events: list[tuple[int, int, str, tuple[int, Sample] | None]] = []
    number = 0

    def at(wall: int, name: str, message: tuple[int, Sample] | None = None) -> None:
        nonlocal number
        number += 1
        heappush(events, (wall, number, name, message))

    def go_on(name: str, wall: int) -> None:
        """Take what has arrived, then what is due, until the participant is busy."""
        unit = units[name]
        runtime = unit.free.runtime
        while wall >= unit.busy_until:
            before = runtime.trace.activations
            due = unit.free.next_time
            if unit.arrived:
                sent = unit.free.receive(*unit.arrived.popleft())
            elif due is not None and scale.due(due) <= wall:
                sent = unit.free.activate_time()
            else:
                if due is not None:
                    at(scale.due(due), name)
                return
            if runtime.trace.activations == before:
                continue
            unit.busy_until = wall + unit.takes_ns
            for index, sample, _ in sent:
                for reader, channel in readers.get((name, runtime.spec.outputs[index].name), ()):
                    at(unit.busy_until, reader, (channel, sample))
            at(unit.busy_until, name)

    for name in units:
        at(0, name)
    while events:
        wall = events[0][0]
        woken: dict[str, None] = {}
        while events and events[0][0] == wall:
            _, _, name, message = heappop(events)
            woken[name] = None
            if message is not None:
                units[name].arrived.append(message)
        for name in woken:
            go_on(name, wall)
    for unit in units.values():
        unit.free.runtime.model.finish()
