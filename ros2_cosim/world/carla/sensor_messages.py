# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""ROS messages of what the simulator's sensors measure.

Points and vectors are turned into the right-handed axes of REP 103; pixels are sent unchanged.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, ClassVar, Final

import numpy as np
from numpy.typing import NDArray

from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.kernel.exactmath import PI, atan2, cos, radians, sqrt, tan
from ros2_cosim.core.messages.catalogue import DEFAULT as CATALOGUE
from ros2_cosim.core.messages.message_types import (
    CAMERA_INFO,
    IMAGE,
    IMU,
    LASER_SCAN,
    NAV_SAT_FIX,
    POINT_CLOUD,
)
from ros2_cosim.core.scene.sensors import SensorForm
from ros2_cosim.world.carla.parameters import SensorSpec
from ros2_cosim.world.carla.sensor_attributes import number
from ros2_cosim.world.headless.sensing.exact_arrays import sincos
from ros2_cosim.world.map import frames

_EARTH_RADIUS: Final = 6378137.0  # m, of the sphere that CARLA projects from
_UNKNOWN: Final = 1.0e6  # rad^2, variance of an angle that a sensor does not measure
_FARTHEST: Final = 1000.0  # m, where the scale of a depth camera ends
_DEPTH_STEPS: Final = 256**3 - 1
_NS: Final = 1e9

Floats32 = NDArray[np.float32]


class SensorMessages(ABC):
    """Makes the messages of one sensor.

    :cvar ports: what its ports begin with -> message type
    """

    ports: ClassVar[Mapping[str, str]]

    def __init__(self, spec: SensorSpec, wanted: Collection[str]) -> None:
        """Take what does not change.

        :param wanted: the ports that there are, without the sensor's name
        :raises ConfigurationError: a wanted message cannot be made of what the sensor measures
        """
        self.spec = spec
        self.wanted = frozenset(wanted)

    @abstractmethod
    def convert(self, measured: Any) -> dict[str, Any]:
        """Beginning of a port -> the message of a measurement."""

    def number(self, name: str) -> float:
        """The value of a numeric attribute."""
        return number(self.spec.attributes, name)


class FixMessages(SensorMessages):
    """``NavSatFix``; its covariance is that of the noise."""

    ports = {"fix": NAV_SAT_FIX}

    def __init__(self, spec: SensorSpec, wanted: Collection[str]) -> None:
        super().__init__(spec, wanted)
        self._record: Any = CATALOGUE.record(NAV_SAT_FIX)
        status: Any = CATALOGUE.part("sensor_msgs/msg/NavSatStatus")
        self._status = status(status.STATUS_FIX, status.SERVICE_GPS)
        metres = radians(1.0) * _EARTH_RADIUS  # of a degree of latitude
        self._north = _square(metres * self.number("noise_lat_stddev"))
        self._east = _square(metres * self.number("noise_lon_stddev"))
        self._up = _square(self.number("noise_alt_stddev"))

    def convert(self, measured: Any) -> dict[str, Any]:
        """Latitude, longitude, altitude; the covariance is east, north, up."""
        level = cos(radians(measured.latitude))
        east = self._east * level * level
        covariance = (east, 0.0, 0.0, 0.0, self._north, 0.0, 0.0, 0.0, self._up)
        kind = self._record.COVARIANCE_TYPE_DIAGONAL_KNOWN
        return {"fix": self._record(self._status, *measured, covariance, kind)}


class ImuMessages(SensorMessages):
    """``Imu``; its orientation is the heading of the compass, roll and pitch are not measured."""

    ports = {"imu": IMU}

    def __init__(self, spec: SensorSpec, wanted: Collection[str]) -> None:
        super().__init__(spec, wanted)
        self._record: Any = CATALOGUE.record(IMU)
        self._vector: Any = CATALOGUE.part("geometry_msgs/msg/Vector3")
        self._turn: Any = CATALOGUE.part("geometry_msgs/msg/Quaternion")
        self._heading = _diagonal(_UNKNOWN, _UNKNOWN, 0.0)
        self._felt, self._rates = (
            _diagonal(*[_square(self.number(f"noise_{what}_stddev_{axis}")) for axis in "xyz"])
            for what in ("accel", "gyro")
        )

    def convert(self, measured: Any) -> dict[str, Any]:
        """Orientation in ``map`` (x east, y north), rates, specific force."""
        ax, ay, az, wx, wy, wz, compass = measured
        yaw = 0.5 * PI - compass
        message = self._record(
            self._turn(*frames.quaternion_from_yaw(yaw)),
            self._heading,
            self._vector(*frames.angular_velocity_to_ros(wx, wy, wz)),
            self._rates,
            self._vector(*frames.vector_to_ros(ax, ay, az)),
            self._felt,
        )
        return {"imu": message}


class CloudMessages(SensorMessages):
    """``PointCloud2``: one point after the other, each a row of numbers of four bytes."""

    ports = {"points": POINT_CLOUD}
    fields: ClassVar[Sequence[str]]
    whole: ClassVar[Sequence[str]] = ()  # fields that are unsigned numbers

    def __init__(self, spec: SensorSpec, wanted: Collection[str]) -> None:
        super().__init__(spec, wanted)
        self._record: Any = CATALOGUE.record(POINT_CLOUD)
        field: Any = CATALOGUE.part("sensor_msgs/msg/PointField")
        self._fields = tuple(
            field(name, 4 * i, field.UINT32 if name in self.whole else field.FLOAT32, 1)
            for i, name in enumerate(self.fields)
        )

    def convert(self, measured: Any) -> dict[str, Any]:
        """The points."""
        rows = self.rows(np.frombuffer(measured.data, dtype="<f4"))
        return {"points": self._cloud(rows)}

    @abstractmethod
    def rows(self, values: Floats32) -> Floats32:
        """The points (n, fields) of a measurement."""

    def _cloud(self, rows: Floats32) -> Any:
        width = 4 * len(self.fields)
        return self._record(
            height=1,
            width=len(rows),
            fields=self._fields,
            point_step=width,
            row_step=width * len(rows),
            data=rows.reshape(-1).view(np.uint8),
            is_dense=True,
        )


class LidarMessages(CloudMessages):
    """Points with intensity; of a planar lidar also a ``LaserScan`` of a whole turn."""

    ports = {"points": POINT_CLOUD, "scan": LASER_SCAN}
    fields = ("x", "y", "z", "intensity")

    def __init__(self, spec: SensorSpec, wanted: Collection[str]) -> None:
        super().__init__(spec, wanted)
        self._scan: Callable[[Floats32], Any] | None = None
        if "scan" in self.wanted:
            self._scan = self._scanning()

    def convert(self, measured: Any) -> dict[str, Any]:
        """The points, and the same as a scan."""
        rows = self.rows(np.frombuffer(measured.data, dtype="<f4"))
        found = {}
        if "points" in self.wanted:
            found["points"] = self._cloud(rows)
        if self._scan is not None:
            found["scan"] = self._scan(rows)
        return found

    def rows(self, values: Floats32) -> Floats32:
        """The points with y to the left."""
        return _mirrored(values.reshape(-1, len(self.fields)))

    def _scanning(self) -> Callable[[Floats32], Any]:
        """What makes a scan of the points of one turn in the plane of the sensor."""
        spec = self.spec
        period = spec.period_ns / _NS
        wanted = {
            "channels": (self.number("channels"), 1.0),
            "upper_fov": (self.number("upper_fov"), 0.0),
            "rotation_frequency": (self.number("rotation_frequency") * period, 1.0),
        }
        allowed = {"rotation_frequency": f"{1.0 / period:g} (a turn in each period)"}
        for name, (found, needed) in wanted.items():
            if abs(found - needed) > 1e-6:
                raise ConfigurationError(
                    f"scene.sensors.{spec.name}.attributes.{name}: found "
                    f"{spec.attributes[name]}; allowed for a scan is "
                    f"{allowed.get(name, format(needed, 'g'))}"
                )
        field = radians(self.number("horizontal_fov"))
        count = int(self.number("points_per_second") * period + 0.5)
        step, most = field / max(count, 1), self.number("range")
        first = step - 0.5 * field
        record: Any = CATALOGUE.record(LASER_SCAN)

        def scan(rows: Floats32) -> Any:
            ranges = np.full(count, np.inf, dtype=np.float32)
            intensities = np.zeros(count, dtype=np.float32)
            for x, y, _, intensity in rows.tolist():
                # A whole turn ends where it begins.
                beam = int((atan2(y, x) - first) / step + 0.5) % count
                ranges[beam] = np.float32(sqrt(x * x + y * y))
                intensities[beam] = intensity
            return record(
                angle_min=first,
                angle_max=0.5 * field,
                angle_increment=step,
                scan_time=period,
                range_max=most,
                ranges=ranges,
                intensities=intensities,
            )

        return scan


class SemanticLidarMessages(CloudMessages):
    """Points with the cosine of the angle, the object that was hit and its label."""

    fields = ("x", "y", "z", "CosAngle", "ObjIdx", "ObjTag")
    whole = ("ObjIdx", "ObjTag")

    def rows(self, values: Floats32) -> Floats32:
        """The points with y to the left."""
        return _mirrored(values.reshape(-1, len(self.fields)))


class RadarMessages(CloudMessages):
    """Detections; angles turn to the left and up, a speed away from the radar is positive."""

    fields = ("x", "y", "z", "Range", "Velocity", "AzimuthAngle", "ElevationAngle")

    def rows(self, values: Floats32) -> Floats32:
        """The detections in both kinds of coordinates."""
        speed, azimuth, altitude, distance = values.reshape(-1, 4).T
        left = np.float32(0.0) - azimuth
        sin_a, cos_a = sincos(left.astype(np.float64))
        sin_e, cos_e = sincos(altitude.astype(np.float64))
        rows = np.empty((len(speed), len(self.fields)), dtype="<f4")
        rows[:, 0] = distance * (cos_a * cos_e)
        rows[:, 1] = distance * (sin_a * cos_e)
        rows[:, 2] = distance * sin_e
        for column, part in enumerate((distance, speed, left, altitude), start=3):
            rows[:, column] = part
        return rows


class CameraMessages(SensorMessages):
    """``Image`` and ``CameraInfo`` of a pinhole without distortion."""

    ports = {"image": IMAGE, "camera_info": CAMERA_INFO}

    def __init__(self, spec: SensorSpec, wanted: Collection[str]) -> None:
        super().__init__(spec, wanted)
        self._image: Any = CATALOGUE.record(IMAGE)
        self._width = int(self.number("image_size_x"))
        self._height = int(self.number("image_size_y"))
        self._encoding, self._pixel, self._pixels = _PIXELS[spec.blueprint]
        self._info = self._make_info()

    def convert(self, measured: Any) -> dict[str, Any]:
        """The picture and its intrinsics."""
        found = {}
        if "image" in self.wanted:
            found["image"] = self._image(
                height=self._height,
                width=self._width,
                encoding=self._encoding,
                step=self._pixel * self._width,
                data=self._pixels(measured.data),
            )
        if "camera_info" in self.wanted:
            found["camera_info"] = self._info
        return found

    def _make_info(self) -> Any:
        info: Any = CATALOGUE.record(CAMERA_INFO)
        focal = self._width / (2.0 * tan(0.5 * radians(self.number("fov"))))
        cx, cy = 0.5 * self._width, 0.5 * self._height
        return info(
            height=self._height,
            width=self._width,
            distortion_model="plumb_bob",
            d=(0.0,) * 5,
            k=(focal, 0.0, cx, 0.0, focal, cy, 0.0, 0.0, 1.0),
            r=_diagonal(1.0, 1.0, 1.0),
            p=(focal, 0.0, cx, 0.0, 0.0, focal, cy, 0.0, 0.0, 0.0, 1.0, 0.0),
        )


def _as_sent(data: Any) -> Any:
    """The pixels of the sensor."""
    return data


def _depths(data: Any) -> Any:
    """Depths [m] along the axis."""
    pixels = np.frombuffer(data, dtype="<u4")
    low = np.uint32(0xFF)
    red, green, blue = pixels >> np.uint32(16) & low, pixels >> np.uint32(8) & low, pixels & low
    steps = red + (green << np.uint32(8)) + (blue << np.uint32(16))
    depths = steps.astype(np.float64) * (_FARTHEST / _DEPTH_STEPS)
    return depths.astype("<f4").view(np.uint8)


def _labels(data: Any) -> Any:
    """The label of each pixel, which is its red."""
    return np.ascontiguousarray(np.frombuffer(data, dtype=np.uint8)[2::4])


_BGRA: Final = ("bgra8", 4, _as_sent)
_PIXELS: Final[Mapping[str, tuple[str, int, Callable[[Any], Any]]]] = {
    "sensor.camera.depth": ("32FC1", 4, _depths),
    "sensor.camera.instance_segmentation": _BGRA,
    "sensor.camera.normals": _BGRA,
    "sensor.camera.optical_flow": ("32FC2", 8, _as_sent),
    "sensor.camera.rgb": _BGRA,
    "sensor.camera.semantic_segmentation": ("mono8", 1, _labels),
}
"""Encoding of a camera's images, bytes of a pixel, and how they are made of what it gives."""


def messages_of(blueprint: str, form: SensorForm) -> type[SensorMessages]:
    """What makes the messages of a kind of sensor."""
    if form is SensorForm.CLOUD:
        clouds: dict[str, type[SensorMessages]] = {
            "sensor.lidar.ray_cast": LidarMessages,
            "sensor.lidar.ray_cast_semantic": SemanticLidarMessages,
            "sensor.other.radar": RadarMessages,
        }
        return clouds[blueprint]
    forms: dict[SensorForm, type[SensorMessages]] = {
        SensorForm.FIX: FixMessages,
        SensorForm.INERTIA: ImuMessages,
        SensorForm.IMAGE: CameraMessages,
    }
    return forms[form]


def _mirrored(rows: Floats32) -> Floats32:
    """Points of the left-handed frame in the right-handed one."""
    mirrored = rows.copy()
    mirrored[:, 1] = np.float32(0.0) - mirrored[:, 1]
    return mirrored


def _square(x: float) -> float:
    return x * x


def _diagonal(a: float, b: float, c: float) -> tuple[float, ...]:
    return (a, 0.0, 0.0, 0.0, b, 0.0, 0.0, 0.0, c)
