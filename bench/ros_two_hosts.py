# SPDX-License-Identifier: Apache-2.0
"""The platoon on two hosts, over a bad network (needs root and Linux).

Two network namespaces stand for two hosts, with a relay between them that passes on every packet
late, some too late for their successors, some not at all. One host starts the run, and by a command
its part on the other: a follower with sensor and controller, or the world with its simulator. The
trace must be that of a run in one process.

    python -m bench.ros_two_hosts [--duration 5s] [--networks 0:0:0 0.5:0.5:0.01 5:2:0.01]
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from bench.dcp_two_hosts import MASTER, two_hosts
from ros2_cosim.run.inproc import run_inproc
from ros2_cosim.scenario.schema import load_scenario

ROOT = Path(__file__).resolve().parent.parent
PLATOON = ROOT / "config" / "platoon.yaml"
#: What is on the other host.
PARTS = {"none": (), "follower": ("sensor2", "cacc2"), "world": ("world",)}


def settings_of(duration: str, far: str, part: str) -> list[str]:
    """Changes of the platoon that put a part of it on the host ``far``."""
    changes = [f"duration={duration}"]
    if PARTS[part]:
        host = {"address": MASTER, "through": f"ip netns exec {far}", "python": sys.executable}
        changes.append(f"hosts={json.dumps({'far': host})}")
    return changes + [f"participants.{name}.host=far" for name in PARTS[part]]


def run(near: str, changes: list[str], output: Path) -> dict[str, Any]:
    """The summary of a run that the host ``near`` starts.

    :raises RuntimeError: it failed
    """
    words = [word for change in changes for word in ("--set", change)]
    cosim = [sys.executable, "-m", "ros2_cosim.cli.main", "run", str(PLATOON), *words]
    done = subprocess.run(
        ["ip", "netns", "exec", near, *cosim, "--out", str(output)], capture_output=True, text=True
    )
    if done.returncode not in (0, 3):  # a short run does not meet its verdicts
        raise RuntimeError(done.stderr.strip())
    found: dict[str, Any] = json.loads((output / "summary.json").read_text(encoding="utf-8"))
    return found


def main() -> int:
    """Print a line for each network and part; 1 if a trace differs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--duration", default="5s")
    parser.add_argument(
        "--networks",
        nargs="+",
        default=["0:0:0", "0.5:0.5:0.01", "5:2:0.01"],
        help="latency [ms] : jitter [ms] : share of packets that are lost",
    )
    parser.add_argument("--parts", nargs="+", default=list(PARTS), choices=list(PARTS))
    chosen = parser.parse_args()
    failed = False
    with tempfile.TemporaryDirectory() as directory:
        scenario = load_scenario(PLATOON, [f"duration={chosen.duration}"])
        expected = run_inproc(scenario, Path(directory) / "one", record=False).trace_sha256
        print(f"one process: {expected[:16]}", flush=True)
        for network in chosen.networks:
            latency, jitter, loss = map(float, network.split(":"))
            with two_hosts(latency / 1e3, jitter / 1e3, loss) as (near, far):
                for part in chosen.parts:
                    changes = settings_of(chosen.duration, far, part)
                    try:
                        summary = run(near, changes, Path(directory) / f"{network}-{part}")
                    except RuntimeError as error:
                        failed = True
                        print(f"{network} {part}: {error}", flush=True)
                        continue
                    same = summary["trace_sha256"] == expected
                    failed = failed or not same
                    print(
                        f"{network} {part}: trace {'the same' if same else 'another'}, "
                        f"start-up {summary['startup_time_s']:.1f} s, "
                        f"run {summary['wall_time_s']:.1f} s",
                        flush=True,
                    )
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
