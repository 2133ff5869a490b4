# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Packing of stream tokens, sensor headers, world snapshots and actor records.

Numbers of snapshots and records are float32 on the wire. A stream token is the 24 bytes by which a
client finds a sensor's data stream.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from types import FunctionType
from typing import Final, NamedTuple

from ros2_cosim.core.kernel.exactmath import float32
from ros2_cosim.world.headless.wire_types import (
    ORIGIN,
    Rotation,
    Transform,
    Vector,
    VehicleControl,
    WalkerControl,
)

SENSOR_WORLD: Final = 17

WORLD_STREAM: Final = 1

STATE_NONE: Final = 0
STATE_MAP_CHANGE: Final = 1
STATE_LIGHTS_CHANGE: Final = 2

# Length of a message on a stream, and number of a stream or an actor.
LENGTH = struct.Struct("<I")
# stream id, port, protocol (1 = TCP), address kind (0 = the host the client already uses), address
TOKEN = struct.Struct("<IHBB16s")
SENSOR_HEADER = struct.Struct("<QQd6f")
SENSOR_HEADER_BYTES: Final = 48
"""What stands before the payload of a sensor's message: the size of ``SENSOR_HEADER``."""
EPISODE_HEADER = struct.Struct("<Qdf3iI")
# id, state, transform, velocity, angular velocity, acceleration, then 54 bytes by actor type
RECORD = struct.Struct("<IB15f54x")
_HEAD: Final = struct.Struct("<IB15f").pack
_NUMBERS: Final = struct.Struct("<15f")
# ... for vehicles: control, speed limit, traffic light, failure state
_STATUS = struct.Struct("<3f3Bif2BIB24x")
# ... for walkers: direction, speed, jump
_WALKER_RECORD = struct.Struct("<IB15f4fB37x")
# ... for traffic signs: id of the signal; for lights also times, elapsed, pole, frozen, state
_SIGN_RECORD = struct.Struct("<IB15f32s22x")
LIGHT_RECORD = struct.Struct("<IB15f32s4fIBB")

RECORD_BYTES = RECORD.size
_ACTIVE: Final = 1
GREEN: Final = 2


def stream_token(stream_id: int, port: int) -> bytes:
    """Token of a stream on this host at ``port``."""
    return TOKEN.pack(stream_id, port, 1, 0, bytes(16))


class ActorState(NamedTuple):
    """One actor in a snapshot, in CARLA's frame and units.

    Velocity [m/s] and acceleration [m/s^2] are world vectors, angular velocity is in deg/s.
    """

    transform: Transform
    velocity: Vector
    angular_velocity: Vector
    acceleration: Vector


#: The numbers of an ``ActorState`` in the order in which they travel: x, y, z, pitch, yaw, roll,
#: then velocity, angular velocity and acceleration.
Numbers = tuple[
    float, float, float, float, float, float, float, float, float, float, float, float, float,
    float, float
]  # fmt: skip


def numbers_of(state: ActorState) -> Numbers:
    """A state as numbers."""
    (location, rotation), velocity, angular, acceleration = state
    return (*location, *rotation, *velocity, *angular, *acceleration)


def state_of(n: Numbers) -> ActorState:
    """Numbers as a state."""
    return ActorState(
        Transform(Vector(n[0], n[1], n[2]), Rotation(n[3], n[4], n[5])),
        Vector(n[6], n[7], n[8]),
        Vector(n[9], n[10], n[11]),
        Vector(n[12], n[13], n[14]),
    )


class VehicleStatus(NamedTuple):
    """The vehicle part of an actor record; speed limit in km/h.

    ``light`` is the traffic light that the vehicle is at (0: none), ``light_state`` its state;
    as in CARLA green where there is none. ``gear`` is the one that is in.
    """

    control: VehicleControl
    speed_limit: float
    gear: int
    light_state: int = GREEN
    light: int = 0


class LightStatus(NamedTuple):
    """The traffic light part of an actor record; times in s."""

    signal_id: str
    green: float
    yellow: float
    red: float
    elapsed: float
    pole: int
    frozen: bool
    state: int


def narrow_numbers(numbers: Numbers) -> Numbers:
    """The numbers of a state as a snapshot carries them: rounded to float32."""
    if not IS_COMPILED:  # one call instead of fifteen
        narrowed: Numbers = _NUMBERS.unpack(_NUMBERS.pack(*numbers))
        return narrowed
    # Number by number: none of them becomes an object.
    x, y, z, pitch, yaw, roll, vx, vy, vz, wx, wy, wz, ax, ay, az = numbers
    return (
        float32(x), float32(y), float32(z), float32(pitch), float32(yaw), float32(roll),
        float32(vx), float32(vy), float32(vz), float32(wx), float32(wy), float32(wz),
        float32(ax), float32(ay), float32(az),
    )  # fmt: skip


IS_COMPILED: Final = not isinstance(narrow_numbers, FunctionType)


def pack_sensor_header(
    sensor: int, frame: int, elapsed: float, transform: Transform = ORIGIN
) -> bytes:
    """The 48 bytes before every stream message; ``elapsed`` in simulated seconds."""
    return SENSOR_HEADER.pack(sensor, frame, elapsed, *transform.location, *transform.rotation)


def pack_world(
    frame: int,
    elapsed: float,
    episode: int,
    platform_time: float,
    delta: float,
    simulation_state: int,
    records: Iterable[bytes],
) -> bytes:
    """A world snapshot from its actor records."""
    header = EPISODE_HEADER.pack(episode, platform_time, delta, 0, 0, 0, simulation_state)
    return b"".join((pack_sensor_header(SENSOR_WORLD, frame, elapsed), header, *records))


def pack_record(actor_id: int, numbers: Numbers) -> bytes:
    """Record of an actor without a type-dependent part, from the numbers of its state."""
    return RECORD.pack(actor_id, _ACTIVE, *numbers)


def pack_vehicle_record(actor_id: int, numbers: Numbers, status: bytes) -> bytes:
    """Record of a vehicle from the numbers of its state and its packed status."""
    x, y, z, pitch, yaw, roll, vx, vy, vz, wx, wy, wz, ax, ay, az = numbers
    head: bytes = _HEAD(
        actor_id, _ACTIVE, x, y, z, pitch, yaw, roll, vx, vy, vz, wx, wy, wz, ax, ay, az
    )  # fmt: skip
    return head + status


def pack_status(status: VehicleStatus) -> bytes:
    """What the record of a vehicle has behind the numbers."""
    (throttle, steer, brake, hand, reverse, manual, _), limit, gear, state, light = status
    return _STATUS.pack(
        throttle, steer, brake, hand, reverse, manual, gear, limit, state, light != 0, light, 0
    )  # fmt: skip


def pack_walker_record(actor_id: int, numbers: Numbers, control: WalkerControl) -> bytes:
    """Record of a walker from the numbers of its state."""
    direction, speed, jump = control
    return _WALKER_RECORD.pack(actor_id, _ACTIVE, *numbers, *direction, speed, jump)


def pack_sign_record(actor_id: int, numbers: Numbers, signal_id: str) -> bytes:
    """Record of a traffic sign from the numbers of its state and its id in the map."""
    return _SIGN_RECORD.pack(actor_id, _ACTIVE, *numbers, _signal_name(signal_id))


def pack_light_record(actor_id: int, numbers: Numbers, status: LightStatus) -> bytes:
    """Record of a traffic light from the numbers of its state."""
    return LIGHT_RECORD.pack(
        actor_id, _ACTIVE, *numbers, _signal_name(status.signal_id), *status[1:]
    )


def _signal_name(signal_id: str) -> bytes:
    """The id of a signal, cut to the room that the protocol has for it."""
    return signal_id.encode("utf-8", "replace")[:31]
