# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The launch file with the real ``launch`` and ``launch_ros``, where they are installed."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path

import pytest
from support.control_scenarios import chain, write_chain
from support.isolation import drop_dds_settings
from support.patience import until
from tutorials.tutorial import Tutorial

from ros2_cosim.core.documents.installed import share_file
from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.record.bag_reader import is_complete, read_bag
from ros2_cosim.core.run.inproc import run_inproc
from ros2_cosim.core.scenario.executables import find_installed
from ros2_cosim.core.scenario.schema import load_scenario

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
    """One launch under way.

    :param file: the launch file
    :param variables: are put in front of those of the environment
    """

    def __init__(
        self,
        directory: Path,
        *arguments: str,
        file: Path = LAUNCH_FILE,
        variables: Mapping[str, str] | None = None,
    ) -> None:
        prefixes = [os.environ.get("AMENT_PREFIX_PATH", ""), sys.prefix]
        environment = {
            **os.environ,
            "AMENT_PREFIX_PATH": os.pathsep.join(filter(None, prefixes)),
            # `python` of a launch file is this one.
            "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")]),
        }
        for name, value in (variables or {}).items():
            environment[name] = os.pathsep.join(filter(None, [value, environment.get(name, "")]))
        self._log = directory / f"{file.name}.log"
        with self._log.open("wb") as log:
            self.process = subprocess.Popen(
                [
                    sys.executable,
                    str(Path(__file__).with_name("launch_in_child.py")),
                    str(file),
                    *arguments,
                ],
                cwd=directory,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    @property
    def text(self) -> str:
        return self._log.read_text(errors="replace")

    def wait_for(self, text: str) -> None:
        until(lambda: text in self.text or self.process.poll() is not None)
        assert text in self.text, self.text

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


def test_a_verdict_that_is_not_met_is_a_line_and_no_crash_of_launch(tmp_path, nothing_left):
    launched = Launched(tmp_path, "duration:=1s", "out:=out")
    assert launched.end() == 1
    lines = launched.text.splitlines()
    assert "cosim: verdict not met: stands_before_obstacle, stands_still_by_s" in lines
    assert not any("ERROR" in line for line in lines)


def test_interrupt_ends_launch(tmp_path, nothing_left):
    launched = Launched(tmp_path, "rate:=1", "out:=out")
    launched.wait_for("[clock]: time ")
    launched.process.send_signal(signal.SIGINT)
    launched.end()
    assert is_complete(tmp_path / "out" / "bag")


def test_interrupt_while_it_starts_ends_all_quietly(tmp_path, nothing_left):
    launched = Launched(tmp_path, "out:=out")
    launched.wait_for("[clock-")
    # From launch's fork on, until its program has begun, a process has no choice.
    program = Path(f"/proc/{launched.pid_of('clock')}/cmdline")
    until(lambda: b"python" in program.read_bytes())
    os.killpg(launched.process.pid, signal.SIGINT)  # as a terminal does
    assert launched.end() == 0, launched.text
    assert not [w for w in ("Traceback", "has died", "failed to", "ERROR") if w in launched.text]


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
    errors = [line for line in launched.text.splitlines() if "[INFO]" not in line]
    assert len(errors) == 1 and errors[0].startswith("cosim: ") and message in errors[0]
    assert "process started" not in launched.text


PUSHED = """<launch>
  <group>
    <push_ros_namespace namespace="fleet"/>
    <include file="{file}">
      <arg name="scenario" value="{scenario}"/>
      <arg name="namespace" value="a"/>
      <arg name="out" value="pushed"/>
    </include>
  </group>
</launch>
"""


def test_a_run_is_where_its_launch_file_puts_it(tmp_path, nothing_left):
    scenario = write_chain(tmp_path / "chain.json")
    file = tmp_path / "pushed.launch.xml"
    general = LAUNCH_FILE.with_name("scenario.launch.py")
    file.write_text(PUSHED.format(file=general, scenario=scenario))
    launched = Launched(tmp_path, file=file, variables={"PYTHONPATH": os.pathsep.join(sys.path)})
    assert launched.end() == 0, launched.text
    expected = run_inproc(load_scenario(scenario), tmp_path, record=False)
    summary = json.loads((tmp_path / "pushed" / "summary.json").read_text())
    assert summary["trace_sha256"] == expected.trace_sha256
    assert "/fleet/a/cosim_clock:" in (tmp_path / "pushed" / "parameters.yaml").read_text()


def test_a_part_on_another_host_is_started_by_launch(tmp_path, nothing_left):
    # The other machine is this one: what would be sent by ssh is started directly.
    data = chain(hosts={"lab": {"address": "127.0.0.1", "through": "env"}})
    for name in ("sensor", "controller"):
        data["participants"][name]["host"] = "lab"
    scenario = tmp_path / "two.json"
    scenario.write_text(json.dumps(data))
    general = LAUNCH_FILE.with_name("scenario.launch.py")
    paths = {"PYTHONPATH": os.pathsep.join(sys.path)}
    launched = Launched(
        tmp_path, f"scenario:={scenario}", "out:=out", file=general, variables=paths
    )
    assert launched.end() == 0, launched.text
    assert "[lab-" in launched.text
    expected = run_inproc(load_scenario(scenario), tmp_path, record=False)
    summary = json.loads((tmp_path / "out" / "summary.json").read_text())
    assert summary["trace_sha256"] == expected.trace_sha256
    assert f"trace {expected.trace_sha256}" in launched.text


def test_the_launch_files_of_the_tutorial_give_one_trace(tmp_path, nothing_left):
    tutorial = Tutorial("own-message.md", tmp_path)
    build = [sys.executable, "-m", "ros2_cosim.cli.main", "messages", "build", "my_msgs", "--json"]
    built = subprocess.run(
        [*build, "--prefix", str(tmp_path / "prefix")],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    variables = json.loads(built.stdout)["variables"]
    paths = [str(tmp_path), variables.get("PYTHONPATH", ""), *sys.path]
    variables["PYTHONPATH"] = os.pathsep.join(filter(None, paths))
    files = [name for name in tutorial.files if ".launch." in name]
    assert len(files) == 3
    traces = set()
    for name in files:
        launched = Launched(tmp_path, file=tmp_path / name, variables=variables)
        assert launched.end() == 0, launched.text
        out = tmp_path / "out" / {"py": "python"}.get(name.rpartition(".")[2], name[14:])
        traces.add(json.loads((out / "summary.json").read_text())["trace_sha256"])
        warnings = [m.data[-1] for m in read_bag(out / "bag") if m.topic == "/warning"]
        # The post is nearer than 8.5 m after one second of two.
        assert warnings == [0] * 10 + [1] * 10 or warnings == [0] * 11 + [1] * 9, warnings
    assert len(traces) == 1, traces
