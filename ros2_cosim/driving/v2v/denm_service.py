# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""When a vehicle sends DENMs, and which ones a receiver keeps (ETSI EN 302 637-3).

A vehicle that brakes hard sends a DENM "dangerous situation, emergency electronic brake". It is
repeated, updated while the event lasts, and cancelled when it is over; the cancellation is repeated
as well. Thresholds and times are settings; their defaults are class estimate.
"""

from __future__ import annotations

from typing import Final

from pydantic import Field

from ros2_cosim.core.documents.settings import Number, PositiveDuration, Section, Whole
from ros2_cosim.core.kernel.exactmath import cos, degrees, hypot, sin
from ros2_cosim.core.messages.records import Odometry
from ros2_cosim.driving.v2v.cam_contents import CamPlace
from ros2_cosim.driving.v2v.denm import (
    DANGEROUS_SITUATION,
    DISTANCES,
    EMERGENCY_BRAKE,
    Denm,
    DenmError,
    decoded_denm,
)
from ros2_cosim.world.map.earth import MapOrigin
from ros2_cosim.world.map.frames import yaw_from_quaternion
from ros2_cosim.world.map.vehicle_info import VehicleInfo

_MS: Final = 1_000_000
_RELEVANT: Final = 3
"""Number of the relevance distance that is sent: less than 500 m."""
_SEQUENCES: Final = 65_536
#: So many events of others are kept.
_MOST: Final = 64
#: Time with less than half of the deceleration from which a vehicle warns, after which the event is
#: over (class estimate) [ns].
_RELEASE: Final = 500_000_000
#: After which a DENM has the present place and speed (class estimate) [ns].
_UPDATE: Final = 1_000_000_000


class DenmSettings(Section):
    """When a vehicle warns of its braking."""

    deceleration: Number = Field(
        default=4.0, gt=0, description="from which a vehicle warns (class estimate) [m/s^2]"
    )
    speed: Number = Field(default=5.0, ge=0, description="slower vehicles do not begin [m/s]")
    interval: PositiveDuration = Field(
        default=100_000_000, description="of the repetition, up to 10 s"
    )
    validity: Whole = Field(
        default=2, ge=1, le=86_400, description="of a DENM from its detection or update on [s]"
    )


class DenmSender:
    """The DENMs of one vehicle, one event after the other.

    :param place: of the map on the earth
    """

    def __init__(self, info: VehicleInfo, settings: DenmSettings, place: CamPlace) -> None:
        self._info = info
        self._settings = settings
        self._place = place
        self._event: Denm | None = None
        self._next = 0
        self._braked = 0
        self._sequence = -1
        #: Events so far.
        self.events = 0

    def due(self, time: int, odometry: Odometry, acceleration: float) -> Denm | None:
        """What is sent now [ns], given the acceleration along the vehicle [m/s^2]."""
        s, event = self._settings, self._event
        brakes = acceleration < -s.deceleration
        if brakes or (acceleration < -0.5 * s.deceleration and event and not event.is_over):
            self._braked = time
        if event is None or event.is_over:
            if brakes and odometry.vx >= s.speed:
                self._sequence = (self._sequence + 1) % _SEQUENCES
                self.events += 1
                event = self._told(time, odometry, time // _MS, over=False)
                self._next = time
        elif time - self._braked >= _RELEASE:
            event = self._told(time, odometry, event.detected, over=True)
            self._next = time
        elif time // _MS - event.referred >= _UPDATE // _MS:
            event = self._told(time, odometry, time // _MS, over=False)
        if event is not None and time // _MS - event.referred >= 1000 * s.validity:
            event = None
        self._event = event
        if event is None or time < self._next:
            return None
        self._next += s.interval
        return event

    def _told(self, time: int, odometry: Odometry, detected: int, over: bool) -> Denm:
        """The event as it is now."""
        o = odometry
        yaw = yaw_from_quaternion(o.qx, o.qy, o.qz, o.qw)
        ahead = 0.5 * self._info.length
        latitude, longitude = self._place.plane.geodetic(
            o.x + ahead * cos(yaw), o.y + ahead * sin(yaw)
        )
        return Denm(
            station=self._info.id,
            sequence=self._sequence,
            detected=detected,
            referred=time // _MS,
            is_over=over,
            latitude=latitude,
            longitude=longitude,
            relevance=_RELEVANT,
            validity=self._settings.validity,
            interval=min(self._settings.interval // _MS, 10_000),
            cause=DANGEROUS_SITUATION,
            sub_cause=EMERGENCY_BRAKE,
            speed=o.vx,
            heading=90.0 - degrees(yaw),
        )


class HeardWarnings:
    """The events that a vehicle knows of.

    :param origin: where the map lies
    """

    def __init__(self, origin: MapOrigin) -> None:
        self._place = CamPlace(origin)
        self._known: list[Denm] = []
        #: DENMs that told something new, so far.
        self.news = 0

    def hear(self, time: int, data: bytes) -> None:
        """Take the bytes of a DENM [ns]; other bytes, and what is no longer valid, are ignored."""
        try:
            denm = decoded_denm(data)
        except DenmError:
            return
        if denm is None or not _is_valid(denm, time):
            return
        for index, known in enumerate(self._known):
            if (known.station, known.sequence) == (denm.station, denm.sequence):
                if denm.referred > known.referred:
                    self._known[index] = denm
                    self.news += 1
                return
        self._known.append(denm)
        self.news += 1
        del self._known[:-_MOST]

    def ahead(self, time: int, odometry: Odometry) -> Denm | None:
        """The nearest dangerous situation on the way ahead that is still valid [ns].

        Ahead is what is relevant from here and lies before the middle of the own vehicle.
        """
        o = odometry
        self._known = [event for event in self._known if _is_valid(event, time)]
        yaw = yaw_from_quaternion(o.qx, o.qy, o.qz, o.qw)
        found, nearest = None, DISTANCES[-1]
        for event in self._known:
            x, y = self._place.plane.on_map(event.latitude, event.longitude)
            dx, dy = x - o.x, y - o.y
            far = hypot(dx, dy)
            reach = nearest if event.relevance is None else DISTANCES[event.relevance]
            if event.is_over or event.cause != DANGEROUS_SITUATION or far >= min(reach, nearest):
                continue
            if dx * cos(yaw) + dy * sin(yaw) > 0.0:
                found, nearest = event, far
        return found


def _is_valid(event: Denm, time: int) -> bool:
    return time // _MS - event.detected < 1000 * event.validity
