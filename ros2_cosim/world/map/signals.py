# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Traffic lights and signs of a road description, and what groups them."""

from typing import NamedTuple

from ros2_cosim.world.map.elements import MalformedElementError, Notes, RoadElement

# Types of signals as CARLA's towns and the German catalogue number them.
TRAFFIC_LIGHT, YIELD, STOP, SPEED_LIMIT = "1000001", "205", "206", "274"
# No road has more lanes on one side.
MAX_LANES = 1000

#: Lanes from .. to for which something holds (both included).
LaneRange = tuple[int, int]


class Signal(NamedTuple):
    """A traffic light or sign beside a road.

    It stands at (s, t) of its road, ``z_offset`` [m] above it, turned by ``h_offset`` [rad]
    relative to the reference line; pitch and roll in rad. ``orientation`` is ``+``, ``-`` or
    ``none``: whether it holds for traffic towards larger s, smaller s or both. ``value`` is in
    ``unit``; -1 and empty where the file has none.
    """

    id: str
    name: str
    road_id: int
    s: float
    t: float
    z_offset: float
    h_offset: float
    pitch: float
    roll: float
    orientation: str
    dynamic: bool
    country: str
    type: str
    subtype: str
    value: float
    unit: str
    text: str
    width: float
    height: float
    lanes: tuple[LaneRange, ...]


class SignalReference(NamedTuple):
    """A signal holds for this road, too, from (s, t) on."""

    signal_id: str
    road_id: int
    s: float
    t: float
    orientation: str
    lanes: tuple[LaneRange, ...]


class Controller(NamedTuple):
    """Signals that change together."""

    id: str
    name: str
    sequence: int
    signals: tuple[str, ...]


def holds_for(lanes: tuple[LaneRange, ...], lane_id: int) -> bool:
    """Whether something holds for a lane; without ranges it holds for all."""
    return not lanes or any(low <= lane_id <= high for low, high in lanes)


def read_signals(
    road: RoadElement, road_id: int, notes: Notes
) -> tuple[list[Signal], list[SignalReference]]:
    """The signals and signal references of a road.

    :raises RoadError: an attribute is missing or malformed
    """
    group = road.only("signals")
    if group is None:
        return [], []
    signals = []
    for element in group.each("signal"):
        try:
            signals.append(_signal(element, road_id))
        except MalformedElementError as error:
            notes.add(element, f"a signal is passed over: {error.problem}")
    references = [
        SignalReference(
            element.attribute("id"),
            road_id,
            element.number("s"),
            element.number("t"),
            element.get("orientation", "none"),
            _lane_ranges(element),
        )
        for element in group.each("signalReference")
    ]
    return signals, references


def _signal(element: RoadElement, road_id: int) -> Signal:
    return Signal(
        id=element.attribute("id"),
        name=element.get("name", ""),
        road_id=road_id,
        s=element.number("s"),
        t=element.number("t"),
        z_offset=element.number("zOffset", 0.0),
        h_offset=element.number("hOffset", 0.0),
        pitch=element.number("pitch", 0.0),
        roll=element.number("roll", 0.0),
        orientation=element.get("orientation", "none"),
        dynamic=element.get("dynamic", "no") == "yes",
        country=element.get("country", ""),
        type=element.get("type", "-1"),
        subtype=element.get("subtype", "-1"),
        value=element.number("value", -1.0),
        unit=element.get("unit", ""),
        text=element.get("text", ""),
        width=element.number("width", 0.0),
        height=element.number("height", 0.0),
        lanes=_lane_ranges(element),
    )


def _lane_ranges(element: RoadElement) -> tuple[LaneRange, ...]:
    found = []
    for validity in element.each("validity"):
        low, high = validity.integer("fromLane"), validity.integer("toLane")
        found.append((min(low, high), max(low, high)))
    return tuple(found)


def read_controller(element: RoadElement) -> Controller:
    """A controller; a signal that it names twice counts once."""
    signals = dict.fromkeys(control.attribute("signalId") for control in element.each("control"))
    sequence = element.integer("sequence") if "sequence" in element.attrib else 0
    return Controller(element.attribute("id"), element.get("name", ""), sequence, tuple(signals))
