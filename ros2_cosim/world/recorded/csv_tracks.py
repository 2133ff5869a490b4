# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Road users in a table: one row for each of them and each time."""

from __future__ import annotations

from typing import Final, cast, get_args

from ros2_cosim.core.documents.csv_rows import CsvRow, read_rows
from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.scene.recorded import ColumnName
from ros2_cosim.core.scene.simulator import Size
from ros2_cosim.world.recorded.tracks import Kind, RecordedRow, RecordingRequest, Tracks

_COLUMNS: Final[tuple[ColumnName, ...]] = get_args(ColumnName)
_NEEDED: Final[tuple[ColumnName, ...]] = ("time", "x", "y")
_KINDS: Final[tuple[str, ...]] = get_args(Kind)
#: Of a table without a column of ids.
_ONLY: Final = "1"


def read_csv(request: RecordingRequest) -> Tracks:
    """Read a table; a row without x or y, which a receiver has missed, is left out.

    :raises ConfigurationError: a cell is wrong, named by file, line and column
    """
    names = {name: request.columns.get(name, name) for name in _COLUMNS}
    needed = [names[name] for name in _NEEDED] + list(request.columns.values())
    tracks = Tracks(f"{request.where}: {request.path}")
    for row in read_rows(request.path, request.where, list(dict.fromkeys(needed))):
        if not (row.text(names["x"]) and row.text(names["y"])):
            continue
        found = {
            name: row.number_in(column)
            for name, column in names.items()
            if name not in ("time", "id", "class") and row.text(column)
        }
        size = Size(*(found.get(name, 0.0) for name in ("length", "width", "height")))
        place = RecordedRow(
            row.time_in(names["time"]),
            found["x"],
            found["y"],
            found.get("z"),
            found.get("yaw"),
            found.get("speed"),
            0.0 if "speed" in found else None,
        )
        try:
            kind = _kind(row, names["class"])
            tracks.add(tracks.track(row.text(names["id"]) or _ONLY, kind, size), place)
        except ConfigurationError as error:
            raise ConfigurationError(f"{error} (line {row.number})") from None
    return tracks


def _kind(row: CsvRow, column: str) -> Kind:
    kind = row.text(column) or "car"
    if kind not in _KINDS:
        raise row.fault(column, f"one of {', '.join(_KINDS)}")
    return cast("Kind", kind)
