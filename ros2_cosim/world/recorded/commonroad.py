# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Road users of a CommonRoad scenario, versions 2018b and 2020a: its obstacles and trajectories.

Lanelets are not read: the ground is that of the scene's map. The package ``commonroad-io`` would
bring two dozen others, and an old protobuf that traces of OSI do not work with.
"""

from __future__ import annotations

from decimal import Decimal, InvalidOperation
from math import isfinite
from typing import Any, Final

from ros2_cosim.core.documents.files import cause_of, read_bounded
from ros2_cosim.core.documents.one_line import one_line
from ros2_cosim.core.documents.xml_reader import MAX_BYTES, read_xml
from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.scene.simulator import Size
from ros2_cosim.world.recorded.tracks import (
    Kind,
    RecordedRow,
    RecordedTrack,
    RecordingRequest,
    Tracks,
)

#: Types of obstacles -> kinds; others are things of unknown kind.
_KINDS: Final[dict[str, Kind]] = {
    "car": "car",
    "taxi": "car",
    "parkedVehicle": "car",
    "priorityVehicle": "van",
    "truck": "truck",
    "bus": "bus",
    "motorcycle": "motorcycle",
    "bicycle": "bicycle",
    "pedestrian": "pedestrian",
}
_OBSTACLES: Final = ("obstacle", "dynamicObstacle", "staticObstacle")
_MAX_STEPS: Final = 10**9


def read_commonroad(request: RecordingRequest) -> Tracks:
    """Read the obstacles of a scenario.

    Without a trajectory an obstacle stands where its initial state says, at any time.

    :raises ConfigurationError: the file is not a CommonRoad scenario; sets of positions, intervals
        and shapes other than a rectangle and a circle are refused, by line
    """
    place = f"{request.where}: {request.path}"
    try:
        data = read_bounded(request.path, MAX_BYTES)
    except OSError as error:
        raise ConfigurationError(f"{place}: {cause_of(error)}") from None
    root = read_xml(data, place)
    if root.tag != "commonRoad":
        raise ConfigurationError(f"{place}: found <{root.tag}>; allowed is <commonRoad>")
    step = _step(root, place)
    tracks = Tracks(place)
    for element in root:
        if element.tag in _OBSTACLES:
            _add(element, step, tracks, place)
    return tracks


def _step(root: Any, place: str) -> int:
    """The time step [ns]."""
    text = root.get("timeStepSize", "")
    try:
        step = Decimal(text) * 10**9
        if 10**6 <= step <= 10**11:
            return int(step.to_integral_value())
    except InvalidOperation:
        pass
    raise ConfigurationError(
        f"{place}: timeStepSize: found '{one_line(text, 60)}'; allowed are 0.001 to 100 s"
    )


def _add(element: Any, step: int, tracks: Tracks, place: str) -> None:
    role = element.findtext("role") or element.tag.removesuffix("Obstacle")
    kind = _KINDS.get((element.findtext("type") or "").strip(), "unknown")
    states = [_child(element, "initialState", place), *element.iterfind("trajectory/state")]
    moves = role.strip() == "dynamic"
    if moves and len(states) == 1 and element.find("occupancySet") is not None:
        raise _fault(element, place, "an occupancySet", "a trajectory")
    size = _size(_child(element, "shape", place), place)
    name = one_line(element.get("id", ""), 60)
    track = tracks.track(name, kind, size, lasting=not moves or len(states) == 1)
    if track.rows:
        raise _fault(element, place, f"a second obstacle with the id '{name}'", "one of each id")
    for state in states:
        tracks.add(track, _row(state, step, track, place))


def _size(shape: Any, place: str) -> Size:
    rectangle, circle = shape.find("rectangle"), shape.find("circle")
    if len(shape) == 1 and rectangle is not None:
        # A shift of the rectangle's centre is along its heading, which the states know.
        if _number(rectangle, "originXShift", place, 0.0) != 0.0:
            raise _fault(rectangle, place, "an originXShift", "a rectangle about its position")
        return Size(_number(rectangle, "length", place), _number(rectangle, "width", place))
    if len(shape) == 1 and circle is not None:
        diameter = 2.0 * _number(circle, "radius", place)
        return Size(diameter, diameter)
    found = ", ".join(child.tag for child in shape) or "none"
    raise _fault(shape, place, f"the shapes {found}", "one rectangle or circle")


def _row(state: Any, step: int, track: RecordedTrack, place: str) -> RecordedRow:
    point = state.find("position/point")
    if point is None:
        raise _fault(state, place, "no position/point", "an exact position")
    yaw = _exact(state, "orientation", place)
    time = _exact(state, "time", place) or 0.0
    if time != int(time) or not 0 <= time <= _MAX_STEPS:
        raise _fault(state, place, f"the time {time:g}", "a whole number of steps")
    # A point-mass model has a velocity along each axis of the map, and no heading.
    vx = None if yaw is None else _exact(state, "velocity", place)
    vy = _exact(state, "velocityY", place)
    x, y = _number(point, "x", place), _number(point, "y", place)
    side = None if vx is None else vy or 0.0
    return RecordedRow(int(time) * step, x, y, None, yaw, vx, side)


def _exact(state: Any, name: str, place: str) -> float | None:
    found = state.find(name)
    return None if found is None else _number(found, "exact", place)


def _child(element: Any, name: str, place: str) -> Any:
    found = element.find(name)
    if found is None:
        raise _fault(element, place, f"no {name}", f"one <{name}>")
    return found


def _number(element: Any, name: str, place: str, default: float | None = None) -> float:
    text = element.findtext(name)
    if text is None and default is not None:
        return default
    try:
        value = float(text)
    except (TypeError, ValueError):
        value = float("nan")
    if not isfinite(value):
        found = "nothing" if text is None else f"'{one_line(text, 60)}'"
        raise _fault(element, place, found, f"a number in <{name}>")
    return value


def _fault(element: Any, place: str, found: str, allowed: str) -> ConfigurationError:
    return ConfigurationError(
        f"{place}, line {element.sourceline}: <{element.tag}>: found {found}; allowed is {allowed}"
    )
