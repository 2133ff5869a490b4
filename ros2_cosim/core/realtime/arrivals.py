# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""What decides which results of a slow part have arrived at an exchange, and its record.

An *arrival record* says for each exchange how many computations the fast part found complete
since the one before. That is all the coupling needs to give the same results again.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from ros2_cosim.core.documents.files import cause_of, write_atomically
from ros2_cosim.core.documents.plain_data import read_record
from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.kernel.random_streams import LatencyDistribution, RandomStream
from ros2_cosim.core.kernel.time import NEVER, saturating_add
from ros2_cosim.core.realtime.coupling import Sent

ARRIVALS_FILE = "arrivals.json"
FORMAT = "ros2_cosim arrivals 1"


class Arrivals(Protocol):
    """Decides how many pending computations are complete."""

    #: Whether a wall clock decides, so that no other run need be the same.
    depends_on_wall_clock: bool

    def complete(self, te: int, pending: Sequence[Sent]) -> int:
        """How many of the pending computations, oldest first, are complete at ``te`` [ns]."""


class InTime:
    """Every result is waited for: runs as fast as possible."""

    depends_on_wall_clock = False

    def complete(self, te: int, pending: Sequence[Sent]) -> int:
        """See :class:`Arrivals`."""
        return len(pending)


class DrawnLateness:
    """Computing times drawn from a seeded stream, in simulated time: lateness for tests.

    A computation begins when its data are there and the one before it is complete; it takes
    no time, or with ``probability`` a time drawn from ``delay``. A result that is complete
    ``budget_ns`` after it is due, or earlier, is in time.

    :param stream: random numbers of this participant
    :param probability: of a computation that takes long, 0..1
    :param delay: how long
    """

    depends_on_wall_clock = False

    def __init__(
        self,
        stream: RandomStream,
        probability: float,
        delay: LatencyDistribution,
        *,
        budget_ns: int = 0,
    ) -> None:
        self._stream = stream
        self._probability = probability
        self._delay = delay
        self._budget = budget_ns
        self._free_at = NEVER
        self._ends: list[int] = []
        self._started = 0
        self.computing_ns = 0

    def complete(self, te: int, pending: Sequence[Sent]) -> int:
        """See :class:`Arrivals`."""
        for sent in pending[len(self._ends) :]:
            is_long = self._stream.bernoulli(self._probability)
            takes = self._delay.draw(self._stream) if is_long else 0
            self.computing_ns += takes
            # Without idle: the next one begins as soon as the one before is complete.
            self._free_at = saturating_add(max(sent.stamp, self._free_at), takes)
            self._ends.append(self._free_at)
        count = sum(end <= te + self._budget for end in self._ends)
        del self._ends[:count]
        return count


class RecordedArrivals:
    """Arrivals of an earlier run: the same results again.

    :param counts: time of an exchange [ns] -> completed computations, where that was not all
    """

    depends_on_wall_clock = False

    def __init__(self, counts: Mapping[int, int]) -> None:
        self._counts = dict(counts)

    def complete(self, te: int, pending: Sequence[Sent]) -> int:
        """See :class:`Arrivals`."""
        return min(self._counts.get(te, len(pending)), len(pending))


class ArrivalLog:
    """Notes what another source of arrivals decides, where not everything was complete."""

    def __init__(self, source: Arrivals) -> None:
        self._source = source
        self.depends_on_wall_clock = source.depends_on_wall_clock
        #: (time of the exchange [ns], completed computations).
        self.incomplete: list[tuple[int, int]] = []

    def complete(self, te: int, pending: Sequence[Sent]) -> int:
        """See :class:`Arrivals`."""
        count = self._source.complete(te, pending)
        if count < len(pending):
            self.incomplete.append((te, count))
        return count


def write_arrivals(directory: Path, arrivals: Mapping[str, Sequence[Sequence[int]]]) -> Path:
    """Write the arrival record of a run.

    :param arrivals: participant -> (time of an exchange [ns], completed computations)
    :returns: the path of the file
    """
    path = directory / ARRIVALS_FILE
    content = {"format": FORMAT, "participants": {n: list(a) for n, a in sorted(arrivals.items())}}
    write_atomically(path, json.dumps(content) + "\n")
    return path


def read_arrivals(path: Path) -> dict[str, dict[int, int]]:
    """Read an arrival record.

    :returns: participant -> time of an exchange [ns] -> completed computations
    :raises ConfigurationError: it cannot be read or is not an arrival record
    """
    try:
        content: Any = read_record(path)
        if content["format"] != FORMAT:
            raise ValueError(f"format {content['format']!r}")
        result: dict[str, dict[int, int]] = {}
        for name, points in content["participants"].items():
            counts = {time: count for time, count in points}
            if not all(type(n) is int and n >= 0 for pair in counts.items() for n in pair):
                raise ValueError(f"times and counts of {name}")
            result[name] = counts
        return result
    except OSError as error:
        raise ConfigurationError(f"{path} cannot be read: {cause_of(error)}") from None
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ConfigurationError(f"{path} is not an arrival record: {error}") from None
