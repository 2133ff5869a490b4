# SPDX-License-Identifier: Apache-2.0
"""Many participants in one system: time to start, and what a step costs.

A ring of stages that react to one another every 10 ms, started, run for 1,000 steps and stopped,
in shape ``ros`` (a process each, beside recorder and clock) and in shape ``composed`` (all in one).

    python bench/many_participants.py [--sizes 10 25 50] [--steps 1000] [--shapes ros composed]
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

from ros2_cosim.scenario.plan import RunOptions  # noqa: E402
from ros2_cosim.scenario.schema import make_scenario  # noqa: E402
from ros2_cosim.tools.run_inproc import run_inproc  # noqa: E402
from ros2_cosim.tools.run_ros import run_ros  # noqa: E402

STEP_MS = 10
#: All have to find one another on a machine that may be busy.
STARTUP_S = 600.0


def measure(size: int, steps: int, shape: str) -> dict[str, Any]:
    """Start, run and stop one system.

    :returns: ``start_s`` from the start of the clock to the first step, ``step_ms`` wall time per
        step of 10 ms, ``other_s`` the rest: start of the first processes, results, stop
    """
    scenario = make_scenario(
        ring(size, steps * STEP_MS, startup_s=STARTUP_S, watchdog_s=120.0), "ring"
    )
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as directory:
        out = Path(directory)
        if shape == "inproc":
            summary = run_inproc(scenario, out, record=False)
        else:
            summary = run_ros(scenario, RunOptions(out, shape=shape, record=False))
    whole = time.monotonic() - began
    before = summary.startup_time_s
    return {
        "shape": shape,
        "participants": size,
        "steps": steps,
        "start_s": before,
        "step_ms": 1000.0 * summary.wall_time_s / steps,
        "us_per_activation": 1e6 * summary.wall_time_s / steps / size,
        "other_s": whole - before - summary.wall_time_s,
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
        "--shapes", nargs="+", choices=["ros", "composed", "inproc"], default=["composed", "ros"]
    )
    parser.add_argument("--out", type=Path, default=Path("out/bench/many_participants.json"))
    options = parser.parse_args()
    options.out.parent.mkdir(parents=True, exist_ok=True)
    print("| shape | participants | steps | start s | ms per step | us per activation | other s |")
    print("|---|---:|---:|---:|---:|---:|---:|")
    results: list[dict[str, Any]] = []
    for size in options.sizes:
        for shape in options.shapes:
            found = measure(size, options.steps, shape)
            results.append(found)
            print(
                f"| {shape} | {size} | {found['steps']} | {found['start_s']:.1f} | "
                f"{found['step_ms']:.2f} | {found['us_per_activation']:.0f} | "
                f"{found['other_s']:.1f} |",
                flush=True,
            )
            options.out.write_text(json.dumps(results, indent=1) + "\n")
    traces = {(r["participants"], r["trace_sha256"]) for r in results}
    return int(len(traces) != len(options.sizes))


if __name__ == "__main__":
    sys.exit(main())
