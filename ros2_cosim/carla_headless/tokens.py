# SPDX-License-Identifier: Apache-2.0
"""Stream tokens: the 24 bytes by which a client finds a sensor's data stream."""

from __future__ import annotations

import struct

# stream id, port, protocol (1 = TCP), address kind (0 = the host the client already uses), address
_TOKEN = struct.Struct("<IHBB16s")
TOKEN_BYTES = _TOKEN.size
WORLD_STREAM = 1


def stream_token(stream_id: int, port: int) -> bytes:
    """Token of a stream on this host at ``port``."""
    return _TOKEN.pack(stream_id, port, 1, 0, bytes(16))
