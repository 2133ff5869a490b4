# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Latched inputs: what a participant reads is what its writers sent last.

Where activations run in the order of their times, all readers of an output port share what it
holds, and participants with the same connections share what all their ports hold: a platoon, in
which each sensor reads every vehicle, reads each vehicle once.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

from ros2_cosim.core.kernel.sample import Sample
from ros2_cosim.core.kernel.time import NEVER
from ros2_cosim.core.kernel.trace import IS_COMPILED, MOMENT

#: Channel, stamp and sequence number of what was read, as the trace records it.
REFERENCE: Final = struct.Struct("<IqQ").pack
_REFERENCE_BYTES: Final = 20
#: The first of them.
_NUMBER: Final = struct.Struct("<I").pack


class ArrivalCount:
    """How many samples have arrived at the channels that count here."""

    __slots__ = ("count",)

    def __init__(self) -> None:
        self.count = 0


class LatchedChannel:
    """Zero-order hold over the samples of one output port.

    Several readers may share one if what they read as time never decreases among them.

    :param arrivals: where it counts what arrives, if somewhere
    :param at_once: samples arrive at the time of their stamps, and what reads later does so at no
        earlier time: each takes the place of the one before. What waits for hundreds of readers
        would not fit into the processor's caches
    """

    __slots__ = (
        "_arrivals", "_at_once", "changes", "delayed", "newest", "pending", "push", "seq", "stamp",
    )  # fmt: skip

    def __init__(
        self, delayed: bool, arrivals: ArrivalCount | None = None, at_once: bool = False
    ) -> None:
        self.delayed = delayed
        #: What was read last, its stamp and its sequence number.
        self.newest: Sample | None = None
        self.stamp = NEVER
        self.seq = 0
        #: How often that has changed.
        self.changes = 0
        #: Not read yet.
        self.pending: list[Sample] = []
        self._arrivals = arrivals
        self._at_once = arrivals is not None and at_once and not delayed
        #: Store a sample; stamps on one connection never decrease.
        self.push: Callable[[Sample], None]
        self.push = self.pending.append if arrivals is None else self.take

    def take(self, sample: Sample) -> None:
        """Do as ``push``: compiled, this one is called without looking for it."""
        arrivals = self._arrivals
        if arrivals is not None:
            arrivals.count += 1
        if self._at_once:
            self.newest = sample
            self.stamp, self.seq, _ = sample
            self.changes += 1
        else:
            self.pending.append(sample)

    def advance(self, time: int) -> int:
        """Go on to the newest sample stamped <= time (< time if delayed).

        :param time: of an activation [ns]; it never decreases
        :returns: how often what is read has changed so far
        """
        pending = self.pending
        if not pending:
            return self.changes
        limit = time - 1 if self.delayed else time
        count = 0
        for sample in pending:
            if sample[0] > limit:
                break
            count += 1
        if count:
            newest = pending[count - 1]
            self.newest = newest
            self.stamp, self.seq, _ = newest
            self.changes += count
            if count == len(pending):
                pending.clear()  # as a rule; faster than to cut it
            else:
                del pending[:count]
        return self.changes

    def read(self, time: int) -> Sample | None:
        """The newest sample that is visible at a time, which never decreases."""
        self.advance(time)
        return self.newest

    def foreseen(self, time: int) -> Sample | None:
        """What would be visible at a later time, if nothing more came before."""
        limit = time - 1 if self.delayed else time
        newest = self.newest
        for sample in self.pending:
            if sample[0] > limit:
                break
            newest = sample
        return newest


class LatchedPort:
    """An input port that holds values, and where they come from.

    :ivar numbers: number of each connection among those of the participant
    :ivar channels: what each of them holds
    """

    __slots__ = ("_packed_numbers", "changes", "channels", "name", "numbers", "reference")

    def __init__(self, name: str) -> None:
        self.name = name
        self.numbers: list[int] = []
        self._packed_numbers: list[bytes] = []
        self.channels: list[LatchedChannel] = []
        #: How often they had changed together at the last look, and what was held then, as the
        #: trace records it.
        self.changes = -1
        self.reference = b""

    def add(self, number: int, channel: LatchedChannel) -> None:
        """Hold what comes by one more connection."""
        self.numbers.append(number)
        self._packed_numbers.append(_NUMBER(number))
        self.channels.append(channel)

    def newest(self) -> Sample | None:
        """What it holds; sets ``reference``."""
        newest: Sample | None = None
        stamp, seq, found = NEVER, 0, 0
        for index, channel in enumerate(self.channels):
            # Later channels win ties: one fixed order for equal stamps.
            if channel.newest is not None and (newest is None or channel.stamp >= stamp):
                newest, stamp, seq, found = channel.newest, channel.stamp, channel.seq, index
        if newest is not None:
            if IS_COMPILED:
                self.reference = self._packed_numbers[found] + MOMENT.of(stamp, seq)
            else:
                self.reference = REFERENCE(self.numbers[found], stamp, seq)
        return newest

    def foreseen(self, time: int) -> Sample | None:
        """What it would hold at a later time, if nothing more came before."""
        newest: Sample | None = None
        for channel in self.channels:
            sample = channel.foreseen(time)
            if sample is not None and (newest is None or sample.stamp >= newest.stamp):
                newest = sample
        return newest


class LatchedInputs:
    """What the latched ports of a participant hold at the time of an activation.

    Participants that have the same connections may share one, as they may share channels.

    :param arrivals: where all of the channels count what arrives, if they do
    :ivar latest: port -> what it holds; another object each time that something has changed
    :ivar held: the same as a plain mapping, which nothing writes in
    :ivar references: what is held, as the trace records it
    :ivar count: so many samples are held
    """

    __slots__ = (
        "_arrivals", "_arrived", "_ports", "_time", "count", "held", "latest", "references",
    )  # fmt: skip

    def __init__(self, ports: list[LatchedPort], arrivals: ArrivalCount | None = None) -> None:
        self._ports = ports
        self._arrivals = arrivals
        #: Time of the last look [ns], and how many samples had arrived.
        self._time = NEVER
        self._arrived = -1
        self.held: dict[str, Sample | None] = {}
        self.latest: Mapping[str, Sample | None] = self.held
        self.references = b""
        self.count = 0

    def advance(self, time: int) -> None:
        """Go on to what is visible at a time [ns], which never decreases."""
        arrivals = self._arrivals
        if arrivals is not None:
            if time == self._time and arrivals.count == self._arrived:
                return  # another reader has just looked
            self._time, self._arrived = time, arrivals.count
        changed: list[LatchedPort] = []
        for port in self._ports:
            changes = 0
            for channel in port.channels:
                changes += channel.advance(time)
            if changes != port.changes:  # another reader may have looked since
                port.changes = changes
                changed.append(port)
        if changed:
            self._collect(changed)

    def foreseen(self, time: int) -> dict[str, Sample | None]:
        """What they would hold at a later time, if nothing more came before."""
        return {port.name: port.foreseen(time) for port in self._ports}

    def _collect(self, changed: list[LatchedPort]) -> None:
        # Readers keep what they got: they get another object.
        held = self.held.copy()
        for port in changed:
            held[port.name] = port.newest()
        self.held = held
        self.latest = MappingProxyType(held)
        if len(self._ports) == 1:
            self.references = self._ports[0].reference
        else:
            self.references = b"".join([port.reference for port in self._ports])
        self.count = len(self.references) // _REFERENCE_BYTES


class SharedInputs:
    """What participants have in common whose activations run in the order of their times."""

    def __init__(self) -> None:
        self._arrivals = ArrivalCount()
        #: By writer, output port, and whether the reader is delayed.
        self._channels: dict[tuple[str, str, bool], LatchedChannel] = {}
        #: By what identifies each port: its name, numbers of connections and their channels.
        self._inputs: dict[tuple[tuple[object, ...], ...], LatchedInputs] = {}

    def channel(
        self, source: str, port: str, delayed: bool, at_once: bool = False
    ) -> LatchedChannel:
        """What an output port holds for all readers.

        :param at_once: its samples are stamped with the time of the activation that sends them
        """
        key = source, port, delayed
        if key not in self._channels:
            self._channels[key] = LatchedChannel(delayed, self._arrivals, at_once)
        return self._channels[key]

    def inputs(self, ports: list[LatchedPort]) -> LatchedInputs:
        """What ports hold, whose channels are of :meth:`channel`, for all that have the same."""
        key = tuple((port.name, *port.numbers, *map(id, port.channels)) for port in ports)
        if key not in self._inputs:
            self._inputs[key] = LatchedInputs(ports, self._arrivals)
        return self._inputs[key]
