# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""What the threads of a run spent their wall time on, as spans: one file for each process.

A file is a line of JSON, which says what its numbers mean, and rows of five 64-bit integers (little
endian): kind, name, begin and end [ns, a monotonic clock that all processes of a host share], and
simulated time [ns]. The spans of one file follow each other: they are those of one thread.
"""

from __future__ import annotations

import json
import sys
import time
from array import array
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ros2_cosim.core.documents.files import cause_of, write_atomically
from ros2_cosim.core.documents.plain_data import json_value
from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.kernel.graph import Graph
from ros2_cosim.core.kernel.model import FullModel
from ros2_cosim.core.kernel.sequential import SequentialScheduler

#: Directory of these files below the output directory of a run.
SPANS_DIRECTORY = "profile"
#: So many rows are kept for each process, 40 MB: what follows is left out.
MOST_ROWS = 1_000_000
_ROW = 5
_LONGEST_HEADER = 1_000_000

#: Kinds of spans: what a thread does; and, without duration, that it has sent to a process.
KINDS = (
    "read",
    "compute",
    "serialise",
    "send",
    "report",
    "wait",
    "receive",
    "work",
    "sent",
    "record",
    "simulator",
    "turn",
)
READ, COMPUTE, SERIALISE, SEND, REPORT, WAIT, RECEIVE, WORK, SENT, RECORD, SIMULATOR, TURN = range(
    len(KINDS)
)


class Span(NamedTuple):
    """One row: ``name`` is a participant, of ``sent`` the node that gets it; empty: all of them."""

    kind: int
    name: str
    begin: int
    end: int
    time: int


class Spans:
    """Those of one process, as they are recorded.

    :param process: its name
    :param participants: those in it
    :param clock: monotonic [ns]
    :param works: between its waits it does nothing but its own work, which is not an activation
    """

    def __init__(
        self,
        process: str,
        participants: Sequence[str],
        clock: Callable[[], int],
        *,
        works: bool = False,
    ) -> None:
        self.process = process
        self.clock = clock
        self._participants = list(participants)
        self._works = works
        self._rows = array("q")
        self._names: dict[str, int] = {"": 0}
        self._last_end: int | None = None
        #: End of the last span [ns].
        self._noted_to: int | None = None

    def add(self, kind: int, name: str, begin: int, end: int, time: int = 0) -> None:
        """Add a span, which ends after all before."""
        if len(self._rows) < MOST_ROWS * _ROW:
            number = self._names.setdefault(name, len(self._names))
            self._rows.extend((kind, number, begin, end, time))
        self._noted_to = end

    def turn(self, name: str) -> None:
        """It is the turn of a participant, or of none of the thread's: that has been found out."""
        now = self.clock()
        if self._noted_to is not None:
            self.add(TURN, name, self._noted_to, now)

    def spun(self, began: int, slept: int, woke: int, ended: int) -> None:
        """Take what a wait consisted of: sending, sleeping, receiving [ns]."""
        if self._works and self._last_end is not None:
            self.add(WORK, "", self._last_end, began)
        self._last_end = ended
        self.add(SEND, "", began, slept)
        self.add(WAIT, "", slept, woke)
        self.add(RECEIVE, "", woke, ended)

    def sent(self, at: int, node: str) -> None:
        """Something leaves for the process of a node [ns]."""
        self.add(SENT, node, at, at)

    def save(self, directory: Path) -> None:
        """Write the file of this process.

        :raises OSError: that is not possible
        """
        rows = self._rows
        if sys.byteorder == "big":
            rows = array("q", rows)
            rows.byteswap()
        header = {
            "process": self.process,
            "participants": self._participants,
            "names": list(self._names),
            "rows": len(self._rows) // _ROW,
        }
        directory.mkdir(exist_ok=True)
        path = directory / f"{self.process}.spans"
        write_atomically(path, json.dumps(header).encode() + b"\n" + rows.tobytes())


class Activations:
    """The spans of one participant's activations.

    Hand :meth:`timer` to its runtime, which calls it when the model begins and when it returns.

    :param spans: of its process
    :param name: the participant
    """

    def __init__(self, spans: Spans, name: str) -> None:
        self._spans = spans
        self._name = name
        self._computed = (0, 0)
        #: When the model waited for another process, of the activation that is going on.
        self._waits: list[tuple[int, int]] = []
        self._slept = 0

    def timer(self) -> int:
        """The present time [ns]."""
        now = self._spans.clock()
        self._computed = (self._computed[1], now)
        return now

    def activated(self, since: int, time: int) -> int:
        """An activation is over, which the thread has been at since then; the present time [ns]."""
        now = self._spans.clock()
        mark, ended = self._computed
        add, name = self._spans.add, self._name
        add(READ, name, since, mark, time)
        for slept, woke in self._waits:
            add(COMPUTE, name, mark, slept, time)
            add(WAIT, name, slept, woke, time)
            mark = woke
        self._waits.clear()
        add(COMPUTE, name, mark, ended, time)
        add(SERIALISE, name, ended, now, time)
        return now

    def sleeps(self) -> None:
        """The model begins to wait for another process."""
        self._slept = self._spans.clock()

    def woke(self) -> None:
        """The wait is over."""
        self._waits.append((self._slept, self._spans.clock()))

    def sent(self, process: str) -> None:
        """Something leaves for a process."""
        self._spans.sent(self._spans.clock(), process)

    def did(self, kind: int, since: int, time: int = 0) -> int:
        """The thread has been at something since then; the present time [ns]."""
        now = self._spans.clock()
        self._spans.add(kind, self._name, since, now, time)
        return now


class Chronicle:
    """What one thread does, without gaps: each note says what it has done since the one before.

    :param spans: of its process
    """

    def __init__(self, spans: Spans) -> None:
        self._spans = spans
        self._mark = spans.clock()

    def did(self, kind: int, name: str = "", time: int = 0) -> int:
        """The thread has been at something since the last note; the present time [ns]."""
        now = self._spans.clock()
        self._spans.add(kind, name, self._mark, now, time)
        self._mark = now
        return now

    def sleeps(self) -> None:
        """The thread begins to wait for another process, after its own work."""
        self.did(WORK)

    def woke(self) -> None:
        """The wait is over."""
        self.did(WAIT)

    def simulates(self, is_over: bool) -> None:
        """A simulator is called, or has returned."""
        self.did(SIMULATOR if is_over else WORK)

    def sent(self, process: str) -> None:
        """Something leaves for a process."""
        self._spans.sent(self._spans.clock(), process)


class SequenceChronicle(Chronicle):
    """What the thread of a sequential scheduler does.

    See :func:`noted_scheduler`.

    :ivar scheduler: says which activation is going on
    """

    def __init__(self, spans: Spans) -> None:
        super().__init__(spans)
        self.scheduler: SequentialScheduler | None = None
        self._computes = False

    def timer(self) -> int:
        """A model begins, or returns; the present time [ns]."""
        kind = COMPUTE if self._computes else READ
        self._computes = not self._computes
        return self._of_activation(kind)

    def delivers(self, is_over: bool) -> None:
        """What an activation has sent is handed over now, or has been."""
        if is_over:
            self._of_activation(SEND)
        else:
            # A model may send while it computes.
            self._of_activation(COMPUTE if self._computes else SERIALISE)

    def publishes(self) -> None:
        """A message is recorded next: until now it was handed over."""
        self._of_activation(SEND)

    def recorded(self) -> None:
        """A message has been recorded."""
        self._of_activation(RECORD)

    def paces(self, is_over: bool) -> None:
        """It waits for the wall clock now, or has done so."""
        self.did(WAIT if is_over else REPORT)

    def sleeps(self) -> None:
        """The model begins to wait for another process."""
        if self._computes:
            self._of_activation(COMPUTE)
        else:
            self.did(REPORT)

    def woke(self) -> None:
        """The wait is over."""
        if self._computes:
            self._of_activation(WAIT)
        else:
            self.did(WAIT)

    def _of_activation(self, kind: int) -> int:
        scheduler = self.scheduler
        assert scheduler is not None
        return self.did(kind, scheduler.active or "", scheduler.now)


def noted_scheduler(
    chronicle: SequenceChronicle | None,
    graph: Graph,
    models: Mapping[str, FullModel],
    **settings: Any,
) -> SequentialScheduler:
    """A scheduler that a chronicle, if there is one, notes the time of."""
    if chronicle is None:
        return SequentialScheduler(graph, models, timer=time.perf_counter_ns, **settings)
    chronicle.scheduler = SequentialScheduler(
        graph, models, timer=chronicle.timer, on_delivery=chronicle.delivers, **settings
    )
    return chronicle.scheduler


class SpanFile(NamedTuple):
    """What is read from a file; ``is_cut``: there were more spans than are kept."""

    process: str
    participants: list[str]
    spans: list[Span]
    is_cut: bool = False


def read_spans(path: Path) -> SpanFile:
    """Read the file of a process.

    :raises ConfigurationError: it is not a file of spans
    """
    try:
        data = path.read_bytes()
        line, _, rest = data.partition(b"\n")
        if len(line) > _LONGEST_HEADER:
            raise ValueError("its first line is too long")
        header = json_value(line)
        names = [str(name) for name in header["names"]]
        wanted = header["rows"] * _ROW * 8
        if len(rest) != wanted:
            raise ValueError(f"found {len(rest)} bytes behind its first line, not {wanted}")
        rows = array("q")
        rows.frombytes(rest)
        if sys.byteorder == "big":
            rows.byteswap()
        spans = [
            Span(rows[i], names[rows[i + 1]], rows[i + 2], rows[i + 3], rows[i + 4])
            for i in range(0, len(rows), _ROW)
        ]
        if any(not 0 <= span.kind < len(KINDS) for span in spans):
            raise ValueError("it has spans of no kind")
        return SpanFile(
            str(header["process"]),
            [str(n) for n in header["participants"]],
            spans,
            len(spans) >= MOST_ROWS,
        )
    except (OSError, ValueError, KeyError, IndexError, TypeError) as error:
        raise ConfigurationError(f"{path}: no spans of a process: {cause_of(error)}") from None
