# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The parameters of the world participant, and the scene that follows from them."""

from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from ros2_cosim.core.documents.files import cause_of, read_bounded
from ros2_cosim.core.documents.settings import (
    Duration,
    Host,
    PositiveDuration,
    Section,
    Whole,
    read_section,
)
from ros2_cosim.core.documents.xml_reader import MAX_BYTES
from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.kernel.participant import ModelContext
from ros2_cosim.core.scene.entities import EntityOrders
from ros2_cosim.core.scene.scene import (
    Flag,
    ObjectSettings,
    SceneSettings,
    SceneVehicleSettings,
    scene_settings,
)
from ros2_cosim.core.scene.simulator import MapChoice, Size
from ros2_cosim.core.sockets.endpoints import is_local
from ros2_cosim.world.carla.parameters import (
    MAX_SEED,
    MAX_TRAFFIC,
    DriverSpec,
    ObjectSpec,
    SceneParameters,
    SensorSpec,
    VehicleSpec,
    roadblock,
)
from ros2_cosim.world.carla.plant import RED_LIGHTS, TRAFFIC
from ros2_cosim.world.carla.sensor_attributes import sensor_attributes
from ros2_cosim.world.drivers.manoeuvres import plan_manoeuvre
from ros2_cosim.world.recorded.users import recorded_users

#: Over UDP nothing else shows that the master is gone.
HEARTBEAT_NS = 30_000_000_000


class DcpSettings(Section):
    """The DCP slave that the world is behind, in shapes with processes."""

    whereabouts = frozenset({"host", "port"})

    transport: Literal["tcp", "udp"] = Field(default="tcp", description="transport protocol")
    host: Host = Field(default="127.0.0.1", description="address that the slave listens at")
    port: Whole = Field(
        default=0, ge=0, le=65535, description="port of the slave; 0: any free port"
    )
    missing: Literal["hold", "extrapolate", "stop"] = Field(
        default="hold", description="over UDP, what both sides do about data that got lost"
    )
    heartbeat: Duration = Field(
        default=HEARTBEAT_NS,
        description="longest time without a sign of life of the master, 0: any",
    )
    description: str | None = Field(
        default=None, description=".dcpx file; default: made from the scene"
    )
    mode: Literal["nrt", "srt"] = Field(
        default="nrt", description="operating mode; in srt the slave steps by its own clock"
    )
    data_synchronisation: Flag = Field(
        default=False, description="the slave steps as soon as its data PDUs have arrived"
    )
    start: Flag | None = Field(
        default=None,
        description="whether the run starts the slave; default: if host is an address of this "
        "machine",
    )

    @property
    def depends_on_wall_clock(self) -> bool:
        """Whether what the slave computes depends on when its data arrive."""
        return self.mode == "srt" and not self.data_synchronisation

    @property
    def is_started(self) -> bool:
        """Whether the run starts the slave; otherwise it must run already."""
        return is_local(self.host) if self.start is None else self.start


class WorldParameters(Section):
    """Parameters of the world participant."""

    control_period: PositiveDuration | None = Field(
        default=None, description="of lane keeping and drivers; default: every step"
    )
    vehicles: Whole | None = Field(
        default=None, ge=1, description="how many vehicles, the first ones, are there; default: all"
    )
    traffic: Whole = Field(
        default=0, ge=0, le=MAX_TRAFFIC, description="number of background vehicles"
    )
    traffic_seed: Whole = Field(
        default=0, ge=0, le=MAX_SEED, description="seed of their places; 0: that of the run"
    )
    dcp: DcpSettings | None = Field(default=None, description="DCP slave, in shapes with processes")
    entities: EntityOrders | None = Field(
        default=None, description="vehicles that come, go and are set, in changes of a run"
    )


def world_parameters(context: ModelContext) -> WorldParameters:
    """Read the parameters of the world participant.

    :raises ConfigurationError: a key is unknown or a value is wrong
    """
    return read_section(WorldParameters, dict(context.parameters), place=context.where)


def plant_step_ns(context: ModelContext) -> int:
    """The step of the plant [ns]: the participant's period.

    :raises ConfigurationError: no period
    """
    period_ns = context.period_ns
    if period_ns is None:
        raise ConfigurationError(
            f"participants.{context.name}.period: missing; the world steps by it"
        )
    return period_ns


def scene_parameters(context: ModelContext, parameters: WorldParameters) -> SceneParameters:
    """Put together map, vehicles and objects of the scene.

    :param context: of the world participant
    :raises ConfigurationError: a value is wrong or the map is not there
    """
    scene = scene_settings(context)
    count = parameters.vehicles
    if count is not None and count > len(scene.vehicles):
        raise ConfigurationError(
            f"{context.where}.vehicles: found {count}; allowed is 1 to {len(scene.vehicles)}"
        )
    step_ns = plant_step_ns(context)
    period_ns = parameters.control_period
    found = SceneParameters(
        map=map_choice(scene.map, context.base_directory),
        step_ns=step_ns,
        vehicles=_vehicles(scene, context.base_directory),
        objects=_objects(scene),
        weather=scene.weather,
        control_period_ns=step_ns if period_ns is None else period_ns,
        count=len(scene.vehicles) if count is None else count,
        traffic=parameters.traffic,
        traffic_seed=parameters.traffic_seed or context.run_seed,
        sensors=_sensors(scene, context.run_seed),
        route=scene.route,
        reports_traffic=TRAFFIC in context.output_types,
        traffic_lights=scene.traffic_lights,
        recorded=recorded_users(scene.recorded, context.base_directory),
    )
    _check_ports(context, found)
    return found


#: What of a vehicle's settings says where and how it starts.
_START = frozenset(
    ("lane", "s", "offset", "turn", "speed", "road", "blueprint", "dynamics", "steering", "placed")
)


def _vehicles(scene: SceneSettings, base_directory: Path) -> tuple[VehicleSpec, ...]:
    specs = []
    for position, (name, vehicle) in enumerate(scene.vehicles.items(), start=1):
        where = f"scene.vehicles.{name}"
        if vehicle.id not in (None, position):
            raise ConfigurationError(
                f"{where}.id: vehicles are numbered from 1 in the order in which "
                f"they stand in the scenario; this one is number {position}"
            )
        # model_dump would build the serializer of this section, for plain values.
        given: dict[str, Any] = {k: v for k, v in vehicle if k in _START and v is not None}
        for key in ("lane", "s", "speed"):
            if key not in given:
                raise ConfigurationError(
                    f"{where}.{key}: missing; the world needs to know where the vehicle starts"
                )
        driver = None
        if vehicle.driver is not None:
            given_driver = vehicle.driver
            place = f"{where}.driver.manoeuvre"
            for number, action in enumerate(given_driver.manoeuvre):
                if action.when is not None and action.when.of is not None:
                    scene.require_vehicle(action.when.of, f"{place}.{number}.when.of", name)
            driver = DriverSpec(
                given_driver.stop_gap,
                given_driver.deceleration,
                plan_manoeuvre(given_driver.manoeuvre, base_directory, place),
            )
        specs.append(VehicleSpec(name, **given, driver=driver, size=_vehicle_size(vehicle)))
    return tuple(specs)


def _objects(scene: SceneSettings) -> tuple[ObjectSpec, ...]:
    objects = [
        ObjectSpec(
            name,
            **settings.model_dump(exclude={"length", "width", "height"}, exclude_none=True),
            size=_size(settings),
        )
        for name, settings in scene.objects.items()
    ]
    if scene.roadblock is not None:
        objects += roadblock(**scene.roadblock.model_dump())
    return tuple(objects)


def _vehicle_size(settings: SceneVehicleSettings) -> Size:
    return _size(settings)._replace(
        mass=settings.mass or 0.0,
        wheelbase=settings.wheelbase or 0.0,
        wheel_radius=settings.wheel_radius or 0.0,
        max_steer_angle=settings.max_steer_angle or 0.0,
        track=settings.track or 0.0,
    )


def _size(settings: SceneVehicleSettings | ObjectSettings) -> Size:
    return Size(settings.length or 0.0, settings.width or 0.0, settings.height or 0.0)


def _sensors(scene: SceneSettings, seed: int) -> tuple[SensorSpec, ...]:
    return tuple(
        SensorSpec(
            name,
            given.vehicle,
            given.blueprint,
            given.period,
            (given.x, given.y, given.z),
            (given.roll, given.pitch, given.yaw),
            sensor_attributes(name, given.blueprint, given.attributes, seed),
        )
        for name, given in scene.sensors.items()
    )


def _check_ports(context: ModelContext, parameters: SceneParameters) -> None:
    """A port of a vehicle that is not there would stay silent for ever."""
    absent = {spec.name for spec in parameters.vehicles} - {v.name for v in parameters.present}
    if RED_LIGHTS in context.output_types and not parameters.traffic_lights:
        raise ConfigurationError(
            f"participants.{context.name}.outputs.{RED_LIGHTS}: found an output of a scene without "
            "lights; allowed with scene.traffic_lights: true"
        )
    for port in context.output_types:
        if port.partition("/")[2] in absent:
            raise ConfigurationError(
                f"participants.{context.name}.parameters.vehicles: found {parameters.count}; the "
                f"output '{port}' needs more (vehicles are counted in the order of scene.vehicles)"
            )


def map_choice(name: str, base_directory: Path) -> MapChoice:
    """A map by its OpenDRIVE file (``*.xodr``) or by the name that the simulator knows.

    :raises ConfigurationError: the file cannot be read
    """
    if not name.endswith(".xodr"):
        return MapChoice(name=name)
    path = base_directory / name
    try:
        return MapChoice(opendrive=read_bounded(path, MAX_BYTES).decode("utf-8"))
    except OSError as error:
        raise ConfigurationError(f"scene.map: {path}: {cause_of(error)}") from None
    except UnicodeDecodeError as error:
        raise ConfigurationError(f"scene.map: {path}: {error}") from None


def commanded_vehicles(parameters: SceneParameters) -> list[str]:
    """Vehicles whose pedals come from outside."""
    return [spec.name for spec in parameters.present if spec.driver is None]


def slave_name(context: ModelContext) -> str:
    """The name of the slave of a world participant, and of its process."""
    return f"{context.name}_slave"
