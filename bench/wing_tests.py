#!/usr/bin/env python3
# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Measure what the quick tests of each wing take, and write it into CONTRIBUTING.md.

``python -m bench.wing_tests`` runs each line of "Change this, run that" in one process and takes
its processor time, user and system together: that is nearly the same on a busy machine. The exit
status is 1 if a line fails, or takes 10 s or more.
"""

from __future__ import annotations

import re
import resource
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "CONTRIBUTING.md"
LIMIT_S = 10.0
_ROW = re.compile(r"^(\| `[\w/`, ]+ \| `(test/[\w/. ]+)` \|) \d+ s \|$", re.MULTILINE)


def measured(tests: str) -> float:
    """The processor time [s] of some quick tests.

    :raises SystemExit: one fails
    """
    command = [sys.executable, "-m", "pytest", "-n", "0", "-q", "-m", "not slow", *tests.split()]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        sys.exit(f"{tests}:\n{done.stdout[-4000:]}{done.stderr}")
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def main() -> int:
    """Run the command line."""
    text = PAGE.read_text(encoding="utf-8")
    slow = 0
    for row, tests in _ROW.findall(text):
        taken = measured(tests)
        slow += taken >= LIMIT_S
        print(f"{taken:5.1f} s  {tests}", flush=True)
        text = re.sub(re.escape(row) + r" \d+ s", f"{row} {taken:.0f} s", text)
    PAGE.write_text(text, encoding="utf-8")
    return 1 if slow else 0


if __name__ == "__main__":
    sys.exit(main())
