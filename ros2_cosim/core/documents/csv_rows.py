# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Recorded tables: text files with one row for each time, and numbers in columns.

A comma, semicolon or tab separates the cells, the same one in the whole table; numbers have a
decimal point. A head line may name the columns; lines before it, in which some data sets describe
themselves, are passed over.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from decimal import Decimal, InvalidOperation
from math import isfinite
from pathlib import Path
from typing import Final

from ros2_cosim.core.documents.files import cause_of, read_bounded
from ros2_cosim.core.documents.one_line import one_line
from ros2_cosim.core.kernel.errors import ConfigurationError

#: Largest file [bytes]: a day at 10 Hz, or an hour of some dozen columns.
MAX_BYTES: Final = 32_000_000
#: A line with one of them may have the later ones within its cells.
_SEPARATORS: Final = "\t;,"
_HEAD_LINES: Final = 100
_LARGEST_TIME: Final = Decimal(10) ** 10
_NS: Final = Decimal(10) ** 9
_SHOWN: Final = 60


class CsvRow:
    """One line of a table.

    :ivar number: of the line, from 1
    :param place: how messages call the file: its key and path
    :param columns: name -> position
    """

    __slots__ = ("_cells", "_columns", "_place", "number")

    def __init__(
        self, place: str, number: int, cells: Sequence[str], columns: Mapping[str, int]
    ) -> None:
        self.number = number
        self._place = place
        self._cells = cells
        self._columns = columns

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of all columns."""
        return tuple(self._columns)

    def has(self, column: str) -> bool:
        """Whether the table has a column of that name."""
        return column in self._columns

    def text(self, column: str) -> str:
        """The cell of a column; empty if the line is too short, or the table has no such column."""
        position = self._columns.get(column, len(self._cells))
        return self._cells[position] if position < len(self._cells) else ""

    def number_in(self, column: str) -> float:
        """The number in a column.

        :raises ConfigurationError: it is not a finite number
        """
        try:
            value = float(self.text(column))
        except ValueError:
            raise self.fault(column, "a number, as 1.5") from None
        if not isfinite(value):
            raise self.fault(column, "a finite number")
        return value

    def time_in(self, column: str) -> int:
        """The time in a column of seconds, rounded to whole nanoseconds.

        :raises ConfigurationError: it is not a number, or its size is above 10^10 s
        """
        try:
            value = Decimal(self.text(column))
            if value.is_finite() and value.adjusted() < 11 and abs(value) <= _LARGEST_TIME:
                return int((value * _NS).to_integral_value())
        except InvalidOperation:
            pass
        raise self.fault(column, "a time in seconds")

    def fault(self, column: str, allowed: str) -> ConfigurationError:
        """An error about a cell."""
        return ConfigurationError(
            f"{self._place}, line {self.number}, column '{one_line(column, _SHOWN)}': found "
            f"'{one_line(self.text(column), _SHOWN)}'; allowed is {allowed}"
        )


def read_rows(
    path: Path, where: str, needed: Sequence[str], positions: Mapping[str, int] | None = None
) -> Iterator[CsvRow]:
    """The rows of a table, empty lines left out.

    :param where: the key that names the file, for messages
    :param needed: columns that the head line has to name; none: a head line is not needed, and rows
        begin with the first line that begins with a number
    :param positions: columns that are known without a head line: name -> position
    :raises ConfigurationError: it cannot be read, is too large, no line names the columns, or a
        line has cells without a column
    """
    place = f"{where}: {path}"
    try:
        text = read_bounded(path, MAX_BYTES).decode("utf-8-sig")
    except OSError as error:
        raise ConfigurationError(f"{place}: {cause_of(error)}") from None
    except UnicodeDecodeError as error:
        raise ConfigurationError(f"{place}: {error}") from None
    lines = text.splitlines()
    columns = dict(positions or {})
    separator, width = "", 0
    for number, line in enumerate(lines, start=1):
        if separator:
            cells = _cells(line, separator)
            if needed and any(cells[width:]):
                raise ConfigurationError(
                    f"{place}, line {number}: found {len(cells)} cells; allowed are {width}, as in "
                    "the head line (numbers have a decimal point)"
                )
            if any(cells):
                yield CsvRow(place, number, cells, columns)
        elif needed:
            for each in _SEPARATORS:
                names = _cells(line, each)
                if set(needed) <= set(names):
                    columns.update((name, names.index(name)) for name in names)
                    separator, width = each, len(names)
                    break
            else:
                if number >= _HEAD_LINES:
                    break
        else:
            found = next((each for each in _SEPARATORS if each in line), ",")
            cells = _cells(line, found)
            # A decimal comma is refused where the number is read.
            if _is_number(cells[0].replace(",", ".", 1)):
                separator = found
                yield CsvRow(place, number, cells, columns)
    if needed and not separator:
        begin = lines[:_HEAD_LINES] or [""]
        widest = max(begin, key=lambda line: max(map(line.count, _SEPARATORS)))
        raise ConfigurationError(
            f"{place}: found no head line with the columns {', '.join(needed)}; the line with the "
            f"most cells is '{one_line(widest, 2 * _SHOWN)}'"
        )


def _cells(line: str, separator: str) -> list[str]:
    """The cells of a line, without quotes and blanks around them."""
    cells = line.split(separator)
    if '"' in line:
        with suppress(csv.Error):  # a cell of more than 131,072 characters
            cells = next(csv.reader([line], delimiter=separator, skipinitialspace=True), cells)
    return [cell.strip().strip('"') for cell in cells]


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True
