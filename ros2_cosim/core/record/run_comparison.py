# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Two recordings compared: what differs, where it began, and how that is said."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ros2_cosim.core.kernel.time import format_ns
from ros2_cosim.core.record.bag_reader import topic_types
from ros2_cosim.core.record.causes import (
    Cause,
    InputRead,
    RunRecording,
    find_recording,
    settings_that_differ,
    trace_causes,
)
from ros2_cosim.core.record.comparison import Comparison, FieldCounts, Rules, compare_bags
from ros2_cosim.core.record.message_fields import Value
from ros2_cosim.core.record.summary import SUMMARY_FILE, read_summary


@dataclass(frozen=True)
class RunComparison:
    """Two recordings, and what comparing them has found.

    :ivar first: the first message that differs, None if none does
    :ivar origin: of those with the stamp of the first, the one whose inputs were all equal
    :ivar settings: setting of the scenarios that differs -> its values
    :ivar notes: sentences about what the numbers do not tell
    """

    a: RunRecording
    b: RunRecording
    messages: Comparison
    first: Cause | None
    origin: Cause | None
    settings: Mapping[str, tuple[Any, ...]]
    notes: tuple[str, ...]

    @property
    def equal(self) -> bool:
        """Whether no message differs."""
        return self.messages.equal

    def data(self) -> dict[str, Any]:
        """The result as JSON data; numbers that JSON lacks are texts."""
        totals = {
            key: sum(asdict(counts)[key] for counts in self.messages.topics.values())
            for key in ("a", "b", "different", "missing_in_a", "missing_in_b")
        }
        return {
            "equal": self.equal,
            "a": str(self.a.path),
            "b": str(self.b.path),
            "first": _cause_data(self.first),
            "origin": _cause_data(self.origin),
            "counts": {
                **totals,
                "topics": {name: asdict(c) for name, c in self.messages.topics.items()},
                "fields": [
                    {
                        "topic": entry.topic,
                        "field": entry.field,
                        "messages": entry.messages,
                        "largest": entry.largest,
                        "place": entry.place,
                        "largest_ns": entry.largest_ns,
                        "first_ns": entry.first_ns,
                    }
                    for entry in self.messages.fields.values()
                ],
            },
            "settings": [{"path": path, "a": a, "b": b} for path, (a, b) in self.settings.items()],
            "notes": list(self.notes),
        }


def compare_recordings(a: Path, b: Path, rules: Rules | None = None) -> RunComparison:
    """Compare the directories of two runs, or of two bags.

    :raises ConfigurationError: there is no complete recording, or a rule does not fit
    :raises ProtocolError: a bag is damaged
    """
    runs = (find_recording(a), find_recording(b))
    messages = compare_bags(runs[0].bag, runs[1].bag, rules)
    first, origin = trace_causes(messages, *runs) or (None, None)
    scenarios = [run.scenario for run in runs]
    settings: Mapping[str, tuple[Any, ...]] = {}
    if scenarios[0] is not None and scenarios[1] is not None:
        settings = settings_that_differ(scenarios[0], scenarios[1])
    return RunComparison(*runs, messages, first, origin, settings, tuple(_notes(*runs, messages)))


def show_value(value: Value | None) -> str:
    """A value as text; the shortest that gives the same number."""
    return "missing" if value is None else value if isinstance(value, str) else repr(value)


def show_largest(entry: FieldCounts) -> str:
    """The largest difference of a field as text; empty where there is no finite one."""
    return "" if entry.largest is None else f"{entry.largest:.3g}"


def facts_of(cause: Cause) -> list[tuple[str, str]]:
    """What is known of a message that differs, as labels and texts."""
    found = cause.difference
    facts = [("Time", format_ns(found.time_ns))]
    if cause.participant is not None:
        facts.append(("Sent by", f"{cause.participant}.{cause.port}"))
        if cause.activation_ns is not None:
            facts.append(("In its activation at", format_ns(cause.activation_ns)))
        else:
            facts.append(("In its activation at", "not known: the latency is drawn"))
    facts += [("Topic", found.topic), ("Message", f"number {found.number}, counted from 0")]
    if found.field is not None:
        facts.append(("Field", found.field))
    return [*facts, ("A", show_value(found.a)), ("B", show_value(found.b))]


def stamps_of(read: InputRead) -> str:
    """The stamp of the message that an input held, in both runs where they differ."""
    texts = ["none" if ns is None else format_ns(ns) for ns in (read.a_ns, read.b_ns)]
    return texts[0] if texts[0] == texts[1] else f"A {texts[0]}, B {texts[1]}"


def headed(result: RunComparison) -> list[tuple[str, Cause]]:
    """The messages to show, each with a heading."""
    shown = []
    if result.first is not None:
        shown.append(("First difference", result.first))
    if result.origin is not None and result.origin != result.first:
        shown.append(("Where it began, at the same time", result.origin))
    return shown


def _cause_data(cause: Cause | None) -> dict[str, Any] | None:
    if cause is None:
        return None
    found = cause.difference
    return {
        "time_ns": found.time_ns,
        "participant": cause.participant,
        "port": cause.port,
        "topic": found.topic,
        "number": found.number,
        "field": found.field,
        "a": _plain(found.a),
        "b": _plain(found.b),
        "activation_ns": cause.activation_ns,
        "inputs": [read._asdict() for read in cause.inputs],
    }


def _plain(value: Value | None) -> Value | None:
    """A value that JSON has."""
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


def _notes(a: RunRecording, b: RunRecording, messages: Comparison) -> list[str]:
    notes = []
    topics = [topic_types(run.bag).keys() & messages.topics.keys() for run in (a, b)]
    for name, missing in (("A", topics[0] - topics[1]), ("B", topics[1] - topics[0])):
        if missing:
            notes.append(f"Topics in {name} only: {', '.join(sorted(missing))}.")
    counts = messages.topics.values()
    if sum(c.a for c in counts) and sum(c.b for c in counts):
        if all(c.a == c.missing_in_b for c in counts):
            notes.append(
                "No message of A has stamp and topic of one of B: were they recorded by time of "
                "reception, or do they begin at different times?"
            )
    if messages.same_values:
        notes.append(
            f"{messages.same_values} messages have other bytes, but no difference that counts."
        )
    summaries = {
        name: read_summary(run.path, complete=False)
        for name, run in {"A": a, "B": b}.items()
        if (run.path / SUMMARY_FILE).is_file()
    }
    for name, summary in summaries.items():
        if not summary.complete:
            notes.append(f"Run {name} is not complete: {summary.end_reason}.")
    traces = [each.trace_sha256 for each in summaries.values() if each.complete]
    if messages.equal and len(traces) == 2:
        if traces[0] != traces[1]:
            notes.append(
                "The traces of the runs differ: activations took place at other times, read other "
                "messages, or sent some that are not compared."
            )
    return notes
