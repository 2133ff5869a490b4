# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""A comparison of two recordings as one self-contained page with plots."""

from __future__ import annotations

import json
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from math import hypot, nan
from pathlib import Path
from typing import NamedTuple

from ros2_cosim.core.documents.files import write_atomically
from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.kernel.time import format_ns, to_seconds
from ros2_cosim.core.record.bag_reader import topic_types
from ros2_cosim.core.record.comparison import FieldCounts, in_order
from ros2_cosim.core.record.message_fields import MessageFields
from ros2_cosim.core.record.past import Row
from ros2_cosim.core.record.run_comparison import (
    RunComparison,
    facts_of,
    headed,
    show_largest,
    stamps_of,
)
from ros2_cosim.core.record.series import Series
from ros2_cosim.lab.report.moves import FIELDS, Moves, played, read_moves, sizes_of
from ros2_cosim.lab.report.page import Tile, page_template
from ros2_cosim.lab.report.svg_plot import COLOURS, Chart, Line, line_chart
from ros2_cosim.world.map.movers import TRAFFIC

#: A page with more plots is not read.
MAX_PLOTS = 8
#: As many curves as there are colours can be told apart.
MAX_LINES = COLOURS
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
    moves = {
        label: (_moves(run.bag), run.scenario) for label, run in (("A", result.a), ("B", result.b))
    }
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
        played=played(moves),
        apart=_apart(*(found.rows(sizes_of(run)) for found, run in moves.values())),
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
    return [chart for plot in plots for chart in _both(*plot)]


def _both(entry: FieldCounts, lines: tuple[Series, Series]) -> list[Chart]:
    """Two curves over each other, and their difference."""
    a, b = lines
    note = (
        f"{entry.topic}: {entry.messages} messages differ, at most by {show_largest(entry)} "
        f"at {format_ns(entry.largest_ns or 0)}."
    )
    curves = [Line("A", a.times, a.values, 0), Line("B", b.times, b.values, 1, dashed=True)]
    label = entry.place[-_LABEL:]
    charts = [Chart(entry.place, note, line_chart(curves, y_label=label))]
    if a.times and b.times:
        between = [_at(b, time) - value for time, value in zip(a.times, a.values, strict=True)]
        minus = "B \N{MINUS SIGN} A"
        drawn = line_chart([Line(minus, a.times, between, 2)], y_label=minus)
        charts.append(Chart(f"{entry.place}: difference", "The value of B minus that of A.", drawn))
    return charts


def _at(series: Series, time: float) -> float:
    """The value of a curve at a time; NaN before its begin and after its end."""
    place = bisect_left(series.times, time)
    if place == len(series.times) or (place == 0 and time < series.times[0]):
        return nan
    if series.times[place] == time:
        return series.values[place]
    (t0, t1), (v0, v1) = series.times[place - 1 : place + 1], series.values[place - 1 : place + 1]
    return v0 + (time - t0) / (t1 - t0) * (v1 - v0)


def _moves(bag: Path) -> Moves:
    """What has moved; nothing where its messages are those of another version."""
    try:
        return read_moves(bag)
    except ConfigurationError:
        return Moves()


def _apart(a: Mapping[str, Sequence[Row]], b: Mapping[str, Sequence[Row]]) -> list[Chart]:
    """How far each vehicle of B is from where it is in A."""
    x, y = FIELDS.index("x"), FIELDS.index("y")
    lines: list[Line] = []
    for name in a:
        there = {row[0]: (row[x], row[y]) for row in b.get(name, ())}
        found = [
            (row[0] or 0.0, hypot((p or 0.0) - (row[x] or 0.0), (q or 0.0) - (row[y] or 0.0)))
            for row in a[name]
            if row[0] in there
            for p, q in [there[row[0]]]
        ]
        if found and not name.startswith(TRAFFIC):
            times, values = zip(*found, strict=True)
            lines.append(Line(name, times, values, len(lines)))
    if not any(value for line in lines for value in line.values):
        return []
    note = "Between the places of a vehicle in A and in B at the same time."
    svg = line_chart(lines[:MAX_LINES], y_label="distance [m]")
    return [Chart("Distance between the runs", note, svg)]


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
