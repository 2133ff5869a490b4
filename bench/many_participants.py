# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Many participants in one system: time to start and stop, and what a step costs.

A ring of stages that react to one another every 10 ms, started, run for 1,000 steps and stopped:

========  ===============================================================================
ros       a process each, beside recorder and clock
mixed     shape ros, of ten participants eight in one process and two in their own
hosted    shape ros, all in processes of eight
composed  shape composed: all in one process
inproc    no ROS
========  ===============================================================================

    python bench/many_participants.py [--sizes 10 25 50] [--steps 1000] [--shapes ros mixed]
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

_HERE = Path(__file__).resolve().parent
# Run as a file: the project lies beside this directory.
sys.path[:0] = [str(_HERE), str(_HERE.parent)]

from chaos_system import ring  # noqa: E402

from ros2_cosim.core.run.bringup import RunRequest  # noqa: E402
from ros2_cosim.core.run.inproc import run_inproc  # noqa: E402
from ros2_cosim.core.run.start import run_request  # noqa: E402
from ros2_cosim.core.scenario.schema import Scenario, make_scenario  # noqa: E402

STEP_MS = 10
#: All have to find one another on a machine that may be busy.
STARTUP_S = 600.0


#: How many of ten participants share a process.
SHARING = {"mixed": 8, "hosted": 10}
#: Participants in one process.
TOGETHER = 8


def system(size: int, steps: int, arrangement: str) -> Scenario:
    """The ring, with neighbours in one process where the arrangement has shared ones."""
    data = ring(size, steps * STEP_MS, startup_s=STARTUP_S, watchdog_s=120.0)
    sharing = size * SHARING.get(arrangement, 0) // 10
    for index, settings in enumerate(data["participants"].values()):
        if index < sharing:
            settings["process"] = f"shared{index // TOGETHER}"
    return make_scenario(data, "ring")


def measure(size: int, steps: int, arrangement: str) -> dict[str, Any]:
    """Start, run and stop one system.

    :returns: ``step_ms`` wall time per step of 10 ms, ``around_s`` from the command to the first
        step and from the last one until all processes have ended
    """
    scenario = system(size, steps, arrangement)
    pids: dict[str, int] = {}
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as directory:
        out = Path(directory)
        if arrangement == "inproc":
            summary = run_inproc(scenario, out, record=False)
        else:
            shape = "composed" if arrangement == "composed" else "ros"
            request = RunRequest(scenario, out=out, shape=shape, record=False)
            summary = run_request(request, on_started=pids.update)
    whole_s = time.monotonic() - began
    return {
        "arrangement": arrangement,
        "participants": size,
        "processes": max(len(pids), 1),
        "steps": steps,
        "step_ms": 1000.0 * summary.wall_time_s / steps,
        "us_per_activation": 1e6 * summary.wall_time_s / steps / size,
        "around_s": whole_s - summary.wall_time_s,
        "load": os.getloadavg()[0],
        "trace_sha256": summary.trace_sha256,
    }


def main() -> int:
    """Print a line per system; exit code 1 if the shapes disagree."""
    # The models are found by the processes, too.
    path = [str(_HERE), str(_HERE.parent), os.environ.get("PYTHONPATH", "")]
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, path))
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--sizes", type=int, nargs="+", default=[10, 25, 50])
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument(
        "--shapes",
        nargs="+",
        choices=["ros", "mixed", "hosted", "composed", "inproc"],
        default=["composed", "mixed", "ros"],
    )
    parser.add_argument("--out", type=Path, default=Path("out/bench/many_participants.json"))
    options = parser.parse_args()
    options.out.parent.mkdir(parents=True, exist_ok=True)
    print(
        "| arrangement | participants | processes | ms per step | us per activation "
        "| start and stop s | load |"
    )
    print("|---|---:|---:|---:|---:|---:|---:|")
    results: list[dict[str, Any]] = []
    for size in options.sizes:
        for arrangement in options.shapes:
            found = measure(size, options.steps, arrangement)
            results.append(found)
            print(
                f"| {arrangement} | {size} | {found['processes']} | {found['step_ms']:.2f} | "
                f"{found['us_per_activation']:.0f} | {found['around_s']:.1f} | "
                f"{found['load']:.0f} |",
                flush=True,
            )
            options.out.write_text(json.dumps(results, indent=1) + "\n")
    traces = {(r["participants"], r["trace_sha256"]) for r in results}
    return int(len(traces) != len(options.sizes))


if __name__ == "__main__":
    sys.exit(main())
