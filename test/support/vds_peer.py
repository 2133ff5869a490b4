# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The other side of VDS1 in tests, made of ``struct`` and ``zlib`` alone; and a clock by hand."""

from __future__ import annotations

import struct
import zlib
from typing import Any

MAGIC = 0x56445331
STATE_FIELDS = (
    "x y z roll pitch yaw vx vy vz roll_rate pitch_rate yaw_rate ax ay spin_fl spin_fr spin_rl "
    "spin_rr steer wheel_radius load_fl load_fr load_rl load_rr"
).split()


def pack_command(
    seq: int,
    steer: float = 0.0,
    throttle: float = 0.0,
    brake: float = 0.0,
    gear: int = 1,
    handbrake: int = 0,
    acceleration: float = float("nan"),
    speed: float = float("nan"),
    timestamp: float = 0.0,
) -> bytes:
    """A command, byte by byte."""
    body = struct.pack("<L", MAGIC) + struct.pack("<HH", 1, 1) + struct.pack("<LL", seq, 0)
    body += struct.pack("<d", timestamp)
    body += struct.pack("<3d", steer, throttle, brake) + struct.pack("<l", gear)
    body += bytes([handbrake, 0, 0, 0]) + struct.pack("<2d", acceleration, speed)
    assert len(body) == 72
    return body + struct.pack("<L", zlib.crc32(body) & 0xFFFFFFFF)


def unpack_state(data: bytes) -> dict[str, Any]:
    """A state, checked and read byte by byte."""
    assert len(data) == 220
    assert struct.unpack("<L", data[216:])[0] == zlib.crc32(data[:216]) & 0xFFFFFFFF
    assert data[:4] == b"1SDV"  # the magic number, least significant byte first
    version, kind, seq, padding = struct.unpack("<HHLL", data[4:16])
    assert (version, kind, padding) == (1, 2, 0)
    values = struct.unpack("<24d", data[24:216])
    head = {"seq": seq, "timestamp": struct.unpack("<d", data[16:24])[0]}
    return head | dict(zip(STATE_FIELDS, values, strict=True))


class HandClock:
    """A wall clock that moves when it is told to, or slept on; ``late`` adds to each sleep."""

    def __init__(self, start: int = 0, late: int = 0) -> None:
        self.time = start
        self.late = late

    def now(self) -> int:
        return self.time

    def sleep_until(self, deadline: int) -> None:
        self.time = max(self.time, deadline + self.late)
