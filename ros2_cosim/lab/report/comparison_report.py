# SPDX-License-Identifier: Apache-2.0
"""A comparison of two recordings as one self-contained page with plots."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from ros2_cosim.core.documents.files import write_atomically
from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.kernel.time import format_ns, to_seconds
from ros2_cosim.core.record.bag_reader import topic_types
from ros2_cosim.core.record.comparison import FieldCounts, in_order
from ros2_cosim.core.record.message_fields import MessageFields
from ros2_cosim.core.record.run_comparison import (
    RunComparison,
    facts_of,
    headed,
    show_largest,
    stamps_of,
)
from ros2_cosim.core.record.series import Series
from ros2_cosim.lab.report.page import Tile, page_template
from ros2_cosim.lab.report.svg_plot import Chart, Line, line_chart

#: A page with more plots is not read.
MAX_PLOTS = 8
_LABEL = 30


def write_page(result: RunComparison, path: Path) -> None:
    """Write a comparison as a page, with plots of the fields that differ most.

    :raises ConfigurationError, ProtocolError: the bags cannot be read any more
    :raises OSError: the page cannot be written
    """
    counts = result.messages
    different = sum(c.different + c.missing_in_a + c.missing_in_b for c in counts.topics.values())
    tiles = [
        Tile("messages in A", str(sum(c.a for c in counts.topics.values()))),
        Tile("messages in B", str(sum(c.b for c in counts.topics.values()))),
        Tile("messages that differ", str(different), not different),
        Tile("fields that differ", str(len(counts.fields)), not counts.fields),
    ]
    if result.first is not None:
        tiles.append(Tile("first difference", format_ns(result.first.difference.time_ns)))
    page = page_template("comparison.html").render(
        a=result.a.path,
        b=result.b.path,
        equal=result.equal,
        tiles=tiles,
        notes=result.notes,
        causes=[
            (
                heading,
                {
                    "facts": facts_of(cause),
                    "inputs": [
                        (read.port, read.topic, stamps_of(read), read.equal)
                        for read in cause.inputs
                    ],
                },
            )
            for heading, cause in headed(result)
        ],
        settings=[(p, json.dumps(a), json.dumps(b)) for p, (a, b) in result.settings.items()],
        charts=_charts(result),
        fields=[
            {
                "topic": entry.topic,
                "field": entry.field,
                "messages": entry.messages,
                "largest": show_largest(entry),
                "first": format_ns(entry.first_ns),
            }
            for entry in counts.fields.values()
        ],
        topics=list(counts.topics.items()),
    )
    write_atomically(path, page)


class _Plot(NamedTuple):
    """One curve of two: the place in the messages, and what takes it out of them."""

    entry: FieldCounts
    lines: tuple[Series, Series]


def _charts(result: RunComparison) -> list[Chart]:
    """Both values of the fields that differ most, relative to their size."""
    measured = [entry for entry in result.messages.fields.values() if entry.largest]
    measured.sort(key=lambda e: (-_share(e), e.first_ns, e.topic, e.field))
    plots = [_Plot(entry, (Series(), Series())) for entry in measured[:MAX_PLOTS]]
    for number, run in enumerate((result.a, result.b)):
        _read_curves(run.bag, plots, number)
    return [
        Chart(
            entry.place,
            f"{entry.topic}: {entry.messages} messages differ, at most by {show_largest(entry)} "
            f"at {format_ns(entry.largest_ns or 0)}.",
            line_chart(
                [
                    Line("A", lines[0].times, lines[0].values, 0),
                    Line("B", lines[1].times, lines[1].values, 1, dashed=True),
                ],
                y_label=entry.place[-_LABEL:],
            ),
        )
        for entry, lines in plots
    ]


def _share(entry: FieldCounts) -> float:
    """The largest difference of a field, relative to the size of its values."""
    return entry.largest / entry.scale if entry.largest and entry.scale else 0.0


def _read_curves(bag: Path, plots: Sequence[_Plot], number: int) -> None:
    """Take what is plotted out of the messages of a bag."""
    types = topic_types(bag)
    by_topic: dict[str, list[_Plot]] = {}
    for plot in plots:
        by_topic.setdefault(plot.entry.topic, []).append(plot)
    fields = {topic: MessageFields(types[topic]) for topic in by_topic if topic in types}
    readers = {
        topic: [(plot.lines[number], fields[topic].reader(plot.entry.place)) for plot in some]
        for topic, some in by_topic.items()
        if topic in fields
    }
    for message in in_order(bag, readers):
        decoded = fields[message.topic].decode(message.data)
        for series, read in readers[message.topic]:
            series.add(to_seconds(message.stamp), read(decoded))
    for plot in plots:
        plot.lines[number].finish()


def check_page(path: Path) -> None:
    """Check whether a page can be written there, before the work is done.

    :raises ConfigurationError: its directory does not exist, or it is a directory
    """
    if path.is_dir() or not path.absolute().parent.is_dir():
        found = "a directory" if path.is_dir() else "no directory for it"
        raise ConfigurationError(f"page {path}: found {found}; allowed is a file to write")
