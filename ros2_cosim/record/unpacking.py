# SPDX-License-Identifier: Apache-2.0
"""Compressed chunks of foreign bags, unpacked to the size that they declare and no further.

The library that reads such bags unpacks a chunk whole and compares its size afterwards: a
kilobyte may become gigabytes. Its table of methods tells each the declared size, so methods
of ours stand there instead.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from ros2_cosim.kernel.errors import ProtocolError

#: Recorders close a chunk at a megabyte or a few; one message of a camera or a lidar fits, too.
LARGEST_CHUNK = 256 << 20


class _Unpacker(Protocol):
    """Unpacks one frame."""

    @property
    def eof(self) -> bool:
        """Whether the frame is complete."""

    @property
    def unused_data(self) -> bytes | None:
        """What follows the frame."""

    def decompress(self, data: bytes, max_length: int = -1) -> bytes:
        """At most so many bytes of what the frame holds."""


def unpack_zstd(data: bytes, size: int) -> bytes:
    """The content of Zstandard frames; parameters and errors as :func:`unpack_lz4`."""
    from backports.zstd import ZstdDecompressor

    return _unpacked(ZstdDecompressor, data, size)


def unpack_lz4(data: bytes, size: int) -> bytes:
    """The content of LZ4 frames.

    :param size: what it is to hold [bytes]
    :raises ProtocolError: it holds more, is cut off, or is to hold more than is allowed
    """
    from lz4.frame import LZ4FrameDecompressor

    return _unpacked(LZ4FrameDecompressor, data, size)


def bound_library() -> None:
    """Let the library unpack chunks by the methods of this module."""
    from rosbags.rosbag2.storage_mcap import DECOMPRESSORS

    DECOMPRESSORS.update(zstd=unpack_zstd, lz4=unpack_lz4)


def _unpacked(make: Callable[[], _Unpacker], data: bytes, size: int) -> bytes:
    if size > LARGEST_CHUNK:
        raise ProtocolError(f"found a chunk of {size} bytes; allowed are {LARGEST_CHUNK}")
    unpacked = bytearray()
    while data:
        frame = make()
        unpacked += frame.decompress(data, size - len(unpacked) + 1)
        if len(unpacked) > size:
            raise ProtocolError(f"a chunk holds more than the {size} bytes that it declares")
        if not frame.eof:
            raise ProtocolError("a compressed chunk is cut off")
        data = frame.unused_data or b""
    return bytes(unpacked)
