# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Rotating lidars: ``ray_cast`` loses points like a real one, ``ray_cast_semantic`` has labels.

Fog and rain act on the first one. The second one shows the truth in any weather.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING

import numpy as np

from ros2_cosim.core.kernel.exactmath import radians, tan
from ros2_cosim.world.headless.sensing.air import WeatherAir
from ros2_cosim.world.headless.sensing.axes import BodyAxes, Floats, axes_of
from ros2_cosim.world.headless.sensing.device import Device, SensedFrame
from ros2_cosim.world.headless.sensing.draws import Draws
from ros2_cosim.world.headless.sensing.echoes import Echoes, through
from ros2_cosim.world.headless.sensing.exact_arrays import exp, sincos
from ros2_cosim.world.headless.sensing.mesh import Indices, dot
from ros2_cosim.world.headless.sensing.rays import Grid, Hits, scan

if TYPE_CHECKING:
    from ros2_cosim.world.headless.actors import Actor

_MAX_CHANNELS, _MAX_POINTS = 1024, 20_000_000
_MOST_RAYS = 2_000_000  # in a message, about 200 bytes each while it is made
_MAX_RANGE = 10_000.0  # m
# A ray straight up or down has no azimuth: it is sent so steep [deg].
_STEEPEST = 89.9
_UPRIGHT = 90.0


class Lidar(Device):
    """Channels that turn about the vertical axis of the sensor.

    In a frame each channel sends rays at even angles over the part of the turn that the time
    covers; points are in the sensor's frame, channel after channel.
    """

    beside = True

    def __init__(self, sensor: Actor) -> None:
        super().__init__(sensor)
        self._channels = int(self.within("channels", 1, _MAX_CHANNELS))
        self._rate = self.within("points_per_second", 0, _MAX_POINTS)
        self._range = self.within("range", 0.0, _MAX_RANGE)
        self._frequency = self.within("rotation_frequency", 0.0, 1000.0)
        self._field = radians(self.within("horizontal_fov", 0.1, 360.0))
        upper = self.within("upper_fov", -_UPRIGHT, _UPRIGHT)
        lower = self.within("lower_fov", -_UPRIGHT, _UPRIGHT)
        if lower > upper:
            raise ValueError(f"'lower_fov': found {lower:g}; allowed is at most {upper:g}")
        step = (upper - lower) / (self._channels - 1) if self._channels > 1 else 0.0
        wanted = (upper - i * step for i in range(self._channels))
        angles = [radians(min(_STEEPEST, max(-_STEEPEST, angle))) for angle in wanted]
        self._pitch_sin, self._pitch_cos = sincos(np.array(angles))
        # Rows of the grid rise; channels fall.
        self._slopes = np.array([tan(angle) for angle in reversed(angles)])
        self._angle = 0.0

    def measure(self, moment: SensedFrame) -> list[bytes]:
        """One part of the turn."""
        per_channel = int(self._rate * moment.dt / self._channels + 0.5)
        per_channel = min(per_channel, _MOST_RAYS // self._channels)
        turn = self._frequency * self._field * moment.dt
        if per_channel == 0:
            return []
        way = self._angle + (turn / per_channel) * np.arange(per_channel)
        azimuths = way - self._field * np.floor(way / self._field) - 0.5 * self._field
        self._angle = float(np.mod(self._angle + turn, self._field))
        eye = axes_of(moment.pose)
        directions = self._directions(azimuths)
        grid = Grid(azimuths, self._slopes)
        hits = scan(moment.scene(), eye, grid, directions, self._range)
        # Channel 0 is the highest, row 0 the lowest.
        rays = np.arange(len(directions)).reshape(self._channels, per_channel)[::-1].reshape(-1)
        echoes = self.echoes(WeatherAir(moment.weather), hits, directions, eye)
        rays = self.kept(rays, echoes)
        channel = self._channels - 1 - rays // per_channel
        counts = np.bincount(channel, minlength=self._channels).astype("<u4")
        head = moment.header + np.array([self._angle], dtype="<f4").tobytes()
        head += np.array([self._channels], dtype="<u4").tobytes() + counts.tobytes()
        return [head + self.points(rays, directions[rays], echoes, eye)]

    def _directions(self, azimuths: Floats) -> Floats:
        """Unit vectors (rows * columns, 3), the lowest channel first."""
        sine, cosine = sincos(azimuths)
        level, height = self._pitch_cos[::-1, None], self._pitch_sin[::-1, None]
        directions = np.empty((self._channels, len(azimuths), 3))
        directions[..., 0] = level * cosine
        directions[..., 1] = level * sine
        directions[..., 2] = height
        return directions.reshape(-1, 3)

    def echoes(self, air: WeatherAir, hits: Hits, directions: Floats, eye: BodyAxes) -> Echoes:
        """What comes back through the air."""
        return Echoes(hits)

    @abstractmethod
    def kept(self, rays: Indices, echoes: Echoes) -> Indices:
        """The rays of which points are sent."""

    @abstractmethod
    def points(self, rays: Indices, directions: Floats, echoes: Echoes, eye: BodyAxes) -> bytes:
        """The points of rays."""


class RayCastLidar(Lidar):
    """Points with intensity; the air, weak echoes and chance take some of them."""

    sensor_type = 11

    def __init__(self, sensor: Actor) -> None:
        super().__init__(sensor)
        self._attenuation = self.within("atmosphere_attenuation_rate", 0.0, 1000.0)
        self._lost = self.within("dropoff_general_rate", 0.0, 1.0)
        self._weak = self.within("dropoff_intensity_limit", 0.0, 1.0)
        self._lost_at_zero = self.within("dropoff_zero_intensity", 0.0, 1.0)
        self._deviation = self.within("noise_stddev", 0.0, _MAX_RANGE)
        seed, kind = int(sensor.number("noise_seed")), sensor.blueprint.id
        self._draws = Draws(seed, kind)
        # Other numbers for the weather: those of clear air do not change.
        self._weather = Draws(seed, f"{kind} weather")

    def echoes(self, air: WeatherAir, hits: Hits, directions: Floats, eye: BodyAxes) -> Echoes:
        """What comes back through fog and rain."""
        if air.is_clear:
            return Echoes(hits)
        return through(air, hits, directions, eye, self._range, self._weather)

    def kept(self, rays: Indices, echoes: Echoes) -> Indices:
        """Those that meet something and are not lost."""
        met = echoes.hits.triangles[rays] >= 0
        if self._lost > 0.0:
            met &= self._draws.uniform(len(rays)) >= self._lost
        rays = rays[met]
        if self._lost_at_zero > 0.0:
            intensity = self._intensity(rays, echoes)
            share = self._lost_at_zero / self._weak if self._weak > 0.0 else 0.0
            chance = share * intensity + (1.0 - self._lost_at_zero)
            strong = intensity > self._weak
            rays = rays[strong | (self._draws.uniform(len(rays)) < chance)]
        return rays

    def points(self, rays: Indices, directions: Floats, echoes: Echoes, eye: BodyAxes) -> bytes:
        """x, y, z, intensity."""
        distances = echoes.hits.distances[rays]
        points = np.empty((len(rays), 4), dtype="<f4")
        points[:, 3] = self._intensity(rays, echoes)
        if self._deviation > 0.0:
            distances = distances + self._deviation * self._draws.normal(len(rays))
        points[:, :3] = directions * distances[:, None]
        return points.tobytes()

    def _intensity(self, rays: Indices, echoes: Echoes) -> Floats:
        distances = echoes.hits.distances[rays]
        return exp((0.0 - self._attenuation * distances) - echoes.losses_of(rays))


_LABELLED = np.dtype([("point", "<f4", 3), ("cos", "<f4"), ("actor", "<u4"), ("tag", "<u4")])


class SemanticLidar(Lidar):
    """Points with the cosine of incidence, the actor and the label of what they are on."""

    sensor_type = 10

    def kept(self, rays: Indices, echoes: Echoes) -> Indices:
        """Those that meet something."""
        return rays[echoes.hits.triangles[rays] >= 0]

    def points(self, rays: Indices, directions: Floats, echoes: Echoes, eye: BodyAxes) -> bytes:
        """x, y, z, cosine, actor, label."""
        hits = echoes.hits
        triangles = hits.triangles[rays]
        points = np.empty(len(rays), dtype=_LABELLED)
        points["point"] = directions * hits.distances[rays][:, None]
        normals = eye.directions_inside(hits.mesh.normals[triangles])
        points["cos"] = 0.0 - dot(directions, normals)
        points["actor"] = hits.mesh.actors[triangles]
        points["tag"] = hits.mesh.tags[triangles]
        return points.tobytes()
