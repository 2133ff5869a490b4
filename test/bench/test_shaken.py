# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""A shaken command: its calls take longer, its processes stand still; its result stays."""

from __future__ import annotations

import os
import subprocess
import sys
import uuid
from pathlib import Path

from bench.shaken import MARK, build, environment_of, main, shake

#: Renames a file to and fro, which is delayed six times of ten; prints the longest time taken [s].
RENAME = """
import os, sys, time
taken = []
open("a", "w").close()
for n in range(20):
    began = time.perf_counter()
    os.rename(*("ab" if n % 2 == 0 else "ba"))
    taken.append(time.perf_counter() - began)
print(max(taken) > 0.005)
sys.exit(7)
"""


def test_calls_are_delayed_and_do_what_they_do(tmp_path: Path) -> None:
    environment = environment_of(build(tmp_path), uuid.uuid4().hex)
    done = subprocess.run(
        [sys.executable, "-c", RENAME],
        env=environment,
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert (done.stdout, done.stderr, done.returncode) == ("True\n", "", 7)
    assert (tmp_path / "a").exists()


def test_a_command_whose_processes_stand_still_goes_on() -> None:
    environment = os.environ | {MARK: uuid.uuid4().hex}
    command = [sys.executable, "-c", "import time; time.sleep(0.5); raise SystemExit(5)"]
    assert shake(command, environment, seed=1) == 5


def test_the_exit_code_is_that_of_the_command() -> None:
    assert main(["--stop", "--", sys.executable, "-c", "raise SystemExit(3)"]) == 3
