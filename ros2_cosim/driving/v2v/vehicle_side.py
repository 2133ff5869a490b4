# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""What a controller does with V2V besides beacons: it heeds warnings, joins or leaves a platoon."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import Field

from ros2_cosim.core.documents.settings import Number, Section
from ros2_cosim.core.kernel.participant import ModelContext, Sample
from ros2_cosim.core.messages.catalogue import DEFAULT
from ros2_cosim.core.messages.message_types import BYTES
from ros2_cosim.core.messages.records import Odometry
from ros2_cosim.core.scene.scene import scene_settings
from ros2_cosim.driving.v2v.cam import check_installation
from ros2_cosim.driving.v2v.cam_contents import CamPlace
from ros2_cosim.driving.v2v.denm import Denm
from ros2_cosim.driving.v2v.denm_service import HeardWarnings
from ros2_cosim.driving.v2v.manoeuvre import ManoeuvreSettings, TailManoeuvre, TailView
from ros2_cosim.driving.v2v.manoeuvre_message import decoded_manoeuvre, encoded_manoeuvre
from ros2_cosim.world.map.earth import MapOrigin
from ros2_cosim.world.map.scene import scene_vehicles

WARNINGS = ("denm_leader", "denm_predecessor")
MANOEUVRE = "manoeuvre_heard"


class Caution(Section):
    """What a controller does while it knows of a dangerous situation ahead, by DENM."""

    deceleration: Number = Field(
        default=0.0, ge=0, description="at least that is demanded, 0: it does not speed up [m/s^2]"
    )
    time_gap: Number | None = Field(
        default=None, gt=0, description="at least that is kept [s]; default: as without a warning"
    )
    origin: MapOrigin = Field(
        default=MapOrigin(), description="where the map lies, as of the V2V channel"
    )


class TailVehicle(ManoeuvreSettings):
    """A manoeuvre of the vehicle of a controller."""

    ego: str = Field(description="the own vehicle")
    leader: str = Field(description="the leader of the platoon")


class VehicleSide:
    """Warnings and manoeuvre of one vehicle.

    :raises ConfigurationError: unknown vehicle; the extra for DENMs is not installed
    """

    def __init__(
        self, context: ModelContext, caution: Caution | None, manoeuvre: TailVehicle | None
    ) -> None:
        check_vehicle_side(context, caution, manoeuvre)
        self._caution = caution
        self.warnings = None if caution is None else HeardWarnings(caution.origin)
        self.manoeuvre: TailManoeuvre | None = None
        if manoeuvre is not None:
            number = {name: info.id for name, info in scene_vehicles(context).items()}
            self.manoeuvre = TailManoeuvre(
                manoeuvre, number[manoeuvre.ego], number[manoeuvre.leader]
            )
        self._heard: dict[str, int] = {}

    def caution(
        self, time: int, latest: Mapping[str, Sample | None], odometry: Odometry
    ) -> Caution | None:
        """What to do about the warnings that are valid now [ns]; None: there is none ahead."""
        if self.warnings is None:
            return None
        for port in WARNINGS:
            data = self._news(port, latest)
            if data is not None:
                self.warnings.hear(time, data)
        return None if self.warnings.ahead(time, odometry) is None else self._caution

    def advance(self, time: int, latest: Mapping[str, Sample | None], view: TailView) -> Any | None:
        """Go on with the manoeuvre; a record to send (UInt8MultiArray), or None."""
        assert self.manoeuvre is not None
        data = self._news(MANOEUVRE, latest)
        message = None if data is None else decoded_manoeuvre(data)
        said = self.manoeuvre.advance(time, message, view)
        return None if said is None else DEFAULT.record(BYTES)(data=encoded_manoeuvre(said))

    @property
    def figures(self) -> dict[str, Any]:
        """News of warnings, and what became of the manoeuvre."""
        found: dict[str, Any] = {}
        if self.warnings is not None:
            found["warnings"] = self.warnings.news
        if self.manoeuvre is not None:
            found["manoeuvre"] = self.manoeuvre.state
        return found

    @property
    def verdicts(self) -> list[dict[str, Any]] | None:
        """Whether it has joined or left in time, and when [s]."""
        m = self.manoeuvre
        if m is None:
            return None
        done = None if m.done is None else m.done * 1e-9
        return [
            {"name": m.verdict, "value": done, "limit": m.end * 1e-9, "passed": done is not None}
        ]

    def _news(self, port: str, latest: Mapping[str, Sample | None]) -> bytes | None:
        """The bytes of a message that has not been read yet."""
        sample = latest.get(port)
        if sample is None or self._heard.get(port) == sample.stamp:
            return None
        self._heard[port] = sample.stamp
        return bytes(sample.value.data)


def check_vehicle_side(
    context: ModelContext, caution: Caution | None, manoeuvre: TailVehicle | None
) -> None:
    """Check whether vehicles and extra are there.

    :raises ConfigurationError: one is not
    """
    if caution is not None:
        check_installation(f"{context.where}.warnings")
    if manoeuvre is not None:
        scene = scene_settings(context)
        scene.require_vehicle(manoeuvre.ego, f"{context.where}.manoeuvre.ego")
        scene.require_vehicle(manoeuvre.leader, f"{context.where}.manoeuvre.leader")


PARTS = (HeardWarnings, TailManoeuvre, VehicleSide)
"""Classes with a state."""
VALUES = (Denm,)
CONSTANTS = (CamPlace,)
