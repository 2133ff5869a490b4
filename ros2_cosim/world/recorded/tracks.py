# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""What a reader finds in a recording: road users with their size, and rows of times and places.

Readers are entry points of :data:`RECORDING_GROUP`. Their name is the suffix of the files, or
``bag`` for directories.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final, Literal, NamedTuple

from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.scene.recorded import ColumnName
from ros2_cosim.core.scene.simulator import Size

RECORDING_GROUP: Final = "ros2_cosim.recordings"
#: A recording may have so many road users and rows.
MAX_TRACKS: Final = 10_000
MAX_ROWS: Final = 2_000_000

Kind = Literal["car", "van", "truck", "bus", "motorcycle", "bicycle", "pedestrian", "unknown"]


class RecordedRow(NamedTuple):
    """A place of a road user, the centre of its footprint, in the recording's frame.

    ``time`` in ns; ``x``, ``y``, ``z`` in m; ``yaw`` in rad from x to y; ``vx`` and ``vy`` in m/s
    along its heading and to the left. None: the recording does not say.
    """

    time: int
    x: float
    y: float
    z: float | None = None
    yaw: float | None = None
    vx: float | None = None
    vy: float | None = None


class RecordedTrack:
    """A road user of a recording.

    :ivar name: its id in the recording
    :ivar size: 0 where the recording does not say it [m]
    :ivar lasting: whether it is there at any time, where its only row says
    """

    __slots__ = ("kind", "lasting", "name", "rows", "size")

    def __init__(self, name: str, kind: Kind, size: Size, lasting: bool) -> None:
        self.name = name
        self.kind = kind
        self.size = size
        self.lasting = lasting
        self.rows: list[RecordedRow] = []


class RecordingRequest(NamedTuple):
    """The request to a reader: the file, how messages call it, and the names of its columns."""

    path: Path
    where: str
    columns: Mapping[ColumnName, str]


class Tracks:
    """Collects what a reader finds, within bounds.

    :param where: how messages call the file
    """

    def __init__(self, where: str) -> None:
        self._where = where
        self._rows = 0
        self.found: dict[str, RecordedTrack] = {}

    def track(self, name: str, kind: Kind, size: Size, *, lasting: bool = False) -> RecordedTrack:
        """The road user of a name; what it is and how large, is that of its first row.

        :raises ConfigurationError: there are too many, or its size is out of bounds
        """
        found = self.found.get(name)
        if found is None:
            if len(self.found) >= MAX_TRACKS:
                raise ConfigurationError(
                    f"{self._where}: found more than {MAX_TRACKS} road users, which is the most "
                    "allowed"
                )
            if not all(value == 0.0 or 0.1 <= value <= 100.0 for value in size):
                raise ConfigurationError(
                    f"{self._where}: road user '{name}': found the size {size[:3]}; allowed are "
                    "0.1 to 100 m"
                )
            found = self.found[name] = RecordedTrack(name, kind, size, lasting)
        return found

    def add(self, track: RecordedTrack, row: RecordedRow) -> None:
        """A further row of a road user.

        :raises ConfigurationError: it is not later than the row before, or there are too many
        """
        self._rows += 1
        if self._rows > MAX_ROWS:
            raise ConfigurationError(
                f"{self._where}: found more than {MAX_ROWS} rows, which is the most allowed"
            )
        if track.rows and row.time <= track.rows[-1].time:
            raise ConfigurationError(
                f"{self._where}: road user '{track.name}': found a row at {row.time * 1e-9:g} s "
                f"behind one at {track.rows[-1].time * 1e-9:g} s; allowed are times that grow"
            )
        track.rows.append(row)


Reader = Callable[[RecordingRequest], Tracks]
