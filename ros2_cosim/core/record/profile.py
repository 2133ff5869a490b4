# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Where the wall time of a run went: by participant, by hop, and on the critical path.

The spans of a run (:mod:`~ros2_cosim.core.record.spans`) say what each thread did. The critical
path is found backwards from the end: through what a thread did to the wait before it, and from
there to the thread whose message ended that wait.
"""

from __future__ import annotations

import json
import math
from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ros2_cosim.core.documents.files import read_bounded, write_atomically
from ros2_cosim.core.documents.plain_data import json_value
from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.messages.namespaces import process_name_of
from ros2_cosim.core.record.spans import (
    KINDS,
    READ,
    SENT,
    SPANS_DIRECTORY,
    WAIT,
    Span,
    SpanFile,
    read_spans,
)
from ros2_cosim.core.record.summary import Summary, read_summary

PROFILE_FILE = "profile.json"
#: What a participant's thread does that no span names.
_LOOP = "loop"
_WAKE_UP = "wake-up"
_ELSEWHERE = "other process"
#: Less than this share of a computation is not a wait for another process.
_SEEN_SHARE = 0.01
#: A critical path of more pieces than this is that of a run too long to be read by a human.
_MOST_PIECES = 5_000_000

#: A profile has a few lines for each participant and hop [bytes].
_LARGEST = 16 << 20


class CriticalPiece(NamedTuple):
    """A part of the critical path [ns]."""

    process: str
    participant: str
    kind: str
    begin: int
    end: int


class _Thread:
    """The spans of one process, clipped to the run."""

    def __init__(self, file: SpanFile, begin: int, end: int) -> None:
        self.process = file.process
        self.participants = file.participants
        clipped = [
            span._replace(begin=max(span.begin, begin), end=min(span.end, end))
            for span in file.spans
        ]
        self.spans = [span for span in clipped if span.begin < span.end]
        self.begins = [span.begin for span in self.spans]
        self.sent = [span for span in file.spans if span.kind == SENT]


def _end_of(files: Sequence[SpanFile], begin: int) -> int:
    """When the last named span ends, or the first file that is cut."""
    ends = (s.end for file in files for s in file.spans if s.name and s.kind != SENT)
    cut = (file.spans[-1].end for file in files if file.is_cut)
    return min([max(ends, default=begin), *cut])


class Profile:
    """The account of one run.

    :param summary: of the run
    :param files: the spans of its processes
    :raises ConfigurationError: there are none of activations
    """

    def __init__(self, summary: Summary, files: Sequence[SpanFile]) -> None:
        of_participants = [file for file in files if file.participants]
        own = [span for file in of_participants for span in file.spans if span.kind == READ]
        if not own:
            raise ConfigurationError("the profile has no activation")
        self._summary = summary
        self.begin = min(span.begin for span in own)
        self.end = _end_of(files, self.begin)
        self._steps = summary.steps
        if any(file.is_cut for file in files):  # the account is of the beginning of the run
            kept = Counter(span.name for span in own if span.begin < self.end)
            self._steps = max(kept.values())
        if self.end <= self.begin:
            raise ConfigurationError("the activations of the profile take no time")
        self._threads = {
            file.process: _Thread(file, self.begin, self.end) for file in files if file.spans
        }
        self._arrivals = self._find_arrivals()
        self.path = list(self._walk())

    def _find_arrivals(self) -> dict[str, list[tuple[int, str]]]:
        """Process -> (when something left for it, from which process), in order."""
        place = {name: t.process for t in self._threads.values() for name in t.participants}
        found: dict[str, list[tuple[int, str]]] = {name: [] for name in self._threads}
        for thread in self._threads.values():
            for span in thread.sent:
                node = process_name_of(span.name.rpartition("/")[2])
                target = place.get(node, node)
                if target in found:
                    found[target].append((span.begin, thread.process))
        return {name: sorted(arrivals) for name, arrivals in found.items()}

    def _cause(self, process: str, begin: int, end: int) -> tuple[int, str] | None:
        """The message that ended a wait: when and by which process it was sent."""
        arrivals = self._arrivals[process]
        index = bisect_right(arrivals, (end, "\U0010ffff")) - 1
        return arrivals[index] if index >= 0 and arrivals[index][0] > begin else None

    def _walk(self) -> Iterator[CriticalPiece]:
        """The critical path, from its end to its beginning."""
        last = max(
            (thread for thread in self._threads.values() if thread.participants),
            key=lambda thread: max((span.end for span in thread.spans if span.name), default=0),
        )
        process, time = last.process, self.end
        for _ in range(_MOST_PIECES):
            thread = self._threads[process]
            index = bisect_left(thread.begins, time) - 1
            if time <= self.begin or index < 0:
                return
            span = thread.spans[index]
            if span.end < time:  # no span covers this time
                yield CriticalPiece(process, "", _LOOP, span.end, time)
                time = span.end
                continue
            cause = self._cause(process, span.begin, time) if span.kind == WAIT else None
            if cause is None:
                yield CriticalPiece(process, span.name, KINDS[span.kind], span.begin, time)
                time = span.begin
            else:
                sent, sender = cause
                yield CriticalPiece(process, f"{sender} to {process}", _WAKE_UP, sent, time)
                process, time = sender, sent

    @property
    def wall_ns(self) -> int:
        """From the first activation to the end of the last one [ns]."""
        return self.end - self.begin

    @property
    def explained_share(self) -> float:
        """Of the wall time, in the process of participants where the least of it is named."""
        shares = [
            sum(span.end - span.begin for span in thread.spans) / self.wall_ns
            for thread in self._threads.values()
            if thread.participants
        ]
        return min(shares)

    def as_data(self) -> dict[str, Any]:
        """The content of ``profile.json``."""
        return {
            "scenario": self._summary.scenario,
            "wall_s": self.wall_ns / 1e9,
            "steps": self._steps,
            "explained_share": round(self.explained_share, 4),
            "participants": self._participants(),
            "processes": self._processes(),
            "hops": self._hops(),
            "critical_path": self._critical_path(),
        }

    def _participants(self) -> dict[str, dict[str, float]]:
        """Per activation [us]: what it takes, by kind."""
        own = {p.name: p.compute_s * 1e9 for p in self._summary.participants}
        found: dict[str, dict[str, float]] = {}
        for thread in self._threads.values():
            totals: dict[str, dict[int, int]] = defaultdict(lambda: defaultdict(int))
            counts: dict[str, int] = defaultdict(int)
            for span in thread.spans:
                if span.name:
                    totals[span.name][span.kind] += span.end - span.begin
                    counts[span.name] += span.kind == READ
            for name in sorted(totals):
                count = max(counts[name], 1)
                entry = {KINDS[kind]: total / count for kind, total in sorted(totals[name].items())}
                # The summary counts as compute what was not spent on another process; waits for
                # it may be noted one by one.
                compute = entry.get("compute", 0.0)
                away = compute - own.get(name, math.inf) / count
                if WAIT not in totals[name] and away > _SEEN_SHARE * compute:
                    entry["compute"] -= away
                    entry[_ELSEWHERE] = away
                found[name] = {kind: round(ns / 1e3, 3) for kind, ns in entry.items()}
                found[name]["activations"] = counts[name]
        return found

    def _processes(self) -> dict[str, dict[str, float]]:
        """The share of each kind in the wall time of each process; ``loop`` is not named."""
        found = {}
        for name, thread in self._threads.items():
            totals: dict[str, float] = defaultdict(float)
            for span in thread.spans:
                totals[KINDS[span.kind]] += (span.end - span.begin) / self.wall_ns
            totals[_LOOP] = max(1.0 - sum(totals.values()), 0.0)
            found[name] = {kind: round(share, 4) for kind, share in totals.items()}
        return found

    def _hops(self) -> list[dict[str, Any]]:
        """Between processes: how often one woke the other, how long [us] it waited and awoke."""
        found: dict[tuple[str, str], list[int]] = defaultdict(lambda: [0, 0, 0])
        for thread in self._threads.values():
            for span in thread.spans:
                cause = self._cause(thread.process, span.begin, span.end)
                if span.kind != WAIT or cause is None:
                    continue
                hop = found[cause[1], thread.process]
                hop[0] += 1
                hop[1] += cause[0] - span.begin
                hop[2] += span.end - cause[0]
        return [
            {
                "from": source,
                "to": target,
                "count": count,
                "wait_us": round(wait / count / 1e3, 3),
                "wake_up_us": round(wake / count / 1e3, 3),
            }
            for (source, target), (count, wait, wake) in sorted(found.items())
        ]

    def _critical_path(self) -> list[dict[str, Any]]:
        """What the wall time of a step consists of, the largest part first."""
        totals: dict[tuple[str, str, str], int] = defaultdict(int)
        for piece in self.path:
            totals[piece.process, piece.participant, piece.kind] += piece.end - piece.begin
        steps = max(self._steps, 1)
        return [
            {
                "process": process,
                "participant": participant,
                "kind": kind,
                "share": round(total / self.wall_ns, 4),
                "us_per_step": round(total / steps / 1e3, 3),
            }
            for (process, participant, kind), total in sorted(
                totals.items(), key=lambda entry: -entry[1]
            )
        ]

    def perfetto(self) -> dict[str, Any]:
        """All spans as a Chrome trace, which Perfetto shows; the critical path is its own row.

        Times are in microseconds from the first activation.
        """
        events: list[dict[str, Any]] = []
        for number, thread in enumerate(self._threads.values(), 1):
            events += _names_of(number, thread.process)
            events += [_event(number, 1, span, self.begin) for span in thread.spans]
        number = len(self._threads) + 1
        events += _names_of(number, "critical path")
        for piece in reversed(self.path):
            span = Span(0, piece.participant or piece.process, piece.begin, piece.end, 0)
            event = _event(number, 1, span, self.begin)
            events.append({**event, "cat": piece.kind, "name": f"{span.name}: {piece.kind}"})
        return {"traceEvents": events, "displayTimeUnit": "ns"}


def _names_of(process: int, name: str) -> list[dict[str, Any]]:
    return [
        {"ph": "M", "pid": process, "tid": 1, "name": kind, "args": {"name": name}}
        for kind in ("process_name", "thread_name")
    ]


def _event(process: int, thread: int, span: Span, origin: int) -> dict[str, Any]:
    kind = KINDS[span.kind]
    event: dict[str, Any] = {
        "ph": "X",
        "pid": process,
        "tid": thread,
        "cat": kind,
        "name": f"{span.name}: {kind}" if span.name else kind,
        "ts": (span.begin - origin) / 1e3,
        "dur": (span.end - span.begin) / 1e3,
    }
    if span.name:
        event["args"] = {"simulated_s": span.time / 1e9}
    return event


def has_spans(run: Path) -> bool:
    """Whether a run was profiled."""
    return (run / SPANS_DIRECTORY).is_dir()


def read_profile(run: Path) -> Profile:
    """The account of a run.

    :raises ConfigurationError: it was not profiled, or what it left is damaged
    """
    if not has_spans(run):
        raise ConfigurationError(f"{run}: the run was not profiled; run it with --profile")
    files = [read_spans(path) for path in sorted((run / SPANS_DIRECTORY).glob("*.spans"))]
    return Profile(read_summary(run), files)


class PathRow(NamedTuple):
    """A part of the critical path of a step, for the report; times in us, shares in %."""

    process: str
    participant: str
    kind: str
    us_per_step: float
    percent: float


def path_rows(run: Path) -> list[PathRow]:
    """The critical path as ``profile.json`` has it, the largest part first; without one: empty."""
    try:
        found = json_value(read_bounded(run / PROFILE_FILE, _LARGEST))
        return [
            PathRow(
                str(part["process"]),
                str(part["participant"]),
                str(part["kind"]),
                float(part["us_per_step"]),
                100.0 * float(part["share"]),
            )
            for part in found["critical_path"]
        ]
    except (OSError, ValueError, TypeError, KeyError):
        return []


def write_profile(run: Path) -> Mapping[str, Any]:
    """Write ``profile.json`` of a profiled run, and give its content.

    :raises ConfigurationError: see :func:`read_profile`
    :raises OSError: it cannot be written
    """
    data = read_profile(run).as_data()
    write_atomically(run / PROFILE_FILE, json.dumps(data, indent=1) + "\n")
    return data
