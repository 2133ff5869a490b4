# SPDX-License-Identifier: Apache-2.0
"""The trace of a run, as a hash: what activated when, on which inputs, with which outputs.

Each participant hashes its own activations in their own order; the hash of the run is the
hash over all participants in the order of their names. So it can be computed where the
participant runs, and does not depend on how participants interleave on the wall clock.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Callable, Mapping
from functools import lru_cache
from itertools import chain
from typing import Final

# Each record begins with a mark and states its lengths, so that no two runs give one text.
_OUTPUT = struct.Struct("<cIqQI")
_IDLE = struct.Struct("<cqI")
#: Hashing in larger pieces costs less per activation.
_FLUSH_BYTES = 1 << 16
_KEPT_TIMES: Final = 5000


@lru_cache(maxsize=64)
def _pack_activation(inputs: int) -> Callable[..., bytes]:
    """Pack mark, time and number of inputs, then channel, stamp and seq of each."""
    return struct.Struct("<cqI" + "IqQ" * inputs).pack


class ParticipantTrace:
    """The running hash of one participant."""

    __slots__ = ("_buffer", "_hash", "activations", "times")

    def __init__(self) -> None:
        self._hash = hashlib.sha256()
        self._buffer = bytearray()
        self.activations = 0
        #: Times of the first activations [ns], for the time line of the report.
        self.times: list[int] = []

    def activation(self, time: int, inputs: list[tuple[int, int, int]]) -> None:
        """Record an activation and what it read.

        :param time: activation time, ns
        :param inputs: (channel, stamp, seq) of each sample delivered or read
        """
        buffer = self._buffer
        count = len(inputs)
        if inputs:
            buffer += _pack_activation(count)(b"A", time, count, *chain.from_iterable(inputs))
        else:
            buffer += _IDLE.pack(b"A", time, 0)
        self.activations += 1
        if len(self.times) < _KEPT_TIMES:
            self.times.append(time)
        if len(buffer) > _FLUSH_BYTES:
            self._flush()

    def output(self, port: int, stamp: int, seq: int, data: bytes) -> None:
        """Record a message sent by the latest activation: its port index and its bytes."""
        self._buffer += _OUTPUT.pack(b"O", port, stamp, seq, len(data))
        if len(data) > _FLUSH_BYTES:  # an image is hashed where it lies
            self._flush()
            self._hash.update(data)
        else:
            self._buffer += data

    def hexdigest(self) -> str:
        """The hash so far."""
        self._flush()
        return self._hash.hexdigest()

    def _flush(self) -> None:
        self._hash.update(self._buffer)
        self._buffer.clear()


def run_digest(participants: Mapping[str, str]) -> str:
    """The hash of a run from the hashes of its participants (name -> hex digest)."""
    total = hashlib.sha256()
    for name in sorted(participants):
        total.update(f"{name} {participants[name]}\n".encode())
    return total.hexdigest()
