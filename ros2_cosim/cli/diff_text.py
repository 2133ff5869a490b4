# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""What ``cosim diff`` prints for people."""

from __future__ import annotations

import json
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from ros2_cosim.core.kernel.time import format_ns
from ros2_cosim.core.record.run_comparison import (
    RunComparison,
    facts_of,
    headed,
    show_largest,
    stamps_of,
)

#: More lines than these are left to --json and --html.
_MAX_FIELDS = 20
_MAX_SETTINGS = 10


def print_comparison(result: RunComparison) -> None:
    """Print the first difference and a summary of all."""
    console = Console(highlight=False, markup=False)
    total = sum(counts.a for counts in result.messages.topics.values())
    if result.equal:
        console.print(f"equal: {total} messages on {len(result.messages.topics)} topics")
    for heading, cause in headed(result):
        console.print(f"{heading}:")
        for label, value in facts_of(cause):
            console.print(f"  {label}: {value}")
        for read in cause.inputs:
            equal = "equal" if read.equal else "different"
            console.print(f"  Input {read.port}: {read.topic}, {stamps_of(read)}, {equal}")
    if result.settings:
        console.print("Settings that differ:")
        for path, values in list(result.settings.items())[:_MAX_SETTINGS]:
            console.print(f"  {path}: A {_short(values[0])}, B {_short(values[1])}")
        _print_rest(console, len(result.settings) - _MAX_SETTINGS)
    if not result.equal:
        _print_tables(console, result)
    for note in result.notes:
        console.print(note)


def _print_tables(console: Console, result: RunComparison) -> None:
    numbers = ("In A", "In B", "Different", "Only in A", "Only in B")
    table = _table(("Topic",), numbers)
    for name, counts in result.messages.topics.items():
        if not counts.is_equal:
            row = (counts.a, counts.b, counts.different, counts.missing_in_b, counts.missing_in_a)
            table.add_row(escape(name), *map(str, row))
    console.print(table)
    entries = list(result.messages.fields.values())
    if entries:
        table = _table(("Topic", "Field"), ("Messages", "Largest", "First at"))
        for entry in entries[:_MAX_FIELDS]:
            cells = (escape(entry.topic), escape(entry.field), str(entry.messages))
            table.add_row(*cells, show_largest(entry), format_ns(entry.first_ns))
        console.print(table)
        _print_rest(console, len(entries) - _MAX_FIELDS)


def _table(texts: tuple[str, ...], numbers: tuple[str, ...]) -> Table:
    table = Table()
    for text in texts:
        table.add_column(text, overflow="fold")
    for number in numbers:
        table.add_column(number, justify="right", no_wrap=True)
    return table


def _print_rest(console: Console, number: int) -> None:
    if number > 0:
        console.print(f"  and {number} more, see --json or --html")


def _short(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= 60 else text[:57] + "..."
