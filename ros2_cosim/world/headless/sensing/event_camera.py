# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The event camera (DVS): where and when the brightness of a pixel has changed by a threshold.

As in CARLA 0.9.16 (``ADVSCamera``, after H. Rebecq, D. Gehrig, D. Scaramuzza, "ESIM: an open event
camera simulator", CoRL 2018) the brightness changes linearly from one picture to the next, and an
event has the time at which it passes a level.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from ros2_cosim.core.kernel.time import SECOND
from ros2_cosim.world.headless.sensing import exact_arrays
from ros2_cosim.world.headless.sensing.axes import Floats
from ros2_cosim.world.headless.sensing.cameras import RgbCamera
from ros2_cosim.world.headless.sensing.device import SensedFrame
from ros2_cosim.world.headless.sensing.draws import Draws

if TYPE_CHECKING:
    from ros2_cosim.world.headless.actors import Actor

#: Shares of red, green and blue in the brightness.
_RED, _GREEN, _BLUE = 0.2989, 0.587, 0.114
_LEAST_CHANGE: Final = 1.0e-6
_LEAST_THRESHOLD: Final = 0.01
#: A message has at most so many events; what a picture has beyond is lost.
_MOST_EVENTS: Final = 2_000_000
_LONGEST_NS: Final = 10 * SECOND

EVENT: Final = np.dtype([("x", "<u2"), ("y", "<u2"), ("t", "<i8"), ("pol", "u1")])
"""An event on the wire: column, row, time [ns], 1 for brighter and 0 for darker."""


class EventCamera(RgbCamera):
    """Events between two pictures of the colour camera, in the order of their times.

    There is no message where nothing has changed, and none of the first picture.
    """

    sensor_type = 3
    remembers = True

    def __init__(self, sensor: Actor) -> None:
        super().__init__(sensor)
        self._rise = self.within("positive_threshold", _LEAST_THRESHOLD, 1000.0)
        self._fall = self.within("negative_threshold", _LEAST_THRESHOLD, 1000.0)
        self._rise_noise = self.within("sigma_positive_threshold", 0.0, 1000.0)
        self._fall_noise = self.within("sigma_negative_threshold", 0.0, 1000.0)
        self._rest_ns = int(self.within("refractory_period_ns", 0, _LONGEST_NS))
        self._is_log = sensor.attribute("use_log") == "true"
        self._dark = self.within("log_eps", 1.0e-6, 1.0)
        self._draws = Draws(int(sensor.number("noise_seed")), sensor.blueprint.id)
        self._before: tuple[int, Floats] | None = None
        #: Of each pixel: the level that it passed last, and the time of its last event, 0: none.
        self._levels: Floats = np.zeros(0)
        self._last: NDArray[np.int64] = np.zeros(0, dtype=np.int64)

    def measure(self, moment: SensedFrame) -> list[bytes]:
        """The events since the last picture."""
        now = int(moment.world.elapsed_s * SECOND + 0.5)
        bright = self._brightness(self.pixels(moment, moment.view(self.lens)))
        before, self._before = self._before, (now, bright)
        if before is None or now - before[0] > int(moment.dt * SECOND + 0.5):
            self.begin(bright)
            return []
        events = self.events(*before, now, bright)
        return [self.message(moment, events.tobytes())] if len(events) else []

    def begin(self, bright: Floats) -> None:
        """Forget what was: from now on changes count from this brightness of the pixels."""
        self._levels = bright.copy()
        self._last = np.zeros(len(bright), dtype=np.int64)

    def _brightness(self, pixels: bytes | memoryview) -> Floats:
        blue, green, red, _ = np.frombuffer(pixels, np.uint8).reshape(-1, 4).T.astype(np.float64)
        grey = _RED * red + _GREEN * green + _BLUE * blue
        return exact_arrays.log(self._dark + grey / 255.0) if self._is_log else grey

    def events(self, begin: int, past: Floats, now: int, bright: Floats) -> NDArray[np.void]:
        """The events between two pictures, by their times [ns] and the brightness of the pixels."""
        change = bright - past
        pixels = np.flatnonzero(np.abs(change) > _LEAST_CHANGE)
        past, bright, change = past[pixels], bright[pixels], change[pixels]
        up = change > 0.0
        step = np.where(up, self._rise, 0.0 - self._fall)
        noise = np.where(up, self._rise_noise, self._fall_noise)
        if noise.any():
            size = np.abs(step)
            size[noise > 0.0] += noise[noise > 0.0] * self._draws.normal(int((noise > 0.0).sum()))
            step = np.copysign(np.maximum(size, _LEAST_THRESHOLD), step)
        level = self._levels[pixels]
        found, count = [], 0
        while len(pixels) and count < _MOST_EVENTS:
            level = level + step
            passed = np.where(
                up, (level > past) & (level <= bright), (level < past) & (level >= bright)
            )
            pixels, up = pixels[passed], up[passed]
            past, bright, change, step, level = (
                part[passed] for part in (past, bright, change, step, level)
            )
            times = begin + ((level - past) * (now - begin) / change).astype(np.int64)
            last = self._last[pixels]
            later = times >= last
            told = later & ((last == 0) | (times - last >= self._rest_ns))
            self._levels[pixels[later]] = level[later]
            self._last[pixels[told]] = times[told]
            found.append((pixels[told], times[told], up[told]))
            count += int(told.sum())
        where, when, brighter = (
            np.concatenate([rows[part] for rows in found]) if found else np.zeros(0, dtype=np.int64)
            for part in range(3)
        )
        order = np.lexsort((where, when))[:_MOST_EVENTS]
        events = np.empty(len(order), dtype=EVENT)
        events["y"], events["x"] = np.divmod(where[order], self.lens.width)
        events["t"], events["pol"] = when[order], brighter[order]
        return events
