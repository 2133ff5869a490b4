# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Commands, options and launch arguments that are gone: the one table of them."""

from __future__ import annotations

from typing import Final

from ros2_cosim.core.documents.installed import package_table

#: Command, and option of it if that alone is gone, or launch argument -> what to write instead.
REMOVED: Final[dict[str, str]] = package_table("core/run/removed.json")
