# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Where recorded road users are at a time of the run, in the map's frame.

Places between two rows lie on a line; the fraction of the way comes from whole nanoseconds.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Final, NamedTuple

from ros2_cosim.core.documents.offered import find_entry, load_entry, offered
from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.kernel.exactmath import atan2, hypot, sincos, wrap_angle
from ros2_cosim.core.kernel.loading import is_own_module, refuse_code
from ros2_cosim.core.scene.recorded import RecordedSettings
from ros2_cosim.core.scene.simulator import Size
from ros2_cosim.world.map import RoadNetwork
from ros2_cosim.world.recorded.tracks import (
    RECORDING_GROUP,
    Kind,
    Reader,
    RecordedRow,
    RecordedTrack,
    RecordingRequest,
)

#: So many recorded road users may be in a scene; its message of road users has room for more.
MAX_RECORDED: Final = 500
#: Between rows that are further apart a road user is not there [ns].
LONGEST_GAP: Final = 2_000_000_000
#: So far from the map's origin the simulator's numbers still tell a centimetre [m].
_MAX_COORDINATE: Final = 100_000.0
_MAX_SPEED: Final = 150.0
#: A heading that is counted on through two turns [rad].
_MAX_YAW: Final = 12.6
#: The direction of a slower motion [m/s] says nothing about the heading.
_MOVES: Final = 0.5
_NS: Final = 1e9


class RecordedPlace(NamedTuple):
    """Where a road user is [m], its yaw [rad], velocity along its heading and to the left [m/s]."""

    x: float
    y: float
    z: float
    yaw: float
    vx: float
    vy: float


class RecordedUser:
    """A road user of a recording, as it is in the map.

    :ivar name: ``RECORDING.ID``
    :param times: growing [ns]
    :param places: as many
    :param lasting: whether it is at its only place at any time
    """

    def __init__(
        self,
        name: str,
        kind: Kind,
        size: Size,
        times: Sequence[int],
        places: Sequence[RecordedPlace],
        *,
        lasting: bool = False,
    ) -> None:
        self.name = name
        self.kind = kind
        self.size = size
        self._times = tuple(times)
        self._places = tuple(places)
        self._lasting = lasting

    def at(self, time: int) -> RecordedPlace | None:
        """Where it is at a time of the run [ns], None if it is not there."""
        times = self._times
        i = bisect_right(times, time) - 1
        if self._lasting:
            return self._places[0]
        if i < 0:
            return None
        here = self._places[i]
        past = time - times[i]
        if past == 0:
            return here
        if i + 1 == len(times):
            return None
        step = times[i + 1] - times[i]
        return None if step > LONGEST_GAP else _between(here, self._places[i + 1], past / step)

    def on_ground(self, road: RoadNetwork) -> RecordedUser:
        """The same on the ground of a map: recordings seldom share its heights."""
        places, hint = [], None
        for place in self._places:
            hint = road.project(place.x, place.y, hint, place.z)
            height = road.pose(hint.road_id, hint.s, hint.t)[2]
            places.append(place._replace(z=height))
        return RecordedUser(
            self.name, self.kind, self.size, self._times, places, lasting=self._lasting
        )


def _between(a: RecordedPlace, b: RecordedPlace, share: float) -> RecordedPlace:
    def mean(one: float, other: float) -> float:
        return one + share * (other - one)

    yaw = wrap_angle(a.yaw + share * wrap_angle(b.yaw - a.yaw))
    return RecordedPlace(
        mean(a.x, b.x), mean(a.y, b.y), mean(a.z, b.z), yaw, mean(a.vx, b.vx), mean(a.vy, b.vy)
    )


def recorded_users(
    recordings: Mapping[str, RecordedSettings], base_directory: Path
) -> tuple[RecordedUser, ...]:
    """All recorded road users of a scene, in the order of the recordings and of their files.

    :raises ConfigurationError: a file cannot be read, or says what is not allowed
    """
    users: list[RecordedUser] = []
    for name, settings in recordings.items():
        where = f"scene.recorded.{name}"
        # Sections can be compared, but not hashed.
        given = settings.model_dump_json()
        users += _read(name, given, base_directory / settings.file, where)
    if len(users) > MAX_RECORDED:
        raise ConfigurationError(
            f"scene.recorded: found {len(users)} road users; allowed are {MAX_RECORDED} (begin and "
            "without leave some out)"
        )
    return tuple(users)


@lru_cache(maxsize=4)
def _read(name: str, given: str, path: Path, where: str) -> tuple[RecordedUser, ...]:
    # All models of a process ask; a recording does not change while a scenario is loaded.
    settings = RecordedSettings.model_validate_json(given)
    request = RecordingRequest(path, f"{where}.file", settings.columns)
    found = _reader(path, where)(request).found
    for left_out in settings.without:
        if left_out not in found:
            known = ", ".join(list(found)[:8])
            raise ConfigurationError(
                f"{where}.without: found '{left_out}'; road users of {path} are {known}"
                + (f" and {len(found) - 8} more" if len(found) > 8 else "")
            )
    tracks = [track for track in found.values() if track.name not in settings.without]
    first = min((track.rows[0].time for track in found.values() if track.rows), default=0)
    users = []
    for track in tracks:
        user = _user(track, f"{name}.{track.name}", settings, first, f"{where}: {path}")
        if user is not None:
            users.append(user)
    if not users:
        raise ConfigurationError(
            f"{where}: {path}: found no road user that is there after begin; allowed is a "
            "recording with one"
        )
    return tuple(users)


def _reader(path: Path, where: str) -> Reader:
    name = "bag" if path.is_dir() else path.suffix[1:]
    if name not in offered(RECORDING_GROUP) or not path.exists():
        suffixes = ", ".join(f".{known}" for known in offered(RECORDING_GROUP) if known != "bag")
        raise ConfigurationError(
            f"{where}.file: found '{path}'; allowed is an existing file that ends in {suffixes}, "
            "or a directory of a run or bag"
        )
    entry = find_entry(RECORDING_GROUP, name, f"{where}.file")
    if not is_own_module(entry.module):
        refuse_code(f"{where}.file: found '{path}', whose reader {entry.value}")
    reader: Reader = load_entry(entry, f"{where}.file", "reader")
    return reader


def _user(
    track: RecordedTrack, name: str, settings: RecordedSettings, first: int, where: str
) -> RecordedUser | None:
    """A road user in the map and in times of the run; None: it has gone before."""
    if not track.rows:
        return None
    start = first + settings.begin
    times = [row.time - start for row in track.rows]
    if times[-1] < 0 and not track.lasting:
        return None
    sine, cosine = sincos(settings.yaw)
    places = [
        RecordedPlace(
            settings.x + (cosine * place.x - sine * place.y),
            settings.y + (sine * place.x + cosine * place.y),
            place.z,
            wrap_angle(place.yaw + settings.yaw),
            place.vx,
            place.vy,
        )
        for place in _completed(track.rows)
    ]
    for row in track.rows:
        if row.yaw is not None and abs(row.yaw) > _MAX_YAW:
            raise ConfigurationError(
                f"{where}: road user '{track.name}': found the yaw {row.yaw:g} rad; allowed are "
                f"{_MAX_YAW:g} rad (is it in degrees?)"
            )
    for place in places:
        if max(abs(place.x), abs(place.y)) > _MAX_COORDINATE:
            raise ConfigurationError(
                f"{where}: road user '{track.name}': found the place ({place.x:g}, {place.y:g}) m; "
                f"allowed are {_MAX_COORDINATE:g} m from the map's origin (x and y move it)"
            )
        if hypot(place.vx, place.vy) > _MAX_SPEED:
            raise ConfigurationError(
                f"{where}: road user '{track.name}': found {hypot(place.vx, place.vy):g} m/s at "
                f"({place.x:g}, {place.y:g}) m; allowed are {_MAX_SPEED:g} m/s"
            )
    return RecordedUser(name, track.kind, track.size, times, places, lasting=track.lasting)


def _completed(rows: Sequence[RecordedRow]) -> list[RecordedPlace]:
    """Rows with velocity and yaw: where they lack these, those of the motion.

    The velocity is the difference of the rows before and behind, over their time; the yaw is its
    direction, or while that is slow the one before, at first the one that comes next.
    """
    ways = [_velocity(rows, i) for i in range(len(rows))]
    yaws = [
        row.yaw if row.yaw is not None else atan2(dy, dx) if hypot(dx, dy) >= _MOVES else None
        for row, (dx, dy) in zip(rows, ways, strict=True)
    ]
    known = next((yaw for yaw in yaws if yaw is not None), 0.0)
    places = []
    for row, (dx, dy), yaw in zip(rows, ways, yaws, strict=True):
        known = known if yaw is None else yaw
        vx, vy = row.vx, row.vy
        if vx is None or vy is None:
            sine, cosine = sincos(known)
            vx, vy = cosine * dx + sine * dy, cosine * dy - sine * dx
        places.append(RecordedPlace(row.x, row.y, row.z or 0.0, known, vx, vy))
    return places


def _velocity(rows: Sequence[RecordedRow], i: int) -> tuple[float, float]:
    """Along x and y [m/s]; 0 of a single row. Gaps count as the ends of a motion."""
    before = i - 1 if i > 0 and rows[i].time - rows[i - 1].time <= LONGEST_GAP else i
    behind = i + 1
    if behind == len(rows) or rows[behind].time - rows[i].time > LONGEST_GAP:
        behind = i
    if before == behind:
        return 0.0, 0.0
    one, other = rows[before], rows[behind]
    seconds = (other.time - one.time) / _NS
    return (other.x - one.x) / seconds, (other.y - one.y) / seconds
