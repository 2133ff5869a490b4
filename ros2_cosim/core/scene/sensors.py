# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Sensors of the simulator that a scenario mounts on vehicles, and what they measure.

The section ``scene.sensors`` names them. A simulator gives measurements in CARLA's frame and units
(left-handed); the world participant makes ROS messages of them.
"""

from collections.abc import Mapping
from enum import Enum
from typing import Annotated, Literal, NamedTuple

from pydantic import Field, StrictBool

from ros2_cosim.core.documents.settings import Number, PositiveDuration, Section, Whole
from ros2_cosim.core.kernel.exactmath import PI

_Angle = Annotated[Number, Field(ge=-PI, le=PI)]


class SensorForm(Enum):
    """What a kind of sensor gives."""

    FIX = "a place on the globe"
    INERTIA = "accelerations and rates"
    CLOUD = "points"
    IMAGE = "a picture"


SensorBlueprint = Literal[
    "sensor.camera.depth",
    "sensor.camera.instance_segmentation",
    "sensor.camera.normals",
    "sensor.camera.optical_flow",
    "sensor.camera.rgb",
    "sensor.camera.semantic_segmentation",
    "sensor.lidar.ray_cast",
    "sensor.lidar.ray_cast_semantic",
    "sensor.other.gnss",
    "sensor.other.imu",
    "sensor.other.radar",
]
"""The sensors of which messages can be made."""


def form_of(blueprint: SensorBlueprint) -> SensorForm:
    """What a kind of sensor gives."""
    if blueprint == "sensor.other.gnss":
        return SensorForm.FIX
    if blueprint == "sensor.other.imu":
        return SensorForm.INERTIA
    return SensorForm.IMAGE if blueprint.startswith("sensor.camera.") else SensorForm.CLOUD


class MountSettings(Section):
    """A place that is fixed to a frame."""

    x: Number = Field(default=0.0, description="ahead of it [m]")
    y: Number = Field(default=0.0, description="to the left of it [m]")
    z: Number = Field(default=0.0, description="above it [m]")
    roll: _Angle = Field(default=0.0, description="turn about x, done first [rad]")
    pitch: _Angle = Field(default=0.0, description="turn about y, done second [rad]")
    yaw: _Angle = Field(default=0.0, description="turn about z, done last [rad]")


class SensorSettings(MountSettings):
    """A sensor of the simulator, mounted on a vehicle: its place is relative to ``base_link``."""

    vehicle: str = Field(description="vehicle of the scene that carries it")
    blueprint: SensorBlueprint = Field(description="kind in CARLA")
    period: PositiveDuration = Field(description="from one measurement to the next")
    attributes: dict[str, StrictBool | Whole | Number | str] = Field(
        default_factory=dict, description="attributes of the blueprint; default: CARLA's"
    )

    @property
    def form(self) -> SensorForm:
        """What it gives."""
        return form_of(self.blueprint)


class Mount(NamedTuple):
    """A frame that is fixed to another one: place [m] and turn (roll, pitch, yaw) [rad]."""

    parent: str
    place: tuple[float, float, float]
    turn: tuple[float, float, float]


def sensor_frame(name: str, sensor: SensorSettings) -> str:
    """The frame of a sensor's messages: of cameras the optical one, z along the axis."""
    optical = "_optical" if sensor.form is SensorForm.IMAGE else ""
    return f"{sensor.vehicle}/{name}{optical}"


def sensor_frames(sensors: Mapping[str, SensorSettings]) -> dict[str, Mount]:
    """All frames of sensors: the one of each mount (x ahead), and of cameras the optical one."""
    frames = {}
    for name, sensor in sensors.items():
        mounted = f"{sensor.vehicle}/{name}"
        frames[mounted] = Mount(
            f"{sensor.vehicle}/base_link",
            (sensor.x, sensor.y, sensor.z),
            (sensor.roll, sensor.pitch, sensor.yaw),
        )
        if sensor.form is SensorForm.IMAGE:
            turn = (-0.5 * PI, 0.0, -0.5 * PI)
            frames[sensor_frame(name, sensor)] = Mount(mounted, (0.0, 0.0, 0.0), turn)
    return frames


class Fix(NamedTuple):
    """What a satellite receiver measures: latitude, longitude [deg], altitude [m]."""

    latitude: float
    longitude: float
    altitude: float


class Inertia(NamedTuple):
    """What an inertial unit measures, in its own left-handed axes.

    Specific force [m/s^2], rates [rad/s], and the angle of x from north, clockwise [rad].
    """

    ax: float
    ay: float
    az: float
    wx: float
    wy: float
    wz: float
    compass: float


class Payload(NamedTuple):
    """What any other sensor measures, as CARLA's client gives it (``raw_data``), little endian.

    ========================  ==================================================================
    lidar                     x, y, z [m], intensity (f32) of each point
    semantic lidar            x, y, z [m], cosine (f32), id, label (u32) of each point
    radar                     speed [m/s], azimuth, altitude [rad], distance [m] (f32)
    camera                    blue, green, red, alpha (u8) of each pixel, from the top left
    optical flow              two f32 of each pixel
    ========================  ==================================================================

    Ids are those of the scene: vehicles, static objects, traffic; 0 for anything else.
    """

    data: bytes | memoryview


Measurement = Fix | Inertia | Payload
