# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""What bags have compressed, unpacked within bounds.

The library that reads such bags unpacks a chunk whole and compares its size afterwards: a kilobyte
may become gigabytes. Its table of methods tells each the declared size, so this module replaces
them. Whole files and single messages declare no size: they are unpacked here, and the library gets
a bag that is not compressed.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path, PurePath
from tempfile import TemporaryDirectory
from typing import Any, Protocol

from ros2_cosim.core.documents.one_line import one_line
from ros2_cosim.core.kernel.errors import ProtocolError
from ros2_cosim.core.messages.cdr import MAX_BYTES
from ros2_cosim.core.record.bag_metadata import METADATA_FILE

#: Recorders close a chunk at a megabyte or a few; one message of a camera or a lidar fits, too.
LARGEST_CHUNK = 256 << 20
#: Messages shrink to a third, point clouds and masks to a tenth, idle topics to a fiftieth; a bomb
#: to a thousandth and less. Hours of recording fit: the size itself has no limit.
MOST_TIMES = 100
#: Below this size the ratio does not matter.
SMALL_FILE = 64 << 20
_PART = 1 << 20
_KEY = "rosbag2_bagfile_information"


class _Unpacker(Protocol):
    """Unpacks one frame."""

    @property
    def eof(self) -> bool:
        """Whether the frame is complete."""

    @property
    def unused_data(self) -> bytes | None:
        """What follows the frame."""

    def decompress(self, data: bytes, max_length: int) -> bytes:
        """At most so many bytes of what the frame holds."""


def unpack_chunk(method: str, data: bytes, size: int) -> bytes:
    """The content of a chunk.

    :param method: as its head names it
    :param size: what it is to hold [bytes]
    :raises ProtocolError: it is damaged, or the method is unknown
    """
    if not method:
        return data
    if method not in ("zstd", "lz4"):
        raise ProtocolError(
            f"a chunk is compressed: found {one_line(repr(method))}; allowed are zstd and lz4"
        )
    from backports.zstd import ZstdError

    try:
        return unpack_zstd(data, size) if method == "zstd" else unpack_lz4(data, size)
    # lz4 has no error of its own.
    except (ZstdError, RuntimeError) as error:
        raise ProtocolError(f"a chunk cannot be unpacked: {one_line(error)}") from None


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


def unpack_message(data: bytes) -> bytes:
    """The content of a message that a bag has compressed by itself.

    :raises ProtocolError: it is larger than any message that is decoded, or cut off
    """
    from backports.zstd import ZstdDecompressor

    return _content(
        ZstdDecompressor, data, MAX_BYTES, f"a message holds more than {MAX_BYTES} bytes"
    )


@contextmanager
def uncompressed(bag: Path, metadata: Mapping[str, Any]) -> Iterator[tuple[Path, bool]]:
    """A bag as the library may read it, and whether its messages are still compressed.

    Files that are compressed as a whole are unpacked to a directory for temporary files. Malformed
    files stay unchanged: the library refuses them before it unpacks anything.

    :param metadata: content of its metadata file
    :raises ProtocolError: a storage file is not an ordinary one, or becomes too large
    :raises OSError: a file cannot be read, or the unpacked one not be written
    """
    mode, names = _compression(metadata)
    paths = [bag / PurePath(name).name for name in names]
    for path in paths:
        if path.exists() and not path.is_file():
            raise ProtocolError(f"{path.name} is not an ordinary file")
    if mode not in ("file", "message") or not all(path.exists() for path in paths):
        yield bag, False
        return
    with TemporaryDirectory(prefix="cosim_bag_") as temporary:
        plain = Path(temporary)
        for path in paths:
            if mode == "file":
                _unpack_file(path, plain / path.stem)
            else:
                (plain / path.name).symlink_to(path.resolve())
        kept = [path.stem if mode == "file" else path.name for path in paths]
        about = metadata[_KEY] | {
            "relative_file_paths": kept,
            "compression_mode": "",
            "compression_format": "",
        }
        # JSON is YAML.
        (plain / METADATA_FILE).write_text(json.dumps({_KEY: about}, default=str))
        yield plain, mode == "message"


def _compression(metadata: Mapping[str, Any]) -> tuple[str, Sequence[str]]:
    """How a bag is compressed (empty: not at all, or the library refuses it), and its files."""
    about = metadata.get(_KEY)
    if not isinstance(about, dict):
        return "", ()
    mode, names = about.get("compression_mode"), about.get("relative_file_paths")
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        return "", ()
    is_known = about.get("compression_format") == "zstd"
    return str(mode).lower() if is_known else "", names


def _unpack_file(path: Path, target: Path) -> None:
    from backports import zstd

    most = max(SMALL_FILE, MOST_TIMES * path.stat().st_size)
    size = 0
    with zstd.open(path, "rb") as packed, target.open("wb") as unpacked:
        while part := packed.read(_PART):
            size += len(part)
            if size > most:
                raise ProtocolError(
                    f"{path.name} holds more than {most} bytes; allowed are {MOST_TIMES} times its "
                    f"size, and {SMALL_FILE} bytes for a smaller one"
                )
            unpacked.write(part)


def bound_library() -> None:
    """Let the library unpack chunks by the methods of this module."""
    from rosbags.rosbag2.storage_mcap import DECOMPRESSORS

    DECOMPRESSORS.update(zstd=unpack_zstd, lz4=unpack_lz4)


def _unpacked(make: Callable[[], _Unpacker], data: bytes, size: int) -> bytes:
    if size > LARGEST_CHUNK:
        raise ProtocolError(f"found a chunk of {size} bytes; allowed are {LARGEST_CHUNK}")
    return _content(make, data, size, f"a chunk holds more than the {size} bytes that it declares")


def _content(make: Callable[[], _Unpacker], data: bytes, size: int, fault: str) -> bytes:
    """What frames hold, at most so many bytes; else a ProtocolError says what is at fault."""
    unpacked = bytearray()
    while data:
        frame = make()
        unpacked += frame.decompress(data, size - len(unpacked) + 1)
        if len(unpacked) > size:
            raise ProtocolError(fault)
        if not frame.eof:
            raise ProtocolError("what is compressed is cut off")
        data = frame.unused_data or b""
    return bytes(unpacked)
