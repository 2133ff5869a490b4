# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Road users of a bag: vehicles by their odometry, and the traffic of a run."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from ros2_cosim.core.documents.plain_data import read_record
from ros2_cosim.core.documents.run_files import RESOLVED_SCENARIO
from ros2_cosim.core.kernel.errors import ConfigurationError, ProtocolError
from ros2_cosim.core.messages.catalogue import DEFAULT
from ros2_cosim.core.messages.records import CLASS_TRUCK, Odometry, RoadUser, RoadUsers
from ros2_cosim.core.record.bag_metadata import METADATA_FILE
from ros2_cosim.core.record.bag_reader import read_bag
from ros2_cosim.core.scene.scene import DEFAULT_SIZE, read_scene
from ros2_cosim.core.scene.simulator import Size
from ros2_cosim.world.map.frames import yaw_from_quaternion
from ros2_cosim.world.recorded.tracks import Kind, RecordedRow, RecordingRequest, Tracks

#: Where the bag is in the directory of a run.
_BAG: Final = "bag"
_ODOMETRY: Final = "/odometry"
_TYPES: Final = tuple(DEFAULT.type_name(record) for record in (Odometry, RoadUsers))


def read_run(request: RecordingRequest) -> Tracks:
    """Read the directory of a run, or that of a bag.

    A vehicle is named by its topic, without ``/odometry``; its size is that in the scenario of the
    run, or that of the usual car. Road users of topics of the type RoadUsers have their number.

    :raises ConfigurationError: there is no bag, or it is damaged
    """
    path = request.path
    bag = path if (path / METADATA_FILE).is_file() else path / _BAG
    sizes = _sizes(bag.parent)
    tracks = Tracks(f"{request.where}: {path}")
    codecs = {name: DEFAULT.codec(name) for name in _TYPES}
    try:
        for message in read_bag(bag):
            if message.type_name not in codecs:
                continue
            record = codecs[message.type_name].decode(message.data)[2]
            if isinstance(record, RoadUsers):
                for user in record.users:
                    _take_user(tracks, message.stamp, user)
            else:
                name = message.topic.removesuffix(_ODOMETRY).strip("/")
                _take(tracks, message.stamp, name, record, sizes.get(name, Size(*DEFAULT_SIZE)))
    except ProtocolError as error:
        raise ConfigurationError(f"{request.where}: {error}") from None
    except ConfigurationError as error:
        raise ConfigurationError(f"{request.where}: {error}") from None
    return tracks


def _take(tracks: Tracks, stamp: int, name: str, place: Odometry, size: Size) -> None:
    yaw = yaw_from_quaternion(place.qx, place.qy, place.qz, place.qw)
    row = RecordedRow(stamp, place.x, place.y, place.z, yaw, place.vx, place.vy)
    tracks.add(tracks.track(name, "car", size), row)


def _take_user(tracks: Tracks, stamp: int, user: RoadUser) -> None:
    kind: Kind = "truck" if user.classification == CLASS_TRUCK else "car"
    size = Size(user.length, user.width, user.height)
    row = RecordedRow(stamp, user.x, user.y, user.z, user.yaw, user.vx, user.vy)
    tracks.add(tracks.track(str(user.id), kind, size), row)


def _sizes(directory: Path) -> dict[str, Size]:
    """The sizes that a scenario says; none beside a bag of others."""
    path = directory / RESOLVED_SCENARIO
    if not path.is_file():
        return {}
    scene: Any = read_record(path).get("scene")
    vehicles = read_scene(scene if isinstance(scene, dict) else {}).vehicles
    return {
        name: Size(*(value or 0.0 for value in (v.length, v.width, v.height)))
        for name, v in vehicles.items()
        if v.length and v.width
    }
