# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Adaptive congestion control of ETSI TS 102 687 V1.2.1, 5.4 (LIMERIC), and its gate, annex B.

Each station may be on the air for a share delta of the time. Every 200 ms it moves delta towards
what brings the channel busy ratio to a target. N stations that always have something to send meet
at ``delta = beta target / (alpha + N beta)``, within the limits of delta.

The document itself was not seen. Numbers and steps are those of riebl/vanetza, commit 9811d58e,
``vanetza/dcc/limeric.hpp`` (table 3), ``limeric.cpp`` (5.4) and ``limeric_budget.cpp`` (annex B).
"""

from __future__ import annotations

from typing import Final

ALPHA: Final = 0.016
BETA: Final = 0.0012
TARGET: Final = 0.68
"""Channel busy ratio that is aimed at [1]."""
LEAST, MOST = 0.0006, 0.03
"""Limits of delta [1]."""
_RISE: Final = 0.0005
_FALL: Final = -0.00025
#: How long the channel busy ratio is measured; every second one is followed by an update [ns].
WINDOW_NS: Final = 100_000_000
SHORTEST_NS: Final = 25_000_000
"""The gate opens that long after the last frame began, or later [ns]."""
_LONGEST_NS: Final = 1_000_000_000


class AdaptiveControl:
    """The share of the time that one station may use.

    :ivar delta: that share [1]
    :param period_ns: between two measurements, a whole part of 100 ms
    """

    def __init__(self, period_ns: int) -> None:
        self.delta = 0.5 * (LEAST + MOST)
        self._parts = WINDOW_NS // period_ns
        self._heard: list[float] = []
        self._load: float | None = None
        self._on = 0

    def hear(self, busy: float) -> bool:
        """Take a measurement; say whether delta was updated.

        :param busy: share of the last period in which the channel was busy [1]
        """
        heard = self._heard
        heard.append(busy)
        if len(heard) < 2 * self._parts:
            return False
        # Two windows of equal length: their mean is that of all parts.
        mean = 0.0
        for part in heard:
            mean += part
        mean /= len(heard)
        heard.clear()
        self._load = mean if self._load is None else 0.5 * self._load + 0.5 * mean
        gap = TARGET - self._load
        offset = min(BETA * gap, _RISE) if gap > 0.0 else max(BETA * gap, _FALL)
        self.delta = min(max((1.0 - ALPHA) * self.delta + offset, LEAST), MOST)
        return True

    def sent(self, on_ns: int) -> None:
        """The station has sent a frame that lasts so long [ns]."""
        self._on = on_ns

    @property
    def interval(self) -> int:
        """From the begin of its last frame to that of the next one, at least [ns]."""
        return clamped(self._on / self.delta)


def clamped(interval: float) -> int:
    """An interval within the limits of the gate [ns]."""
    return min(max(round(interval), SHORTEST_NS), _LONGEST_NS)


class SaturatedStations:
    """Stations that always have a frame, and send it when their gate opens.

    All hear the same, so they have one delta. While a gate is closed, a new delta scales the time
    that is left (annex B, equation B.2). Clocks differ: stations that have begun together by
    chance would else do so for ever.

    :ivar control: of all of them
    :param opens: when each gate opens for the first time [ns]
    :param clocks: by how much each clock is fast [1]
    :param on_ns: length of a frame [ns]
    """

    def __init__(self, opens: list[int], clocks: list[float], on_ns: int, period_ns: int) -> None:
        self.control = AdaptiveControl(period_ns)
        self.control.sent(on_ns)
        self._on = on_ns
        self._opens = opens
        self._clocks = clocks
        self._began = [0] * len(opens)

    def ready(self, begin: int, end: int) -> list[tuple[int, int]]:
        """Station and time of each gate that opens in a span [ns]."""
        return [(n, time) for n, time in enumerate(self._opens) if begin <= time < end]

    def sent(self, station: int, begin: int) -> None:
        """A station has begun to send [ns]."""
        self._began[station] = begin
        interval = self.control.interval
        self._opens[station] = begin + round(interval * (1.0 - self._clocks[station]))

    def hear(self, busy: float, now: int) -> None:
        """Take a measurement of the period that ends now [1, ns]."""
        if not self.control.hear(busy):
            return
        full = self._on / self.control.delta
        for station, (began, opens) in enumerate(zip(self._began, self._opens, strict=True)):
            if opens > now and opens > began:
                left = (opens - now) * full / (opens - began)
                self._opens[station] = began + clamped(now - began + left)
