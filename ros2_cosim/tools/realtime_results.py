# SPDX-License-Identifier: Apache-2.0
"""From what participants say of their deadlines and couplings to summary and records."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ros2_cosim.realtime.arrivals import ARRIVALS_FILE, write_arrivals
from ros2_cosim.realtime.rules import write_values
from ros2_cosim.tools.realtime_summary import RealtimeSummary

#: Participant -> what its behaviour's method ``realtime`` gave.
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


def repeatability(parts: Parts) -> dict[str, Any]:
    """The fields of the summary that say whether another run has to be the same.

    Estimates that a wall clock made necessary are not; those drawn from a stream or taken from
    an arrival record are.
    """
    first: tuple[float, str, int] | None = None
    for name, part in sorted(parts.items()):
        coupling = part.get("coupling")
        if coupling is None or not part["depends_on_wall_clock"] or coupling["since_s"] is None:
            continue
        found = (coupling["since_s"], name, coupling["late"])
        first = found if first is None else min(first, found)
    if first is None:
        return {"repeatable": True}
    since, name, late = first
    return {
        "repeatable": False,
        "not_repeatable_since_s": since,
        "not_repeatable_reason": (
            f"{late} results of '{name}' were late on the wall clock and estimated; "
            f"{ARRIVALS_FILE} holds what cosim replay needs to repeat the run"
        ),
    }


def write_records(output: Path, parts: Parts) -> None:
    """Write the arrival record, and the calculated values that were to be kept."""
    coupled = {name: part for name, part in parts.items() if "arrivals" in part}
    if coupled:
        write_arrivals(output, {name: part["arrivals"] for name, part in coupled.items()})
    values = {name: part["values"] for name, part in coupled.items() if part["values"]}
    if values:
        write_values(output, values)
