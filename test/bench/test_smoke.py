# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Each small benchmark once, as short as it can be: it runs to its end and prints its figures."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
from support.far_host import joined_namespace

ROOT = Path(__file__).resolve().parents[2]

#: Guards against hanging only.
HANG_S = 240

needs_sweep = pytest.mark.skipif(
    find_spec("distributed") is None, reason="needs the extra sweep (make setup EXTRAS=sweep)"
)

needs_rclpy = pytest.mark.skipif(
    find_spec("rclpy") is None, reason="needs rclpy, which make setup installs"
)
needs_two_cores = pytest.mark.skipif(
    len(os.sched_getaffinity(0)) < 2, reason="compares two cores with one"
)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("command", "figures"),
    [
        pytest.param(
            "carla_map config/town.xodr", r"town: [1-9]\d* waypoints within 0\.0001 m", id="map"
        ),
        pytest.param(
            "carla_ticks --vehicles 2 --seconds 0.05 --rounds 1",
            r"\| 2 \| [1-9]\d* \| [1-9]\d* \| \d\.\d{3} \|",
            id="ticks",
        ),
        pytest.param(
            "carla_sensors --seconds 0.1 --vehicles 2",
            r"radar, .* [\d.]+ /s +[\d.]+ x",
            id="sensors",
        ),
        pytest.param(
            "dcp_nrt_rate --steps 20 --variables 2",
            r"TCP_IPv4 +2( +[\d.]+){3}\nUDP_IPv4 +2( +[\d.]+){3}",
            id="nrt-rate",
        ),
        pytest.param(
            "start_up --rounds 2 --only check run",
            r"check +[\d.]+ \([\d.]+ to [\d.]+\) .*\nrun +[\d.]+ \([\d.]+ to [\d.]+\)",
            id="start-up",
        ),
        pytest.param("start_time car_following --duration 1s", "car_following: equal", id="start"),
        pytest.param(
            "osi_criticality --scenarios braking",
            r"braking  follower4  [1-9]\d+  0\.000\d  [1-9]\d+  0\.000\d  0  0",
            id="osi",
            marks=pytest.mark.skipif(find_spec("osi3") is None, reason="needs the extra 'osi'"),
        ),
        pytest.param(
            "sweep --runs 4 --duration 20ms --rounds 1",
            r"tables equal",
            id="sweep",
            marks=(needs_sweep, needs_two_cores),
        ),
    ],
)
def test_a_benchmark_prints_its_figures(command: str, figures: str) -> None:
    printed(command, figures)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("command", "quantities"),
    [
        pytest.param(
            "carla_slave_step --steps 5 --rounds 2",
            {"TCP: step", "UDP: share of the simulator", "CARLA's client: step"},
            id="carla-slave",
        ),
        pytest.param(
            "dcp_sockets --variables 4 --pdus 1 2 --sockets 2 --steps 10 --rounds 2 --buffer 4096",
            {
                "UDP, 1 PDUs, 1 sockets: step",
                "UDP, 2 PDUs, 2 sockets: without room",
                "TCP, 2 PDUs, 2 sockets: sent again",
            },
            id="sockets",
        ),
        pytest.param(
            "srt_late_steps --sample-ms 10 --steps 10",
            {
                "SRT, each step 2 sample times: late ticks",
                "HRT, every tenth step 3 sample times: ended in the error state",
            },
            id="late-steps",
        ),
        pytest.param(
            "vds_rates --binary 200 --text 20 --seconds 0.2",
            {"VDS1, 200 Hz: jitter, p99", "JSON, 20 Hz: round trip, median"},
            id="rates",
        ),
    ],
)
def test_a_benchmark_writes_its_figures(command: str, quantities: set[str], tmp_path: Path) -> None:
    printed(f"{command} --json {tmp_path / 'figures.json'}", next(iter(quantities)))
    rows = json.loads((tmp_path / "figures.json").read_text(encoding="utf-8"))["rows"]
    found = {row["quantity"]: row for row in rows}
    assert quantities <= found.keys()
    for row in rows:
        low, high = row["interval"]
        assert row.keys() == {"quantity", "value", "unit", "interval"}
        assert row["unit"] and 0.0 <= low <= row["value"] <= high
    assert found.get("SRT, each step 2 sample times: late ticks", {"value": 1})["value"] > 0


@pytest.mark.slow
@pytest.mark.parametrize(
    ("command", "figures"),
    [
        pytest.param(
            "dcp_two_hosts --duration 200ms --transport tcp",
            r"tcp: .* trace the same, slave ended with 0, repeatable",
            id="dcp",
        ),
        pytest.param(
            "sweep_two_hosts --runs 20 --workers 1 --duration 20ms",
            r"table the same\n.*\n.*table the same",
            id="sweep",
            marks=needs_sweep,
        ),
        pytest.param(
            "ros_two_hosts --duration 200ms --networks 0:0:0 --parts follower",
            r"follower: trace the same",
            id="ros",
            marks=needs_rclpy,
        ),
    ],
)
def test_a_benchmark_of_two_hosts_prints_its_figures(command: str, figures: str) -> None:
    with joined_namespace():
        printed(command, figures)


def printed(command: str, figures: str) -> None:
    """Run a benchmark, and see that it prints its figures."""
    name, *arguments = command.split()
    done = subprocess.run(
        [sys.executable, "-m", f"bench.{name}", *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=HANG_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert re.search(figures, done.stdout), done.stdout
