# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Cooperative awareness messages (CAM) as bytes: contents of ETSI EN 302 637-2, encoded in UPER.

``cam.asn`` describes the bits; the package ``asn1tools`` writes and reads them (extra ``v2x``). A
value beyond what a CAM can say is the nearest that it can; what is not known is "unavailable".
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, Final, NamedTuple

from ros2_cosim.core.documents.extras import need_extra

PROTOCOL_VERSION: Final = 2
MESSAGE_ID: Final = 2
PASSENGER_CAR: Final = 5
DELTA_TIMES: Final = 65_536
"""``generationDeltaTime`` has so many values [ms]."""
LONGEST: Final = 512
"""No CAM is longer: 40 points of a path are 350 bytes, all the rest less than 160 [byte]."""

# Units of a CAM, in those of ``Cam``.
PLACE_DEG: Final = 1e-7
ALTITUDE_M: Final = 0.01
HEADING_DEG: Final = 0.1
SPEED_MPS: Final = 0.01
ACCELERATION_MPS2: Final = 0.1
SIZE_M: Final = 0.1
CURVATURE_PER_M: Final = 1e-4
YAW_RATE_DPS: Final = 0.01
PATH_TIME_S: Final = 0.01

# What stands for "unavailable".
_NO_LATITUDE, _NO_LONGITUDE, _NO_ALTITUDE = 900_000_001, 1_800_000_001, 800_001
_NO_AXIS, _NO_HEADING, _NO_SPEED = 4095, 3601, 16_383
_NO_LENGTH, _NO_WIDTH, _NO_ACCELERATION = 1023, 62, 161
_NO_CURVATURE, _NO_YAW_RATE, _NO_DELTA_ALTITUDE = 1023, 32_767, 12_800
#: Confidences: of altitude, of heading and speed, of the length, acceleration, curvature, yaw rate.
_UNSURE_ALTITUDE, _UNSURE, _UNSURE_LENGTH = 15, 127, 4
_UNSURE_ACCELERATION, _UNSURE_CURVATURE, _UNSURE_YAW_RATE = 102, 7, 8
# Largest values that are not special ones.
_HIGHEST, _FASTEST, _STRONGEST, _LONG, _WIDE = 800_000, 16_382, 160, 1021, 60
_LOWEST, _BENT, _TURNING, _FAR, _LATE = 100_000, 1022, 32_766, 131_071, 65_535
_FORWARD, _BACKWARD = 0, 1
#: ``accelerationControl``, seven bits from the left: the first is ``brakePedalEngaged``.
_BRAKE_PEDAL, _PEDAL_BITS = 0x80, 7


class PathPoint(NamedTuple):
    """Where a vehicle was, from the point before; from its reference position the first one.

    ``latitude`` and ``longitude`` [deg]; ``seconds``: the time before, None if that is not known.
    """

    latitude: float
    longitude: float
    seconds: float | None


class Cam(NamedTuple):
    """What a CAM of a vehicle says; None: not known.

    ``milliseconds``: ``generationDeltaTime``. The reference position, ``latitude`` and
    ``longitude`` [deg] and ``altitude`` [m], is on the ground in the middle of the vehicle's front.
    ``heading`` [deg] from the north, clockwise. ``speed`` [m/s], negative backwards.
    ``acceleration`` [m/s^2] along the vehicle, ``curvature`` [1/m] and ``yaw_rate`` [deg/s]
    positive to the left; ``path`` back from the reference position, None: it has no low frequency
    container.
    """

    station: int
    milliseconds: int
    latitude: float | None
    longitude: float | None
    altitude: float | None
    heading: float | None
    speed: float | None
    acceleration: float | None
    curvature: float | None
    yaw_rate: float | None
    length: float | None
    width: float | None
    braking: bool
    path: tuple[PathPoint, ...] | None = None


class CamError(ValueError):
    """Bytes that are not a CAM."""


def check_installation(what: str) -> None:
    """Check whether the encoder is installed, without loading it.

    :param what: what needs it, for the message
    :raises ConfigurationError: it is not
    """
    need_extra("v2x", ("asn1tools",), what)


def encoded(cam: Cam) -> bytes:
    """The bytes of a CAM."""
    parameters: dict[str, Any] = {
        "basicContainer": _basic(cam),
        "highFrequencyContainer": ("vehicle", _often(cam)),
    }
    if cam.path is not None:
        seldom = {
            "vehicleRole": 0,
            "exteriorLights": (b"\0", 8),
            "pathHistory": [_path_point(point) for point in cam.path],
        }
        parameters["lowFrequencyContainer"] = ("vehicle", seldom)
    head = {"protocolVersion": PROTOCOL_VERSION, "messageID": MESSAGE_ID, "stationID": cam.station}
    body = {"generationDeltaTime": cam.milliseconds, "camParameters": parameters}
    return bytes(_specification().encode("CAM", {"header": head, "cam": body}))


def decoded(data: bytes) -> Cam | None:
    """The CAM of bytes; None if no vehicle has sent it, but a roadside station.

    :raises CamError: they are not a CAM of this version
    """
    if len(data) > LONGEST:
        raise CamError(f"found {len(data)} bytes; allowed are {LONGEST} for a CAM")
    try:
        message = _specification().decode("CAM", data)
    except Exception as error:  # the decoder raises whatever its parts meet in wrong bytes
        raise CamError(f"found {len(data)} bytes that are not a CAM: {error}") from None
    head = message["header"]
    if (head["protocolVersion"], head["messageID"]) != (PROTOCOL_VERSION, MESSAGE_ID):
        raise CamError(
            f"found protocolVersion {head['protocolVersion']}, messageID {head['messageID']}; "
            f"allowed are {PROTOCOL_VERSION} and {MESSAGE_ID}"
        )
    body = message["cam"]
    parameters = body["camParameters"]
    kind, often = parameters["highFrequencyContainer"]
    if kind != "vehicle":
        return None
    place = parameters["basicContainer"]["referencePosition"]
    speed = _known(often["speed"]["value"], _NO_SPEED, SPEED_MPS)
    if speed is not None and often["driveDirection"] == _BACKWARD:
        speed = -speed
    pedals = often.get("accelerationControl", (b"\0", _PEDAL_BITS))[0]
    return Cam(
        station=head["stationID"],
        milliseconds=body["generationDeltaTime"],
        latitude=_known(place["latitude"], _NO_LATITUDE, PLACE_DEG),
        longitude=_known(place["longitude"], _NO_LONGITUDE, PLACE_DEG),
        altitude=_known(place["altitude"]["value"], _NO_ALTITUDE, ALTITUDE_M),
        heading=_known(often["heading"]["value"], _NO_HEADING, HEADING_DEG),
        speed=speed,
        acceleration=_known(
            often["longitudinalAcceleration"]["value"], _NO_ACCELERATION, ACCELERATION_MPS2
        ),
        curvature=_known(often["curvature"]["value"], _NO_CURVATURE, CURVATURE_PER_M),
        yaw_rate=_known(often["yawRate"]["value"], _NO_YAW_RATE, YAW_RATE_DPS),
        length=_known(often["vehicleLength"]["value"], _NO_LENGTH, SIZE_M),
        width=_known(often["vehicleWidth"], _NO_WIDTH, SIZE_M),
        braking=bool(pedals[0] & _BRAKE_PEDAL),
        path=_path(parameters.get("lowFrequencyContainer")),
    )


def _basic(cam: Cam) -> dict[str, Any]:
    altitude = _units(cam.altitude, ALTITUDE_M, _NO_ALTITUDE, -_LOWEST, _HIGHEST)
    return {
        "stationType": PASSENGER_CAR,
        "referencePosition": {
            "latitude": _units(
                cam.latitude, PLACE_DEG, _NO_LATITUDE, 1 - _NO_LATITUDE, _NO_LATITUDE - 1
            ),
            "longitude": _units(
                cam.longitude, PLACE_DEG, _NO_LONGITUDE, 1 - _NO_LONGITUDE, _NO_LONGITUDE - 1
            ),
            "positionConfidenceEllipse": {
                "major": _NO_AXIS,
                "minor": _NO_AXIS,
                "orientation": _NO_HEADING,
            },
            "altitude": {"value": altitude, "confidence": _UNSURE_ALTITUDE},
        },
    }


def _often(cam: Cam) -> dict[str, Any]:
    heading = _NO_HEADING
    if cam.heading is not None:
        heading = round(cam.heading / HEADING_DEG) % 3600
    speed = None if cam.speed is None else abs(cam.speed)
    # A speed that rounds to a standstill has no direction.
    is_backward = cam.speed is not None and cam.speed < -0.5 * SPEED_MPS
    is_bent = cam.curvature is not None
    return {
        "heading": {"value": heading, "confidence": _UNSURE},
        "speed": {
            "value": _units(speed, SPEED_MPS, _NO_SPEED, 0, _FASTEST),
            "confidence": _UNSURE,
        },
        "driveDirection": _BACKWARD if is_backward else _FORWARD,
        "vehicleLength": {
            "value": _units(cam.length, SIZE_M, _NO_LENGTH, 1, _LONG),
            "confidence": _UNSURE_LENGTH,
        },
        "vehicleWidth": _units(cam.width, SIZE_M, _NO_WIDTH, 1, _WIDE),
        "longitudinalAcceleration": {
            "value": _units(
                cam.acceleration, ACCELERATION_MPS2, _NO_ACCELERATION, -_STRONGEST, _STRONGEST
            ),
            "confidence": _UNSURE_ACCELERATION,
        },
        "curvature": {
            "value": _units(cam.curvature, CURVATURE_PER_M, _NO_CURVATURE, -_BENT, _BENT),
            "confidence": _UNSURE_CURVATURE,
        },
        "curvatureCalculationMode": "yawRateUsed" if is_bent else "unavailable",
        "yawRate": {
            "value": _units(cam.yaw_rate, YAW_RATE_DPS, _NO_YAW_RATE, -_TURNING, _TURNING),
            "confidence": _UNSURE_YAW_RATE,
        },
        "accelerationControl": (bytes([_BRAKE_PEDAL if cam.braking else 0]), _PEDAL_BITS),
    }


def _path_point(point: PathPoint) -> dict[str, Any]:
    found: dict[str, Any] = {
        "pathPosition": {
            "deltaLatitude": _units(point.latitude, PLACE_DEG, 0, -_FAR, _FAR),
            "deltaLongitude": _units(point.longitude, PLACE_DEG, 0, -_FAR, _FAR),
            "deltaAltitude": _NO_DELTA_ALTITUDE,
        }
    }
    if point.seconds is not None:
        found["pathDeltaTime"] = _units(point.seconds, PATH_TIME_S, 0, 1, _LATE)
    return found


def _path(container: tuple[str | None, Mapping[str, Any]] | None) -> tuple[PathPoint, ...] | None:
    if container is None or container[0] != "vehicle":  # an extension of a later version
        return None
    return tuple(
        PathPoint(
            point["pathPosition"]["deltaLatitude"] * PLACE_DEG,
            point["pathPosition"]["deltaLongitude"] * PLACE_DEG,
            _known(point.get("pathDeltaTime"), None, PATH_TIME_S),
        )
        for point in container[1]["pathHistory"]
    )


def _units(value: float | None, unit: float, unknown: int, least: int, most: int) -> int:
    """A value in a CAM's unit, within its limits."""
    if value is None:
        return unknown
    return round(max(float(least), min(value / unit, float(most))))


def _known(units: int | None, unknown: int | None, unit: float) -> float | None:
    return None if units == unknown or units is None else units * unit


@cache
def _specification() -> Any:
    asn1tools = import_module("asn1tools")
    text = (Path(__file__).parent / "cam.asn").read_text(encoding="ascii")
    return asn1tools.compile_string(text, "uper")
