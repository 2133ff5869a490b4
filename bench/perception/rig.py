# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The sensors of the car, and what they give at one moment.

Two colour cameras side by side with a depth camera where the left one is, and a lidar on the
roof. Camera frames are those of OpenCV: x to the right, y down, z ahead.
"""

from __future__ import annotations

import queue
from math import radians, tan
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Picture = NDArray[np.uint8]

STEP_S: Final = 0.1
WIDTH, HEIGHT = 960, 400
FIELD: Final = 90.0  # deg
FOCAL: Final = WIDTH / (2.0 * tan(radians(FIELD) / 2.0))  # pixels
BASELINE: Final = 0.54  # m
CAMERA: Final = (1.2, 1.6)  # m ahead and up
ROOF: Final = (0.0, 1.9)
LIDAR_RANGE: Final = 60.0  # m

CAMERA_MATRIX: Final = np.array(
    [[FOCAL, 0.0, WIDTH / 2.0 - 0.5], [0.0, FOCAL, HEIGHT / 2.0 - 0.5], [0.0, 0.0, 1.0]]
)
#: Points of a camera's frame in that of CARLA: x ahead, y to the right, z up.
_OF_CAMERA: Final = np.array(
    [[0.0, 0.0, 1.0, 0.0], [1.0, 0.0, 0.0, 0.0], [0.0, -1.0, 0.0, 0.0], [0.0, 0.0, 0.0, 1.0]]
)

_PICTURE: Final = {"image_size_x": WIDTH, "image_size_y": HEIGHT, "fov": FIELD}
_LIDAR: Final = {
    "channels": 64, "points_per_second": 1_000_000, "range": LIDAR_RANGE,
    "rotation_frequency": 1.0 / STEP_S, "upper_fov": 3.0, "lower_fov": -25.0,
}  # fmt: skip


class Sight(NamedTuple):
    """What the sensors have measured at one moment.

    :ivar left: (height, width, 3) blue, green, red; and ``right``
    :ivar depth: (height, width) of the left camera [m]
    :ivar points: (n, 3) of the lidar, in its frame: x ahead, y to the right, z up [m]
    :ivar camera: (4, 4) from the frame of the left camera into CARLA's world, mirrored as that
        frame is: y of the world is down
    :ivar view: (4, 4) from the left camera, by CARLA's axes, into the world
    :ivar roof: (4, 4) from the lidar into the world
    """

    left: Picture
    right: Picture
    depth: Floats
    points: Floats
    camera: Floats
    view: Floats
    roof: Floats


class Rig:
    """The sensors on a car; they measure in each frame."""

    def __init__(self, world: Any, car: Any) -> None:
        import carla

        self._data: dict[str, queue.Queue[Any]] = {}
        self._sensors = []
        side = 0.5 * BASELINE
        ahead, up = CAMERA
        for name, kind, attributes, place in (
            ("left", "camera.rgb", _PICTURE, (ahead, -side, up)),
            ("right", "camera.rgb", _PICTURE, (ahead, side, up)),
            ("depth", "camera.depth", _PICTURE, (ahead, -side, up)),
            ("lidar", "lidar.ray_cast", _LIDAR, (ROOF[0], 0.0, ROOF[1])),
        ):
            model = world.get_blueprint_library().find(f"sensor.{kind}")
            for key, value in attributes.items():
                model.set_attribute(key, str(value))
            pose = carla.Transform(carla.Location(*place))
            sensor = world.spawn_actor(model, pose, attach_to=car)
            self._data[name] = queue.Queue()
            sensor.listen(self._data[name].put)
            self._sensors.append(sensor)

    def sight(self, frame: int) -> Sight:
        """What was measured in a frame."""
        got = {name: data.get(timeout=60.0) for name, data in self._data.items()}
        if any(each.frame != frame for each in got.values()):
            raise RuntimeError(f"frame {frame}: a sensor has sent another one")
        left, right, coded = (_pixels(got[name]) for name in ("left", "right", "depth"))
        steps = coded[..., 2] + 256.0 * coded[..., 1] + 65536.0 * coded[..., 0]
        points = np.frombuffer(got["lidar"].raw_data, np.float32).reshape(-1, 4)[:, :3]
        view, roof = (np.array(got[name].transform.get_matrix()) for name in ("left", "lidar"))
        return Sight(
            left, right, steps * (1000.0 / (256**3 - 1)), points.astype(np.float64),
            np.linalg.inv(_OF_CAMERA) @ view @ _OF_CAMERA, view, roof,
        )  # fmt: skip

    def close(self) -> None:
        """Remove the sensors."""
        for sensor in self._sensors:
            sensor.stop()
            sensor.destroy()


def _pixels(image: Any) -> Picture:
    whole = np.frombuffer(image.raw_data, np.uint8).reshape(image.height, image.width, 4)
    return np.ascontiguousarray(whole[..., :3])
