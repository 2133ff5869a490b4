# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The conformance page names tests that exist."""

from __future__ import annotations

import re
from pathlib import Path

HERE = Path(__file__).parent
PAGE = HERE.parent.parent / "docs" / "dcp-conformance.md"


def test_every_test_on_the_page_exists() -> None:
    named = set(re.findall(r"`(test_\w+)`", PAGE.read_text()))
    files = {path.stem: path.read_text() for path in HERE.glob("test_*.py")}
    known = set(files)
    for text in files.values():
        known |= set(re.findall(r"def (test_\w+)", text))
    assert len(named) > 50
    assert named <= known, named - known
