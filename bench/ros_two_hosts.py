# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The platoon on two and three hosts, over a bad network (needs root and Linux).

Network namespaces stand for hosts, with a relay between them that passes on every packet late,
some too late for their successors, some not at all. One host starts the run, and by a command
its part on each other one: a follower with sensor and controller, the world with its simulator,
only the slave of the world and the simulator, or both followers each on its own. The trace must
be that of a run in one process.

    python -m bench.ros_two_hosts [--duration 60s] [--networks 0:0:0 0.5:0.5:0.01 5:2:0.01]
                                  [--parts none dds follower world slave three] [--launch]
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import yaml

from bench.dcp_two_hosts import joined_hosts
from ros2_cosim.core.run.inproc import run_inproc
from ros2_cosim.core.scenario.schema import load_scenario

ROOT = Path(__file__).resolve().parent.parent
PLATOON = ROOT / "config" / "platoon.yaml"
LAUNCH_FILE = ROOT / "launch" / "scenario.launch.py"
#: Of the host that starts the run, and of two others.
ADDRESSES = ("10.77.0.1", "10.77.0.2", "10.77.0.3")
#: Participant -> host, of what is not where the run is started; ``dds``: all is there, without the
#: lane; ``slave``: see :func:`scenario_of`.
PARTS: dict[str, dict[str, int]] = {
    "none": {},
    "dds": {},
    "follower": {"sensor2": 1, "cacc2": 1},
    "world": {"world": 1},
    "slave": {},
    "three": {"sensor1": 1, "cacc1": 1, "sensor2": 2, "cacc2": 2},
}


def scenario_of(duration: str, hosts: list[str], part: str) -> dict[str, Any]:
    """The platoon with a part of it on other hosts.

    :param hosts: names of the network namespaces, that of the run first
    """
    participants: dict[str, Any] = {
        name: {"host": f"lab{host}"} for name, host in PARTS[part].items()
    }
    used = {host: list[str]() for host in PARTS[part].values()}
    if part == "slave":
        used[1] = ["simulator", "world_slave"]
        address = {"host": ADDRESSES[1], "start": True}
        participants["world"] = {"parameters": {"dcp": address}}
    return {
        "include": str(PLATOON),
        "base_directory": str(PLATOON.parent),
        "duration": duration,
        "participants": participants,
        "hosts": {
            f"lab{host}": {
                "address": ADDRESSES[host],
                "through": f"ip netns exec {hosts[host]}",
                "python": sys.executable,
                "processes": processes,
            }
            for host, processes in used.items()
        },
    }


def run(near: str, scenario: Path, output: Path, part: str, launch: bool) -> dict[str, Any]:
    """The summary of a run that the host ``near`` starts.

    :raises RuntimeError: it failed
    """
    transport = "dds" if part == "dds" else "auto"
    if launch:
        start = Path(__file__).parent.parent / "test" / "launch" / "launch_in_child.py"
        words = [str(start), str(LAUNCH_FILE), f"scenario:={scenario}", f"out:={output}"]
        words.append(f"transport:={transport}")
    else:
        words = ["-m", "ros2_cosim.cli.main", "run", str(scenario), "--out", str(output)]
        words += ["--transport", transport]
    done = subprocess.run(
        ["ip", "netns", "exec", near, sys.executable, *words], capture_output=True, text=True
    )
    summary = output / "summary.json"
    if not summary.is_file():  # a short run does not meet its verdicts
        raise RuntimeError((done.stderr + done.stdout).strip())
    found: dict[str, Any] = json.loads(summary.read_text(encoding="utf-8"))
    return found | {"exit_code": done.returncode}


def main() -> int:
    """Print a line for each network and part; 1 if a trace differs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--duration", default="60s", help="the platoon ends after some 20 s")
    parser.add_argument(
        "--networks",
        nargs="+",
        default=["0:0:0", "0.5:0.5:0.01", "5:2:0.01"],
        help="latency [ms] : jitter [ms] : share of packets that are lost",
    )
    parser.add_argument("--parts", nargs="+", default=list(PARTS), choices=list(PARTS))
    parser.add_argument("--launch", action="store_true", help="by the launch file (needs launch)")
    chosen = parser.parse_args()
    failed = False
    with tempfile.TemporaryDirectory() as directory:
        scenario = load_scenario(PLATOON, [f"duration={chosen.duration}"])
        expected = run_inproc(scenario, Path(directory) / "one", record=False).trace_sha256
        print(f"one process: {expected[:16]}", flush=True)
        for network in chosen.networks:
            latency, jitter, loss = map(float, network.split(":"))
            with joined_hosts(ADDRESSES, latency / 1e3, jitter / 1e3, loss) as hosts:
                for part in chosen.parts:
                    file = Path(directory) / f"{part}.yaml"
                    file.write_text(yaml.safe_dump(scenario_of(chosen.duration, hosts, part)))
                    output = Path(directory) / f"{network}-{part}"
                    try:
                        summary = run(hosts[0], file, output, part, chosen.launch)
                    except RuntimeError as error:
                        failed = True
                        print(f"{network} {part}: {error}", flush=True)
                        continue
                    same = summary["trace_sha256"] == expected
                    failed = failed or not same
                    print(
                        f"{network} {part}: trace {'the same' if same else 'another'}, "
                        f"exit code {summary['exit_code']}, by {summary['transport']}, "
                        f"start-up {summary['startup_time_s']:.1f} s, "
                        f"run {summary['wall_time_s']:.1f} s",
                        flush=True,
                    )
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
