# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""V2V messages as ETSI CAMs (EN 302 637-2): in the ROS types of ``etsi_its_cam_msgs``, or encoded.

A CAM has the resolution of its units: 0.1 microdegree, 0.01 m/s, 0.1 m/s^2, 0.1 m, 1 ms. It does
not contain the acceleration that a controller demands: the receiver takes the measured one instead.
Times are simulated ones; a CAM has their milliseconds modulo 65536. Unknown values are
"unavailable".
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ros2_cosim.core.messages.catalogue import DEFAULT
from ros2_cosim.core.messages.message_types import BYTES, V2V
from ros2_cosim.core.messages.records import V2VMessage
from ros2_cosim.core.messages.seams import InputSeam, OutputSeam, SeamPlace
from ros2_cosim.driving.v2v.cam import CamError, check_installation, decoded
from ros2_cosim.driving.v2v.cam_contents import CamPlace
from ros2_cosim.world.map.earth import MapOrigin, TangentPlane

CAM = "etsi_its_cam_msgs/msg/CAM"
_PROTOCOL_VERSION = 2
_MESSAGE_ID_CAM = 2
_PASSENGER_CAR = 5
_FORWARD, _BACKWARD = 0, 1
_DEGREE = 10_000_000
_NS_PER_MS = 1_000_000
#: ``GenerationDeltaTime`` has so many values [ms].
_DELTA_TIMES = 65_536
#: Largest values that are not special ones: 163.82 m/s, 16.0 m/s^2 either way, 102.1 m.
_FASTEST, _STRONGEST, _LONGEST = 16_382, 160, 1021
_NO_ALTITUDE, _NO_ALTITUDE_CONFIDENCE = 800_001, 15
_NO_AXIS, _NO_HEADING = 4095, 3601
_NO_HEADING_CONFIDENCE, _NO_SPEED_CONFIDENCE = 127, 127
_NO_WIDTH, _NO_LENGTH, _NO_LENGTH_CONFIDENCE = 62, 1023, 4
_NO_ACCELERATION, _NO_ACCELERATION_CONFIDENCE = 161, 102
_NO_CURVATURE, _NO_CURVATURE_CONFIDENCE, _NO_CALCULATION = 1023, 7, 2
_NO_YAW_RATE, _NO_YAW_RATE_CONFIDENCE = 32_767, 8
_NO_SPEED, _NO_PLACE = 16_383, (900_000_001, 1_800_000_001)
#: ``AccelerationControl``, seven bits from the left: the first is ``brakePedalEngaged``.
_BRAKE_PEDAL, _BITS_UNUSED = 0x80, 1


class ToCam(OutputSeam):
    """Beacons as CAMs of passenger cars."""

    Parameters = MapOrigin
    source_types = (V2V,)
    target_type = CAM

    def __init__(self, place: SeamPlace, parameters: MapOrigin) -> None:
        self._plane = TangentPlane(parameters)
        self._cam: Any = DEFAULT.record(CAM)

    def convert(self, time: int, *records: Any) -> Any:
        """The CAM of a beacon."""
        (beacon,) = records
        return self._cam(
            header=_part("ItsPduHeader")(
                protocol_version=_PROTOCOL_VERSION,
                message_id=_MESSAGE_ID_CAM,
                station_id=_value("StationID", beacon.sender),
            ),
            cam=_part("CoopAwareness")(
                generation_delta_time=_value(
                    "GenerationDeltaTime", beacon.generation_time // _NS_PER_MS % _DELTA_TIMES
                ),
                cam_parameters=_part("CamParameters")(
                    basic_container=self._basic(beacon),
                    high_frequency_container=_part("HighFrequencyContainer")(
                        choice=0,
                        basic_vehicle_container_high_frequency=self._vehicle(beacon),
                    ),
                ),
            ),
        )

    def _basic(self, beacon: V2VMessage) -> Any:
        latitude, longitude = self._plane.geodetic(beacon.x, beacon.y)
        axis = _value("SemiAxisLength", _NO_AXIS)
        return _part("BasicContainer")(
            station_type=_value("StationType", _PASSENGER_CAR),
            reference_position=_part("ReferencePosition")(
                latitude=_value("Latitude", round(latitude * _DEGREE)),
                longitude=_value("Longitude", round(longitude * _DEGREE)),
                position_confidence_ellipse=_part("PosConfidenceEllipse")(
                    axis, axis, _value("HeadingValue", _NO_HEADING)
                ),
                altitude=_part("Altitude")(
                    _value("AltitudeValue", _NO_ALTITUDE),
                    _value("AltitudeConfidence", _NO_ALTITUDE_CONFIDENCE),
                ),
            ),
        )

    def _vehicle(self, beacon: V2VMessage) -> Any:
        tenths = round(beacon.acceleration * 10.0)
        length = max(1, round(beacon.length * 10.0))
        return _part("BasicVehicleContainerHighFrequency")(
            heading=_pair("Heading", _NO_HEADING, _NO_HEADING_CONFIDENCE),
            speed=_pair(
                "Speed", min(round(abs(beacon.speed) * 100.0), _FASTEST), _NO_SPEED_CONFIDENCE
            ),
            drive_direction=_value("DriveDirection", _FORWARD if beacon.speed >= 0 else _BACKWARD),
            vehicle_length=_part("VehicleLength")(
                _value("VehicleLengthValue", min(length, _LONGEST)),
                _value("VehicleLengthConfidenceIndication", _NO_LENGTH_CONFIDENCE),
            ),
            vehicle_width=_value("VehicleWidth", _NO_WIDTH),
            longitudinal_acceleration=_part("LongitudinalAcceleration")(
                _value("LongitudinalAccelerationValue", max(-_STRONGEST, min(tenths, _STRONGEST))),
                _value("AccelerationConfidence", _NO_ACCELERATION_CONFIDENCE),
            ),
            curvature=_pair("Curvature", _NO_CURVATURE, _NO_CURVATURE_CONFIDENCE),
            curvature_calculation_mode=_value("CurvatureCalculationMode", _NO_CALCULATION),
            yaw_rate=_pair("YawRate", _NO_YAW_RATE, _NO_YAW_RATE_CONFIDENCE),
            acceleration_control=_part("AccelerationControl")(
                bytes([_BRAKE_PEDAL if beacon.braking else 0]), _BITS_UNUSED
            ),
            acceleration_control_is_present=True,
        )


class FromCam(InputSeam):
    """CAMs of vehicles as beacons; one without speed or place is not taken."""

    Parameters = MapOrigin
    source_types = (CAM,)
    target_type = V2V

    def __init__(self, place: SeamPlace, parameters: MapOrigin) -> None:
        self._plane = TangentPlane(parameters)

    def convert(self, record: Any, sent: Mapping[str, Any]) -> V2VMessage | None:
        """The beacon, as if it were received at time 0."""
        return self.received(record, sent, 0)

    def received(self, record: Any, sent: Mapping[str, Any], stamp: int) -> V2VMessage | None:
        """The beacon, which was generated less than 65.536 s before it was received."""
        parameters = record.cam.cam_parameters
        container = parameters.high_frequency_container
        position = parameters.basic_container.reference_position
        coordinates = position.latitude.value, position.longitude.value
        if container.choice != 0 or any(map(int.__eq__, coordinates, _NO_PLACE)):
            return None
        vehicle = container.basic_vehicle_container_high_frequency
        if vehicle.speed.speed_value.value == _NO_SPEED:
            return None
        x, y = self._plane.on_map(coordinates[0] / _DEGREE, coordinates[1] / _DEGREE)
        speed = vehicle.speed.speed_value.value / 100.0
        acceleration = _known(
            vehicle.longitudinal_acceleration.longitudinal_acceleration_value.value,
            _NO_ACCELERATION,
        )
        received = stamp // _NS_PER_MS
        age = (received - record.cam.generation_delta_time.value) % _DELTA_TIMES
        pedals = vehicle.acceleration_control.value
        return V2VMessage(
            sender=record.header.station_id.value,
            generation_time=(received - age) * _NS_PER_MS,
            x=x,
            y=y,
            speed=-speed if vehicle.drive_direction.value == _BACKWARD else speed,
            acceleration=acceleration,
            commanded_acceleration=acceleration,
            length=_known(vehicle.vehicle_length.vehicle_length_value.value, _NO_LENGTH),
            braking=bool(
                vehicle.acceleration_control_is_present
                and len(pedals) > 0
                and pedals[0] & _BRAKE_PEDAL
            ),
        )


class FromCamBytes(InputSeam):
    """Encoded CAMs of vehicles as beacons; other bytes are ignored."""

    Parameters = MapOrigin
    source_types = (BYTES,)
    target_type = V2V

    def __init__(self, place: SeamPlace, parameters: MapOrigin) -> None:
        check_installation(place.where)
        self._place = CamPlace(parameters)

    def convert(self, record: Any, sent: Mapping[str, Any]) -> V2VMessage | None:
        """The beacon, as if it were received at time 0."""
        return self.received(record, sent, 0)

    def received(self, record: Any, sent: Mapping[str, Any], stamp: int) -> V2VMessage | None:
        """The beacon, which was generated less than 65.536 s before it was received."""
        try:
            cam = decoded(bytes(record.data))
        except CamError:
            return None
        return None if cam is None else self._place.beacon(cam, stamp)


def _known(tenths: int, unavailable: int) -> float:
    """A value in units of 0.1; 0 if it is not available."""
    return 0.0 if tenths == unavailable else tenths / 10.0


def _part(name: str) -> Any:
    return DEFAULT.part(f"etsi_its_cam_msgs/msg/{name}")


def _value(name: str, value: int) -> Any:
    """A type that has nothing but a value."""
    return _part(name)(value)


def _pair(name: str, value: int, confidence: int) -> Any:
    """A value with its confidence, in types that are named after it."""
    return _part(name)(_value(f"{name}Value", value), _value(f"{name}Confidence", confidence))
