# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Counts of a slave's data PDUs over UDP: logged by the slave, collected by the master.

DCP has no request for them. A slave made here writes one log entry per data_id when it stops, and
the master requests them (INF_log); other masters can read them, too. A slave of another vendor
does not have the template, and the master does not ask.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from fractions import Fraction
from typing import Any

from ros2_cosim.dcp.standard.data_path import DataCounters, Missing
from ros2_cosim.dcp.standard.enums import LogLevel
from ros2_cosim.dcp.standard.slave_description import (
    LogCategory,
    LogTemplate,
    SlaveDescription,
)

CATEGORY = LogCategory(254, "data")
TEMPLATE = LogTemplate(
    254,
    CATEGORY.id,
    LogLevel.INFORMATION,
    "data_id %uint16: %uint64 received, %uint64 lost, %uint64 repeated, %uint64 overtaken, "
    "%uint64 refused, %uint64 held, %uint64 extrapolated; the first step without data: %uint64",
)
_COUNTS = tuple(field.name for field in fields(DataCounters))
_SUMMED = _COUNTS[:-1]


def tells_data(description: SlaveDescription) -> bool:
    """Whether a slave with this description reports its counts."""
    on_request = description.capabilities.can_provide_log_on_request
    return on_request and TEMPLATE in description.log_templates


def log_arguments(data_id: int, counters: DataCounters) -> list[int]:
    """Arguments of the log entry about one data_id."""
    return [data_id, *(getattr(counters, name) for name in _COUNTS)]


def read_arguments(values: Sequence[Any]) -> tuple[int, DataCounters]:
    """Data_id and counters of a log entry."""
    return int(values[0]), DataCounters(*map(int, values[1:]))


def data_figures(
    missing: Missing,
    outputs: tuple[Iterable[DataCounters], Fraction],
    inputs: tuple[Mapping[int, DataCounters], Fraction],
) -> dict[str, Any]:
    """Sums over the data PDUs of one slave, for the summary of a run.

    :param outputs: counters of what the slave sent, and the step in which they count [s]
    :param inputs: counters of what it received by data_id, empty if it does not tell; and its step
    """
    found: dict[str, Any] = {"missing": missing.value}
    since: list[float] = []
    for name, (counters, step) in (
        ("outputs", (list(outputs[0]), outputs[1])),
        ("inputs", (list(inputs[0].values()), inputs[1])),
    ):
        if not counters:
            continue
        found[name] = {key: sum(getattr(c, key) for c in counters) for key in _SUMMED}
        since += [float(c.first_missing * step) for c in counters if c.first_missing]
    return found | ({"since_s": min(since)} if since else {})
