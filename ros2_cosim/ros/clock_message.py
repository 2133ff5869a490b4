# SPDX-License-Identifier: Apache-2.0
"""The bytes of rosgraph_msgs/msg/Clock."""

import struct

_CLOCK = struct.Struct("<4siI")
_ENCAPSULATION = b"\0\1\0\0"


def encode_clock(sec: int, nanosec: int) -> bytes:
    """Encode a clock message (XCDR1, little endian)."""
    return _CLOCK.pack(_ENCAPSULATION, sec, nanosec)
