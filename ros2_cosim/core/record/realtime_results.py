# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Deadlines and couplings of participants, brought into the summary and the records."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ros2_cosim.core.realtime.arrivals import ARRIVALS_FILE, write_arrivals
from ros2_cosim.core.realtime.rules import write_values
from ros2_cosim.core.record.realtime_summary import RealtimeSummary
from ros2_cosim.core.record.summary import RepeatabilityCause

#: Participant -> result of its model's method ``realtime``.
Parts = Mapping[str, Mapping[str, Any]]


def realtime_summary(parts: Parts, run: Mapping[str, Any] | None) -> RealtimeSummary | None:
    """The part ``realtime`` of the summary; None for an ordinary run as fast as possible.

    :param run: of the run as a whole, None where it was not paced
    """
    if run is None and not parts:
        return None
    content: dict[str, Any] = dict(run or {})
    for key, found in (("deadlines", "deadline"), ("couplings", "coupling"), ("inputs", "inputs")):
        content[key] = {name: part[found] for name, part in sorted(parts.items()) if found in part}
    return RealtimeSummary.model_validate(content)


def late_results(parts: Parts) -> list[RepeatabilityCause]:
    """Slow parts whose results were late on the wall clock.

    Estimates that a wall clock made necessary cannot be repeated without the record; those
    drawn from a stream or taken from an arrival record can.
    """
    causes = []
    for name, part in sorted(parts.items()):
        coupling = part.get("coupling")
        if coupling is None or not part["depends_on_wall_clock"] or coupling["since_s"] is None:
            continue
        why = (
            f"{coupling['late']} results of '{name}' were late on the wall clock and estimated; "
            f"{ARRIVALS_FILE} holds what cosim replay needs to repeat the run"
        )
        causes.append(RepeatabilityCause(coupling["since_s"], why))
    return causes


def write_records(output: Path, parts: Parts) -> None:
    """Write the arrival record, and the calculated values that were to be kept."""
    coupled = {name: part for name, part in parts.items() if "arrivals" in part}
    if coupled:
        write_arrivals(output, {name: part["arrivals"] for name, part in coupled.items()})
    values = {name: part["values"] for name, part in coupled.items() if part["values"]}
    if values:
        write_values(output, values)
