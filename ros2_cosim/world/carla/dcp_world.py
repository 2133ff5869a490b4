# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The world behind a DCP slave: a DCP master whose mapping follows from the scene."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from fractions import Fraction
from typing import Any

from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.kernel.listening import Listening
from ros2_cosim.core.kernel.participant import ModelContext
from ros2_cosim.core.messages.records import (
    Acceleration,
    CollisionEvent,
    ControlCommand,
    Odometry,
    RedLightsPassed,
    StaticObjects,
    TrafficLightAhead,
)
from ros2_cosim.core.scene.entities import ORDERS, EntityCommand, packed
from ros2_cosim.dcp.bridge.coupled import CoupledSlaves, MappedOutput, PortMapping, data_ports
from ros2_cosim.dcp.bridge.mapping import FieldWriter, RecordReader, find_variable
from ros2_cosim.dcp.master.master import Master
from ros2_cosim.dcp.master.remote import SlaveUse
from ros2_cosim.dcp.standard.data_path import Missing
from ros2_cosim.dcp.standard.enums import OpMode, TransportProtocol
from ros2_cosim.dcp.standard.read_description import read_description
from ros2_cosim.dcp.standard.sizes import MAX_PDU_BYTES
from ros2_cosim.dcp.standard.slave_description import (
    UDP_MAX_PDU_SIZE,
    Causality,
    SlaveDescription,
)
from ros2_cosim.dcp.standard.values import Value
from ros2_cosim.world.carla.commands import check_command
from ros2_cosim.world.carla.dcp_variables import COUNT, SENSOR_RECORDS, Received, SceneVariables
from ros2_cosim.world.carla.describe import scene_description
from ros2_cosim.world.carla.parameters import SceneParameters
from ros2_cosim.world.carla.plant import LIGHT, MEASURED, PLACE, RED_LIGHTS, TRAFFIC
from ros2_cosim.world.carla.road_users import unpacked
from ros2_cosim.world.carla.scene_settings import (
    DcpSettings,
    WorldParameters,
    commanded_vehicles,
    slave_name,
)
from ros2_cosim.world.carla.sensor_attributes import most_bytes

#: The slave may take this long to build its world; longer ends the run.
TIMEOUT_S = 90.0
#: All processes of a run are started at once; the slave may take so long to listen.
CONNECT_WAIT_S = 90.0
_TRANSPORTS = {"tcp": TransportProtocol.TCP_IPv4, "udp": TransportProtocol.UDP_IPv4}
#: A measurement must fit into a data PDU, with what stands before it.
_ROOM = 64
_MOST_OVER_UDP = UDP_MAX_PDU_SIZE - _ROOM
#: Inputs of a vehicle to which no command has come yet.
NO_COMMAND = float("nan")


def listening(parameters: WorldParameters) -> tuple[Listening, ...]:
    """Where data of the slave arrive."""
    dcp = parameters.dcp or DcpSettings()
    return data_ports([(dcp.host, dcp.transport)])


def coupled_world(
    context: ModelContext, parameters: WorldParameters, scene: SceneParameters
) -> CoupledWorld:
    """The world participant as a DCP master with one slave, the CARLA scene.

    :raises ConfigurationError: the description does not fit the scene
    """
    dcp = parameters.dcp or DcpSettings()
    description = world_description(context, parameters, scene)

    @contextmanager
    def opened() -> Iterator[Master]:
        with Master(
            op_mode=OpMode[dcp.mode.upper()],
            data_synchronisation=dcp.data_synchronisation,
            timeout_s=TIMEOUT_S,
            connect_wait_s=CONNECT_WAIT_S,
            missing=Missing(dcp.missing),
        ) as master:
            master.add_slave(
                description,
                dcp.host,
                dcp.port,
                name=slave_name(context),
                transport=_TRANSPORTS[dcp.transport],
                use=SlaveUse(
                    resolution=Fraction(scene.step_ns, 1_000_000_000),
                    in_order=dcp.description is None,  # it is the project's own slave
                ),
            )
            yield master

    world = CoupledWorld(
        context.name,
        world_mapping(slave_name(context), description, scene),
        opened,
        parameters={slave_name(context): SceneVariables(scene).parameter_values()},
        period_ns=context.period_ns,
        clocked=dcp.depends_on_wall_clock,
    )
    world.slave = slave_name(context)
    return world


class CoupledWorld(CoupledSlaves):
    """The slave with the scene, and orders about its entities."""

    slave: str = ""
    _orders = 0

    def order(self, commands: Sequence[EntityCommand]) -> None:
        """Do something to entities in the next step; nothing: what was done is not sent again."""
        values: dict[str, Value] = {f"{ORDERS}.data": packed(commands) if commands else b""}
        if commands:
            self._orders += 1
            values[f"{ORDERS}.{COUNT}"] = self._orders
        self.set_inputs(self.slave, values)

    def reset(self, *, connected: bool = True) -> None:
        """Be as before :meth:`begin`, for another run."""
        self._orders = 0
        super().reset(connected=connected)


def check_slave(context: ModelContext, parameters: WorldParameters, scene: SceneParameters) -> None:
    """Check whether the slave fits the scene and can be found, without starting it.

    :raises DescriptionError: its description cannot be read
    :raises ConfigurationError: it lacks a variable or an input; or its port is unknown
    """
    dcp = parameters.dcp or DcpSettings()
    world_mapping(slave_name(context), world_description(context, parameters, scene), scene)
    if dcp.data_synchronisation and not commanded_vehicles(scene):
        raise ConfigurationError(
            f"{context.where}.dcp.data_synchronisation: found true; every vehicle has a driver, so "
            "that no data PDU would make the slave step"
        )
    limit = _MOST_OVER_UDP if dcp.transport == "udp" else MAX_PDU_BYTES - _ROOM
    for sensor in scene.sensors:
        size = most_bytes(sensor.blueprint, sensor.attributes, sensor.period_ns)
        if size > limit:
            raise ConfigurationError(
                f"scene.sensors.{sensor.name}: found measurements of up to {size} bytes; allowed "
                f"over DCP with transport: {dcp.transport} are {limit}"
            )
    if not dcp.is_started and dcp.port == 0:
        raise ConfigurationError(
            f"{context.where}.dcp.port: found 0; the run does not start the slave on {dcp.host}, "
            "allowed is the port on which 'cosim dcp serve --world' listens there"
        )


def world_description(
    context: ModelContext, parameters: WorldParameters, scene: SceneParameters
) -> SlaveDescription:
    """The description that the master uses: made from the scene, or the file that is named.

    :raises DescriptionError: the file cannot be read
    """
    if parameters.dcp is not None and parameters.dcp.description is not None:
        return read_description(context.base_directory / parameters.dcp.description)
    return scene_description(parameters, scene)


def world_mapping(slave: str, description: SlaveDescription, scene: SceneParameters) -> PortMapping:
    """Each port's record field by field: a variable is named ``port.field``.

    :raises ConfigurationError: the description lacks a variable
    """
    slaves = {slave: description}
    records: dict[str, type] = {}
    for vehicle in scene.present:
        records[f"odometry/{vehicle.name}"] = Odometry
        records[f"acceleration/{vehicle.name}"] = Acceleration
    outputs = {
        port: MappedOutput(RecordReader(record, f"{slave}.{port}.*", slaves, port))
        for port, record in records.items()
    }
    for sensor in scene.present_sensors:
        port = MEASURED + sensor.name
        _, count = find_variable(f"{slave}.{port}.count", slaves, port, Causality.OUTPUT)
        reader = RecordReader(SENSOR_RECORDS[sensor.form], f"{slave}.{port}.*", slaves, port)
        outputs[port] = MappedOutput(reader, when=(slave, count.name))
    if scene.reports_traffic:
        outputs[TRAFFIC] = MappedOutput(
            RecordReader(Received, f"{slave}.{TRAFFIC}.*", slaves, TRAFFIC),
            convert=lambda received: unpacked(received.data),
        )
    if scene.traffic_lights:
        lights: dict[str, type] = {LIGHT + name: TrafficLightAhead for name in scene.lit}
        for port, record in {**lights, RED_LIGHTS: RedLightsPassed}.items():
            reader = RecordReader(record, f"{slave}.{port}.*", slaves, port)
            outputs[port] = MappedOutput(reader)
    _, count = find_variable(f"{slave}.collision.count", slaves, "collision", Causality.OUTPUT)
    collision = RecordReader(CollisionEvent, f"{slave}.collision.*", slaves, "collision")
    outputs["collision"] = MappedOutput(collision, when=(slave, count.name))
    objects = f"{slave}.static_objects.*" if scene.standing else {}
    static = RecordReader(StaticObjects, objects, slaves, "static_objects")
    outputs["static_objects"] = MappedOutput(static, once=True)
    inputs: dict[str, FieldWriter] = {}
    for name in commanded_vehicles(scene):
        inputs[f"control/{name}"] = _CommandWriter(slave, name, slaves)
    for name in scene.placed:
        inputs[f"{PLACE}{name}"] = _PlaceWriter(slave, f"{PLACE}{name}", slaves)
    return PortMapping(outputs, inputs)


class _CommandWriter(FieldWriter):
    """Gives the commands of a vehicle to the slave.

    :raises ConfigurationError: the slave lacks a variable
    """

    def __init__(self, slave: str, vehicle: str, slaves: Mapping[str, SlaveDescription]) -> None:
        port = f"control/{vehicle}"
        super().__init__(ControlCommand, f"{slave}.{port}.*", slaves, port, absent=NO_COMMAND)
        self._vehicle = vehicle

    def write(self, record: Any, inputs: dict[str, dict[str, Value]]) -> None:
        """Add a command to the inputs.

        :raises RunError: it demands what is not a finite number
        """
        if record is not None:
            check_command(self._vehicle, record)
        super().write(record, inputs)


class _PlaceWriter(FieldWriter):
    """Gives a place to the slave, and counts: the same place again is another one.

    :raises ConfigurationError: the slave lacks a variable
    """

    def __init__(self, slave: str, port: str, slaves: Mapping[str, SlaveDescription]) -> None:
        fields = {f"{slave}.{port}.{field}": field for field in Odometry._fields}
        super().__init__(Odometry, fields, slaves, port)
        self._slave = slave
        self._count = find_variable(f"{slave}.{port}.{COUNT}", slaves, port, Causality.INPUT)[1]
        self._given = 0

    def write(self, record: Any, inputs: dict[str, dict[str, Value]]) -> None:
        """Add a place to the inputs; it is called once for each."""
        super().write(record, inputs)
        if record is not None:
            self._given += 1
            inputs[self._slave][self._count.name] = self._given
