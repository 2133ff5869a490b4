# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The variables of an FMU that is a scenario: inputs, outputs, and three of the run itself."""

from __future__ import annotations

from typing import NamedTuple

from ros2_cosim.core.scenario.external import ExternalSeam

FINISHED = "run.finished"
"""Output: true when the scenario has reached its end; further steps change nothing."""
TRACE = "run.trace_sha256"
"""Output: the trace of the run, after its end."""
OUTPUT_DIRECTORY = "run.output_directory"
"""Parameter: where bag, summary and report go; empty: there are none."""


class ExportedVariable(NamedTuple):
    """One variable; its value reference is its place among all. ``kind`` is a Python type."""

    reference: int
    name: str
    causality: str
    kind: type
    description: str = ""


def variables_of(seam: ExternalSeam) -> list[ExportedVariable]:
    """All variables: inputs, outputs, then those of the run."""
    found: list[ExportedVariable] = []
    for causality, ports in (("input", seam.inputs), ("output", seam.outputs)):
        for port in ports:
            for name, kind in zip(port.names, port.fields.values(), strict=True):
                found.append(ExportedVariable(len(found), name, causality, kind))
    for name, causality, kind, text in (
        (FINISHED, "output", bool, "the scenario has reached its end"),
        (TRACE, "output", str, "the trace of the run, after it has been terminated"),
        (OUTPUT_DIRECTORY, "parameter", str, "for bag, summary and report; empty: none"),
    ):
        found.append(ExportedVariable(len(found), name, causality, kind, text))
    return found
