# SPDX-License-Identifier: Apache-2.0
"""The world as a kernel participant: the scene in this process, or behind DCP.

Activation k happens at k periods: the first one reports the initial state, every other one
steps the scene by one period with the commands that were there at the start of that period.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from math import nan
from typing import Any

from ros2_cosim.carla_bridge.inprocess_world import InProcessWorld
from ros2_cosim.carla_bridge.parameters import SceneParameters
from ros2_cosim.carla_bridge.scene import Scene
from ros2_cosim.carla_bridge.scene_settings import commanded_vehicles, scene_parameters
from ros2_cosim.interfaces.records import CollisionEvent, ControlCommand
from ros2_cosim.kernel.errors import ConfigurationError
from ros2_cosim.kernel.participant import ModelContext, Step
from ros2_cosim.kernel.time import format_ns, parse_duration
from ros2_cosim.models.scene import scene_boxes

#: Largest difference [m] between a vehicle's size in the scenario and in the simulator.
SIZE_TOLERANCE = 0.05


class SceneRun:
    """A scene driven step by step, with its events in the order in which they are reported.

    What the plant in process and the DCP slave have in common.
    """

    def __init__(self, scene: Scene, sizes: Mapping[str, tuple[float, float]]) -> None:
        self._scene = scene
        self._sizes = sizes
        self._events: deque[CollisionEvent] = deque()

    def initialise(self) -> None:
        """Reach the initial state.

        :raises ConfigurationError: a vehicle is not as large as the scenario says
        """
        self._scene.initialise()
        for name, (length, width, _) in self._scene.dimensions().items():
            stated = self._sizes.get(name, (length, width))
            if max(abs(length - stated[0]), abs(width - stated[1])) > SIZE_TOLERANCE:
                self._scene.dismantle()
                raise ConfigurationError(
                    f"scene.vehicles.{name}: length and width are given as {stated[0]:g} m x "
                    f"{stated[1]:g} m; in the simulator they are {length:.3f} m x {width:.3f} m"
                )

    def step(self, commands: Mapping[str, ControlCommand | None]) -> None:
        """One step. Steering is the lane keeping's: the commands' ``steer`` is not used."""
        self._scene.step(
            {
                name: None if command is None else _without_steer(command)
                for name, command in commands.items()
            }
        )
        self._events.extend(found.event for found in self._scene.collisions())

    def outputs(self, *, static: bool) -> dict[str, Any]:
        """Output port -> record of the present state; at most one collision at a time."""
        outputs: dict[str, Any] = {}
        for name, (odometry, acceleration) in self._scene.read().items():
            outputs[f"odometry/{name}"] = odometry
            outputs[f"acceleration/{name}"] = acceleration
        if static:
            outputs["static_objects"] = self._scene.static_objects()
        if self._events:
            outputs["collision"] = self._events.popleft()
        return outputs

    def close(self) -> None:
        """Dismantle the scene."""
        self._scene.dismantle()


def _without_steer(command: ControlCommand) -> ControlCommand:
    """The command with the steering left to the lane keeping."""
    return ControlCommand(command.acceleration, command.throttle, command.brake, nan)


class ScenePlant:
    """The plant in process: no sockets, the same numbers as over CARLA's wire."""

    def __init__(self, run: SceneRun, vehicles: list[str]) -> None:
        self._run = run
        self._vehicles = vehicles
        run.initialise()

    def activate(self, step: Step) -> Mapping[str, Any]:
        """Advance to the activation time and report the state."""
        first = step.time == 0
        if not first:
            self._run.step(latest_commands(step, self._vehicles))
        return self._run.outputs(static=first)

    def close(self) -> None:
        """Release the simulator."""
        self._run.close()


def latest_commands(step: Step, vehicles: list[str]) -> dict[str, ControlCommand | None]:
    """The command of each vehicle, None before its controller's first."""
    commands: dict[str, ControlCommand | None] = {}
    for name in vehicles:
        sample = step.latest[f"control/{name}"]
        commands[name] = None if sample is None else sample.value
    return commands


def plant_step_ns(context: ModelContext) -> int:
    """The step of the plant: the participant's period, which parameter ``step`` may repeat.

    :raises ConfigurationError: ``step`` is another time than the period, or not above zero
    """
    where = f"participants.{context.name}.parameters.step"
    period_ns = context.period_ns or 10_000_000
    step_ns = parse_duration(context.parameters.get("step", period_ns), where, minimum=1)
    if step_ns != period_ns:
        raise ConfigurationError(
            f"{where}: found {format_ns(step_ns)}; allowed is the period of '{context.name}', "
            f"{format_ns(period_ns)}"
        )
    return step_ns


def scene_sizes(context: ModelContext) -> dict[str, tuple[float, float]]:
    """(length, width) of the vehicles for which the scenario states them."""
    return {
        name: (float(v["length"]), float(v["width"]))
        for name, v in context.scene.get("vehicles", {}).items()
        if "length" in v and "width" in v
    }


def make_plant(context: ModelContext) -> Any:
    """Make the world participant: in process, or as DCP master where processes are used."""
    parameters: SceneParameters = scene_parameters(context, plant_step_ns(context))
    if context.shape == "inproc":
        # Read once per process, for the sensors as well; what is wrong with it names the file.
        scene_boxes(context)
        run = SceneRun(Scene(InProcessWorld(), parameters), scene_sizes(context))
        return ScenePlant(run, commanded_vehicles(parameters))
    from ros2_cosim.carla_bridge.dcp_plant import DcpPlant

    return DcpPlant(context, parameters)
