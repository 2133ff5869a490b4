# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""A leader with a speed that was recorded on the road, and what laws make of it behind.

``python -m bench.field_leader FILE [--laws path_acc idm] [--begin S] [--end S]`` reads a table as
those of OpenACC: columns ``Time``, ``Speed1`` of the leader, and ``Speed2``, ``IVS1`` and so on of
the vehicles behind it and their gaps. For each law the simulated leader drives ``Speed1``, and as
many followers as were recorded, with the time gap that the first of them kept. Beside them stand
the recorded ones, by the same measures:

- response: the lag at which the acceleration of a vehicle is most like the speed difference to
  the vehicle ahead (largest correlation, up to 5 s),
- lag: that at which its speed is most like that of the vehicle ahead,
- RMSE of the simulated speed and gap against the recorded ones of the same place.

Published: commercial ACC responds in 1.7 to 2.5 s (AstaZero, doi 10.1177/0361198120911047,
abstract); in OpenACC in 0.8 to 1.1 s, and calibrated PATH-ACC and IDM in 0.4 to 0.6 s (doi
10.1177/03611981261436640, abstract). These say by abstract only how they measure.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Sequence
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ros2_cosim.core.documents.csv_rows import read_rows
from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.messages.catalogue import DEFAULT
from ros2_cosim.core.messages.records import Odometry
from ros2_cosim.core.record.bag_reader import read_bag
from ros2_cosim.core.run.inproc import run_inproc
from ros2_cosim.core.scenario.library import library_file
from ros2_cosim.core.scenario.schema import load_scenario

STEP = 0.1
LONGEST_LAG = 5.0
#: Slower than this a gap says nothing about a time gap [m/s].
MOVES = 5.0
STANDSTILL = 2.0
LENGTH = 4.792


class Field(NamedTuple):
    """Recorded vehicles at a common time step, NaN where one was missed: speeds and gaps."""

    speeds: list[np.ndarray]
    gaps: list[np.ndarray]


class Measured(NamedTuple):
    """Figures of one vehicle: of its own, and against the recorded one (None: it is that)."""

    response: float
    lag: float
    speed_rmse: float | None = None
    gap_rmse: float | None = None


def read_field(path: Path, begin: float, end: float) -> Field:
    """Read a table, between two of its times [s]."""
    columns: dict[str, list[tuple[float, float]]] = {}
    names = ["Speed1"]
    for row in read_rows(path, "FILE", ("Time", "Speed1")):
        time = row.time_in("Time") / 1e9
        if len(names) == 1:
            names += _numbered(row, "Speed", 2) + _numbered(row, "IVS", 1)
        if begin <= time <= end:
            for name in names:
                if row.text(name):
                    columns.setdefault(name, []).append((time, row.number_in(name)))
    if len(columns.get("Speed1", ())) < 2 or len(columns.get("Speed2", ())) < 2:
        raise ConfigurationError(f"FILE: {path}: found no two rows of Speed1 and Speed2")
    first, last = columns["Speed1"][0][0], columns["Speed1"][-1][0]
    times = first + STEP * np.arange(int((last - first) / STEP) + 1)
    return Field(
        [_on(times, columns[name]) for name in names if name in columns and name[0] == "S"],
        [_on(times, columns[name]) for name in names if name in columns and name[0] == "I"],
    )


def _numbered(row: Any, word: str, first: int) -> list[str]:
    found = []
    for number in count(first):
        if not row.has(f"{word}{number}"):
            return found
        found.append(f"{word}{number}")
    return found


def _on(times: np.ndarray, points: Sequence[tuple[float, float]]) -> np.ndarray:
    """Straight lines between points, NaN outside and in gaps of more than a second."""
    known = np.array(points)
    values = np.interp(times, known[:, 0], known[:, 1], left=np.nan, right=np.nan)
    behind = np.clip(np.searchsorted(known[:, 0], times), 1, len(known) - 1)
    values[known[behind, 0] - known[behind - 1, 0] > 1.0] = np.nan
    return values


def time_gap(field: Field) -> float:
    """The median time gap of the first follower [s], from 0.5 to 3 s."""
    speed, gap = field.speeds[1], field.gaps[0]
    moving = speed > MOVES
    return float(np.clip(np.nanmedian((gap[moving] - STANDSTILL) / speed[moving]), 0.5, 3.0))


def best_lag(cause: np.ndarray, effect: np.ndarray) -> float:
    """The lag [s] at which an effect is most like its cause."""
    found = []
    for shift in range(int(LONGEST_LAG / STEP) + 1):
        a, b = cause[: len(cause) - shift], effect[shift:]
        there = np.isfinite(a) & np.isfinite(b)
        alike = there.sum() > 2 and a[there].std() > 0.0 and b[there].std() > 0.0
        found.append(np.corrcoef(a[there], b[there])[0, 1] if alike else -1.0)
    return STEP * int(np.argmax(found))


def measured(ahead: np.ndarray, own: np.ndarray) -> Measured:
    """Response and lag of a vehicle behind another one, from their speeds."""
    acceleration = np.gradient(own, STEP)
    return Measured(best_lag(ahead - own, acceleration), best_lag(ahead, own))


def simulated(path: Path, law: str, field: Field, gap: float, begin: float, end: float) -> Field:
    """What a law makes of the leader's speeds."""
    followers = len(field.speeds) - 1
    with tempfile.TemporaryDirectory() as directory:
        table = Path(directory) / "leader.csv"
        leader = np.where(np.isnan(field.speeds[0]), 0.0, np.maximum(field.speeds[0], 0.0))
        lines = [f"{k * STEP:.1f},{speed!r}" for k, speed in enumerate(leader.tolist())]
        table.write_text("time,speed\n" + "\n".join(lines) + "\n")
        manoeuvre = [{"csv": {"file": str(table), "time": "time", "speed": "speed"}}]
        changes = [
            f"parameters.vehicles={followers + 1}", f"parameters.law={law}",
            f"parameters.time_gap={gap!r}", f"duration={len(leader) * STEP:.1f}s",
            f"platoon.speed={leader[0].item()!r}", f"platoon.standstill_gap={STANDSTILL}",
            f"platoon.driver={json.dumps({'manoeuvre': manoeuvre})}",
            f"participants.referee.parameters.time_limit={len(leader) * STEP:.1f}s",
        ]  # fmt: skip
        output = Path(directory) / "run"
        run_inproc(load_scenario(library_file("drive_cycle"), changes), output)
        return _driven(output / "bag", followers, len(leader))


def _driven(bag: Path, followers: int, steps: int) -> Field:
    """Speeds and gaps in a bag; the road is long against a gap, so that a chord will do."""
    names = ["leader", *(f"follower{n}" for n in range(1, followers + 1))]
    rows: dict[str, list[Odometry]] = {f"/{name}/odometry": [] for name in names}
    codec = DEFAULT.codec(DEFAULT.type_name(Odometry))
    for message in read_bag(bag):
        if message.topic in rows and message.stamp % round(STEP * 1e9) == 0:
            rows[message.topic].append(codec.decode(message.data)[2])
    found = [np.array([(r.x, r.y, r.vx) for r in those[:steps]]) for those in rows.values()]
    gaps = [
        np.hypot(a[:, 0] - b[:, 0], a[:, 1] - b[:, 1]) - LENGTH
        for a, b in zip(found, found[1:], strict=False)
    ]
    return Field([each[:, 2] for each in found], gaps)


def compared(field: Field, driven: Field) -> list[Measured]:
    """The figures of simulated followers, against the recorded ones."""
    found = []
    for number in range(1, len(driven.speeds)):
        own = measured(driven.speeds[number - 1], driven.speeds[number])
        gap = _rmse(driven.gaps[number - 1], field.gaps[number - 1])
        found.append(
            own._replace(
                speed_rmse=_rmse(driven.speeds[number], field.speeds[number]), gap_rmse=gap
            )
        )
    return found


def _rmse(a: np.ndarray, b: np.ndarray) -> float:
    size = min(len(a), len(b))
    return float(np.sqrt(np.nanmean((a[:size] - b[:size]) ** 2)))


def table(results: dict[str, list[Measured]]) -> list[str]:
    """Lines of a Markdown table: one for each law and place, the recorded vehicles first."""
    lines = [
        "| Law | Place | Response [s] | Lag [s] | RMSE of speed [m/s] | RMSE of gap [m] |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    for law, vehicles in results.items():
        for place, each in enumerate(vehicles, start=1):
            errors = ["" if v is None else f"{v:.2f}" for v in (each.speed_rmse, each.gap_rmse)]
            lines.append(
                f"| {law} | {place} | {each.response:.1f} | {each.lag:.1f} | {' | '.join(errors)} |"
            )
    return lines


def run(path: Path, laws: Sequence[str], begin: float, end: float) -> dict[str, list[Measured]]:
    """The figures of the recorded vehicles, and of each law."""
    field = read_field(path, begin, end)
    gap = time_gap(field)
    places = range(1, len(field.speeds))
    results = {"recorded": [measured(field.speeds[n - 1], field.speeds[n]) for n in places]}
    for law in laws:
        results[law] = compared(field, simulated(path, law, field, gap, begin, end))
    print(f"time gap of the first follower: {gap:.2f} s")
    return results


def main() -> int:
    """Run the laws, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path)
    parser.add_argument("--laws", nargs="*", default=["path_acc", "idm"])
    parser.add_argument("--begin", type=float, default=0.0, help="of the part that is taken [s]")
    parser.add_argument("--end", type=float, default=1e9, help="of the part that is taken [s]")
    options = parser.parse_args()
    print("\n".join(table(run(options.file, options.laws, options.begin, options.end))))
    return 0


if __name__ == "__main__":
    sys.exit(main())
