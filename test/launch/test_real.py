# SPDX-License-Identifier: Apache-2.0
"""The launch file with the real ``launch`` and ``launch_ros``, where they are installed."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path

import pytest
from support.isolation import drop_dds_settings

from ros2_cosim.documents.installed import share_file
from ros2_cosim.kernel.errors import ConfigurationError
from ros2_cosim.record.bag_reader import is_complete
from ros2_cosim.run.inproc import run_inproc
from ros2_cosim.scenario.executables import find_installed
from ros2_cosim.scenario.schema import load_scenario

LAUNCH_FILE = Path(__file__).resolve().parents[2] / "launch" / "platoon.launch.py"


def _find(module: str) -> object:
    try:
        return find_spec(module)
    except ModuleNotFoundError:
        return None


def _what_is_missing() -> str:
    # launch.actions: our own directory launch/ would pass for a package launch.
    packages = [n for n in ("rclpy", "launch.actions", "launch_ros") if _find(n) is None]
    if packages:
        missing = ", ".join(name.partition(".")[0] for name in packages)
        return f"needs a ROS 2 installation with {missing}"
    try:
        find_installed("ros2_cosim", "clock", "test")
    except ConfigurationError:
        return "needs this package installed: colcon build and source, or pip install"
    return ""


pytestmark = pytest.mark.skipif(bool(_what_is_missing()), reason=_what_is_missing() or "complete")


@pytest.fixture(autouse=True)
def dds_as_in_a_run(ros_domain, monkeypatch):
    """A launched run takes DDS settings of its own."""
    drop_dds_settings(monkeypatch)


class Launched:
    """One launch under way."""

    def __init__(self, directory: Path, *arguments: str) -> None:
        prefixes = [os.environ.get("AMENT_PREFIX_PATH", ""), sys.prefix]
        self._log = directory / "launch.log"
        with self._log.open("wb") as log:
            self.process = subprocess.Popen(
                [
                    sys.executable,
                    str(Path(__file__).with_name("launch_in_child.py")),
                    str(LAUNCH_FILE),
                    *arguments,
                ],
                cwd=directory,
                env={**os.environ, "AMENT_PREFIX_PATH": os.pathsep.join(filter(None, prefixes))},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    @property
    def text(self) -> str:
        return self._log.read_text(errors="replace")

    def wait_for(self, text: str) -> None:
        deadline = time.monotonic() + 120
        while text not in self.text:
            assert self.process.poll() is None, self.text
            assert time.monotonic() < deadline, self.text
            time.sleep(0.05)

    def pid_of(self, name: str) -> int:
        found = re.search(rf"\[{name}-\d+\]: process started with pid \[(\d+)\]", self.text)
        assert found, self.text
        return int(found[1])

    def end(self) -> int:
        return self.process.wait(timeout=120)


def test_launch_gives_the_trace_of_inproc(tmp_path, nothing_left):
    launched = Launched(tmp_path, "seed:=3", "out:=out")
    assert launched.end() == 0, launched.text
    summary = json.loads((tmp_path / "out" / "summary.json").read_text())
    scenario = load_scenario(share_file("config/platoon.yaml"), ["seed=3"])
    (tmp_path / "inproc").mkdir()
    expected = run_inproc(scenario, tmp_path / "inproc", record=False)
    assert summary["trace_sha256"] == expected.trace_sha256
    assert set(summary["causality"].values()) == {0}
    assert all(verdict["passed"] for verdict in summary["verdicts"])


@pytest.mark.parametrize("name", ["sensor1", "simulator"])
def test_killed_process_ends_launch_and_is_named(name, tmp_path, nothing_left):
    launched = Launched(tmp_path, "rate:=1", "out:=out", "processes:=own")
    launched.wait_for("[clock]: time ")
    os.kill(launched.pid_of(name), signal.SIGKILL)
    assert launched.end() == 1
    assert f"process '{name}' was killed by SIGKILL" in launched.text
    assert is_complete(tmp_path / "out" / "bag")


def test_interrupt_ends_launch(tmp_path, nothing_left):
    launched = Launched(tmp_path, "rate:=1", "out:=out")
    launched.wait_for("[clock]: time ")
    launched.process.send_signal(signal.SIGINT)
    launched.end()
    assert is_complete(tmp_path / "out" / "bag")


@pytest.mark.parametrize(
    ("argument", "message"),
    [
        (
            "simulator:=gazebo",
            "simulator.kind: found 'gazebo'; allowed are headless, carla",
        ),
        ("controllers:=nothing", "control law: found 'nothing'; allowed are"),
        (
            "rate:=fast",
            "rate: found 'fast'; allowed is a number from 0.0001 to below 1e6, or max",
        ),
    ],
)
def test_wrong_argument_is_one_line(argument, message, tmp_path, nothing_left):
    launched = Launched(tmp_path, argument)
    assert launched.end() == 1
    errors = [line for line in launched.text.splitlines() if "ERROR" in line]
    assert len(errors) == 1 and message in errors[0]
    assert "process started" not in launched.text
