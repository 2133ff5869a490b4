# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""All fuzz targets by name."""

from __future__ import annotations

from bench.fuzz import dcp_targets, file_targets, run_targets, state_targets, wire_targets
from bench.fuzz.target import Target

TARGETS: dict[str, Target] = {
    target.name: target
    for target in (
        *dcp_targets.TARGETS,
        *wire_targets.TARGETS,
        *file_targets.TARGETS,
        *state_targets.TARGETS,
        *run_targets.TARGETS,
    )
}
