# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Frames over a connection that never blocks: what is sent together travels together.

A frame has a number (of a topic), a stamp and a sequence number, so that what only passes a message
on need not decode it, and up to 4 GiB of content. Frames wait here until :meth:`FrameLink.flush`,
which makes one system call of many of them, and beyond it while the other side does not read.
"""

from __future__ import annotations

import socket
import struct
from typing import Final, NamedTuple

#: Size of the content, number, stamp, sequence number.
_HEAD = struct.Struct("<IIqq")
_CHUNK = 262_144
#: To call the class of a named tuple would go through Python, in compiled code, too.
_NEW: Final = tuple.__new__


class Frame(NamedTuple):
    """One message on a connection."""

    number: int
    stamp: int
    seq: int
    data: bytes


def head_of(number: int, size: int, stamp: int = 0, seq: int = 0) -> bytes:
    """What precedes the content, of so many bytes, of a frame."""
    return _HEAD.pack(size, number, stamp, seq)


class FrameLink:
    """One end of a connection.

    :param link: the open connection, which now belongs to this object
    """

    def __init__(self, link: socket.socket) -> None:
        link.setblocking(False)
        self._link = link
        self._out: list[bytes] = []
        #: What the socket did not take at the last flush.
        self._rest = memoryview(b"")
        #: Bytes that wait here.
        self.waiting = 0
        #: Bytes that have arrived, from the place on where they have not been given, and more.
        self._data = b""
        self._at = 0
        self._in: list[bytes] = []
        self._have = 0
        #: So many bytes make the next frame complete.
        self._need = _HEAD.size
        #: Whether the other side has closed the connection, or its process has ended.
        self.has_ended = False

    def fileno(self) -> int:
        """The open connection."""
        return self._link.fileno()

    @property
    def is_stuck(self) -> bool:
        """Whether the socket took less than there was at the last flush."""
        return bool(self._rest)

    @property
    def is_ready(self) -> bool:
        """Whether a frame may be here that :meth:`next` gives."""
        return self._have >= self._need

    def put(self, head: bytes, data: bytes) -> None:
        """Add a frame to those that wait.

        :param head: as :func:`head_of` makes it
        """
        self._out.append(head)
        if data:
            self._out.append(data)
        self.waiting += len(head) + len(data)

    def flush(self) -> None:
        """Send what waits, as far as the other side takes it; after its end it is dropped."""
        try:
            if self._rest:
                self._give(self._rest)
            if not self._rest and self._out:
                data = b"".join(self._out)
                self._out.clear()
                self._give(memoryview(data))
        except OSError:  # it has gone: reading tells so, after all that it sent
            self._drop()

    def _give(self, data: memoryview) -> None:
        self._rest = data
        try:
            while self._rest:
                sent = self._link.send(self._rest)
                self.waiting -= sent
                self._rest = self._rest[sent:]
        except BlockingIOError:
            pass

    def _drop(self) -> None:
        """Drop what waits: there is no reader any more."""
        self._out.clear()
        self._rest = memoryview(b"")
        self.waiting = 0

    def fetch(self) -> None:
        """Take over what has arrived; :meth:`next` gives it."""
        try:
            data = self._link.recv(_CHUNK)
        except BlockingIOError:
            return
        except OSError:  # the process has ended without reading all that it was sent
            data = b""
        if data:
            self._in.append(data)
            self._have += len(data)
        else:
            self.has_ended = True
            self._drop()

    def next(self) -> Frame | None:
        """The next complete frame that has arrived; None: none is here.

        More may be fetched between two calls.
        """
        if self._have < self._need:
            return None
        if len(self._data) - self._at < self._need:
            self._data = b"".join([self._data[self._at :], *self._in])
            self._at = 0
            self._in.clear()
        data, at = self._data, self._at
        length, number, stamp, seq = _HEAD.unpack_from(data, at)
        begin = at + _HEAD.size
        end = begin + length
        if end > len(data):
            self._need = end - at
            # What is still missing may have been fetched already.
            return self.next() if self._have >= self._need else None
        self._at = end
        self._have -= end - at
        self._need = _HEAD.size
        if end == len(data):
            self._data, self._at = b"", 0
        return _NEW(Frame, (number, stamp, seq, data[begin:end]))

    def close(self) -> None:
        """Close the connection; what has been flushed still reaches the other side."""
        self._link.close()
