# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""A radar: rays at random in an elliptic cone, each with the speed of what it meets."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ros2_cosim.core.kernel.exactmath import TWO_PI, asin, atan2, radians, tan
from ros2_cosim.world.headless.sensing.axes import Floats, axes_of
from ros2_cosim.world.headless.sensing.device import Device, SensedFrame
from ros2_cosim.world.headless.sensing.draws import Draws
from ros2_cosim.world.headless.sensing.exact_arrays import sincos
from ros2_cosim.world.headless.sensing.mesh import Flags, Indices, Mesh, dot, length
from ros2_cosim.world.headless.sensing.rays import cast, nearby
from ros2_cosim.world.headless.wire_types import Vector

if TYPE_CHECKING:
    from ros2_cosim.world.headless.actors import Actor
    from ros2_cosim.world.headless.world import World

_MAX_POINTS, _MAX_RANGE, _WIDEST = 1_000_000, 10_000.0, 179.0
_MOST_RAYS = 200_000  # in a message


class Radar(Device):
    """Speed [m/s, away from the sensor is positive], azimuth, altitude [rad], distance [m]."""

    sensor_type = 9

    def __init__(self, sensor: Actor) -> None:
        super().__init__(sensor)
        self._range = self.within("range", 0.0, _MAX_RANGE)
        self._rate = self.within("points_per_second", 0, _MAX_POINTS)
        self._wide = tan(0.5 * radians(self.within("horizontal_fov", 0.0, _WIDEST)))
        self._high = tan(0.5 * radians(self.within("vertical_fov", 0.0, _WIDEST)))
        self._draws = Draws(int(sensor.number("noise_seed")), sensor.blueprint.id)
        self._before: Vector | None = None

    def measure(self, moment: SensedFrame) -> list[bytes]:
        """The detections of a frame; a message comes also where there are none."""
        count = min(int(self._rate * moment.dt + 1.0e-9), _MOST_RAYS)
        radius = self._draws.uniform(count)
        sine, cosine = sincos(TWO_PI * self._draws.uniform(count))
        directions = np.ones((count, 3))
        directions[:, 1] = self._wide * radius * cosine
        directions[:, 2] = self._high * radius * sine
        directions /= length(directions)[:, None]
        eye = axes_of(moment.pose)
        near = nearby(moment.scene(), eye, self._range)
        mesh = near.take(self._in_cone(eye.inside(near.points)))
        hits = cast(mesh, eye, directions, self._range)
        met = np.flatnonzero(hits.triangles >= 0)
        here = moment.pose.location
        own = np.array(here) - np.array(self._before or here)
        self._before = here
        speeds = _velocities(moment.world, mesh, hits.triangles[met]) - own / moment.dt
        towards = eye._replace(origin=Vector()).outside(directions[met])
        detections = np.empty((len(met), 4), dtype="<f4")
        detections[:, 0] = dot(speeds, towards)
        for i, (x, y, z) in enumerate(directions[met].tolist()):
            detections[i, 1] = atan2(y, x)
            detections[i, 2] = asin(min(1.0, max(-1.0, z)))
        detections[:, 3] = hits.distances[met]
        return [moment.header + detections.tobytes()]

    def _in_cone(self, points: Floats) -> Flags:
        """Triangles that are not wholly beside the pyramid around the cone."""
        x, y, z = points[..., 0], points[..., 1], points[..., 2]
        wide, high = self._wide * x + 1.0e-6, self._high * x + 1.0e-6
        sides = x <= 0.0, y > wide, 0.0 - y > wide, z > high, 0.0 - z > high
        inside: Flags = ~np.logical_or.reduce([np.all(side, axis=1) for side in sides])
        return inside


def _velocities(world: World, mesh: Mesh, triangles: Indices) -> Floats:
    """Velocities (n, 3) of the actors to which triangles belong [m/s, world frame]."""
    owners = mesh.actors[triangles].tolist()
    still = Vector()
    return np.array(
        [world.actors[i].state.velocity if i in world.actors else still for i in owners]
    ).reshape(-1, 3)
