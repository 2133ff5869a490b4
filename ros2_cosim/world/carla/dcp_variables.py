# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The DCP variables of a scene: one per field of each port's record.

A variable is named ``port.field``, for instance ``odometry/leader.x``. Static objects are arrays,
sent in the Initialization superstate only. An object that is placed has an input ``count`` beside
the fields of ``place/NAME``: it is put there when that grows. Orders about entities are a binary
input beside their ``count``. Collisions come as the latest event
and the number of events so far. Vehicles that are not participants' are one binary variable
(``road_users``), where the scenario has a use for them. Traffic lights have variables where they
are looked at.

Parameters: ``map``, ``weather``, ``sample_time`` [s], ``vehicles`` (how many are there),
``traffic`` and ``traffic_seed``. The variables of a vehicle that is not there are NaN, and
commands for it are not looked at.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from math import isnan
from typing import Any, NamedTuple

from ros2_cosim.core.kernel.time import SECOND
from ros2_cosim.core.messages.records import (
    Acceleration,
    CollisionEvent,
    ControlCommand,
    Odometry,
    RedLightsPassed,
    StaticObject,
    StaticObjects,
    TrafficLightAhead,
)
from ros2_cosim.core.scene.entities import MAX_BYTES as MAX_ORDERS_BYTES
from ros2_cosim.core.scene.entities import ORDERS
from ros2_cosim.core.scene.sensors import Fix, Inertia, SensorForm
from ros2_cosim.dcp.slave.declare import describe
from ros2_cosim.dcp.standard.enums import DataType, OpMode
from ros2_cosim.dcp.standard.slave_description import (
    Causality,
    Dimension,
    Resolution,
    ResolutionRange,
    SlaveDescription,
    TypeAttributes,
    Unit,
    Variable,
)
from ros2_cosim.world.carla.lights import NONE_AHEAD
from ros2_cosim.world.carla.parameters import MAX_SEED, MAX_STEP_NS, MAX_TRAFFIC, SceneParameters
from ros2_cosim.world.carla.plant import LIGHT, MEASURED, PLACE, RED_LIGHTS, TRAFFIC
from ros2_cosim.world.carla.road_users import MOST_BYTES, packed
from ros2_cosim.world.carla.scene_settings import HEARTBEAT_NS
from ros2_cosim.world.carla.sensor_attributes import most_bytes

_UNITS: Mapping[str, str] = {
    **dict.fromkeys(("x", "y", "z", "length", "width", "height", "distance"), "m"),
    **dict.fromkeys(("vx", "vy", "vz"), "m/s"),
    **dict.fromkeys(("wx", "wy", "wz"), "rad/s"),
    **dict.fromkeys(("ax", "ay", "az", "acceleration"), "m/s2"),
    "yaw": "rad",
    "impulse": "N.s",
}
_SENSOR_UNITS: Mapping[str, str] = {
    **_UNITS,
    **dict.fromkeys(("latitude", "longitude"), "deg"),
    **dict.fromkeys(("altitude",), "m"),
    **dict.fromkeys(("compass",), "rad"),
}
#: Of what comes now and then: how often it has come.
COUNT = "count"
_INTEGERS = (
    *("id", "classification", "vehicle", "other"),
    *("light", "state", *RedLightsPassed._fields),
)


class Received(NamedTuple):
    """A measurement in a binary variable."""

    data: bytes


SENSOR_RECORDS: Mapping[SensorForm, type] = {
    SensorForm.FIX: Fix,
    SensorForm.INERTIA: Inertia,
    SensorForm.CLOUD: Received,
    SensorForm.IMAGE: Received,
}
"""What a sensor's variables hold: one for each field."""

#: Shortest step that the slave takes [ns].
MIN_STEP_NS = 100_000


class SceneVariables:
    """All variables of a scene, and the way between records and lists of values."""

    def __init__(self, parameters: SceneParameters) -> None:
        described = [spec.name for spec in parameters.vehicles]
        self._inputs = [spec.name for spec in parameters.vehicles if spec.driver is None]
        self._vehicles = described
        self._present = {spec.name for spec in parameters.present}
        self._objects = len(parameters.standing)
        self._placed = [v.name for v in parameters.vehicles if v.placed]
        self._placed += [entry.name for entry in parameters.objects if entry.placed]
        self._parameters = parameters
        #: Values of the sensors: numbers hold, a binary is there in one step only.
        self._sensors = {MEASURED + spec.name: _nothing(spec.form) for spec in parameters.sensors}

    def description(
        self, name: str = "carla", heartbeat_ns: int = HEARTBEAT_NS
    ) -> SlaveDescription:
        """The slave description; equal scenes give equal descriptions, uuid included.

        :param heartbeat_ns: longest time without a sign of life of the master, 0: any
        """
        step = self._parameters.step_ns
        return describe(
            self._variables(),
            name=name,
            description="A CARLA scene: vehicle states out, pedals in.",
            op_modes=(OpMode.NRT, OpMode.SRT),
            resolutions=(
                Resolution(step, SECOND, fixed=False, recommended=True),
                ResolutionRange(MIN_STEP_NS, MAX_STEP_NS, SECOND),
            ),
            heartbeat=Fraction(heartbeat_ns, SECOND) if heartbeat_ns else None,
            units=[Unit(unit) for unit in sorted({*self._units().values(), "s"})],
        )

    def parameter_values(self) -> dict[str, Any]:
        """What a master sets so that the slave has the scene of ``parameters``."""
        parameters = self._parameters
        return {
            "sample_time": parameters.step_ns / SECOND,
            "vehicles": len(parameters.present),
            "traffic": parameters.traffic,
            "traffic_seed": parameters.traffic_seed,
        }

    def commands(self, values: Sequence[Any]) -> dict[str, ControlCommand | None]:
        """Commands from input values."""
        size = len(ControlCommand._fields)
        commands: dict[str, ControlCommand | None] = {}
        for position, vehicle in enumerate(self._inputs):
            if vehicle not in self._present:
                continue
            command = ControlCommand(*values[position * size : (position + 1) * size])
            # NaN differs from itself: no command has come yet.
            # Without pedals and without acceleration, nothing has come for the vehicle yet.
            by_acceleration = isnan(command.brake) and not isnan(command.acceleration)
            absent = isnan(command.throttle) and not by_acceleration
            commands[vehicle] = None if absent else command
        return commands

    def places(self, values: Sequence[Any]) -> dict[str, tuple[int, Odometry]]:
        """Of what has been given a place: how many so far, and the last one."""
        size = len(Odometry._fields) + 1
        first = len(self._inputs) * len(ControlCommand._fields)
        places = {}
        for name in self._placed:
            *there, count = values[first : first + size]
            first += size
            if count:
                places[name] = int(count), Odometry(*there)
        return places

    def orders(self, values: Sequence[Any]) -> tuple[int, bytes]:
        """What is done to entities: how often so far, and the last of it."""
        if not self._parameters.reports_traffic:
            return 0, b""
        orders, count = values[-2:]
        return int(count), bytes(orders)

    def _units(self) -> Mapping[str, str]:
        return _SENSOR_UNITS if self._sensors else _UNITS

    def state_values(
        self, outputs: Mapping[str, Any], collisions: int, measured: Mapping[str, int]
    ) -> list[Any]:
        """Values of the outputs of a step (odometry, acceleration, collision, sensors).

        :param measured: port of a sensor -> number of its measurements so far
        """
        values: list[Any] = []
        for vehicle in self._vehicles:
            values += outputs.get(f"odometry/{vehicle}") or _NO_ODOMETRY
            values += outputs.get(f"acceleration/{vehicle}") or _NO_ACCELERATION
        values += outputs.get("collision") or (0, 0, 0.0)
        values.append(collisions)
        for port, held in self._sensors.items():
            found = outputs.get(port)
            if found is not None:
                held = tuple(found)
                if isinstance(held[0], float):
                    self._sensors[port] = held
            values += (*held, measured.get(port, 0))
        if self._parameters.reports_traffic:
            values.append(packed(outputs[TRAFFIC]))
        if self._parameters.traffic_lights:
            for vehicle in self._vehicles:
                values += outputs.get(LIGHT + vehicle) or NONE_AHEAD
            values += outputs[RED_LIGHTS]
        return values

    def static_values(self, static: StaticObjects) -> list[Any]:
        """Values of the outputs of the initialisation: one array per field."""
        if not self._objects:
            return []
        return [tuple(column) for column in zip(*static.objects, strict=True)]

    def _ports(self) -> Iterator[tuple[str, tuple[str, ...], Causality, int]]:
        """Port, fields of its record, causality, and how many there are of it (0: one value)."""
        given, sent = Causality.INPUT, Causality.OUTPUT
        for vehicle in self._inputs:
            yield f"control/{vehicle}", ControlCommand._fields, given, 0
        for name in self._placed:
            yield PLACE + name, (*Odometry._fields, COUNT), given, 0
        if self._parameters.reports_traffic:
            yield ORDERS, (*Received._fields, COUNT), given, 0
        for vehicle in self._vehicles:
            yield f"odometry/{vehicle}", Odometry._fields, sent, 0
            yield f"acceleration/{vehicle}", Acceleration._fields, sent, 0
        yield "collision", (*CollisionEvent._fields, COUNT), sent, 0
        for spec in self._parameters.sensors:
            fields = SENSOR_RECORDS[spec.form]._fields  # type: ignore[attr-defined]
            yield MEASURED + spec.name, (*fields, COUNT), sent, 0
        if self._parameters.reports_traffic:
            yield TRAFFIC, Received._fields, sent, 0
        if self._parameters.traffic_lights:
            for name in self._vehicles:
                yield LIGHT + name, TrafficLightAhead._fields, sent, 0
            yield RED_LIGHTS, RedLightsPassed._fields, sent, 0
        if self._objects:
            yield "static_objects", StaticObject._fields, sent, self._objects

    def _variables(self) -> list[Variable]:
        sizes = {
            MEASURED + spec.name: most_bytes(spec.blueprint, spec.attributes, spec.period_ns)
            for spec in self._parameters.sensors
        }
        if self._parameters.reports_traffic:
            sizes[TRAFFIC] = MOST_BYTES
            sizes[ORDERS] = MAX_ORDERS_BYTES
        variables: list[Variable] = []
        for port, fields, causality, count in self._ports():
            size = sizes.get(port)
            for name in fields:
                variables.append(_variable(len(variables), port, name, causality, count, size))
        for name, kind, start, attributes in self._parameter_variables():
            variables.append(
                Variable(
                    name,
                    len(variables),
                    Causality.PARAMETER,
                    kind,
                    start=start,
                    variability="fixed",
                    attributes=attributes,
                )
            )
        return variables

    def _parameter_variables(self) -> list[tuple[str, DataType, Any, TypeAttributes]]:
        """Name, type, start and limits; starts that a scenario changes by itself are not told."""
        count = len(self._vehicles)
        longest = MAX_STEP_NS / SECOND
        return [
            ("map", DataType.string, self._parameters.map.name, TypeAttributes()),
            ("weather", DataType.string, self._parameters.weather, TypeAttributes()),
            ("sample_time", DataType.float64, 0.0, TypeAttributes(min=0.0, max=longest, unit="s")),
            ("vehicles", DataType.uint32, count, TypeAttributes(min=1, max=count)),
            ("traffic", DataType.uint32, 0, TypeAttributes(min=0, max=MAX_TRAFFIC)),
            ("traffic_seed", DataType.uint64, 0, TypeAttributes(min=0, max=MAX_SEED)),
        ]


_NAN = float("nan")
_NO_ODOMETRY = (_NAN,) * len(Odometry._fields)
_NO_ACCELERATION = (_NAN,) * len(Acceleration._fields)


def _nothing(form: SensorForm) -> tuple[Any, ...]:
    """The values of a sensor that has not measured yet."""
    if form in (SensorForm.CLOUD, SensorForm.IMAGE):
        return (b"",)
    return (_NAN,) * len(SENSOR_RECORDS[form]._fields)  # type: ignore[attr-defined]


def _variable(
    number: int,
    port: str,
    field: str,
    causality: Causality,
    count: int,
    size: int | None,
) -> Variable:
    data_type = DataType.float64
    binary = size is not None and field == "data"
    if binary:
        data_type = DataType.binary
    elif field == COUNT:
        data_type = DataType.uint64
    elif field in _INTEGERS:
        data_type = DataType.uint32
    start: Any = None
    if causality is Causality.INPUT:
        start = b"" if binary else 0 if field == COUNT else 0.0
    return Variable(
        f"{port}.{field}",
        number,
        causality,
        data_type,
        start=start,
        attributes=TypeAttributes(
            unit=(_UNITS if size is None else _SENSOR_UNITS).get(field),
            max_size=size if binary else None,
        ),
        dimensions=(Dimension(constant=count),) if count else (),
        initialization=count > 0,
        variability="discrete" if port == "collision" or size is not None else "continuous",
    )
