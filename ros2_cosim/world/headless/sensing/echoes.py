# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""What fog and rain leave of a lidar's echoes.

They take light on both ways. An echo falls with the square of the distance; it is detected by the
probability that the object sensors have, too (docs/sensing.md): half of those at the end of the
range in clear air. In rain some rays come back from drops that are near, and distances have more
noise (class estimates).
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from ros2_cosim.core.kernel.exactmath import log, sqrt
from ros2_cosim.core.scene.air import HEAVIEST_RAIN
from ros2_cosim.world.headless.sensing.air import WeatherAir
from ros2_cosim.world.headless.sensing.axes import BodyAxes, Floats
from ros2_cosim.world.headless.sensing.draws import Draws
from ros2_cosim.world.headless.sensing.exact_arrays import exp
from ros2_cosim.world.headless.sensing.mesh import Indices
from ros2_cosim.world.headless.sensing.rays import Hits

_LOG_FALSE_ALARM: Final = log(1e-6)
# Signal to noise at the end of the range in clear air: half of the echoes are detected.
_LEAST_SIGNAL: Final = _LOG_FALSE_ALARM / log(0.5) - 1.0
_NEAREST: Final = 1.0  # m; nearer than that all is as if it were there, without noise of rain

# In the heaviest rain so many rays meet a drop, up to so far away [m], and distances have so much
# noise more [m].
_DROPS, _DROPS_REACH, _NOISE = 0.004, 12.0, 0.02


class Echoes(NamedTuple):
    """What comes back to a lidar.

    :ivar hits: where; a drop has the number of some triangle
    :ivar losses: (rays) by how much the air weakens an intensity: to exp(-losses); 0 in clear air
    """

    hits: Hits
    losses: Floats | float = 0.0

    def losses_of(self, rays: Indices) -> Floats | float:
        """The losses of some rays."""
        return self.losses[rays] if isinstance(self.losses, np.ndarray) else self.losses


def through(
    air: WeatherAir, hits: Hits, directions: Floats, eye: BodyAxes, reach: float, draws: Draws
) -> Echoes:
    """The echoes of rays in air that is not clear.

    :param directions: of the rays (n, 3), in the frame of the eye
    :param reach: the lidar's range [m]
    """
    distances, triangles = hits.distances.copy(), hits.triangles.copy()
    met = np.flatnonzero(triangles >= 0)
    far = distances[met]
    heights = eye.outside(directions[met] * far[:, None])[:, 2]
    lost = 2.0 * air.thickness(eye.origin.z, heights, far)
    nearer = reach / np.maximum(far, _NEAREST)
    signal = _LEAST_SIGNAL * nearer * nearer
    weak = signal * exp(0.0 - lost)
    chance = exp(_LOG_FALSE_ALARM * (1.0 / (1.0 + weak) - 1.0 / (1.0 + signal)))
    rain = air.rain / HEAVIEST_RAIN
    # Even numbers of this deviation: those of a normal distribution take far longer.
    noise = (2.0 * draws.uniform(len(met)) - 1.0) * (sqrt(3.0) * _NOISE * rain)
    distances[met] = far + np.where(far > _NEAREST, noise, 0.0)
    gone = met[draws.uniform(len(met)) >= chance]
    distances[gone], triangles[gone] = np.inf, -1
    losses = np.zeros(len(distances))
    losses[met] = lost
    wet = draws.uniform(len(distances)) < _DROPS * rain
    way = _NEAREST + (min(_DROPS_REACH, reach) - _NEAREST) * draws.uniform(len(distances))
    drops = np.flatnonzero(wet & (way < distances))
    if len(hits.mesh):
        distances[drops], triangles[drops], losses[drops] = way[drops], 0, 0.0
    return Echoes(hits._replace(distances=distances, triangles=triangles), losses)
