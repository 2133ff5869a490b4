# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""What a vehicle says of itself by V2V."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from ros2_cosim.core.kernel.named_tuples import NEW
from ros2_cosim.core.kernel.sample import Sample
from ros2_cosim.core.messages.records import V2VMessage
from ros2_cosim.world.map.vehicle_info import VehicleInfo

BRAKE_LIGHT_DECELERATION: Final = 0.7
"""Deceleration from which a vehicle without a control command counts as braking [m/s^2]."""


class Sender:
    """A vehicle that sends beacons.

    :ivar odometry: input with its odometry
    :param name: of the vehicle
    :param info: its identity and its length
    """

    __slots__ = ("_acceleration", "_control", "_id", "_length", "odometry")

    def __init__(self, name: str, info: VehicleInfo) -> None:
        self._id = info.id
        self._length: float = info.length
        self.odometry = f"odometry/{name}"
        self._acceleration = f"acceleration/{name}"
        self._control = f"control/{name}"

    def beacon(self, time: int, latest: Mapping[str, Sample | None]) -> V2VMessage | None:
        """What it says at a time [ns], None while its odometry is missing.

        Without a control command the measured acceleration stands for the commanded one.

        :param latest: input port -> newest sample
        """
        odometry = latest[self.odometry]
        if odometry is None:
            return None
        measured = latest[self._acceleration]
        acceleration: float = 0.0 if measured is None else measured[2][0]
        control = latest.get(self._control)
        if control is None:
            commanded = acceleration
            braking = acceleration < -BRAKE_LIGHT_DECELERATION
        else:
            brake: float
            commanded, _, brake, _ = control[2]
            # Without pedals the world finds them: it brakes for what is below coasting.
            braking = brake > 0.0 or (brake != brake and commanded < -BRAKE_LIGHT_DECELERATION)
        state = odometry[2]
        return NEW(
            V2VMessage,
            (
                self._id, time, state[0], state[1], state[7], acceleration, commanded,
                self._length, braking,
            ),
        )  # fmt: skip
