# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Speeds as ratios to a peer of the same run, beside those of the run before.

The speed of a host varies from hour to hour, and with what else it runs; two programs that are
measured in turns vary together.
"""

from __future__ import annotations

import json
import statistics
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

#: What a subject is compared with, by workload: what has as many processes, or as few.
PEERS = {
    "loop": {"inproc": "plain calls", "inproc, pure": "plain calls", "composed": "plain calls"},
    "lockstep": {"composed": "inproc", "inproc, pure": "inproc"},
    "platoon": {
        "inproc": "inproc, pure",
        "inproc, own laws": "inproc",
        "libsumo": "inproc",
        "composed": "inproc",
        "ros": "inproc",
    },
}
#: All others of these workloads.
STAR = {"loop": "star", "lockstep": "star"}
#: A ratio that is smaller than the last one by more than this share has fallen.
FALL = 0.05


class Ratio(NamedTuple):
    """Real-time factor of a subject, as a multiple of its peer's."""

    value: float
    peer: str
    sim_s: float
    rounds: int


def ratios(results: Iterable[Mapping[str, Any]]) -> dict[str, Ratio]:
    """Of each subject whose peer was measured, too: name of the row -> ratio of the medians."""
    factors: dict[tuple[str, str, int], list[float]] = {}
    lengths: dict[tuple[str, str, int], float] = {}
    for result in results:
        if "missing" not in result:
            row = result["workload"], result["subject"], result["size"]
            factors.setdefault(row, []).append(result["rtf"])
            lengths[row] = result["sim_s"]
    found = {}
    for (workload, subject, size), mine in factors.items():
        peer = PEERS[workload].get(subject, STAR.get(workload))
        theirs = factors.get((workload, peer or "", size))
        if peer is not None and peer != subject and theirs:
            value = statistics.median(mine) / statistics.median(theirs)
            key = f"{workload}, {subject}, {size}"
            found[key] = Ratio(value, peer, lengths[workload, subject, size], len(mine))
    return found


def last_ratios(path: Path) -> dict[str, Ratio]:
    """Those that a run before has left in its file; none if there is no such file."""
    try:
        written = json.loads(path.read_text(encoding="utf-8"))["ratios"]
        return {str(key): Ratio(**ratio) for key, ratio in written.items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return {}


def compared(now: Mapping[str, Ratio], before: Mapping[str, Ratio]) -> list[str]:
    """A line for each ratio, and at the end which of them have fallen.

    Runs of another length are not compared.
    """
    lines, fallen = [], []
    for key, ratio in now.items():
        line = f"{key:32s} {ratio.value:8.3f} x {ratio.peer}"
        last = before.get(key)
        if last is not None and (last.peer, last.sim_s) == (ratio.peer, ratio.sim_s):
            line += f", last {last.value:.3f}"
            change = ratio.value / last.value - 1.0
            if change < -FALL:
                line += f": fell by {-change:.0%}"
                fallen.append(key)
        lines.append(line)
    if not before:
        return [*lines, "no figures of a run before to compare with"]
    if not fallen:
        return [*lines, f"no ratio fell by more than {FALL:.0%}"]
    return [*lines, f"fell by more than {FALL:.0%}: {'; '.join(fallen)}"]
