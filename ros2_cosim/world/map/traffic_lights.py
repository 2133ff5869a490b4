# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Traffic lights as state machines: groups of controllers that take turns, as in CARLA.

The lights of a junction are a group. Its controllers follow each other in their order: the
lights of one are green, then yellow, then red, while all others are red; then the next one.
Time is counted in whole nanoseconds.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from ros2_cosim.core.kernel.time import SECOND
from ros2_cosim.world.map.network import RoadNetwork
from ros2_cosim.world.map.signals import TRAFFIC_LIGHT
from ros2_cosim.world.map.stop_lines import stop_lines

# States of the protocol (TrafficLightState).
RED, YELLOW, GREEN, OFF, UNKNOWN = range(5)

# CARLA's own times [s].
_GREEN_TIME, _YELLOW_TIME, _RED_TIME = 10.0, 3.0, 2.0
_FOLLOWING = {GREEN: YELLOW, YELLOW: RED}


class Light:
    """One traffic light; ``state`` may be set from outside and holds until the next change."""

    def __init__(self, signal_id: str) -> None:
        self.signal_id = signal_id
        self.state = RED
        self.group: LightGroup = LightGroup([])
        self.controller: LightController = LightController([])

    def set_time(self, state: int, seconds: float) -> None:
        """How long a state lasts; of all lights with the same controller."""
        self.controller.times[state] = seconds


class LightController:
    """Lights that change together; ``times`` holds the seconds that each state lasts."""

    def __init__(self, lights: Sequence[Light]) -> None:
        self.lights = list(lights)
        self.times = {GREEN: _GREEN_TIME, YELLOW: _YELLOW_TIME, RED: _RED_TIME}

    def show(self, state: int) -> None:
        """Set the state of all its lights."""
        for light in self.lights:
            light.state = state


class LightGroup:
    """The controllers of a junction; ``frozen``: time stands still for them."""

    def __init__(self, controllers: Sequence[LightController]) -> None:
        self.controllers = list(controllers)
        self.frozen = False
        self._index = 0
        self._state = GREEN
        self._elapsed_ns = 0
        for controller in self.controllers:
            for light in controller.lights:
                light.group, light.controller = self, controller
        self.reset()

    @property
    def lights(self) -> list[Light]:
        """All lights, in order of the controllers."""
        return [light for controller in self.controllers for light in controller.lights]

    @property
    def elapsed_s(self) -> float:
        """Seconds since the state of the present controller changed."""
        return self._elapsed_ns / SECOND

    def reset(self) -> None:
        """Begin again: the first controller is green, all others are red."""
        self._index, self._state, self._elapsed_ns = 0, GREEN, 0
        self._show()

    def step(self, step_ns: int) -> None:
        """Let time pass; at most one change in a step."""
        if self.frozen or not self.controllers:
            return
        self._elapsed_ns += step_ns
        times = self.controllers[self._index].times
        if self._elapsed_ns >= int(times[self._state] * SECOND + 0.5):
            self._elapsed_ns = 0
            if self._state == RED:
                self._index = (self._index + 1) % len(self.controllers)
                self._state = GREEN
            else:
                self._state = _FOLLOWING[self._state]
            self._show()

    def _show(self) -> None:
        for index, controller in enumerate(self.controllers):
            controller.show(self._state if index == self._index else RED)


def make_groups(
    junctions: Iterable[Sequence[Sequence[str]]], signals: Iterable[str]
) -> tuple[dict[str, Light], list[LightGroup]]:
    """The lights by signal, and their groups.

    :param junctions: for each junction its controllers, for each of these its signals
    :param signals: the signals that are traffic lights; those of no junction are groups alone
    """
    lights = {signal: Light(signal) for signal in signals}
    free = dict.fromkeys(lights)
    groups = []
    for junction in junctions:
        controllers = []
        for members in junction:
            taken = [signal for signal in members if signal in free]
            for signal in taken:
                del free[signal]
            if taken:
                controllers.append(LightController([lights[signal] for signal in taken]))
        if controllers:
            groups.append(LightGroup(controllers))
    groups += [LightGroup([LightController([lights[signal]])]) for signal in free]
    return lights, groups


def network_lights(network: RoadNetwork) -> tuple[dict[str, Light], list[LightGroup]]:
    """The lights of a map by signal, and their groups, at the begin of their first phase.

    Lights that no controller has take their turn after the others of their junction, arm by arm, so
    that none is green beside them.
    """

    def controllers(ids: tuple[str, ...]) -> Iterator[tuple[int, tuple[str, ...]]]:
        for controller_id in ids:
            controller = network.controllers.get(controller_id)
            if controller is not None:
                yield controller.sequence, controller.signals

    turns = {
        j.id: [
            signals for _, signals in sorted(controllers(j.controllers), key=lambda item: item[0])
        ]
        for j in network.junctions.values()
    }
    found = [s.id for s in network.signals.values() if s.type == TRAFFIC_LIGHT]
    switched = {signal for members in turns.values() for signals in members for signal in signals}
    arms: dict[tuple[int, bool], list[str]] = {}
    for signal in found:
        for road, lane, _ in stop_lines(network, signal)[:1]:
            if signal not in switched:
                arms.setdefault((road, lane < 0), []).append(signal)
    for (road, forward), members in arms.items():
        junction = network.roads[road].junction_at(forward)
        if junction in turns:
            turns[junction].append(tuple(members))
    return make_groups(turns.values(), found)


class LightPhases:
    """What the lights of a map show while nothing but time changes them.

    :ivar lights: in the order of the map, as the last call of ``states`` left them
    :param step_ns: length of a step [ns]
    """

    def __init__(self, network: RoadNetwork, step_ns: int) -> None:
        self._network = network
        self._step_ns = step_ns
        self._begin()

    def _begin(self) -> None:
        self.lights, self._groups = network_lights(self._network)
        self._steps = 0

    def states(self, steps: int) -> tuple[int, ...]:
        """The states of all lights after so many steps."""
        if steps < self._steps:
            self._begin()
        for _ in range(steps - self._steps):
            for group in self._groups:
                group.step(self._step_ns)
        self._steps = steps
        return tuple(light.state for light in self.lights.values())
