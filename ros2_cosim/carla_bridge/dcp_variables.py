# SPDX-License-Identifier: Apache-2.0
"""The DCP variables of a scene: one per field of each port's record.

A variable is named ``port.field``, for instance ``odometry/leader.x``. Static objects are
arrays, sent in the Initialization superstate only. Collisions come as the latest event and
the number of events so far.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from ros2_cosim.carla_bridge.parameters import SceneParameters
from ros2_cosim.carla_bridge.scene_settings import commanded_vehicles
from ros2_cosim.dcp.declare import describe
from ros2_cosim.dcp.description import (
    Causality,
    Dimension,
    Resolution,
    SlaveDescription,
    TypeAttributes,
    Unit,
    Variable,
)
from ros2_cosim.dcp.enums import DataType
from ros2_cosim.interfaces.records import (
    Acceleration,
    CollisionEvent,
    ControlCommand,
    Odometry,
    StaticObject,
    StaticObjects,
)

_UNITS: Mapping[str, str] = {
    **dict.fromkeys(("x", "y", "z", "length", "width", "height"), "m"),
    **dict.fromkeys(("vx", "vy", "vz"), "m/s"),
    **dict.fromkeys(("wx", "wy", "wz"), "rad/s"),
    **dict.fromkeys(("ax", "ay", "az", "acceleration"), "m/s2"),
    "yaw": "rad",
    "impulse": "N.s",
}
_INTEGERS = ("id", "classification", "vehicle", "other")
COLLISIONS = "collision.count"
#: Over UDP nobody notices otherwise that the master is gone.
HEARTBEAT_S = 30


class SceneVariables:
    """All variables of a scene, and the way between records and lists of values."""

    def __init__(self, parameters: SceneParameters) -> None:
        self.commanded = commanded_vehicles(parameters)
        self._vehicles = [spec.name for spec in parameters.vehicles]
        self._objects = len(parameters.objects)
        self._parameters = parameters

    def description(self, name: str = "carla") -> SlaveDescription:
        """The slave description; equal scenes give equal descriptions, uuid included."""
        step = self._parameters.step_ns
        return describe(
            self._variables(),
            name=name,
            description="A CARLA scene: vehicle states out, pedals in.",
            resolutions=(Resolution(step, 1_000_000_000),),
            heartbeat=Fraction(HEARTBEAT_S),
            transports=("TCP_IPv4", "UDP_IPv4"),
            units=[Unit(unit) for unit in sorted(set(_UNITS.values()))],
        )

    def command_values(self, commands: Mapping[str, ControlCommand | None]) -> list[float]:
        """Input values from commands; a missing command is NaN throughout."""
        values: list[float] = []
        for vehicle in self.commanded:
            values += commands[vehicle] or _NO_COMMAND
        return values

    def commands(self, values: Sequence[Any]) -> dict[str, ControlCommand | None]:
        """Commands from input values."""
        size = len(ControlCommand._fields)
        commands: dict[str, ControlCommand | None] = {}
        for position, vehicle in enumerate(self.commanded):
            command = ControlCommand(*values[position * size : (position + 1) * size])
            # NaN differs from itself: no command has come yet.
            commands[vehicle] = command if command.throttle == command.throttle else None
        return commands

    def state_values(self, outputs: Mapping[str, Any], collisions: int) -> list[Any]:
        """Values of the outputs of a step (odometry, acceleration, collision)."""
        values: list[Any] = []
        for vehicle in self._vehicles:
            values += outputs[f"odometry/{vehicle}"]
            values += outputs[f"acceleration/{vehicle}"]
        values += outputs.get("collision") or (0, 0, 0.0)
        values.append(collisions)
        return values

    def static_values(self, static: StaticObjects) -> list[Any]:
        """Values of the outputs of the initialisation: one array per field."""
        if not self._objects:
            return []
        return [tuple(column) for column in zip(*static.objects, strict=True)]

    def records(self, values: Sequence[Any], *, static: bool, collided: bool) -> dict[str, Any]:
        """Output port -> record from all output values."""
        outputs: dict[str, Any] = {}
        at = 0
        for vehicle in self._vehicles:
            outputs[f"odometry/{vehicle}"] = Odometry(*values[at : at + 13])
            outputs[f"acceleration/{vehicle}"] = Acceleration(*values[at + 13 : at + 16])
            at += 16
        if collided:
            outputs["collision"] = CollisionEvent(*values[at : at + 3])
        if static:
            columns = values[at + 4 : at + 4 + len(StaticObject._fields)]
            rows = zip(*columns, strict=True)
            outputs["static_objects"] = StaticObjects(tuple(StaticObject(*row) for row in rows))
        return outputs

    def collision_count(self, values: Sequence[Any]) -> int:
        """Number of collisions so far."""
        return int(values[len(self._vehicles) * 16 + 3])

    def _variables(self) -> list[Variable]:
        names: list[tuple[str, str, Causality, int]] = []
        for vehicle in self.commanded:
            names += [(f"control/{vehicle}", f, Causality.INPUT, 0) for f in ControlCommand._fields]
        for vehicle in self._vehicles:
            names += [(f"odometry/{vehicle}", f, Causality.OUTPUT, 0) for f in Odometry._fields]
            names += [
                (f"acceleration/{vehicle}", f, Causality.OUTPUT, 0) for f in Acceleration._fields
            ]
        names += [("collision", f, Causality.OUTPUT, 0) for f in CollisionEvent._fields]
        names.append(("collision", "count", Causality.OUTPUT, 0))
        if self._objects:
            names += [
                ("static_objects", f, Causality.OUTPUT, self._objects) for f in StaticObject._fields
            ]
        variables = [
            _variable(number, port, field, causality, count)
            for number, (port, field, causality, count) in enumerate(names)
        ]
        for name, start in (
            ("map", self._parameters.map.name),
            ("weather", self._parameters.weather),
        ):
            variables.append(
                Variable(
                    name,
                    len(variables),
                    Causality.PARAMETER,
                    DataType.string,
                    start=start,
                    variability="fixed",
                )
            )
        return variables


_NO_COMMAND = (float("nan"),) * len(ControlCommand._fields)


def _variable(number: int, port: str, field: str, causality: Causality, count: int) -> Variable:
    data_type = DataType.float64
    if field == "count":
        data_type = DataType.uint64
    elif field in _INTEGERS:
        data_type = DataType.uint32
    start: Any = None
    if causality is Causality.INPUT:
        start = 0.0
    return Variable(
        f"{port}.{field}",
        number,
        causality,
        data_type,
        start=start,
        attributes=TypeAttributes(unit=_UNITS.get(field)),
        dimensions=(Dimension(constant=count),) if count else (),
        initialization=count > 0,
        variability="discrete" if port == "collision" else "continuous",
    )
