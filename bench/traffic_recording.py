# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""What a client has seen in a drive, step by step, in a folder: it can be judged without driving.

The folder has ``drive.json`` (the traffic), ``map.xodr``, and as float32 or bytes one row a step:
``vehicles.f4``, ``walkers.f4``, ``lights.u1``; ``touches.txt`` has the contacts. All values are
the client's: CARLA's frame, metres, degrees.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

VEHICLE: Final = tuple(
    "x y z yaw vx vy vz ax ay az turn throttle brake steer at state limit".split()
)
"""The numbers of a vehicle; NaN after it is gone."""
WALKER: Final = ("x", "y", "z", "yaw", "vx", "vy")

_ABOUT, _MAP, _TOUCHES = "drive.json", "map.xodr", "touches.txt"
_VEHICLES, _WALKERS, _LIGHTS = "vehicles.f4", "walkers.f4", "lights.u1"

Numbers = NDArray[np.float32]


class Recorder:
    """Writes a drive into a folder, step by step.

    :ivar vehicles: one row for each, to be filled before ``step``; ``walkers``: the same
    """

    def __init__(self, folder: Path, about: dict[str, Any], opendrive: str) -> None:
        """Begin; ``about`` names ``vehicles``, ``walkers`` and ``lights`` by their ids."""
        folder.mkdir(parents=True, exist_ok=True)
        (folder / _ABOUT).write_text(json.dumps(about), encoding="utf-8")
        (folder / _MAP).write_text(opendrive, encoding="utf-8")
        self.vehicles = np.full((len(about["vehicles"]), len(VEHICLE)), np.nan, np.float32)
        self.walkers = np.full((len(about["walkers"]), len(WALKER)), np.nan, np.float32)
        self._files = [(folder / name).open("wb") for name in (_VEHICLES, _WALKERS, _LIGHTS)]
        self._touches = (folder / _TOUCHES).open("w", encoding="utf-8")
        self._step = 0

    def step(self, lights: Iterable[int], touches: Iterable[tuple[int, int]]) -> None:
        """One step: what is in the rows, the states of all lights, and the contacts."""
        for data, file in zip((self.vehicles, self.walkers), self._files, strict=False):
            file.write(data.tobytes())
        self._files[-1].write(bytes(lights))
        for who, other in touches:
            self._touches.write(f"{self._step} {who} {other}\n")
        self._step += 1

    def close(self) -> None:
        """The drive is over."""
        for file in self._files:
            file.close()
        self._touches.close()


class Recording:
    """A drive from its folder.

    :ivar about: the traffic
    :ivar vehicles: by step, vehicle and number; ``walkers``: the same
    :ivar lights: states, by step and light
    :ivar touches: by step
    """

    def __init__(self, folder: Path) -> None:
        """Read it; a drive that was cut short has the steps that all files have."""
        self.about: dict[str, Any] = json.loads((folder / _ABOUT).read_text(encoding="utf-8"))
        self.opendrive = (folder / _MAP).read_text(encoding="utf-8")
        vehicles, walkers = len(self.about["vehicles"]), len(self.about["walkers"])
        self.vehicles = _rows(folder / _VEHICLES, (vehicles, len(VEHICLE)))
        self.walkers = _rows(folder / _WALKERS, (walkers, len(WALKER)))
        self.steps = len(self.vehicles)
        lights, states = len(self.about["lights"]), np.fromfile(folder / _LIGHTS, np.uint8)
        if lights:
            self.lights = states[: len(states) // lights * lights].reshape(-1, lights)
            self.steps = min(self.steps, len(self.lights))
        else:
            self.lights = np.zeros((self.steps, 0), np.uint8)
        self.touches: dict[int, list[tuple[int, int]]] = defaultdict(list)
        for line in (folder / _TOUCHES).read_text(encoding="utf-8").splitlines():
            step, who, other = map(int, line.split())
            self.touches[step].append((who, other))


def _rows(file: Path, shape: tuple[int, int]) -> Numbers:
    count = shape[0] * shape[1]
    data = np.fromfile(file, np.float32)
    return data[: len(data) // count * count].reshape(-1, *shape) if count else data
