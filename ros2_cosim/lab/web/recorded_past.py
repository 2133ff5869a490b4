# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""What a dashboard missed that was started during a run; it reads that from the bag."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final

from ros2_cosim.core.kernel.errors import ProtocolError
from ros2_cosim.core.kernel.time import SECOND
from ros2_cosim.core.messages.catalogue import DEFAULT as CATALOGUE
from ros2_cosim.core.record.bag_reader import read_growing
from ros2_cosim.core.record.past import APART_NS
from ros2_cosim.lab.web.records_view import History, RecordsView

#: Types of messages that rows of the history are made of.
_KINDS: Final = (
    "nav_msgs/msg/Odometry",
    "geometry_msgs/msg/AccelStamped",
    "ros2_cosim/msg/ControlCommand",
    "ros2_cosim/msg/RoadUsers",
)
#: A long past is divided into this many intervals; the first messages of each are decoded.
_STRETCHES: Final = 3_000
#: Within which each vehicle tells where it is [ns].
_WINDOW_NS: Final = 120_000_000


class RecordedPast:
    """The history of a run: what was recorded before the view heard of it, then what it heard.

    A bag is written a second of simulated time at once, so that up to two seconds before the first
    message that was heard are missing until the run has gone on. A run without a bag, or with one
    on another host, has what was heard.

    :param bag: where the bag of the run is now
    :param topics: of the run -> type of the messages, and the vehicle that they describe
    :param view: hears the messages of the run
    """

    def __init__(
        self, bag: Callable[[], Path], topics: Mapping[str, tuple[str, str]], view: RecordsView
    ) -> None:
        self._bag = bag
        self._topics = {
            topic: (CATALOGUE.codec(kind), vehicle)
            for topic, (kind, vehicle) in topics.items()
            if kind in _KINDS
        }
        self._view = view
        self._lock = threading.Lock()
        self._before: History = {}
        #: The rows before this time [ns] are all there; None: not yet.
        self._whole_to: int | None = None

    def history(self) -> History:
        """Vehicle -> rows of ``HISTORY`` since the run began."""
        heard = self._view.history()
        if not heard:
            return heard
        first = round(min(rows[0][0] or 0.0 for rows in heard.values()) * SECOND)
        if first <= 0:
            return heard
        with self._lock:
            if self._whole_to != first:
                with suppress(OSError, ProtocolError):  # what was heard is shown in any case
                    self._read(first)
            before = self._before
        past = {
            name: [row for row in rows if round((row[0] or 0.0) * SECOND) < first]
            for name, rows in before.items()
        }
        names = dict.fromkeys([*heard, *past])
        return {name: [*past.get(name, ()), *heard.get(name, ())] for name in names}

    def _read(self, first: int) -> None:
        past = self._view.beginning()
        reached, apart = False, max(APART_NS, first // _STRETCHES)
        for message in read_growing(self._bag(), 0, first + SECOND):
            if message.stamp >= first:
                reached = True
                break
            if message.topic in self._topics and message.stamp % apart < _WINDOW_NS:
                codec, vehicle = self._topics[message.topic]
                past.take(vehicle, codec.decode(message.data)[2], message.stamp)
        self._before = past.history()
        self._whole_to = first if reached else None
