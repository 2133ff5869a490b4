# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Structures of CARLA's protocol as tuples in the order in which they travel.

A named tuple is packed by msgpack as an array, so each type below is at once the value the
server computes with and its wire form. Frame: CARLA's own (left-handed, x forward, y right,
z up), metres, m/s and degrees unless a field says otherwise.
"""

from __future__ import annotations

from typing import NamedTuple


class Vector(NamedTuple):
    """A location, velocity or extent."""

    x: float = 0.0
    y: float = 0.0
    z: float = 0.0


class Rotation(NamedTuple):
    """Degrees; yaw is positive from x towards y, pitch nose up, roll right side down."""

    pitch: float = 0.0
    yaw: float = 0.0
    roll: float = 0.0


class Transform(NamedTuple):
    """Pose of an actor in the world, or relative to its parent when attached."""

    location: Vector = Vector()
    rotation: Rotation = Rotation()


ORIGIN = Transform()


class BoundingBox(NamedTuple):
    """Box around an actor: centre relative to the actor's origin and half sizes."""

    location: Vector = Vector()
    extent: Vector = Vector()
    rotation: Rotation = Rotation()
    actor_id: int = 0


class VehicleControl(NamedTuple):
    """Pedals 0..1 and steering -1..1 (positive to the right)."""

    throttle: float = 0.0
    steer: float = 0.0
    brake: float = 0.0
    hand_brake: bool = False
    reverse: bool = False
    manual_gear_shift: bool = False
    gear: int = 0


class WalkerControl(NamedTuple):
    """Direction in the world (only its horizontal part counts) and speed [m/s]."""

    direction: Vector = Vector()
    speed: float = 0.0
    jump: bool = False


class AckermannControl(NamedTuple):
    """Steering angle [rad, positive right], its rate, speed, acceleration and jerk demand."""

    steer: float = 0.0
    steer_speed: float = 0.0
    speed: float = 0.0
    acceleration: float = 0.0
    jerk: float = 0.0


class AckermannSettings(NamedTuple):
    """Gains of the speed and acceleration controllers behind ``AckermannControl``."""

    speed_kp: float = 0.15
    speed_ki: float = 0.0
    speed_kd: float = 0.25
    accel_kp: float = 0.01
    accel_ki: float = 0.0
    accel_kd: float = 0.01


class AttributeValue(NamedTuple):
    """One attribute of an actor description; ``type`` as in ``blueprints``."""

    id: str
    type: int
    value: str


class ActorDescription(NamedTuple):
    """Blueprint id with the attribute values chosen by the client."""

    uid: int
    id: str
    attributes: tuple[AttributeValue, ...] = ()


class ActorRecord(NamedTuple):
    """What the protocol calls Actor: identity, description and stream of one actor."""

    id: int
    parent_id: int
    description: ActorDescription
    bounding_box: BoundingBox
    semantic_tags: bytes
    stream_token: bytes


class EpisodeSettings(NamedTuple):
    """World settings; ``fixed_delta_seconds`` is None for a variable step."""

    synchronous_mode: bool = False
    no_rendering_mode: bool = False
    fixed_delta_seconds: float | None = None
    substepping: bool = True
    max_substep_delta_time: float = 0.01
    max_substeps: int = 10
    max_culling_distance: float = 0.0
    deterministic_ragdolls: bool = True
    tile_stream_distance: float = 3000.0
    actor_active_distance: float = 2000.0
    spectator_as_ego: bool = True

    def to_wire(self) -> list[object]:
        """Array of the protocol, where the optional step is ``[false]`` or ``[true, value]``."""
        fields: list[object] = list(self)
        step = self.fixed_delta_seconds
        fields[2] = [False] if step is None else [True, step]
        return fields


class OpendriveParameters(NamedTuple):
    """Mesh generation options; accepted and ignored, since the server draws no mesh."""

    vertex_distance: float = 2.0
    max_road_length: float = 50.0
    wall_height: float = 1.0
    additional_width: float = 0.6
    smooth_junctions: bool = True
    enable_mesh_visibility: bool = True
    enable_pedestrian_navigation: bool = True


class Weather(NamedTuple):
    """Weather parameters: pictures show them, vehicles do not feel them."""

    cloudiness: float = 5.0
    precipitation: float = 0.0
    precipitation_deposits: float = 0.0
    wind_intensity: float = 10.0
    sun_azimuth_angle: float = -1.0
    sun_altitude_angle: float = 45.0
    fog_density: float = 2.0
    fog_distance: float = 0.75
    fog_falloff: float = 0.1
    wetness: float = 0.0
    scattering_intensity: float = 1.0
    mie_scattering_scale: float = 0.03
    rayleigh_scattering_scale: float = 0.0331
    dust_storm: float = 0.0
