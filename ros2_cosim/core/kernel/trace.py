# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The trace of a run, as a hash: what activated when, on which inputs, with which outputs.

Each participant hashes its own activations in their own order; the hash of the run is the
hash over all participants in the order of their names. So it can be computed where the
participant runs, and does not depend on how participants interleave on the wall clock.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Mapping
from types import FunctionType
from typing import Final


class PackedPair:
    """Packs two numbers behind a text; the same two as before are packed already.

    For compiled code: what is not compiled packs more at once, in one call.

    Many messages of one time have the stamp and the sequence number of the one before.

    :param lead: the text
    :param form: of the numbers, for ``struct``
    """

    __slots__ = ("_last", "_lead", "_pack")

    def __init__(self, lead: bytes, form: str) -> None:
        self._lead = lead
        self._pack = struct.Struct(form).pack
        # One object: participants may run in threads.
        self._last: tuple[int, int, bytes] = (0, 0, lead + self._pack(0, 0))

    def of(self, first: int, second: int) -> bytes:
        """The text with two numbers behind it."""
        one, other, data = self._last
        if first != one or second != other:
            data = self._lead + self._pack(first, second)
            self._last = first, second, data
        return data


IS_COMPILED: Final = not isinstance(PackedPair.of, FunctionType)
"""Whether the kernel runs compiled: what is quickest differs."""

# Each record begins with a mark and states its lengths, so that no two runs give one text. That of
# a message: mark and port; stamp and sequence number; size.
_PORT: Final = struct.Struct("<cI").pack
MOMENT: Final = PackedPair(b"", "<qQ")
_SIZE: Final = struct.Struct("<I").pack
#: All of it.
_OUTPUT: Final = struct.Struct("<cIqQI").pack
_OUTPUT_BYTES: Final = 25
#: Hashing in larger pieces costs less per activation; compiled, it counts more that what waits of
#: hundreds of participants fits into the caches.
_FLUSH_BYTES: Final = 1 << (12 if IS_COMPILED else 15)
_KEPT_TIMES: Final = 5000
#: Mark, time and number of inputs; channel, stamp and sequence number of each follow.
_ACTIVATION: Final = PackedPair(b"A", "<qI")
_WHOLE_ACTIVATION: Final = struct.Struct("<cqI").pack
#: Packed sizes of messages that are not hashed where they lie.
_sizes: Final[dict[int, bytes]] = {}


class ParticipantTrace:
    """The running hash of one participant."""

    __slots__ = ("_hash", "_pieces", "_ports", "_size", "activations", "times")

    def __init__(self) -> None:
        self._hash = hashlib.sha256()
        #: What is hashed next: joined, it is the text of the records.
        self._pieces: list[bytes] = []
        self._size = 0
        #: How the record of a message begins, by port.
        self._ports: list[bytes] = []
        self.activations = 0
        #: Times of the first activations [ns], for the time line of the report.
        self.times: list[int] = []

    def activation(self, time: int, count: int, inputs: bytes) -> None:
        """Record an activation and what it read.

        :param time: activation time, ns
        :param count: number of samples delivered or read
        :param inputs: what :data:`~.latched.REFERENCE` makes of each, one after the other
        """
        if IS_COMPILED:
            record = _ACTIVATION.of(time, count)
        else:
            record = _WHOLE_ACTIVATION(b"A", time, count)
        self._pieces.append(record)
        self._pieces.append(inputs)
        self._size += len(record) + len(inputs)
        self.activations += 1
        if self.activations <= _KEPT_TIMES:
            self.times.append(time)
        if self._size > _FLUSH_BYTES:
            self._flush()

    def output(self, port: int, stamp: int, seq: int, data: bytes) -> None:
        """Record a message sent by the latest activation: its port index and its bytes."""
        size = len(data)
        pieces = self._pieces
        if not IS_COMPILED and size <= _FLUSH_BYTES:
            pieces += (_OUTPUT(b"O", port, stamp, seq, size), data)
            self._size += _OUTPUT_BYTES + size
            return
        while port >= len(self._ports):
            self._ports.append(_PORT(b"O", len(self._ports)))
        pieces.append(self._ports[port])
        pieces.append(MOMENT.of(stamp, seq))
        self._size += _OUTPUT_BYTES
        if size > _FLUSH_BYTES:  # an image is hashed where it lies
            pieces.append(_SIZE(size))
            self._flush()
            self._hash.update(data)
            return
        packed = _sizes.get(size)
        if packed is None:
            packed = _sizes[size] = _SIZE(size)
        pieces.append(packed)
        pieces.append(data)
        self._size += size

    def hexdigest(self) -> str:
        """The hash so far."""
        self._flush()
        return self._hash.hexdigest()

    def _flush(self) -> None:
        self._hash.update(b"".join(self._pieces))
        self._pieces.clear()
        self._size = 0


def run_digest(participants: Mapping[str, str]) -> str:
    """The hash of a run from the hashes of its participants (name -> hex digest)."""
    total = hashlib.sha256()
    for name in sorted(participants):
        total.update(f"{name} {participants[name]}\n".encode())
    return total.hexdigest()
