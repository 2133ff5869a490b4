# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
#: Counts the calls of Python functions in the second and third simulated second of a run.
COUNT = """
import sys, tempfile
from pathlib import Path
sys.path.insert(0, "bench")
import speed_platoon, speed_systems
from ros2_cosim.core.run.inproc import run_inproc
chosen = sys.argv[1] == "platoon"
scenario = speed_platoon.platoon(["duration=3s"]) if chosen else speed_systems.loop_scenario(3.0)
calls, readings = 0, []
def note(frame, event, arg):
    global calls
    calls += event == "call"
with tempfile.TemporaryDirectory() as out:
    sys.setprofile(note)
    run_inproc(scenario, Path(out), record=False, progress=lambda time: readings.append(calls))
    sys.setprofile(None)
print((readings[-1] - readings[0]) // (len(readings) - 1))
"""


@pytest.mark.parametrize(("system", "most"), [("platoon", 51_500), ("loop", 7_600)])
def test_a_second_without_compiled_modules_takes_few_calls(system: str, most: int) -> None:
    # A twentieth more than there were: what is called per message, step and look adds up.
    done = subprocess.run(
        [sys.executable, "-c", COUNT, system], cwd=ROOT, env={**os.environ, "COSIM_PURE": "1"},
        capture_output=True, text=True, timeout=240,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) <= most
