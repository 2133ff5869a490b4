# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Compresses the chunks of bags, always in the same way.

Equal chunks become equal bytes as long as the libraries are the same: what libzstd and liblz4 make
of a text may change with their versions, which ``requirements.lock`` fixes. Where a chunk ends
does not depend on them: that follows from its plain content.
"""

from __future__ import annotations

from typing import Final

#: The default level of libzstd: bags of drives shrink to a fifth, and higher ones gain little.
ZSTD_LEVEL: Final = 3
#: The fast method of liblz4; zstd is for smaller bags.
LZ4_LEVEL: Final = 0


def pack(method: str, data: bytes | bytearray) -> bytes | bytearray:
    """The content of a chunk as it is in the file.

    :param method: ``zstd``, ``lz4``, or empty for none
    """
    if method == "zstd":
        from backports import zstd

        return zstd.compress(data, level=ZSTD_LEVEL)
    if method == "lz4":
        from lz4 import frame

        packed: bytes = frame.compress(bytes(data), compression_level=LZ4_LEVEL)
        return packed
    return data
