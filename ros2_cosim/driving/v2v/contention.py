# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Which frames go over the air when many stations share a channel: CSMA/CA of IEEE 802.11.

A station listens before it sends. How long it waits depends on the access category of the frame:
the inter-frame space, then after a busy channel a number of slots of 13 us. Two queues of one
vehicle do not meet on the air: the frame of the higher category goes first.
"""

from __future__ import annotations

import heapq
from bisect import bisect_right
from collections.abc import Sequence
from typing import Final, NamedTuple

from ros2_cosim.core.kernel.random_streams import RandomStream

SLOT_NS: Final = 13_000
AIFS_NS: Final = 110_000
CONTENTION: Final = 15
#: Short inter-frame space [ns]; AIFS is that and so many slots as the category has.
_SIFS_NS: Final = 32_000


class Category(NamedTuple):
    """An access category: its rank, 0 the highest, inter-frame space [ns] and most slots."""

    rank: int
    aifs: int
    contention: int


VOICE: Final = Category(0, _SIFS_NS + 2 * SLOT_NS, 3)
"""Of frames of the DCC profile DP0, as warnings of a dangerous situation."""
BEST_EFFORT: Final = Category(2, AIFS_NS, CONTENTION)
"""Of frames of the DCC profile DP2, as CAMs."""


class RadioFrame(NamedTuple):
    """What one station sends, in nanoseconds of a beacon period."""

    station: int
    begin: int
    end: int


class Attempt(NamedTuple):
    """A station that will send, if it hears nothing before.

    It has waited since ``counting``, its inter-frame space before included; ``is_first``: it has
    not met a busy channel yet, and waits for no slots. ``owner``: the vehicle, whose other queues
    it knows of.
    """

    send: int
    rank: int
    station: int
    owner: int
    counting: int
    slots: int
    is_first: bool


def attempt(ready: int, station: int, owner: int, category: Category = BEST_EFFORT) -> Attempt:
    """A station has a frame from a time on [ns]."""
    send = ready + category.aifs
    return Attempt(send, category.rank, station, owner, send, 0, True)


def sent_frames(
    attempts: list[Attempt],
    hears: Sequence[Sequence[bool]],
    lengths: Sequence[int],
    period_ns: int,
    stream: RandomStream,
    before: Sequence[RadioFrame] = (),
) -> list[RadioFrame]:
    """What goes over the air in one period; in the order of time.

    :param attempts: the stations that have a frame; those left have not begun by the end
    :param hears: of each station, whether it hears each other one
    :param lengths: of the frame of each station [ns]
    :param stream: draws the slots
    :param before: frames of the period before that last into this one, or nearly so
    """
    heapq.heapify(attempts)
    sent = list(before)
    begins = [frame.begin for frame in sent]
    owners = {item.station: item.owner for item in attempts}
    longest = max(lengths, default=0)
    while attempts and attempts[0].send < period_ns:
        now = heapq.heappop(attempts)
        category = _CATEGORIES[now.rank]
        # Frames that ended before it began to wait are of no matter: most of them are left out.
        first = bisect_right(begins, now.counting - category.aifs - longest)
        heard = _heard(now, sent, first, hears[now.station], owners, category.aifs)
        if heard is None:
            begins.append(now.send)
            sent.append(RadioFrame(now.station, now.send, now.send + lengths[now.station]))
            continue
        if now.is_first:
            slots = stream.integers(category.contention + 1)
        else:
            slots = now.slots - max(0, heard.begin - now.counting) // SLOT_NS
        counting = heard.end + category.aifs
        heapq.heappush(
            attempts,
            now._replace(
                send=counting + slots * SLOT_NS, counting=counting, slots=slots, is_first=False
            ),
        )
    return sent[len(before) :]


_CATEGORIES: Final = {item.rank: item for item in (VOICE, BEST_EFFORT)}


def _heard(
    now: Attempt,
    sent: Sequence[RadioFrame],
    first: int,
    hears: Sequence[bool],
    owners: dict[int, int],
    aifs: int,
) -> RadioFrame | None:
    """The first frame that the station hears while it waits, of those from a number on."""
    for number in range(first, len(sent)):
        frame = sent[number]
        if frame.begin >= now.send and owners.get(frame.station) != now.owner:
            continue  # it begins at the same time
        if hears[frame.station] and frame.end > now.counting - aifs:
            return frame
    return None
