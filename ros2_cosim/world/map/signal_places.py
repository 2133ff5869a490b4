# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Where signals of a map stand in the map frame, and where they are obeyed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from ros2_cosim.core.kernel.exactmath import sincos
from ros2_cosim.world.map.network import RoadNetwork
from ros2_cosim.world.map.signals import TRAFFIC_LIGHT, Signal
from ros2_cosim.world.map.stop_lines import StopLine

#: CARLA's client moves the lights of a map so far forwards before it compares them [m].
_FORWARD: Final = 0.25
#: Half the length, and half the height, of the volume before a stop line [m].
_HALF_LENGTH, _HALF_HEIGHT = 1.5, 1.0


class SignalPlace(NamedTuple):
    """Place [m] and heading [rad] in the map frame, the one that CARLA gives a signal."""

    x: float
    y: float
    z: float
    heading: float


class TriggerVolume(NamedTuple):
    """The box in which a signal is obeyed, in the frame of the signal (x ahead, y to the left).

    ``half`` has half of its sizes [m], along its lane, across and up; ``yaw`` [rad] is the turn of
    the road's reference line against the signal.
    """

    centre: tuple[float, float, float]
    half: tuple[float, float, float]
    yaw: float


def signal_place(network: RoadNetwork, signal: Signal) -> SignalPlace:
    """Where a signal stands; traffic lights a little forwards, as CARLA has them."""
    x, y, z, heading = network.signal_pose(signal.id)
    if signal.type == TRAFFIC_LIGHT:
        sin, cos = sincos(heading)
        x, y = x + _FORWARD * cos, y + _FORWARD * sin
    return SignalPlace(x, y, z, heading)


def trigger_volume(
    network: RoadNetwork, lines: Sequence[StopLine], place: SignalPlace
) -> TriggerVolume | None:
    """The volume before the stop lines on the first of their roads; None where there are none."""
    lines = [line for line in lines if line.road_id == lines[0].road_id]
    if not lines:
        return None
    spans = [network.lane_borders(line.road_id, line.lane_id, line.s) for line in lines]
    low, high = min(min(span) for span in spans), max(max(span) for span in spans)
    road_id, lane_id, s = lines[0]
    back = s - _HALF_LENGTH if lane_id < 0 else s + _HALF_LENGTH
    back = min(max(back, 0.0), network.length(road_id))
    x, y, z, heading = network.pose(road_id, back, 0.5 * (low + high))
    dx, dy = x - place.x, y - place.y
    sin, cos = sincos(place.heading)
    return TriggerVolume(
        (dx * cos + dy * sin, dy * cos - dx * sin, z - place.z),
        (_HALF_LENGTH, 0.5 * (high - low), _HALF_HEIGHT),
        heading - place.heading,
    )
