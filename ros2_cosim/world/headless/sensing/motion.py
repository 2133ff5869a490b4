# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Sensors of position and motion: GNSS and IMU."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgpack

from ros2_cosim.core.kernel.exactmath import (
    PI,
    TWO_PI,
    asin,
    atan2,
    exp,
    radians,
    sincos,
    wrap_angle,
)
from ros2_cosim.world.headless.sensing.device import Device, SensedFrame
from ros2_cosim.world.headless.sensing.draws import Draws
from ros2_cosim.world.map import RoadNetwork, frames

if TYPE_CHECKING:
    from ros2_cosim.world.headless.actors import Actor

_EARTH_RADIUS = 6378137.0  # m, sphere of the client's own transform_to_geolocation
_SCALE = 0.9996  # of the transverse Mercator projection
_DEFAULT_ORIGIN = (42.0, 2.0)  # what the client takes where a map names none


def geolocation(network: RoadNetwork, x: float, y: float) -> tuple[float, float]:
    """Latitude and longitude [deg] of a point given in CARLA's frame.

    The inverse of a spherical transverse Mercator projection; as in the client, latitude
    grows with CARLA's y.
    """
    lat_0, lon_0 = network.geo_origin or _DEFAULT_ORIGIN
    u = x / (_SCALE * _EARTH_RADIUS)
    v = y / (_SCALE * _EARTH_RADIUS) + radians(lat_0)
    up, down = exp(u), exp(-u)
    sin_v, cos_v = sincos(v)
    latitude = asin(sin_v / (0.5 * (up + down)))
    longitude = atan2(0.5 * (up - down), cos_v)
    return latitude * 180.0 / PI, lon_0 + longitude * 180.0 / PI


class SensorNoise:
    """Bias and normal noise of several numbers, drawn in their order; 0 draws nothing."""

    def __init__(self, draws: Draws, biases: list[float], deviations: list[float]) -> None:
        self._draws = draws
        self._parts = list(zip(biases, deviations, strict=True))
        self._silent = not any(deviations)

    def on(self, values: tuple[float, float, float]) -> list[float]:
        """The numbers with noise."""
        draws = [0.0] * 3 if self._silent else self._draws.normal(3).tolist()
        return [
            value + bias + deviation * draw
            for value, (bias, deviation), draw in zip(values, self._parts, draws, strict=True)
        ]


class Gnss(Device):
    """Latitude, longitude [deg] and altitude [m]; noise in the same units."""

    sensor_type = 4

    def __init__(self, sensor: Actor) -> None:
        super().__init__(sensor)
        axes = ("lat", "lon", "alt")
        self._noise = SensorNoise(
            Draws(int(sensor.number("noise_seed")), sensor.blueprint.id),
            [sensor.number(f"noise_{axis}_bias") for axis in axes],
            [sensor.number(f"noise_{axis}_stddev") for axis in axes],
        )

    def measure(self, moment: SensedFrame) -> list[bytes]:
        """The place of the sensor on the globe."""
        x, y, z = moment.pose.location
        latitude, longitude = geolocation(moment.world.network, x, y)
        return [moment.header + msgpack.packb(self._noise.on((latitude, longitude, z)))]


class Imu(Device):
    """Felt acceleration [m/s^2] and turn rate [rad/s] in the sensor's frame, and the compass.

    The acceleration is that of the sensor's own place: where the carrier turns, it differs from
    that of the carrier.
    """

    sensor_type = 5

    def __init__(self, sensor: Actor) -> None:
        super().__init__(sensor)
        draws = Draws(int(sensor.number("noise_seed")), sensor.blueprint.id)
        self._felt_noise = SensorNoise(
            draws, [0.0] * 3, [sensor.number(f"noise_accel_stddev_{axis}") for axis in "xyz"]
        )
        self._turn_noise = SensorNoise(
            draws,
            [sensor.number(f"noise_gyro_bias_{axis}") for axis in "xyz"],
            [sensor.number(f"noise_gyro_stddev_{axis}") for axis in "xyz"],
        )
        self._swing: tuple[float, float, float] | None = None

    def measure(self, moment: SensedFrame) -> list[bytes]:
        """Accelerometer, gyroscope, compass."""
        world, pose = moment.world, moment.pose
        carrier = world.actors.get(self.sensor.parent, self.sensor)
        state = carrier.state
        turn = frames.angular_velocity_degrees_to_ros(*state.angular_velocity)
        gx, gy, gz = self._swing_change(moment, state.transform.location, turn)
        ax, ay, az = frames.vector_to_ros(*state.acceleration)
        q = frames.rotation_to_ros(*pose.rotation)
        felt = frames.world_to_body(q, (ax + gx, ay + gy, az + gz + world.gravity))
        rates = frames.angular_velocity_to_carla(*frames.world_to_body(q, turn))
        # North is -y in CARLA's frame, clockwise is positive: yaw 0 looks east.
        compass = wrap_angle(radians(pose.rotation.yaw) + 0.5 * PI)
        if compass < 0.0:
            compass += TWO_PI
        felt_noisy = self._felt_noise.on(frames.vector_to_carla(*felt))
        return [moment.header + msgpack.packb([felt_noisy, self._turn_noise.on(rates), compass])]

    def _swing_change(
        self, moment: SensedFrame, carrier: tuple[float, float, float], turn: frames.Vector
    ) -> frames.Vector:
        """Acceleration of the sensor relative to its carrier's origin, in ROS axes."""
        x, y, z = moment.pose.location
        rx, ry, rz = frames.vector_to_ros(x - carrier[0], y - carrier[1], z - carrier[2])
        wx, wy, wz = turn
        swing = wy * rz - wz * ry, wz * rx - wx * rz, wx * ry - wy * rx
        before, self._swing = self._swing, swing
        if before is None:
            return 0.0, 0.0, 0.0
        return (
            (swing[0] - before[0]) / moment.dt,
            (swing[1] - before[1]) / moment.dt,
            (swing[2] - before[2]) / moment.dt,
        )
