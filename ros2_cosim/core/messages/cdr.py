# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Codec between a record and the bytes of its ROS message (XCDR1, little endian).

The bytes are exactly what a ROS 2 middleware puts on the wire and into a bag: a 4-byte
encapsulation header ``00 01 00 00``, then the fields in order, each aligned to its size.
Everything up to the first string or sequence of varying length is one precompiled struct.

Why no library does this:

* A value is a flat, immutable ``NamedTuple`` in SI units, not the tree of a message class: an
  ``Odometry`` has 13 numbers and no covariances. Libraries translate between trees and bytes.
* Bytes enter the trace hash, so that padding is zero and equal values give equal bytes
  (:mod:`ros2_cosim.core.messages.layout` does the same for messages of other writers).
* Each message of a run without ROS is encoded and decoded: 0.3 us and 0.7 us for an
  ``Odometry``, 64 us and 115 us with ``rosbags`` (the tests' oracle for these bytes).
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from ros2_cosim.core.kernel.errors import ProtocolError
from ros2_cosim.core.kernel.trace import IS_COMPILED, PackedPair
from ros2_cosim.core.messages.binding import Scalar, Structure, Text
from ros2_cosim.core.messages.cdr_parts import (
    Data,
    NumberPieces,
    make_pieces,
    run_struct,
    skip_text,
    text_block,
)
from ros2_cosim.core.messages.whole import RawMessage

ENCAPSULATION: Final = b"\0\1\0\0"
MAX_BYTES: Final = 1 << 26
"""Longest message that is decoded (64 MiB)."""
MAX_TRAILING: Final = 64
"""So many bytes may follow the last field: transports pad to their own alignment, and rclpy's
``serialize_message`` rounds up its size by up to 8 bytes for each empty sequence."""

NS_PER_S: Final = 1_000_000_000
#: What values raise that do not fit their fields.
_UNFIT: Final = (
    struct.error, TypeError, ValueError, AttributeError, IndexError, OverflowError,
)  # fmt: skip
_STAMP = (Scalar("i", True), Scalar("I", True))
#: How a message with a header begins.
_STAMPED: Final = PackedPair(ENCAPSULATION, "<iI")
_SEQ = Scalar("Q", True)
#: Compiled, a constant of the module need not be looked for.
_RAW: Final = RawMessage


class WireCodec:
    """Translates between the values of a port and the messages on its topic.

    :ivar type_name: full ROS type name of the message between participants
    :ivar has_stamp: the stamp travels in it
    :ivar has_seq: the sequence number travels in it
    """

    type_name: str
    has_stamp: bool
    has_seq: bool

    def encode(self, stamp_ns: int, seq: int, record: Any) -> bytes:
        """Bytes of a message."""
        raise NotImplementedError(type(self).__name__)

    def decode_measured(self, data: Data) -> tuple[int, int | None, Any, int]:
        """Stamp, sequence number (None: not carried), value and length of a message."""
        raise NotImplementedError(type(self).__name__)

    def decode(self, data: Data) -> tuple[int, int | None, Any]:
        """Stamp, sequence number (None: not carried) and value of a message."""
        stamp, seq, value, _ = self.decode_measured(data)
        return stamp, seq, value

    def delivered(self, value: Any, data: bytes, exact: bool) -> Any:
        """What the readers of a message see (:class:`~ros2_cosim.core.kernel.graph.Codec`)."""
        return self.decode(data)[2]

    def plain(self, data: bytes) -> bytes:
        """The message that observers see; the same one, unless it needs a carrier."""
        return data

    def value(self, plain: bytes) -> Any:
        """The value that stands for a message as observers see it."""
        return self.decode(plain)[2]


class CdrCodec(WireCodec):
    """Encodes and decodes one message type; made by :class:`~.catalogue.Catalogue`.

    :ivar type_name: full ROS type name
    :ivar record: the record class
    :ivar has_stamp: the message starts with a header (or a time): the stamp travels in it
    :ivar has_seq: the message carries the sequence number behind its header
    :param encode_raw: encodes a raw message of the type
    :param start_ns: a stamp of 0 is this time in the message [ns]
    :param at_start: the codec of messages with a stamp of 0, if these have a start that ROS counts
        from elsewhere
    """

    def __init__(
        self,
        type_name: str,
        record: type,
        structure: Structure,
        *,
        has_stamp: bool,
        has_seq: bool,
        frame_id: str | None,
        constants: Mapping[str, str],
        encode_raw: Callable[[int, int, RawMessage], bytes],
        start_ns: int = 0,
        at_start: CdrCodec | None = None,
    ) -> None:
        self._encode_raw = encode_raw
        self._at_start = at_start
        self._start_ns = start_ns
        self.type_name = type_name
        self.record = record
        self.has_stamp = has_stamp
        self.has_seq = has_seq
        self._structure = structure
        #: Whether the fields of a record are the values of the message.
        self._flat: bool = structure.flat
        texts = [] if frame_id is None else [frame_id]
        items = list(structure.items)
        while has_stamp and not has_seq and items and isinstance(items[0], Text):
            if items[0].bound:
                break
            texts.append(constants.get(items.pop(0).path, ""))  # type: ignore[union-attr]
        self._text_count = len(texts)
        self._block = _join_texts(texts)
        self._fixed_scalars = ((_SEQ,) if has_seq else ()) + _leading_scalars(items)
        bound = sum(scalar.bound for scalar in self._fixed_scalars)
        self._head_width = bound - has_seq
        self._pieces = make_pieces(
            items[len(self._fixed_scalars) - has_seq :], dict(constants), first=self._head_width
        )
        self._compile_head()

    def _compile_head(self) -> None:
        """The struct of everything up to the first piece of varying length."""
        stamp = _STAMP if self.has_stamp else ()
        lead = 8 if self.has_stamp else 0
        body = lead + len(self._block)
        tail = run_struct(self._fixed_scalars, body & 7).format[1:]
        block = len(self._block)
        codes = "".join(scalar.code for scalar in stamp)
        #: Of what is behind the texts.
        self._pack_tail = struct.Struct("<" + tail).pack
        head = struct.Struct(f"<4s{codes}{block}s{tail}")
        self._pack_head = head.pack
        #: Packs head and pieces together; None: there are no pieces, or others than numbers.
        self._numbers: NumberPieces | None = None
        if self._pieces and NumberPieces.hold(self._pieces):
            self._numbers = NumberPieces(self._pieces, head.format, head.size - 4)  # type: ignore[arg-type]
        reader = struct.Struct(f"<4x{codes}{block}x{tail}")
        self._read_head = reader.unpack_from
        self._head_size = reader.size
        self._block_at = slice(4 + lead, 4 + body)
        self._skip = 2 * self.has_stamp + self.has_seq

    def encode(self, stamp_ns: int, seq: int, record: Any) -> bytes:
        """Bytes of the message.

        :param stamp_ns: header stamp, nanoseconds since the start (unused without a header)
        :param seq: sequence number on the writing port (unused if the type has none)
        :raises ProtocolError: a value does not fit its field
        """
        # Looked for first: a record of a text, and bytes, would take its two fields for its own.
        if type(record) is _RAW:
            return self._encode_raw(stamp_ns, seq, record)
        if stamp_ns == 0 and self._at_start is not None:
            return self._at_start.encode(stamp_ns, seq, record)
        try:
            values = record if self._flat else self._structure.flatten(record)
            if self._numbers is not None:
                flat: list[Any] = [ENCAPSULATION]
                if self.has_stamp:
                    shown_ns = stamp_ns + self._start_ns
                    sec = shown_ns // NS_PER_S
                    flat.append(sec)
                    flat.append(shown_ns - sec * NS_PER_S)
                flat.append(self._block)
                if self.has_seq:
                    flat.append(seq)
                flat += values[: self._head_width]  # compiled, faster than to extend it
                try:
                    packed = self._numbers.pack(flat, values)
                except _UNFIT:
                    packed = None  # piece by piece it turns out what is wrong
                if packed is not None:
                    return packed
            found = values[: self._head_width] if self._pieces else values
            # A record is a tuple already; compiled, one tuple is what a call takes at once.
            tail: tuple[Any, ...] = found if isinstance(found, tuple) else tuple(found)
            if self.has_seq:
                tail = (seq,) + tail
            if not self.has_stamp:
                data = self._pack_head(ENCAPSULATION, self._block, *tail)
            else:
                shown_ns = stamp_ns + self._start_ns
                sec = shown_ns // NS_PER_S
                rest = shown_ns - sec * NS_PER_S
                if IS_COMPILED:  # many messages have the begin of the one before
                    pack = self._pack_tail  # by its name a call would look for it each time
                    data = _STAMPED.of(sec, rest) + self._block + pack(*tail)
                else:
                    data = self._pack_head(ENCAPSULATION, sec, rest, self._block, *tail)
            if not self._pieces:
                return data
            parts: list[Data] = [data]
            offset = len(data) - 4
            for piece in self._pieces:
                offset = piece.write(parts, offset, values)
        except _UNFIT as error:
            raise ProtocolError(f"{self.type_name}: cannot encode {record!r}: {error}") from None
        return b"".join(parts)

    def delivered(self, value: Any, data: bytes, exact: bool) -> Any:
        """An exact record itself; any other as it is decoded, and so is a raw message."""
        return value if exact and not isinstance(value, RawMessage) else self.decode(data)[2]

    def decode(self, data: Data) -> tuple[int, int | None, Any]:
        """Stamp, sequence number and record of a message.

        The frame ids may be any text. A type without header has stamp 0; one without a
        sequence number has None.

        :raises ProtocolError: the bytes are not such a message
        """
        stamp, seq, record, _ = self.decode_measured(data)
        return stamp, seq, record

    def decode_measured(self, data: Data) -> tuple[int, int | None, Any, int]:
        """As :meth:`decode`, and the length of the message without what a transport appended.

        :raises ProtocolError: the bytes are not such a message
        """
        try:
            if data[:2] != b"\0\1" or len(data) > MAX_BYTES:
                raise self._refuse_start(data)
            if data[self._block_at] == self._block:
                values: Sequence[Any] = self._read_head(data)
                end = self._head_size
            else:
                values, end = self._read_foreign_head(data)
            if self._pieces:
                values, end = self._read_pieces(data, values, end)
        except struct.error:
            raise ProtocolError(
                f"{self.type_name}: message of {len(data)} bytes is cut short"
            ) from None
        except ProtocolError as error:
            raise ProtocolError(f"{self.type_name}: {error}") from None
        if not 0 <= len(data) - end <= MAX_TRAILING:
            raise ProtocolError(f"{self.type_name}: {len(data)} bytes where {end} are needed")
        stamp = 0
        if self.has_stamp:
            if values[1] >= NS_PER_S:
                raise ProtocolError(f"{self.type_name}: stamp has {values[1]} nanoseconds")
            stamp = values[0] * NS_PER_S + values[1] - self._start_ns
        seq = values[self._skip - 1] if self.has_seq else None
        return stamp, seq, self._structure.build(values[self._skip :]), end

    def _read_foreign_head(self, data: Data) -> tuple[list[Any], int]:
        """Read the head of a message whose frame ids are not ours."""
        body = memoryview(data)[4:]
        values: list[Any] = []
        offset = 0
        if self.has_stamp:
            values.extend(struct.unpack_from("<iI", body))
            offset = 8
        for _ in range(self._text_count):
            offset = skip_text(body, offset)
        reader = run_struct(self._fixed_scalars, offset & 7)
        values.extend(reader.unpack_from(body, offset))
        return values, 4 + offset + reader.size

    def _read_pieces(self, data: Data, head: Sequence[Any], end: int) -> tuple[list[Any], int]:
        body = memoryview(data)[4:]
        values = list(head)
        offset = end - 4
        for piece in self._pieces:
            offset = piece.read(body, offset, values)
        return values, offset + 4

    @staticmethod
    def _refuse_start(data: Data) -> ProtocolError:
        if len(data) > MAX_BYTES:
            return ProtocolError(f"message of {len(data)} bytes, at most {MAX_BYTES} are read")
        found = bytes(data[:4]).hex(" ") or "nothing"
        return ProtocolError(f"starts with {found}, not with the CDR header 00 01 00 00")


def _leading_scalars(items: Sequence[Any]) -> tuple[Scalar, ...]:
    scalars: list[Scalar] = []
    for item in items:
        if not isinstance(item, Scalar):
            break
        scalars.append(item)
    return tuple(scalars)


def _join_texts(texts: Sequence[str]) -> bytes:
    """Strings one after the other, the first at a 4-aligned place."""
    block = b""
    for text in texts:
        block += b"\0" * (-len(block) & 3) + text_block(text)
    return block
