# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Who has changed a run stands in its summary, and nowhere in the bytes of its bag."""

from __future__ import annotations

import json
import re
from pathlib import Path


def check_untold(output: Path, other: Path) -> None:
    """See that no word about who made a change is in the bag of a run.

    :param output: of the run
    :param other: of a run of the same scenario that nobody has changed; what its bag says, too, is
        no word about a person
    """
    summary = json.loads((output / "summary.json").read_text(encoding="utf-8"))
    told = [change["by"] for change in summary["changes"]]
    assert told
    bag, plain = map(_bytes, (output / "bag", other / "bag"))
    for by in told:
        words = {by, *re.findall(r"[ug]id \d+|pid \d+|[\w.@-]*[^\W\d][\w.@-]{3,}", by)}
        found = [word for word in words if word.encode() in bag and word.encode() not in plain]
        assert not found, (by, found)


def _bytes(bag: Path) -> bytes:
    return b"".join(path.read_bytes() for path in sorted(bag.iterdir()))
