# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Names of files in the output directory of a run that several parts of the package use."""

from __future__ import annotations

from typing import Final

#: The scenario with all defaults and settings, as it was run.
RESOLVED_SCENARIO: Final = "scenario.json"
#: What was changed from outside while the run was under way.
CHANGES_FILE: Final = "changes.json"
#: Views of the recorded scene.
RVIZ_VIEW: Final = "view.rviz"
FOXGLOVE_LAYOUT: Final = "foxglove.json"
