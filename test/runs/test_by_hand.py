# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""A participant that the user has started takes part on the lane, and is missed when killed."""

from __future__ import annotations

import signal
import subprocess
from pathlib import Path
from subprocess import Popen

import pytest
import yaml
from runs.cosim_process import Running, left_processes, user_environment
from support.control_scenarios import chain
from support.patience import HANG_S

from ros2_cosim.core.documents.run_files import RESOLVED_SCENARIO
from ros2_cosim.core.run.output_directory import OutputDirectory
from ros2_cosim.core.run.request import RunOptions
from ros2_cosim.core.scenario.schema import make_scenario, save_scenario
from ros2_cosim.ros.bringup.dds import loopback_environment
from ros2_cosim.ros.bringup.plan import make_plan
from ros2_cosim.ros.bringup.processes import command_of

pytest.importorskip("rclpy", reason="needs rclpy, which make setup installs")
pytest.importorskip("ros2_cosim.msg", reason="generated messages are not built")


def test_one_that_is_killed_ends_the_run_long_before_the_watchdog(tmp_path: Path) -> None:
    data = chain("1h", watchdog_s=10_000)
    file, out = tmp_path / "chain.yaml", tmp_path / "out"
    file.write_text(yaml.safe_dump(data, sort_keys=False))
    plan = make_plan(make_scenario(data, "chain"), RunOptions(out=out))
    (command,) = (command_of(process) for process in plan if process.name == "sensor")
    with user_environment(tmp_path / "log") as environment:
        with Running(environment, file, "--by-hand", "sensor", "--out", out) as running:
            while not (out / "scenario.json").exists():
                assert not running.has_ended
            # As the nodes of the run: with the settings of the middleware itself, a process that is
            # killed leaves files in shared memory.
            with Popen(command, env=loopback_environment(environment, tmp_path)) as sensor:
                running.wait_until_recorded(out)
                sensor.send_signal(signal.SIGKILL)
                result = running.result()
        assert left_processes(environment) == []
    assert "sensor: its process has ended" in result.error()


@pytest.mark.parametrize(
    ("is_over", "said"),
    [
        (True, "sensor: the run in {out} is over"),
        (
            False,  # or it was killed, and says nothing of itself
            "sensor: participant 'sensor' found no clock within 1 s: its run is over, or has not "
            "been started",
        ),
    ],
)
@pytest.mark.usefixtures("ros_domain")
def test_one_that_comes_after_the_end_says_so_and_ends(
    tmp_path: Path, is_over: bool, said: str
) -> None:
    data, out = chain("1h", startup_s=1.0), tmp_path / "out"
    scenario = make_scenario(data, "chain")
    with OutputDirectory(out, "run 'chain'"):
        save_scenario(scenario, out / RESOLVED_SCENARIO)
    if not is_over:
        (out / ".lock").unlink()
    plan = make_plan(scenario, RunOptions(out=out))
    (command,) = (command_of(process) for process in plan if process.name == "sensor")
    with user_environment(tmp_path / "log") as environment:
        ended = subprocess.run(
            command,
            env=loopback_environment(environment, tmp_path),
            capture_output=True,
            text=True,
            timeout=HANG_S,
            check=False,
        )
    assert (ended.returncode, ended.stdout) == (1, "")
    assert ended.stderr == said.format(out=out) + "\n"
