# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Decentralized environmental notification messages (DENM) as bytes: ETSI EN 302 637-3, in UPER.

``denm.asn`` describes the bits; the package ``asn1tools`` writes and reads them (extra ``v2x``).
The structure was read in riebl/vanetza, commit 9811d58e, ``asn1/EN302637-3v131-DENM.asn`` and
``asn1/TS102894-2v131-CDD.asn``.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, Final, NamedTuple

from ros2_cosim.driving.v2v.cam import (
    HEADING_DEG,
    PASSENGER_CAR,
    PLACE_DEG,
    PROTOCOL_VERSION,
    SPEED_MPS,
)

MESSAGE_ID: Final = 1
DANGEROUS_SITUATION: Final = 99
EMERGENCY_BRAKE: Final = 1
"""Sub-cause of a dangerous situation: the electronic emergency brake light."""
LONGEST: Final = 4096
"""No DENM that is read is longer: what can be said without alacarte are some 3700 [byte]."""
DISTANCES: Final = (50.0, 100.0, 200.0, 500.0, 1000.0, 5000.0, 10_000.0, 1e9)
"""Of each relevance distance the upper end [m]."""

_UPSTREAM: Final = 1
_NO_AXIS, _NO_HEADING, _UNSURE = 4095, 3601, 127
_NO_ALTITUDE, _UNSURE_ALTITUDE = 800_001, 15
_NO_LATITUDE, _NO_LONGITUDE, _NO_SPEED = 900_000_001, 1_800_000_001, 16_383
_FASTEST: Final = 16_382
_USUAL_VALIDITY: Final = 600


class Denm(NamedTuple):
    """What a DENM says.

    ``station`` and ``sequence`` name the event. ``detected`` and ``referred`` [ms]: when it was
    detected, and when it was last told anew. ``is_over``: it is cancelled or negated. ``latitude``
    and ``longitude`` [deg]; ``relevance``: number in ``DISTANCES``, None: not said. ``validity``
    [s] after the detection, ``interval`` [ms] of the repetition. ``speed`` [m/s] and ``heading``
    [deg] from the north, clockwise, of the event.
    """

    station: int
    sequence: int
    detected: int
    referred: int
    is_over: bool
    latitude: float
    longitude: float
    relevance: int | None
    validity: int
    interval: int | None
    cause: int
    sub_cause: int
    speed: float | None
    heading: float | None


class DenmError(ValueError):
    """Bytes that are not a DENM."""


def encoded_denm(denm: Denm) -> bytes:
    """The bytes of a DENM of a passenger car.

    Its traces hold one without points: the receivers follow the sender on its lane.
    """
    management: dict[str, Any] = {
        "actionID": {"station": denm.station, "sequence": denm.sequence},
        "detectionTime": denm.detected,
        "referenceTime": denm.referred,
        "eventPosition": {
            "latitude": round(denm.latitude / PLACE_DEG),
            "longitude": round(denm.longitude / PLACE_DEG),
            "positionConfidenceEllipse": {
                "major": _NO_AXIS,
                "minor": _NO_AXIS,
                "orientation": _NO_HEADING,
            },
            "altitude": {"value": _NO_ALTITUDE, "confidence": _UNSURE_ALTITUDE},
        },
        "relevanceTrafficDirection": _UPSTREAM,
        "validityDuration": denm.validity,
        "stationType": PASSENGER_CAR,
    }
    if denm.is_over:
        management["termination"] = "isCancellation"
    if denm.relevance is not None:
        management["relevanceDistance"] = denm.relevance
    if denm.interval is not None:
        management["transmissionInterval"] = denm.interval
    location: dict[str, Any] = {"traces": [[]]}
    if denm.speed is not None:
        units = min(round(abs(denm.speed) / SPEED_MPS), _FASTEST)
        location["eventSpeed"] = {"value": units, "confidence": _UNSURE}
    if denm.heading is not None:
        units = round(denm.heading / HEADING_DEG) % 3600
        location["eventPositionHeading"] = {"value": units, "confidence": _UNSURE}
    body = {
        "management": management,
        "situation": {
            "informationQuality": 0,
            "eventType": {"cause": denm.cause, "subCause": denm.sub_cause},
        },
        "location": location,
    }
    head = {"protocolVersion": PROTOCOL_VERSION, "messageID": MESSAGE_ID, "stationID": denm.station}
    return bytes(_specification().encode("DENM", {"header": head, "denm": body}))


def decoded_denm(data: bytes) -> Denm | None:
    """The DENM of bytes; None if it names no cause or no place.

    :raises DenmError: they are not a DENM of this version
    """
    if len(data) > LONGEST:
        raise DenmError(f"found {len(data)} bytes; allowed are {LONGEST} for a DENM")
    try:
        message = _specification().decode("DENM", data)
    except Exception as error:  # the decoder raises whatever its parts meet in wrong bytes
        raise DenmError(f"found {len(data)} bytes that are not a DENM: {error}") from None
    head = message["header"]
    if (head["protocolVersion"], head["messageID"]) != (PROTOCOL_VERSION, MESSAGE_ID):
        raise DenmError(
            f"found protocolVersion {head['protocolVersion']}, messageID {head['messageID']}; "
            f"allowed are {PROTOCOL_VERSION} and {MESSAGE_ID}"
        )
    body = message["denm"]
    management, situation = body["management"], body.get("situation")
    place = management["eventPosition"]
    if place["latitude"] == _NO_LATITUDE or place["longitude"] == _NO_LONGITUDE:
        return None
    is_over = "termination" in management
    if situation is None and not is_over:
        return None
    event = {"cause": 0, "subCause": 0} if situation is None else situation["eventType"]
    location = body.get("location", {})
    return Denm(
        station=management["actionID"]["station"],
        sequence=management["actionID"]["sequence"],
        detected=management["detectionTime"],
        referred=management["referenceTime"],
        is_over=is_over,
        latitude=place["latitude"] * PLACE_DEG,
        longitude=place["longitude"] * PLACE_DEG,
        relevance=management.get("relevanceDistance"),
        validity=management.get("validityDuration", _USUAL_VALIDITY),
        interval=management.get("transmissionInterval"),
        cause=event["cause"],
        sub_cause=event["subCause"],
        speed=_known(location.get("eventSpeed"), _NO_SPEED, SPEED_MPS),
        heading=_known(location.get("eventPositionHeading"), _NO_HEADING, HEADING_DEG),
    )


def _known(said: dict[str, int] | None, unknown: int, unit: float) -> float | None:
    return None if said is None or said["value"] == unknown else said["value"] * unit


@cache
def _specification() -> Any:
    asn1tools = import_module("asn1tools")
    text = (Path(__file__).parent / "denm.asn").read_text(encoding="ascii")
    return asn1tools.compile_string(text, "uper")
