# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Data PDUs of both sides: packing, unpacking, counting of losses."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any

from ros2_cosim.dcp.standard.enums import PduType, Scope
from ros2_cosim.dcp.standard.values import PayloadCodec, Value

HEADER = struct.Struct("<BHH")
"""Type, pdu_seq_id, data_id or param_id of a data PDU."""


#: The initialization, and the first step.
_HELD_AT_START = 2


class Missing(Enum):
    """What a receiver does when a data PDU has not come: use the last values again,
    continue the line through the last two, or stop with an error.
    """

    HOLD = "hold"
    EXTRAPOLATE = "extrapolate"
    STOP = "stop"


@dataclass
class DataCounters:
    """Counts that follow from the sequence ids of one data_id.

    ``held`` and ``extrapolated`` count steps for which nothing had come, by what was done about
    it; ``first_missing`` is the number of the first of them, from 1 (0: none).
    """

    received: int = 0
    lost: int = 0
    duplicated: int = 0
    reordered: int = 0
    refused: int = 0
    held: int = 0
    extrapolated: int = 0
    first_missing: int = 0

    def miss(self, step: int, *, extrapolated: bool) -> None:
        """Count a step for which no data PDU had arrived."""
        self.first_missing = self.first_missing or step
        if extrapolated:
            self.extrapolated += 1
        else:
            self.held += 1

    def of_sent(self, sent: int) -> DataCounters:
        """The same where it is known how many were sent: the first and the last can be lost, too,
        which no sequence id shows.
        """
        return replace(self, lost=max(self.lost, sent - (self.received - self.duplicated)))

    def beyond_start(self) -> DataCounters:
        """The same without what is held at the beginning: slaves that are initialised or step
        together have nothing new for each other then.
        """
        if self.first_missing != 1:
            return self
        held = max(0, self.held - _HELD_AT_START)
        extrapolated = max(0, self.extrapolated - max(0, _HELD_AT_START - self.held))
        return replace(self, held=held, extrapolated=extrapolated, first_missing=0)

    @property
    def loss_rate(self) -> float:
        """Lost PDUs as a share of all that were sent."""
        sent = self.received - self.duplicated + self.lost
        return self.lost / sent if sent else 0.0


@dataclass
class SequenceWatch:
    """Follows the sequence ids of one data_id over their wrap at 65536."""

    counters: DataCounters = field(default_factory=DataCounters)
    last: int | None = None

    def take(self, seq: int) -> int:
        """Count one PDU.

        :returns: number of PDUs missed just before it (0 = in order), -1 for a
            repetition, -2 for one older than the newest
        """
        counters = self.counters
        counters.received += 1
        if self.last is None:
            self.last = seq
            return 0
        ahead = (seq - self.last) & 0xFFFF
        if ahead == 0:
            counters.duplicated += 1
            return -1
        if ahead >= 0x8000:
            counters.reordered += 1
            if counters.lost:
                counters.lost -= 1  # it was counted as lost when a newer one came
            return -2
        counters.lost += ahead - 1
        self.last = seq
        return ahead - 1


@dataclass
class InputPdu:
    """A data PDU that is received: how to take it apart and where its values go.

    :ivar indices: position of each value in the receiver's list of values
    :ivar converters: conversion of each value, None where none is needed
    :ivar pending: values that arrived and have not taken effect yet
    """

    data_id: int
    codec: PayloadCodec
    indices: Sequence[int]
    converters: Sequence[Callable[[Value], Value] | None]
    scope: int = Scope.INITIALIZATION_RUN_NRT
    max_missed: int | None = None
    watch: SequenceWatch = field(default_factory=SequenceWatch)
    pending: Sequence[Value] | None = None
    history: tuple[Sequence[Value], Sequence[Value]] | None = None
    newest: Sequence[Value] | None = None

    def __post_init__(self) -> None:
        self._plain = not any(self.converters)
        self._slice = _straight(self.indices)

    def take(self, data: bytes) -> None:
        """Unpack the payload of ``data`` into ``pending``.

        :raises PduError: wrong length or undecodable
        """
        self.pending = self.decode(data)

    def decode(self, data: bytes) -> Sequence[Value]:
        """The values in the payload of ``data``, converted; keeps none of them.

        :raises PduError: wrong length or undecodable
        """
        values: Sequence[Value] = self.codec.unpack(data, HEADER.size)
        if not self._plain:
            values = [
                value if convert is None else convert(value)
                for value, convert in zip(values, self.converters, strict=True)
            ]
        return values

    def apply(self, target: list[Value]) -> None:
        """Move the pending values to their places in ``target``."""
        values = self.pending
        if values is None:
            return
        self.pending = None
        if self.newest is not None:
            self.history = (self.newest, values)
        self.newest = values
        self.put(values, target)

    def put(self, values: Sequence[Value], target: list[Value]) -> None:
        """Write values to their places in ``target``."""
        if self._slice is not None:
            target[self._slice] = values
        else:
            for index, value in zip(self.indices, values, strict=True):
                target[index] = value

    def extrapolated(self) -> Sequence[Value] | None:
        """Next values on the line through the last two; None without two of them.

        Only floats are continued, everything else keeps its last value.
        """
        if self.history is None:
            return self.newest
        before, now = self.history
        guess = [_continue(a, b) for a, b in zip(before, now, strict=True)]
        self.history = (now, guess)
        self.newest = guess
        return guess


def _straight(indices: Sequence[int]) -> slice | None:
    """The same places as a slice, if they follow each other."""
    low = indices[0] if indices else 0
    places = range(low, low + len(indices))
    return slice(places.start, places.stop) if list(indices) == list(places) else None


def _continue(before: Any, now: Any) -> Any:
    if isinstance(now, tuple) and isinstance(before, tuple) and len(now) == len(before):
        return tuple(_continue(a, b) for a, b in zip(before, now, strict=True))
    return now + (now - before) if isinstance(now, float) else now


@dataclass
class OutputPdu:
    """A data PDU that is sent.

    :ivar indices: position of each value in the sender's list of values
    :ivar targets: where it goes, in the transport's own terms
    :ivar sent: how many have been encoded; the sequence id counts them
    """

    data_id: int
    codec: PayloadCodec
    indices: Sequence[int]
    scope: int = Scope.INITIALIZATION_RUN_NRT
    steps: int = 1
    targets: list[Any] = field(default_factory=list)
    kind: PduType = PduType.DAT_input_output
    sent: int = 0

    def __post_init__(self) -> None:
        self._kind = int(self.kind)
        self._slice = _straight(self.indices)

    def encode(self, values: Sequence[Value]) -> bytes:
        """The next PDU with values from ``values``; increments the sequence id.

        :raises PduError: a value does not fit its type
        """
        if self._slice is not None and len(values) >= self._slice.stop:
            sent = values[self._slice]
        else:
            sent = [values[index] for index in self.indices]
        payload = self.codec.pack(sent)
        data = HEADER.pack(self._kind, self.sent & 0xFFFF, self.data_id) + payload
        self.sent += 1
        return data
