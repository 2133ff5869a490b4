# SPDX-License-Identifier: Apache-2.0
"""A participant that the user has started takes part on the lane, and is missed when killed."""

from __future__ import annotations

import signal
from pathlib import Path
from subprocess import Popen

import pytest
import yaml
from runs.cosim_process import Running, left_processes, user_environment
from support.control_scenarios import chain

from ros2_cosim.run.processes import command_of
from ros2_cosim.scenario.plan import RunOptions, make_plan
from ros2_cosim.scenario.schema import make_scenario

pytest.importorskip("rclpy", reason="needs rclpy, which make setup installs")
pytest.importorskip("ros2_cosim.msg", reason="generated messages are not built")


def test_one_that_is_killed_ends_the_run_long_before_the_watchdog(tmp_path: Path) -> None:
    data = chain("1h", watchdog_s=10_000)
    file, out = tmp_path / "chain.yaml", tmp_path / "out"
    file.write_text(yaml.safe_dump(data, sort_keys=False))
    plan = make_plan(make_scenario(data, "chain"), RunOptions(out))
    (command,) = (command_of(process) for process in plan if process.name == "sensor")
    with user_environment(tmp_path / "log") as environment:
        with Running(environment, file, "--by-hand", "sensor", "--out", out) as running:
            while not (out / "scenario.json").exists():
                assert not running.has_ended
            with Popen(command, env=environment) as sensor:
                running.wait_until_recorded(out)
                sensor.send_signal(signal.SIGKILL)
                result = running.result()
        assert left_processes(environment) == []
    assert "sensor: its process has ended" in result.error()
