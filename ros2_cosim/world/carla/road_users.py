# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The vehicles that are not participants', as the bytes of a binary DCP variable.

Little endian, one row after the other: id and classification (u32), then the other fields of the
message ``RoadUser`` in their order (f64).
"""

from __future__ import annotations

import struct
from typing import Final

from ros2_cosim.core.kernel.errors import RunError
from ros2_cosim.core.messages.records import RoadUser, RoadUsers

MAX_ROAD_USERS: Final = 800
"""So many find room in a data PDU over UDP."""

_ROW: Final = struct.Struct(f"<II{len(RoadUser._fields) - 2}d")
MOST_BYTES: Final = MAX_ROAD_USERS * _ROW.size
"""Length of the variable with all of them."""


def packed(found: RoadUsers) -> bytes:
    """The vehicles as bytes.

    :raises RunError: there are more than ``MAX_ROAD_USERS``
    """
    if len(found.users) > MAX_ROAD_USERS:
        raise RunError(
            f"output traffic: found {len(found.users)} vehicles; allowed are {MAX_ROAD_USERS}"
        )
    return b"".join(_ROW.pack(*user) for user in found.users)


def unpacked(data: bytes) -> RoadUsers:
    """What ``packed`` has made.

    :raises RunError: it has not made this
    """
    if len(data) % _ROW.size:
        raise RunError(
            f"traffic.data: found {len(data)} bytes; allowed are multiples of {_ROW.size}"
        )
    return RoadUsers(tuple(RoadUser(*row) for row in _ROW.iter_unpack(data)))
