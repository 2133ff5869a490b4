# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Codecs of messages that pass through whole: any ROS type, without a record class.

:class:`RawCodec` keeps a message as its bytes and writes the stamp into its header.
:class:`CarrierCodec` gives types without a header one: between participants they travel in a
``ros2_cosim/msg/StampedData``, observers get the plain message.
"""

from __future__ import annotations

import struct
from typing import Any

from ros2_cosim.core.kernel.errors import ProtocolError
from ros2_cosim.core.messages.cdr import ENCAPSULATION, NS_PER_S, CdrCodec, WireCodec
from ros2_cosim.core.messages.cdr_parts import Data, read_text, text_block
from ros2_cosim.core.messages.layout import Layout
from ros2_cosim.core.messages.whole import RawMessage as RawMessage
from ros2_cosim.core.messages.whole import carrying, kept_whole

CARRIER_TYPE = "ros2_cosim/msg/StampedData"

_STAMP = struct.Struct("<iI")
_LENGTH = struct.Struct("<I")
_SEQ = struct.Struct("<Q")
#: Stamp, empty frame id, gap, sequence number: what a carrier starts with.
_CARRIER_HEAD = struct.Struct("<4siII4xQ")
_TYPE_AT = _CARRIER_HEAD.size - 4


class RawCodec(WireCodec):
    """A message as it came: only stamp and sequence number are written.

    Decoded values are records that also carry the whole message
    (:class:`~ros2_cosim.core.messages.whole.Carried`).

    :param layout: the message's shape
    :param has_stamp: it starts with a ``std_msgs/Header``
    :param has_seq: a ``uint64 seq`` follows the header
    :param record_codec: codec of its record
    :param start_ns: a stamp of 0 is this time in the message [ns]
    """

    def __init__(
        self,
        layout: Layout,
        *,
        has_stamp: bool,
        has_seq: bool,
        record_codec: CdrCodec,
        start_ns: int = 0,
    ) -> None:
        self.type_name = layout.type_name
        self.has_stamp = has_stamp
        self.has_seq = has_seq
        self._layout = layout
        self._start_ns = start_ns
        self._record_codec = record_codec
        self._carrying = carrying(record_codec.record, layout.type_name)

    def encode(self, stamp_ns: int, seq: int, record: Any) -> bytes:
        """Bytes of the message with this stamp and sequence number.

        :raises ProtocolError: the value is not a message of this type
        """
        raw = isinstance(record, RawMessage)
        kept = (record.type_name, record.wire) if raw else kept_whole(record)
        if kept is None:
            return self._record_codec.encode(stamp_ns, seq, record)
        if kept[0] != self.type_name:
            raise ProtocolError(f"{self.type_name}: found a message of type {kept[0]}")
        wire = self._layout.canonical(kept[1]) if raw else kept[1]
        if not self.has_stamp:
            return wire
        data = bytearray(wire)
        _STAMP.pack_into(data, 4, *divmod(stamp_ns + self._start_ns, NS_PER_S))
        if self.has_seq:
            (length,) = _LENGTH.unpack_from(data, 12)
            end = 12 + length
            _SEQ.pack_into(data, 4 + end + (-end & 7), seq)
        return bytes(data)

    def decode_measured(self, data: Data) -> tuple[int, int | None, Any, int]:
        """Stamp, sequence number, value and length of a message, as :class:`CdrCodec` gives them.

        :raises ProtocolError: the bytes are not such a message
        """
        wire = self._layout.canonical(data)
        stamp, seq, record = self._record_codec.decode(wire)
        return stamp, seq, self._carrying(record, wire), len(wire)


class CarrierCodec(WireCodec):
    """A message without a header, in a ``ros2_cosim/msg/StampedData``.

    :param inner: codec of the message itself
    :param start_ns: a stamp of 0 is this time in the carrier [ns]
    """

    has_stamp = True
    has_seq = True

    def __init__(self, inner: WireCodec, start_ns: int = 0) -> None:
        self.type_name = CARRIER_TYPE
        self.inner = inner
        self._start_ns = start_ns
        text = text_block(inner.type_name)
        self._type = text + b"\0" * (-len(text) & 3)

    def encode(self, stamp_ns: int, seq: int, record: Any) -> bytes:
        """Bytes of the carrier.

        :raises ProtocolError: the value is not a message of the inner type
        """
        plain = self.inner.encode(stamp_ns, seq, record)
        sec, nanosec = divmod(stamp_ns + self._start_ns, NS_PER_S)
        try:
            head = _CARRIER_HEAD.pack(ENCAPSULATION, sec, nanosec, 1, seq)
        except struct.error as error:
            raise ProtocolError(f"{self.type_name}: cannot encode a stamp: {error}") from None
        return b"".join((head, self._type, _LENGTH.pack(len(plain)), plain))

    def decode_measured(self, data: Data) -> tuple[int, int | None, Any, int]:
        """Stamp, sequence number, inner value and length of a carrier.

        :raises ProtocolError: the bytes are not a carrier of the inner type
        """
        sec, nanosec, seq = self._head(data)
        plain, length = self._inside(data)
        stamp = sec * NS_PER_S + nanosec - self._start_ns
        return stamp, seq, self.inner.decode(plain)[2], length

    def delivered(self, value: Any, data: bytes, exact: bool) -> Any:
        """The value as readers in other processes see it."""
        return self.inner.delivered(value, self._inside(data)[0], exact)

    def plain(self, data: Data) -> bytes:
        """The message inside a carrier.

        :raises ProtocolError: the bytes are not a carrier of the inner type
        """
        self._head(data)
        return self._inside(data)[0]

    def value(self, plain: bytes) -> Any:
        """The value that stands for a plain message."""
        return self.inner.value(plain)

    def _inside(self, data: Data) -> tuple[bytes, int]:
        """The inner message, and the length of the carrier."""
        body = memoryview(data)[4:]
        name, offset = read_text(body, _TYPE_AT)
        if name != self.inner.type_name:
            raise ProtocolError(f"found a message of type {name}, not of {self.inner.type_name}")
        offset += -offset & 3
        try:
            (length,) = _LENGTH.unpack_from(body, offset)
        except struct.error:
            length = len(body)
        if length > len(body) - offset - 4:
            raise ProtocolError(f"{self.type_name}: message of {len(data)} bytes is cut short")
        end = offset + 4 + length
        return bytes(body[offset + 4 : end]), end + 4

    def _head(self, data: Data) -> tuple[int, int, int]:
        try:
            start, sec, nanosec, frame, seq = _CARRIER_HEAD.unpack_from(data)
        except struct.error:
            raise ProtocolError(
                f"{self.type_name}: message of {len(data)} bytes is cut short"
            ) from None
        if start[:2] != ENCAPSULATION[:2] or frame != 1 or nanosec >= NS_PER_S:
            raise ProtocolError(f"{self.type_name}: the message does not start like one")
        return sec, nanosec, seq
