# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The table of ``docs/benchmarks.md``, made of the figures of ``bench/kernel_speed.py``.

python bench/kernel_speed.py --rounds 7 --page docs/benchmarks.md
"""

from __future__ import annotations

import platform
import statistics
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

FIRST, LAST = "<!-- generated: speed -->\n", "<!-- end of generated -->"
#: Workloads as the page calls them, in its order, and the sizes that it shows.
WORKLOADS = {"lockstep": ("W1", (16,)), "loop": ("W2", (5,)), "platoon": ("W3", (3, 10, 100, 1000))}
HEAD = ("Workload", "Subject", "Size", "rtf", "lowest to highest", "cpu [ms/s]")


def medians(results: Iterable[Mapping[str, Any]]) -> dict[tuple[str, str, int], list[list[float]]]:
    """(workload, subject, size) -> real-time factors, steps per second, processor time [s/s]."""
    found: dict[tuple[str, str, int], list[list[float]]] = {}
    for result in results:
        if "missing" not in result:
            key = result["workload"], result["subject"], result["size"]
            lists = found.setdefault(key, [[], [], []])
            for values, name in zip(lists, ("rtf", "steps_per_s", "cpu_per_sim_s"), strict=True):
                values.append(result[name] or float("nan"))
    return found


def table(results: Iterable[Mapping[str, Any]]) -> list[str]:
    """The lines of the table; the fastest subject of a workload and size first."""
    rows = []
    for (workload, subject, size), (rtf, _, cpu) in medians(results).items():
        name, sizes = WORKLOADS[workload]
        if size in sizes:
            factor = statistics.median(rtf)
            least, most = _short(min(rtf)), _short(max(rtf))
            rows.append(
                (name, size, -factor, f"| {name} | {subject} | {size} | {_short(factor)} "
                 f"| {least} to {most} | {_short(1e3 * statistics.median(cpu))} |")
            )  # fmt: skip
    lines = [f"| {' | '.join(HEAD)} |", "|---|---|---:|---:|---:|---:|"]
    return lines + [line for *_, line in sorted(rows)]


def write_page(page: Path, results: list[dict[str, Any]], rounds: int) -> None:
    """Put the table and what it was measured on between the two marks of the page.

    :raises ValueError: the page has no such marks
    """
    head, first, rest = page.read_text(encoding="utf-8").partition(FIRST)
    _, last, tail = rest.partition(LAST)
    if not last:
        raise ValueError(f"{page}: the lines {FIRST.strip()!r} and {LAST!r} are missing")
    system = platform.uname()
    told = (
        f"Version {version('ros2_cosim')}, {datetime.now(UTC):%d %B %Y}, "
        f"medians of {rounds} rounds; "
        f"{_processor()}, {system.system} {system.release.partition('-')[0]}, "
        f"Python {platform.python_version()}."
    )
    lines = [told, "", *table(results)]
    page.write_text(head + first + "\n" + "\n".join(lines) + "\n\n" + last + tail, encoding="utf-8")


def _processor() -> str:
    """Number and kind of the processors (Linux)."""
    kinds = [
        line.partition(":")[2].strip()
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        if line.startswith("model name")
    ]
    return f"{len(kinds)} x {kinds[0]}" if kinds else platform.machine()


def _short(value: float) -> str:
    """Three digits are as much as such a figure says."""
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}"
