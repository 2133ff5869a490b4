# SPDX-License-Identifier: Apache-2.0
"""Commands, options and launch arguments that are gone: the one table of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final

#: Command, and option of it if that alone is gone, or launch argument -> what to write instead.
REMOVED: Final[dict[str, str]] = json.loads(
    Path(__file__).with_name("removed.json").read_text(encoding="utf-8")
)
