# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Input signals over time: a table with a column for each input, and one for the time.

The columns are called ``time`` [s] and ``slave.variable``; an empty cell says nothing about its
time. Between two values a variable of the variability ``continuous`` is interpolated linearly, any
other holds the former one; behind the last value each holds that. The column ``step`` is passed
over, so that the table of one run can be the input of another.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import Final, NamedTuple

from ros2_cosim.core.documents.csv_rows import CsvRow, read_rows
from ros2_cosim.dcp.standard.enums import DataType
from ros2_cosim.dcp.standard.errors import DescriptionError, PduError
from ros2_cosim.dcp.standard.slave_description import Causality, SlaveDescription, Variable
from ros2_cosim.dcp.standard.values import FLOATS, Value, encode_value

_TIME: Final = "time"
_STEP: Final = "step"
_NS: Final = 10**9


class _Signal(NamedTuple):
    """The values of one input; times in ns."""

    slave: str
    variable: Variable
    times: list[int]
    values: list[Value]

    def at(self, time_ns: Fraction) -> Value:
        """Its value at a time that is not before the first one."""
        after = bisect_right(self.times, time_ns)
        former = self.values[after - 1]
        smooth = self.variable.variability == "continuous" and self.variable.data_type in FLOATS
        if not smooth or after == len(self.times):
            return former
        begin, end = self.times[after - 1], self.times[after]
        share = float((time_ns - begin) / (end - begin))
        if isinstance(former, tuple):
            pairs = zip(former, self.values[after], strict=True)
            return tuple(a + (b - a) * share for a, b in pairs)
        return former + (self.values[after] - former) * share


class InputSignals:
    """What inputs of slaves get over time.

    :param path: the table
    :param slaves: descriptions by the names of the slaves
    :raises DescriptionError: the table cannot be read, names an unknown input, has times that do
        not increase, or a value that does not fit
    """

    def __init__(self, path: Path, slaves: Mapping[str, SlaveDescription]) -> None:
        self._signals: list[_Signal] = []
        last: int | None = None
        for row in read_rows(path, "signals", [_TIME]):
            if last is None:
                names = [name for name in row.columns if name not in (_TIME, _STEP)]
                self._signals = [_signal(name, slaves, f"signals: {path}") for name in names]
                if not names:
                    raise DescriptionError(f"signals: {path}: found no column of an input")
            time_ns = row.time_in(_TIME)
            if last is not None and time_ns <= last:
                raise row.fault(_TIME, "a time above that of the line before")
            last = time_ns
            for signal in self._signals:
                _add(signal, row, time_ns)
        if last is None:
            raise DescriptionError(f"signals: {path}: found no line below the names of the columns")
        for signal in self._signals:
            if not signal.times or signal.times[0] > 0:
                name = f"{signal.slave}.{signal.variable.name}"
                raise DescriptionError(
                    f"signals: {path}, column '{name}': found no value at 0 or before; one is "
                    "needed to begin with"
                )

    def at(self, time_s: Fraction) -> dict[str, dict[str, Value]]:
        """The values at a time: slave -> input -> value."""
        found: dict[str, dict[str, Value]] = {}
        for signal in self._signals:
            found.setdefault(signal.slave, {})[signal.variable.name] = signal.at(time_s * _NS)
        return found


def _signal(text: str, slaves: Mapping[str, SlaveDescription], where: str) -> _Signal:
    slave, _, name = text.partition(".")
    inputs = slaves[slave].of(Causality.INPUT) if slave in slaves else []
    for variable in inputs:
        if variable.name == name:
            return _Signal(slave, variable, [], [])
    known = ", ".join(f"{s}.{v.name}" for s, d in slaves.items() for v in d.of(Causality.INPUT))
    raise DescriptionError(
        f"{where}: found the column '{text}'; allowed are {_TIME}, {_STEP} and inputs: "
        f"{known or 'there are none'}"
    )


def _add(signal: _Signal, row: CsvRow, time_ns: int) -> None:
    variable = signal.variable
    column = f"{signal.slave}.{variable.name}"
    text = row.text(column)
    if not text:
        return
    try:
        parts = text.split() if variable.dimensions else [text]
        values = [_parsed(part, variable.data_type) for part in parts]
        for value in values:
            encode_value(variable.data_type, value)
    except (PduError, ValueError):
        raise row.fault(column, variable.data_type.name) from None
    if variable.dimensions and signal.values and len(signal.values[0]) != len(parts):
        raise row.fault(column, f"{len(signal.values[0])} values, as in the line of the first")
    signal.times.append(time_ns)
    signal.values.append(tuple(values) if variable.dimensions else values[0])


def _parsed(text: str, kind: DataType) -> Value:
    if kind is DataType.string:
        return text
    if kind is DataType.binary:
        return bytes.fromhex(text)
    return float(text) if kind in FLOATS else int(text)
