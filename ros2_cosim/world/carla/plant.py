# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""A scene driven step by step, and the plant of this process.

Activation k happens at k periods: the first one reports the initial state, every other one
steps the scene by one period with the commands that were there at the start of that period.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Mapping, Sequence
from typing import Any, Final

from ros2_cosim.core.kernel.model import Report
from ros2_cosim.core.kernel.named_tuples import NEW
from ros2_cosim.core.kernel.participant import Step
from ros2_cosim.core.messages.records import CollisionEvent, ControlCommand, Odometry
from ros2_cosim.core.scene.entities import EntityCommand, packed, unpacked
from ros2_cosim.core.scene.simulator import Simulator
from ros2_cosim.world.carla.commands import check_command, has_no_pedals
from ros2_cosim.world.carla.inprocess_world import InProcessWorld
from ros2_cosim.world.carla.scene import ActorCommand, Scene
from ros2_cosim.world.headless.onlooker import WorldOnlooker

MEASURED: Final = "sensor/"
"""Stands before the name of a sensor whose measurement is among the outputs of a scene."""


TRAFFIC: Final = "traffic"
"""The output with the vehicles of the simulator that are not participants'."""

LIGHT: Final = "light/"
"""Stands before the name of a vehicle in the output that reports the next traffic light."""

RED_LIGHTS: Final = "red_lights"
"""The output that counts the traffic lights that were passed at red."""

PLACE: Final = "place/"
"""Stands before the name of a vehicle or object in the input that puts it elsewhere."""


class Known:
    """What is worked out once, and is no part of a state.

    :ivar commands: vehicle -> its last command, and what that means
    """

    __slots__ = ("_ports", "commands")

    def __init__(self) -> None:
        self.commands: dict[str, tuple[ControlCommand, ActorCommand]] = {}
        self._ports: dict[str, tuple[str, str]] = {}

    def ports_of(self, vehicle: str) -> tuple[str, str]:
        """The outputs with its odometry and its acceleration."""
        ports = self._ports.get(vehicle)
        if ports is None:
            ports = self._ports[vehicle] = f"odometry/{vehicle}", f"acceleration/{vehicle}"
        return ports


class SceneRun:
    """A scene driven step by step, with its events in the order in which they are reported.

    What the plant in process and the DCP slave have in common.
    """

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self._steered = scene.steered
        self._known = Known()
        self._events: deque[CollisionEvent] = deque()
        #: How many places each vehicle or object had been given when it was put somewhere.
        self._put: dict[str, int] = {}
        #: Collisions, and measurements of each sensor, reported so far.
        self.collisions = 0
        self.measured: Counter[str] = Counter()

    @property
    def simulator(self) -> Simulator:
        """What moves the scene."""
        return self._scene.simulator

    def initialise(self) -> None:
        """Reach the initial state.

        :raises ConfigurationError: something cannot be had as the scenario says
        """
        self._scene.initialise()

    def step(
        self,
        commands: Mapping[str, ControlCommand | None],
        places: Mapping[str, tuple[int, Odometry]],
        orders: bytes = b"",
    ) -> None:
        """One step; ``steer`` of a command is for vehicles whose ``steering`` is ``command``.

        :param places: vehicle or object -> (how many places it has been given, the last one)
        :param orders: what is done to entities, see :func:`ros2_cosim.core.scene.entities.packed`
        """
        for order in unpacked(orders):
            self._scene.order(order)
        for name, (count, there) in places.items():
            if count != self._put.get(name):
                self._put[name] = count
                self._scene.put(name, there)
        self._scene.step(
            {
                name: None if command is None else self._command(name, command)
                for name, command in commands.items()
            }
        )
        self._events.extend(found.event for found in self._scene.collisions())

    def _command(self, name: str, command: ControlCommand) -> ActorCommand:
        """The pedals, those for its acceleration if it has none; the steering where it counts."""
        known = self._known.commands.get(name)
        if known is not None and known[0] is command:
            return known[1]
        check_command(name, command)
        throttle, brake = command.throttle, command.brake
        steer = command.steer if name in self._steered else None
        if has_no_pedals(command):  # they depend on the speed
            return ActorCommand(*self._scene.pedals(name, command.acceleration), steer)
        meant = NEW(ActorCommand, (throttle, brake, steer))
        self._known.commands[name] = command, meant
        return meant

    def outputs(self, *, static: bool) -> dict[str, Any]:
        """Output port -> record of the present state; at most one collision at a time.

        A sensor that has measured is there as ``sensor/NAME``, with its measurement.
        """
        outputs: dict[str, Any] = {}
        for name, (odometry, acceleration) in self._scene.read().items():
            odometry_port, acceleration_port = self._known.ports_of(name)
            outputs[odometry_port] = odometry
            outputs[acceleration_port] = acceleration
        for name, measured in self._scene.take_measurements().items():
            outputs[MEASURED + name] = measured
            self.measured[MEASURED + name] += 1
        users = self._scene.road_users()
        if users is not None:
            outputs[TRAFFIC] = users
        for name, light in self._scene.lights_ahead().items():
            outputs[LIGHT + name] = light
        passed = self._scene.red_lights_passed()
        if passed is not None:
            outputs[RED_LIGHTS] = passed
        if static:
            outputs["static_objects"] = self._scene.static_objects()
        if self._events:
            outputs["collision"] = self._events.popleft()
            self.collisions += 1
        return outputs

    def finish(self) -> None:
        """The last step is done: see whether it was this bridge alone that moved the world.

        :raises CausalityError: another client has moved it, too
        """
        self._scene.finish()

    def close(self) -> None:
        """Dismantle the scene."""
        self._scene.dismantle()


class ScenePlant:
    """The plant in process: no sockets, the same numbers as over CARLA's wire."""

    def __init__(self, run: SceneRun, vehicles: list[str], placed: Sequence[str]) -> None:
        self._run = run
        self._controls = [(name, f"control/{name}") for name in vehicles]
        self._placed = {name: f"{PLACE}{name}" for name in placed}
        self._orders = b""
        run.initialise()

    def order(self, commands: Sequence[EntityCommand]) -> None:
        """Do something to entities at the begin of the next step."""
        self._orders = packed(commands)

    def activate(self, step: Step) -> Mapping[str, Any]:
        """Advance to the activation time and report the state."""
        first = step.time == 0
        if not first:
            places = {}
            for name, port in self._placed.items():
                sample = step.latest[port]
                if sample is not None:
                    places[name] = sample.seq + 1, sample.value
            commands: dict[str, ControlCommand | None] = {}
            for name, port in self._controls:
                sample = step.latest[port]
                if sample is None:
                    commands[name] = None
                else:
                    _, _, commands[name] = sample
            orders, self._orders = self._orders, b""
            self._run.step(commands, places, orders)
        return self._run.outputs(static=first)

    def onlooker(self) -> WorldOnlooker | None:
        """Shows the headless world; None of another simulator."""
        simulator = self._run.simulator
        return simulator.onlooker if isinstance(simulator, InProcessWorld) else None

    def vehicles(self) -> list[list[int | str]]:
        """Number and blueprint of each vehicle of the headless world; none of another simulator."""
        simulator = self._run.simulator
        return simulator.vehicles() if isinstance(simulator, InProcessWorld) else []

    def complete(self, vehicles: Sequence[Any]) -> None:
        """Make the vehicles of a saved state that came while the run went on.

        :raises CallError: there are no such vehicles
        """
        simulator = self._run.simulator
        if isinstance(simulator, InProcessWorld):
            simulator.complete(vehicles)

    def finish(self) -> None:
        """Check whether another client has moved the world."""
        self._run.finish()

    def report(self) -> Report:
        """Nothing to say."""
        return Report()

    def close(self) -> None:
        """Release the simulator."""
        self._run.close()
