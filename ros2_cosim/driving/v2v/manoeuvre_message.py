# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Messages by which a vehicle joins or leaves a platoon, as bytes.

The kinds are those of the manoeuvre at the tail in michele-segata/plexe, commit c2d70aff,
``src/plexe/maneuver/JoinAtBack.cc``, with two messages fewer: ACCEPT is JoinPlatoonResponse with
MoveToPosition, IN_POSITION is MoveToPositionAck, FORM is JoinFormation, JOINED is JoinFormationAck,
and FORMATION is UpdatePlatoonFormation. Leaving is this project's own. Bytes, little-endian: kind
(1), sender, receiver (4 each), number of the manoeuvre (2), speed [0.01 m/s] and time gap [0.01 s]
(2 each), count (1) and station of each vehicle of the platoon (4 each), the leader first.
"""

from __future__ import annotations

import struct
from typing import Final, NamedTuple

JOIN_REQUEST: Final = 1
ACCEPT: Final = 2
REJECT: Final = 3
IN_POSITION: Final = 4
FORM: Final = 5
JOINED: Final = 6
FORMATION: Final = 7
LEAVE_REQUEST: Final = 8
LEFT: Final = 9
KINDS: Final = (JOIN_REQUEST, ACCEPT, REJECT, IN_POSITION, FORM, JOINED, FORMATION) + (
    LEAVE_REQUEST,
    LEFT,
)
EVERYBODY: Final = 0
"""The receiver of what all are to know."""
LONGEST_PLATOON: Final = 200

_HEAD: Final = struct.Struct("<BIIHHHB")


class ManoeuvreMessage(NamedTuple):
    """What is said: ``speed`` [m/s], ``time_gap`` [s], ``formation`` the stations of a platoon."""

    kind: int
    sender: int
    receiver: int
    number: int
    speed: float = 0.0
    time_gap: float = 0.0
    formation: tuple[int, ...] = ()


def encoded_manoeuvre(message: ManoeuvreMessage) -> bytes:
    """The bytes of a message; speed and time gap are the nearest that they can say."""
    m = message
    speed, gap = (min(max(round(100.0 * v), 0), 65_535) for v in (m.speed, m.time_gap))
    head = _HEAD.pack(m.kind, m.sender, m.receiver, m.number, speed, gap, len(m.formation))
    return head + struct.pack(f"<{len(m.formation)}I", *m.formation)


def decoded_manoeuvre(data: bytes) -> ManoeuvreMessage | None:
    """The message of bytes; None if they are not a message."""
    if len(data) < _HEAD.size:
        return None
    kind, sender, receiver, number, speed, gap, count = _HEAD.unpack_from(data)
    if kind not in KINDS or count > LONGEST_PLATOON or len(data) != _HEAD.size + 4 * count:
        return None
    formation = struct.unpack_from(f"<{count}I", data, _HEAD.size)
    return ManoeuvreMessage(kind, sender, receiver, number, speed / 100.0, gap / 100.0, formation)
