# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Nodes that publish on their own account: every run ends, or is marked as not repeatable.

    python bench/foreign_windows.py [--runs 50] [--busy]

Each run has a foreign node of which any number of messages is expected, and which publishes in a
loop around its executor, or by a timer of the wall clock. One line for each kind and shape; exit
code 3 if a run says that it is repeatable.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections import Counter
from contextlib import nullcontext
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "test")]

from support import gate_scenarios as scenarios  # noqa: E402
from support.busy_machine import busy_machine  # noqa: E402

from ros2_cosim.core.kernel.errors import RunError  # noqa: E402
from ros2_cosim.core.run.bringup import RunRequest  # noqa: E402
from ros2_cosim.core.run.start import run_request  # noqa: E402
from ros2_cosim.core.scenario.schema import make_scenario  # noqa: E402

#: Kind of node -> period of its timer [s].
KINDS = {"loop": 1.0, "timer": 1.0, "quick timer": 0.02}


def outcome(kind: str, shape: str, directory: Path) -> str:
    """How a run ends: ``ended``, ``marked``, or with the trace of one that is repeatable."""
    data = scenarios.polling(kind.split()[-1])
    data["participants"]["relay"]["parameters"]["ros_parameters"]["period"] = KINDS[kind]
    scenario = make_scenario(data, data["name"])
    try:
        summary = run_request(RunRequest(scenario, out=directory, shape=shape, record=False))
    except RunError as error:
        return "ended" if "on its own account" in str(error) else f"failed: {error}"
    return f"repeatable {summary.trace_sha256[:8]}" if summary.repeatable else "marked"


def main() -> int:
    """Run them; see the module."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=50)
    parser.add_argument("--busy", action="store_true", help="with all processors busy")
    given = parser.parse_args()
    paths = [str(ROOT), str(ROOT / "test"), os.environ.get("PYTHONPATH", "")]
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, paths))
    wrong = 0
    with (
        tempfile.TemporaryDirectory() as directory,
        busy_machine(1) if given.busy else nullcontext(),
    ):
        for kind in KINDS:
            for shape in ("ros", "composed"):
                found = Counter(
                    outcome(kind, shape, Path(directory) / "out") for _ in range(given.runs)
                )
                told = ", ".join(f"{count} {how}" for how, count in sorted(found.items()))
                print(f"{kind}, {shape}: {told}", flush=True)
                wrong += given.runs - found["ended"] - found["marked"]
    return 3 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
