# SPDX-License-Identifier: Apache-2.0
"""Sensors that stream from the server: collision, GNSS, IMU, obstacle.

A sensor message is the sensor header followed by a msgpack payload. Event sensors (collision,
obstacle) yield a message per event, the others one per frame or per ``sensor_tick``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import msgpack

from ros2_cosim.carla_headless.contact import OrientedBox, contact
from ros2_cosim.carla_headless.snapshot import (
    SENSOR_COLLISION,
    SENSOR_GNSS,
    SENSOR_IMU,
    SENSOR_OBSTACLE,
    pack_sensor_header,
)
from ros2_cosim.carla_headless.wire_types import ActorRecord
from ros2_cosim.kernel.exactmath import PI, asin, atan2, exp, radians, sincos
from ros2_cosim.models import frames

if TYPE_CHECKING:
    from ros2_cosim.carla_headless.actors import Actor
    from ros2_cosim.carla_headless.world import World

Record = Callable[["Actor"], ActorRecord]

_EARTH_RADIUS = 6378137.0  # m, sphere of the client's own transform_to_geolocation
_SCALE = 0.9996  # of the transverse Mercator projection
_DEFAULT_ORIGIN = (42.0, 2.0)  # what the client takes where a map names none


def sensor_messages(world: World, sensor: Actor, record: Record) -> list[bytes]:
    """Messages of one sensor for the frame that the world has just computed."""
    payloads = _PAYLOADS[sensor.blueprint.id](world, sensor, record)
    if not payloads:
        return []
    header = pack_sensor_header(
        _TYPES[sensor.blueprint.id], world.frame, world.elapsed_s, world.pose(sensor)
    )
    return [header + msgpack.packb(payload) for payload in payloads]


def geolocation(world: World, x: float, y: float) -> tuple[float, float]:
    """Latitude and longitude [deg] of a point given in CARLA's frame.

    The inverse of a spherical transverse Mercator projection; as in the client, latitude
    grows with CARLA's y.
    """
    lat_0, lon_0 = world.network.geo_origin or _DEFAULT_ORIGIN
    u = x / (_SCALE * _EARTH_RADIUS)
    v = y / (_SCALE * _EARTH_RADIUS) + radians(lat_0)
    up, down = exp(u), exp(-u)
    sin_v, cos_v = sincos(v)
    latitude = asin(sin_v / (0.5 * (up + down)))
    longitude = atan2(0.5 * (up - down), cos_v)
    return latitude * 180.0 / PI, lon_0 + longitude * 180.0 / PI


def _due(world: World, sensor: Actor) -> bool:
    """True in the frames in which a sensor with a ``sensor_tick`` measures."""
    period = sensor.number("sensor_tick")
    if period <= world.step_s:
        return True
    return int(world.elapsed_s / period) > int((world.elapsed_s - world.step_s) / period)


def _collision(world: World, sensor: Actor, record: Record) -> list[Any]:
    payloads = []
    for event in world.collisions:
        if event.actor == sensor.parent and {event.actor, event.other} <= world.actors.keys():
            own, other = world.actors[event.actor], world.actors[event.other]
            payloads.append([record(own), record(other), event.impulse])
    return payloads


def _gnss(world: World, sensor: Actor, _: Record) -> list[Any]:
    if not _due(world, sensor):
        return []
    x, y, z = world.pose(sensor).location
    return [[*geolocation(world, x, y), z]]


def _imu(world: World, sensor: Actor, _: Record) -> list[Any]:
    if not _due(world, sensor):
        return []
    carrier = world.actors.get(sensor.parent, sensor)
    pose = world.pose(sensor)
    q = frames.rotation_to_ros(*pose.rotation)
    ax, ay, az = frames.vector_to_ros(*carrier.state.acceleration)
    felt = frames.world_to_body(q, (ax, ay, az + world.gravity))
    turn = frames.angular_velocity_degrees_to_ros(*carrier.state.angular_velocity)
    gyroscope = frames.world_to_body(q, turn)
    # North is -y in CARLA's frame, clockwise is positive: yaw 0 looks east.
    compass = radians(pose.rotation.yaw) + 0.5 * PI
    if compass < 0.0:
        compass += 2.0 * PI
    return [[frames.vector_to_carla(*felt), frames.angular_velocity_to_carla(*gyroscope), compass]]


def _obstacle(world: World, sensor: Actor, record: Record) -> list[Any]:
    """The nearest actor in a straight corridor of ``hit_radius`` ahead of the sensor."""
    if not _due(world, sensor):
        return []
    reach = sensor.number("distance")
    radius = sensor.number("hit_radius")
    moving_only = sensor.attribute("only_dynamics") == "true"
    pose = world.pose(sensor)
    x, y, z = pose.location
    sin, cos = sincos(radians(pose.rotation.yaw))
    nearest: tuple[float, Actor] | None = None
    for other in world.collidable():
        if other.id == sensor.parent or (moving_only and other.blueprint.kind != "vehicle"):
            continue
        distance = _free_way(x, y, z, cos, sin, reach, radius, world.box_in_carla(other))
        if distance is not None and (nearest is None or distance < nearest[0]):
            nearest = distance, other
    if nearest is None:
        return []
    own = world.actors.get(sensor.parent, sensor)
    return [[record(own), record(nearest[1]), nearest[0]]]


def _free_way(
    x: float,
    y: float,
    z: float,
    cos: float,
    sin: float,
    reach: float,
    radius: float,
    box: OrientedBox,
) -> float | None:
    """Distance at which a corridor first touches a box, by halving; None if it never does."""

    def touches(length: float) -> bool:
        half = 0.5 * length
        corridor = OrientedBox(x + half * cos, y + half * sin, z, half, radius, radius, cos, sin)
        return contact(corridor, box) is not None

    if not touches(reach):
        return None
    low, high = 0.0, reach
    for _ in range(20):
        middle = 0.5 * (low + high)
        low, high = (low, middle) if touches(middle) else (middle, high)
    return high


_TYPES = {
    "sensor.other.collision": SENSOR_COLLISION,
    "sensor.other.gnss": SENSOR_GNSS,
    "sensor.other.imu": SENSOR_IMU,
    "sensor.other.obstacle": SENSOR_OBSTACLE,
}
_PAYLOADS: dict[str, Callable[[Any, Any, Record], list[Any]]] = {
    "sensor.other.collision": _collision,
    "sensor.other.gnss": _gnss,
    "sensor.other.imu": _imu,
    "sensor.other.obstacle": _obstacle,
}
