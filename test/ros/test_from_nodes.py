# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""``cosim new --from-node`` and ``cosim check --graph`` with real nodes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml
from support import gate_scenarios as scenarios
from support.isolation import drop_dds_settings
from typer.testing import CliRunner

from ros2_cosim.cli.main import app
from ros2_cosim.core.messages.foreign import ForeignSettings
from ros2_cosim.core.record.bag_reader import read_bag
from ros2_cosim.core.record.summary import read_summary

pytest.importorskip("rclpy")
pytest.importorskip("ros2_cosim.msg", reason="generated messages are not built")

from rclpy.parameter import Parameter

from ros2_cosim.ros.bringup import look
from ros2_cosim.ros.foreign.command_words import settings_of
from ros2_cosim.ros.programs import _launched

RUNNER = CliRunner()


@pytest.fixture(autouse=True)
def in_a_folder_of_its_own(
    ros_domain: int, nothing_left: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    drop_dds_settings(monkeypatch)
    # Scenarios of the tests name models in test/support.
    own = [str(scenarios.ROOT), str(scenarios.ROOT / "test")]
    paths = [*own, os.environ.get("PYTHONPATH", "")]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, paths)))
    monkeypatch.chdir(tmp_path)


def cosim(*words: str) -> Any:
    return RUNNER.invoke(app, list(words))


def test_a_scenario_of_two_nodes_is_right_and_runs_as_it_is() -> None:
    timer = f"{sys.executable} {scenarios.NODES / 'timer_node.py'}"
    relay = f"{scenarios.NODES / 'relay_node.py'} --ros-args -r number:=/n -r sum:=/number"
    made = cosim("new", "seen", "--from-node", timer, "--from-node", relay)
    assert made.exit_code == 0, made.output
    parts = yaml.safe_load(Path("seen.yaml").read_text())["participants"]
    assert parts["timer_adapter"]["period"] == "20ms"
    assert parts["timer_adapter"]["inputs"] == {"number": "relay_adapter.number"}
    assert parts["relay_adapter"]["parameters"]["outputs"]["number"]["topic"] == "sum"
    assert parts["stand_in"]["outputs"] == {"n": {"type": scenarios.FLOAT, "topic": "/n"}}
    assert cosim("check", "seen.yaml").exit_code == 0
    words = ("run", "seen.yaml", "--shape", "composed", "--out", "out", "--set", "duration=300ms")
    ran = cosim(*words)
    assert ran.exit_code == 0, ran.output
    summary = read_summary(Path("out"))
    assert summary.repeatable
    counts = {each.name: each.activations for each in summary.participants}
    assert counts["timer_adapter"] > 10
    assert counts["relay_adapter"] == counts["stand_in"] == 2


_STRICT = """
import argparse
import rclpy
from rclpy.node import Node
from std_msgs.msg import Float64

class Strict(Node):
    last = None

    def __init__(self):
        super().__init__("strict")
        self.doubled = self.create_publisher(Float64, "doubled", 10)
        self.create_subscription(Float64, "number", self.take, 10)
        self.create_timer(0.2, lambda: self.doubled.publish(Float64(data=2.0 * self.last)))

    def take(self, message):
        self.last = message.data

argparse.ArgumentParser().parse_args()
rclpy.init(args=[])
rclpy.spin(Strict())
"""


def test_a_node_may_know_no_arguments_of_ros_and_fail_without_messages() -> None:
    """Its file may be a program without a line that says what runs it."""
    Path("strict.py").write_text(_STRICT)
    Path("strict.py").chmod(0o755)
    made = cosim("new", "seen", "--from-node", "./strict.py")
    assert made.exit_code == 0, made.output
    assert "ends when a timer runs before its first message" in made.output
    words = ("run", "seen.yaml", "--shape", "composed", "--out", "out", "--set", "duration=700ms")
    ran = cosim(*words)
    assert ran.exit_code == 0, ran.output
    assert read_summary(Path("out")).repeatable
    stamps = [each.stamp for each in read_bag(Path("out/bag")) if each.topic == "/doubled"]
    assert stamps == [200_000_000, 400_000_000, 600_000_000]


def test_a_lifecycle_node_is_active_when_it_is_looked_at() -> None:
    node = f"{sys.executable} {scenarios.NODES / 'lifecycle_node.py'}"
    made = cosim("new", "seen", "--from-node", node)
    assert made.exit_code == 0, made.output
    (part,) = [
        p
        for p in yaml.safe_load(Path("seen.yaml").read_text())["participants"].values()
        if p["model"] == "foreign_node"
    ]
    assert part["inputs"] and part["outputs"]


def test_the_nodes_of_a_launch_file_are_those_of_the_scenario(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("COLOUR", "red")
    pytest.importorskip("launch.actions", reason="needs a ROS 2 installation with launch")
    pytest.importorskip("launch_ros", reason="needs a ROS 2 installation with launch_ros")
    Path("both.launch.py").write_text(
        f"""
import sys
from launch import LaunchDescription
from launch.actions import SetEnvironmentVariable, UnsetEnvironmentVariable
from launch_ros.actions import Node

def generate_launch_description():
    node = dict(executable=sys.executable, arguments=["{scenarios.NODES / "relay_node.py"}"])
    return LaunchDescription(
        [
            Node(**node, name="one", remappings=[("sum", "/middle")]),
            SetEnvironmentVariable("MODEL", "burger"),
            UnsetEnvironmentVariable("COLOUR"),
            SetEnvironmentVariable("ROS_DOMAIN_ID", "77"),
            Node(**node, name="two", remappings=[("number", "/middle")], parameters=[{{"a": 1}}]),
        ]
    )
"""
    )
    made = cosim("new", "seen", "--from-node", "both.launch.py")
    assert made.exit_code == 0, made.output
    parts = yaml.safe_load(Path("seen.yaml").read_text())["participants"]
    assert parts["two_adapter"]["inputs"] == {"middle": "one_adapter.middle"}
    assert parts["two_adapter"]["parameters"]["ros_parameters"] == {"a": 1}
    assert parts["one_adapter"]["parameters"]["outputs"]["middle"]["topic"] == "sum"
    assert "relay_node.py" in made.output and "the run has its own ROS_DOMAIN_ID" in made.output
    assert "environment" not in parts["one_adapter"]["parameters"]
    changed = {"COLOUR": None, "MODEL": "burger"}
    assert parts["two_adapter"]["parameters"]["environment"] == changed


LATE = """
from rclpy import init, spin
from rclpy.node import Node
from std_msgs.msg import Float64

class Late(Node):
    def __init__(self):
        super().__init__("late")
        self.create_publisher(Float64, "first", 1)
        self._timer = self.create_timer(2.5, self.add)

    def add(self):
        self.destroy_timer(self._timer)
        self.create_publisher(Float64, "second", 1)

init()
spin(Late())
"""


def test_what_a_node_makes_later_is_seen() -> None:
    Path("late.py").write_text(LATE)
    made = cosim("new", "seen", "--from-node", "late.py")
    assert made.exit_code == 0, made.output
    parts = yaml.safe_load(Path("seen.yaml").read_text())["participants"]
    assert parts["late_adapter"]["outputs"].keys() == {"first", "second"}


def test_what_a_node_changes_for_too_long_is_noted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(look, "_LONGEST_S", 1.0)
    again = LATE.replace("self.destroy_timer(self._timer)", "names = list(self.publishers)")
    again = again.replace('"second"', 'f"more{len(names)}"').replace("2.5", "0.4")
    Path("late.py").write_text(again)
    made = cosim("new", "seen", "--from-node", "late.py")
    assert made.exit_code == 0, made.output
    assert "it still changes after 1 s; it may have more" in made.output


def test_a_launch_file_is_looked_at_until_its_timers_are_over() -> None:
    pytest.importorskip("launch.actions", reason="needs a ROS 2 installation with launch")
    Path("slow.launch.py").write_text(
        f"""
import sys
from launch import LaunchDescription
from launch.actions import ExecuteProcess, RegisterEventHandler, TimerAction
from launch.event_handlers import OnProcessExit

def generate_launch_description():
    def node(name):
        words = [sys.executable, "{scenarios.NODES / "relay_node.py"}"]
        return ExecuteProcess(cmd=[*words, "--ros-args", "-r", "__node:=" + name])
    first = node("one")
    exits = OnProcessExit(target_action=first, on_exit=[node("never")])
    second = TimerAction(period=4.0, actions=[node("two")])
    return LaunchDescription([first, second, RegisterEventHandler(exits)])
"""
    )
    made = cosim("new", "seen", "--from-node", "slow.launch.py")
    assert made.exit_code == 0, made.output
    parts = yaml.safe_load(Path("seen.yaml").read_text())["participants"]
    assert {"one_adapter", "two_adapter"} <= parts.keys()
    assert "OnProcessExit, for which a handler waits, did not come, so what it" in made.output


def test_extra_arguments_of_a_component_are_kept() -> None:
    parameter = Parameter("use_intra_process_comms", value=True).to_parameter_msg()
    request = SimpleNamespace(
        package_name="parts",
        plugin_name="parts::Relay",
        node_name="one",
        node_namespace="",
        remap_rules=[],
        parameters=[],
        extra_arguments=[parameter],
    )
    settings = settings_of(list(_launched._words(request)), "here")
    assert settings["arguments"] == ["use_intra_process_comms:=true"]
    assert ForeignSettings(**settings).extra_arguments == {"use_intra_process_comms": True}


def test_a_running_node_is_compared_with_the_scenario(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FASTDDS_BUILTIN_TRANSPORTS", "UDPv4")
    script = str(scenarios.NODES / "relay_node.py")
    Path("seen.yaml").write_text(yaml.safe_dump(scenarios.relay(node_name="relay")))
    there = subprocess.Popen([sys.executable, script])
    twin: subprocess.Popen[bytes] | None = None
    try:
        # On a busy machine the node takes a while to appear.
        checks = (cosim("check", "seen.yaml", "--graph") for _ in range(20))
        good = next((check for check in checks if not check.exit_code), None)
        wrong = cosim(
            "check",
            "seen.yaml",
            "--graph",
            "--set",
            "participants.relay.parameters.outputs.sum=total",
        )
        twin = subprocess.Popen([sys.executable, script])
        checks = (cosim("check", "seen.yaml", "--graph") for _ in range(20))
        twice = next((check for check in checks if check.exit_code), None)
    finally:
        for process in filter(None, (there, twin)):
            process.kill()
            process.wait()
    assert good is not None
    assert twice is not None
    assert "participants.relay: 2 nodes are called /relay, of which ROS shows" in twice.output
    assert wrong.exit_code == 1
    assert "parameters.outputs.sum: /relay publishes no topic total" in wrong.output
    alone = cosim("check", "seen.yaml", "--graph")
    assert "participants.relay: no node /relay runs; there are none" in alone.output


@pytest.mark.parametrize(
    "words",
    [
        ("new", "seen", "--from-node", f"{sys.executable} {scenarios.NODES / 'relay_node.py'}"),
        ("check", "seen.yaml", "--graph"),
        ("replay", "out", "--into", "relay", "--to-topics"),
    ],
)
def test_a_middleware_that_is_not_there_is_one_line(words: tuple[str, ...]) -> None:
    """What loads it would end the process with a message of its own."""
    Path("seen.yaml").write_text(yaml.safe_dump(scenarios.relay()))
    done = subprocess.run(
        [sys.executable, "-m", "ros2_cosim.cli.main", *words],
        env={**os.environ, "RMW_IMPLEMENTATION": "rmw_other_cpp"},
        capture_output=True,
        text=True,
        check=False,
    )
    (line,) = done.stderr.splitlines()
    assert line.startswith("cosim: RMW_IMPLEMENTATION: found 'rmw_other_cpp', which is not inst")
    assert done.returncode == 1


@pytest.mark.parametrize(
    ("command", "text"),
    [
        ("missing.py", "there is no file missing.py"),
        (f"{sys.executable} -c 'raise SystemExit(\"no: luck\")'", "luck\")': the foreign process"),
        (f"{sys.executable} -c 'raise SystemExit(\"no luck\")'", "its last line: no luck"),
        ("missing.launch.py", "there is no file missing.launch.py"),
        (
            f"{scenarios.NODES / 'composed_node.py'} --ros-args -r __node:=both",
            "found a second node called /both, beside that of the same process; allowed is one",
        ),
        ("ros2 launch missing.launch.py", "there is no file missing.launch.py"),
        ("ros2 launch lost x.launch.py", "no file x.launch.py of package lost; source its works"),
        ("'", "No closing quotation; allowed is a command line"),
    ],
)
def test_what_is_no_node_is_refused(command: str, text: str) -> None:
    made = cosim("new", "seen", "--from-node", command)
    assert made.exit_code == 1 and not Path("seen.yaml").exists()
    assert f"--from-node {command}"[:15] in made.output and text in made.output
