# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""What vehicles send besides beacons: DENMs, and the messages of manoeuvres."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from ros2_cosim.core.kernel.exactmath import total
from ros2_cosim.core.kernel.participant import ModelContext, Step
from ros2_cosim.driving.v2v.cam_contents import CamPlace
from ros2_cosim.driving.v2v.denm import encoded_denm
from ros2_cosim.driving.v2v.denm_service import DenmSender, DenmSettings
from ros2_cosim.world.map.earth import MapOrigin
from ros2_cosim.world.map.vehicle_info import VehicleInfo

DENM: Final = "denm"
MANOEUVRE: Final = "manoeuvre"


class EventMessage(NamedTuple):
    """A message in bytes that a vehicle sends now; an urgent message goes first."""

    sender: str
    kind: str
    data: bytes
    is_urgent: bool


class EventMessages:
    """All of one channel."""

    def __init__(
        self,
        context: ModelContext,
        denm: DenmSettings | None,
        origin: MapOrigin,
        senders: Mapping[str, VehicleInfo],
    ) -> None:
        place = CamPlace(origin)
        self._warners = {}
        if denm is not None:
            self._warners = {s: DenmSender(info, denm, place) for s, info in senders.items()}
        ports = {sender: f"{MANOEUVRE}/{sender}" for sender in senders}
        self._ports = {s: port for s, port in ports.items() if port in context.input_types}
        self._heard: dict[str, int] = {}
        self._sent = dict.fromkeys((DENM, MANOEUVRE), 0)

    def due(self, step: Step) -> list[EventMessage]:
        """What is sent in this period."""
        found = []
        for sender, warner in self._warners.items():
            odometry = step.latest[f"odometry/{sender}"]
            acceleration = step.latest[f"acceleration/{sender}"]
            if odometry is not None and acceleration is not None:
                denm = warner.due(step.time, odometry.value, acceleration.value.ax)
                if denm is not None:
                    found.append(EventMessage(sender, DENM, encoded_denm(denm), True))
        for sender, port in self._ports.items():
            sample = step.latest[port]
            if sample is not None and self._heard.get(port) != sample.stamp:
                self._heard[port] = sample.stamp
                found.append(EventMessage(sender, MANOEUVRE, bytes(sample.value.data), False))
        for event in found:
            self._sent[event.kind] += 1
        return found

    @property
    def figures(self) -> dict[str, Any]:
        """How many were sent, and how often vehicles have warned."""
        figures: dict[str, Any] = {f"{kind}s": count for kind, count in self._sent.items()}
        figures["warnings"] = int(total([w.events for w in self._warners.values()]))
        return figures
