# SPDX-License-Identifier: Apache-2.0
"""Whatever is killed or frozen: one line names it, the bag is readable, nothing is left."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from rosbags.highlevel import AnyReader
from runs.cosim_process import PLATOON, Running, assert_ports_free, cosim

PROCESSES = (
    "simulator", "world_slave", "world", "sensor1", "sensor2", "v2v", "cacc1", "cacc2", "referee",
    "recorder", "clock",
)  # fmt: skip

# Slow enough that no run ends before it is disturbed.
PACE = ("--rate", "4")


@contextmanager
def under_way(environment: dict[str, str], output: Path, *options: object) -> Iterator[Running]:
    """A run in its middle."""
    with Running(environment, PLATOON, "--out", output, *PACE, *options) as running:
        running.wait_until_recorded(output)
        yield running


def assert_bag_readable(output: Path) -> None:
    with AnyReader([output / "bag"]) as reader:
        stamps = [stamp for _, stamp, _ in reader.messages()]
    assert len(stamps) > 100
    assert stamps == sorted(stamps)


@pytest.mark.parametrize("name", PROCESSES)
def test_a_killed_process_is_named(environment: dict[str, str], tmp_path: Path, name: str) -> None:
    output = tmp_path / "out"
    with under_way(environment, output) as running:
        children = running.children()
        assert children.keys() == set(PROCESSES)
        os.kill(children[name], signal.SIGKILL)
        result = running.result()
    assert result.error() == f"cosim: process '{name}' was killed by SIGKILL"
    assert_bag_readable(output)
    assert_ports_free(output)
    assert not (output / "summary.json").exists()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_run_ends_in_order_when_asked_to(
    environment: dict[str, str], tmp_path: Path, number: signal.Signals
) -> None:
    output = tmp_path / "out"
    with under_way(environment, output) as running:
        running.send(number)
        result = running.result()
    assert result.error() == f"cosim: ended by {number.name}"
    assert result.code == 128 + number
    assert_bag_readable(output)
    assert_ports_free(output)


def test_processes_end_with_the_one_that_started_them(
    environment: dict[str, str], tmp_path: Path
) -> None:
    output = tmp_path / "out"
    with under_way(environment, output) as running:
        running.send(signal.SIGKILL)
        assert running.result().code == -signal.SIGKILL
    # The fixture behind ``environment`` waits for the others and finds those that stay.


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("sensor1", "cosim: clock: no progress for 3 s at"),
        ("simulator", "cosim: clock: no progress for 3 s at"),
        ("recorder", "cosim: clock: no progress for 3 s at"),
        ("clock", "cosim: clock: no sign of life for"),
    ],
)
def test_a_frozen_process_is_named(
    environment: dict[str, str], tmp_path: Path, name: str, told: str
) -> None:
    output = tmp_path / "out"
    with under_way(environment, output, "--set", "watchdog_s=3") as running:
        os.kill(running.children()[name], signal.SIGSTOP)
        result = running.result()
    assert result.error().startswith(told)
    assert result.error().endswith(f"(stopped by a signal: {name})")
    if name == "sensor1":
        assert "'sensor1' neither advances nor says what it waits for" in result.error()
        assert "cacc1 waits to run its next data; needs sensor1.objects" in result.error()
    assert_bag_readable(output)
    assert_ports_free(output)


def test_a_failing_controller_is_named(environment: dict[str, str], tmp_path: Path) -> None:
    law = tmp_path / "broken_law.py"
    law.write_text(
        "class Broken:\n"
        "    count = 0\n"
        "    def acceleration(self, measurement):\n"
        "        self.count += 1\n"
        "        return 1.0 / (100 - self.count)\n"
    )
    output = tmp_path / "out"
    result = cosim(environment, PLATOON, "--out", output, "--controllers", f"{law}:Broken")
    assert "'cacc1'" in result.error() or "'cacc2'" in result.error()
    assert "ZeroDivisionError: float division by zero" in result.error()
    assert_bag_readable(output)
    assert_ports_free(output)


def test_one_run_per_ros_domain(environment: dict[str, str], tmp_path: Path) -> None:
    with under_way(environment, tmp_path / "first") as running:
        second = cosim(environment, PLATOON, "--out", tmp_path / "second")
        domain = environment["ROS_DOMAIN_ID"]
        assert second.error().startswith(f"cosim: another run uses ROS domain {domain}; wait for")
        running.send(signal.SIGTERM)
        assert running.result().code == 128 + signal.SIGTERM
