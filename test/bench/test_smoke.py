# SPDX-License-Identifier: Apache-2.0
"""Each small benchmark once, as short as it can be: it runs to its end and prints its figures."""

from __future__ import annotations

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
            "dcp_pdus --variables 4 --pdus 2 --steps 10 --rounds 1",
            r"UDP +2 .* [\d.]+\nTCP +2 .* [\d.]+\nTCP +2 .* [\d.]+",
            id="pdus",
        ),
        pytest.param(
            "start_up --rounds 2 --only check run",
            r"check +[\d.]+ \([\d.]+ to [\d.]+\) .*\nrun +[\d.]+ \([\d.]+ to [\d.]+\)",
            id="start-up",
        ),
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
