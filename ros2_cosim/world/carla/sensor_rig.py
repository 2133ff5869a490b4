# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The sensors of a scene: mounted before state 0, read whenever they have measured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from ros2_cosim.core.scene.sensors import Measurement, Payload
from ros2_cosim.core.scene.simulator import Body, Pose, SensorMount, Simulator
from ros2_cosim.world.carla.parameters import SensorSpec
from ros2_cosim.world.map import frames

if TYPE_CHECKING:
    import numpy as np

#: Bytes of a point of a semantic lidar, and where the actor's id lies in it (as u32).
_SEMANTIC_POINT: Final = 24
_SEMANTIC_ID: Final = 4
_HIGH_BYTE: Final = 256


class SensorRig:
    """Mounts sensors in a simulator and says which have measured.

    :param specs: the sensors whose vehicles are there
    :param step_ns: of the scene
    """

    def __init__(self, simulator: Simulator, specs: Sequence[SensorSpec], step_ns: int) -> None:
        self._simulator = simulator
        self._specs = specs
        self._step_ns = step_ns
        self._ids: dict[str, int] = {}

    def attach(self, carriers: Mapping[str, tuple[int, Body]]) -> None:
        """Mount all sensors: the next tick is that of their first measurement.

        :param carriers: vehicle -> its actor and box
        :raises ConfigurationError: the simulator does not have one of them
        """
        for spec in self._specs:
            actor, body = carriers[spec.vehicle]
            period_s = repr(spec.period_ns / 1e9)
            self._ids[spec.name] = self._simulator.attach(
                SensorMount(
                    spec.name,
                    spec.blueprint,
                    actor,
                    _pose(spec, body),
                    {**spec.attributes, "sensor_tick": period_s},
                )
            )

    def measure(self, steps: int, numbers: Mapping[int, int]) -> dict[str, Measurement]:
        """The measurements of a state; a sensor measures at multiples of its period.

        :param steps: number of the state
        :param numbers: actor -> its id in the scene
        """
        time = steps * self._step_ns
        due = [spec for spec in self._specs if time % spec.period_ns == 0]
        if not due:
            return {}
        found = self._simulator.measurements([self._ids[spec.name] for spec in due])
        return {
            spec.name: _identified(spec.blueprint, measured, numbers)
            for spec, measured in zip(due, found, strict=True)
        }


def _pose(spec: SensorSpec, body: Body) -> Pose:
    """Where a sensor is, seen from the origin of its actor: its place is that from the centre."""
    x, y, z = frames.vector_to_carla(*spec.place)
    pitch, yaw, roll = frames.rotation_to_carla(*frames.quaternion_from_rpy(*spec.turn))
    return Pose(body.centre[0] + x, body.centre[1] + y, z, pitch, yaw, roll)


def _identified(blueprint: str, measured: Measurement, numbers: Mapping[int, int]) -> Measurement:
    """A measurement with ids of the scene: a simulator numbers its actors as it likes."""
    if not isinstance(measured, Payload):
        return measured
    import numpy as np  # a sensor of this payload has loaded it

    if blueprint == "sensor.lidar.ray_cast_semantic":
        words = np.frombuffer(measured.data, dtype="<u4").reshape(-1, _SEMANTIC_POINT // 4).copy()
        words[:, _SEMANTIC_ID] = _numbered(words[:, _SEMANTIC_ID], numbers)
        return Payload(words.tobytes())
    if blueprint == "sensor.camera.instance_segmentation":
        pixels = np.frombuffer(measured.data, dtype=np.uint8).reshape(-1, 4).copy()
        ids = pixels[:, 1].astype(np.uint32) + _HIGH_BYTE * pixels[:, 0].astype(np.uint32)
        known = _numbered(ids, {actor % 65536: number for actor, number in numbers.items()})
        pixels[:, 1], pixels[:, 0] = known % _HIGH_BYTE, known // _HIGH_BYTE % _HIGH_BYTE
        return Payload(pixels.tobytes())
    return measured


def _numbered(
    ids: np.ndarray[tuple[int, ...], np.dtype[np.uint32]], numbers: Mapping[int, int]
) -> np.ndarray[tuple[int, ...], np.dtype[np.uint32]]:
    import numpy as np

    found, places = np.unique(ids, return_inverse=True)
    known = np.array([numbers.get(actor, 0) for actor in found.tolist()], dtype=np.uint32)
    return known[places]
