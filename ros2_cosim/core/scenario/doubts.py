# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""What of a scenario may be run, and is hardly meant.

Functions of the entry-point group ``ros2_cosim.doubts`` say it: each takes a checked scenario and
returns lines.
"""

from __future__ import annotations

from importlib.metadata import EntryPoint
from typing import Final

from ros2_cosim.core.documents.offered import load_entry, offered
from ros2_cosim.core.kernel.errors import MissingWingError
from ros2_cosim.core.kernel.loading import is_own_module, line_of, may_load
from ros2_cosim.core.scenario.schema import Scenario

DOUBT_GROUP: Final = "ros2_cosim.doubts"


def doubts_of(scenario: Scenario) -> list[str]:
    """What all installed distributions doubt of a checked scenario, in lines.

    Where one of another distribution fails, a line says so.
    """
    return [line for entry in offered(DOUBT_GROUP).values() for line in _asked(entry, scenario)]


def _asked(entry: EntryPoint, scenario: Scenario) -> list[str]:
    if not may_load(entry.module):
        return []
    try:
        return list(load_entry(entry, DOUBT_GROUP)(scenario))
    except MissingWingError:
        return []
    except Exception as error:
        if is_own_module(entry.module):
            raise
        return [
            f"the doubts '{entry.name}' ({entry.value}) failed: {type(error).__name__}: {error}"
            f"{line_of(error)}"
        ]
