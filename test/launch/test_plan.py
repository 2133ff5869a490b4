# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""What the launch file would start: checked everywhere, without any launch package."""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest
import yaml
from support.isolation import drop_dds_settings

from ros2_cosim.core.documents.installed import PACKAGE, share_file
from ros2_cosim.core.documents.run_files import RESOLVED_SCENARIO
from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.process.seal import RUN_SECRET
from ros2_cosim.core.record.summary import write_summary
from ros2_cosim.core.run.inproc import run_inproc
from ros2_cosim.core.run.request import RunOptions
from ros2_cosim.core.scenario.schema import load_scenario
from ros2_cosim.core.sockets.switchboard import LANE
from ros2_cosim.ros.bringup.dds import PROFILE_FILE
from ros2_cosim.ros.bringup.launch_request import (
    LaunchRequest,
    Seconds,
    check_names,
    launch_arguments,
    prepare_launch,
)
from ros2_cosim.ros.bringup.plan import make_plan
from ros2_cosim.ros.bringup.processes import command_of
from ros2_cosim.ros.bringup.starter_channel import CHANNEL, ClockProgress

LAUNCH_FILE = Path(__file__).resolve().parents[2] / "launch" / "scenario.launch.py"


@pytest.fixture
def values(tmp_path, ros_domain) -> dict[str, str]:
    chosen = {argument.name: argument.default or "" for argument in launch_arguments()}
    scenario = str(share_file("config/platoon.yaml"))
    return {**chosen, "scenario": scenario, "out": str(tmp_path / "out")}


@pytest.fixture
def request_(values) -> Iterator[LaunchRequest]:
    request = prepare_launch(values)
    yield request
    request.release()


def test_plan_is_that_of_cosim_run(request_):
    scenario = load_scenario(request_.output / RESOLVED_SCENARIO)
    assert request_.plan == make_plan(scenario, RunOptions(out=request_.output))
    names = [process.name for process in request_.plan]
    assert names[0] == "simulator" and names[-1] == "clock"
    hosts = [name for process in request_.plan for name in process.hosts]
    assert set(scenario.participants) <= {*names, *hosts}
    assert "group1" in names
    assert len(set(names)) == len(names)


def test_every_executable_exists(request_):
    for process in request_.plan:
        assert process.package == PACKAGE
        assert callable(import_module(f"ros2_cosim.ros.programs.{process.executable}").main)


def test_parameter_file_says_what_the_command_line_says(request_):
    content = yaml.safe_load(request_.parameter_file.read_text())
    for process in request_.plan:
        if not process.is_ros:
            continue
        assert content[f"/{process.node}"] == {"ros__parameters": dict(process.parameters)}
        command = command_of(process)
        for name, value in process.parameters.items():
            given = [part for part in command if part.startswith(f"{name}:=")]
            assert yaml.safe_load(given[0].partition(":=")[2]) == value


def test_ports_are_resolved_for_all_processes(request_):
    scenario = load_scenario(request_.output / RESOLVED_SCENARIO)
    ports = {scenario.simulator.port, scenario.participants["world"].parameters["dcp"]["port"]}
    assert len(ports) == 2 and 0 not in ports


def test_duration_is_that_of_the_scenario(values):
    request = prepare_launch({**values, "set": "seed=3", "duration": "2s"})
    request.release()
    assert request.prepared.scenario.duration == 2_000_000_000
    assert request.prepared.scenario.seed == 3


def test_arguments_offered_are_those_that_count(values):
    class Recording(dict):
        asked: set[str] = set()

        def __getitem__(self, name: str) -> str:
            self.asked.add(name)
            return super().__getitem__(name)

    recording = Recording(values)
    prepare_launch(recording).release()
    assert recording.asked == {argument.name for argument in launch_arguments()}
    assert all(argument.description.endswith(".") for argument in launch_arguments())


def test_launch_file_leaves_the_deciding_to_the_package():
    tree = ast.parse(LAUNCH_FILE.read_text())
    modules = {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert {"launch", "launch_ros.actions", "ros2_cosim.ros.bringup.launch_request"} <= modules
    # No argument is named in it a second time; the namespace may be pushed by another launch file.
    names = {a.name for a in launch_arguments()} - {"simulator", "out", "namespace"}
    literals = {n.value for n in ast.walk(tree) if isinstance(n, ast.Constant)}
    assert not names & {text for text in literals if isinstance(text, str)}


def test_dds_settings_are_those_of_cosim_run(values, monkeypatch):
    drop_dds_settings(monkeypatch)
    monkeypatch.delenv("RMW_IMPLEMENTATION", raising=False)
    request = prepare_launch(values)
    request.release()
    profile = str((request.output / PROFILE_FILE).resolve())
    assert request.environment.pop(CHANNEL)
    assert len(request.environment.pop(RUN_SECRET)) == 32
    assert request.environment.pop(LANE)
    assert request.environment == {
        "FASTRTPS_DEFAULT_PROFILES_FILE": profile,
        "ROS_AUTOMATIC_DISCOVERY_RANGE": "SUBNET",
    }


def test_values_reach_the_scenario(values):
    values |= {"seed": "7", "simulator": "carla", "set": "simulator.host=10.0.0.1"}
    values |= {"rate": "2.5", "bag": "False", "visualise": "true", "controllers": "path_cacc"}
    request = prepare_launch(values)
    request.release()
    scenario = load_scenario(request.output / RESOLVED_SCENARIO)
    assert scenario.seed == 7
    assert scenario.simulator.kind == "carla"
    assert (scenario.simulator.host, scenario.simulator.port) == ("10.0.0.1", 2000)
    assert scenario.participants["cacc2"].parameters["law"] == "path_cacc"
    processes = {process.name: process for process in request.plan}
    assert "simulator" not in processes and "visualisation" in processes
    assert processes["clock"].parameters["rate"] == 2.5
    assert processes["recorder"].parameters["bag"] is False


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        (
            "simulator",
            "gazebo",
            "simulator.kind: found 'gazebo'; allowed are headless, carla",
        ),
        ("seed", "many", "seed: found 'many'; allowed is a whole number"),
        ("set", "simulator.port=70000", "simulator.port: found 70000"),
        (
            "rate",
            "0",
            "rate: found '0'; allowed is a number from 0.0001 to below 1e6, or max",
        ),
        ("bag", "yes", "bag: found 'yes'; allowed are true and false"),
        ("rviz", "1", "rviz: found '1'; allowed are true and false"),
        ("seed", "-1", "seed: found -1"),
        ("scenario", "nowhere.yaml", "scenario nowhere.yaml: there is no such file"),
        ("controllers", "nothing", "control law: found 'nothing'; allowed are"),
        ("controllers", "nowhere.py", "controllers: there is no file"),
    ],
)
def test_wrong_value_is_refused_before_anything_is_written(name, value, message, values):
    values[name] = value
    with pytest.raises(ConfigurationError, match=re.escape(message)) as raised:
        prepare_launch(values)
    assert "\n" not in str(raised.value)
    assert not Path(values["out"]).exists()


def test_port_in_use_is_refused(values):
    import socket

    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        values["set"] = f"simulator.port={port}"
        with pytest.raises(ConfigurationError, match=f"port {port} on 127.0.0.1 cannot be used"):
            prepare_launch(values)
    # What was prepared is given back: the next try finds domain and directory free.
    prepare_launch({**values, "set": ""}).release()


def test_domain_in_use_is_refused(values, request_, tmp_path):
    with pytest.raises(ConfigurationError, match="another run uses ROS domain"):
        prepare_launch({**values, "out": str(tmp_path / "other")})


def test_directory_in_use_is_refused_and_stays_as_it_is(values, request_):
    before = {path: path.read_bytes() for path in request_.output.iterdir() if path.is_file()}
    with pytest.raises(ConfigurationError, match=r"run 'platoon' \(process \d+, since .*\) writes"):
        prepare_launch(values)
    assert {path: path.read_bytes() for path in before} == before


def test_rviz_shows_the_view_of_this_package(values, tmp_path, monkeypatch):
    (tmp_path / "rviz2").write_text("#!/bin/sh\n")
    (tmp_path / "rviz2").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    request = prepare_launch({**values, "rviz": "true"})
    request.release()
    rviz = next(process for process in request.plan if process.name == "rviz")
    program, option, view = command_of(rviz)
    assert (program, option) == ("rviz2", "-d") and Path(view) == request.output / "view.rviz"
    assert yaml.safe_load(Path(view).read_text())["Visualization Manager"]
    assert not rviz.required
    assert "visualisation" in {process.name for process in request.plan}


def test_rviz_that_is_not_there_is_said(values, monkeypatch):
    monkeypatch.setenv("PATH", "")
    with pytest.raises(ConfigurationError, match="rviz2 is not on the PATH"):
        prepare_launch({**values, "rviz": "true"})


def test_unknown_argument_is_refused():
    check_names({"controllers": "x", "out": "y"})
    with pytest.raises(ConfigurationError, match="did you mean 'controllers'"):
        check_names({"contrllers": "x"})
    with pytest.raises(ConfigurationError, match="there are scenario, duration, shape, rate"):
        check_names({"xyzzy": "x"})


def test_what_cannot_be_drawn_is_said(values):
    scenario = str(share_file("config/car_following.yaml"))
    request = prepare_launch({**values, "scenario": scenario, "visualise": "true"})
    request.release()
    # Another one is about DDS settings that the environment of the tests may have.
    assert "visualise: nothing is drawn: scenario 'car_following' has no scene.vehicles" in (
        request.prepared.notes()
    )
    assert "visualisation" not in {process.name for process in request.plan}


def test_each_second_is_told_once():
    told = []
    seconds = Seconds(told.append)
    for time_ns in (0, 0, 999_999_999, 1_000_000_000, 1_000_000_000, 3_500_000_000, 0):
        seconds(ClockProgress(time_ns=time_ns))
    # The last one is of a run that begins anew.
    assert told == [0, 1, 3, 0]


def test_conclusion_has_verdicts_and_trace_also_of_a_run_that_failed(request_, tmp_path):
    scenario = load_scenario(share_file("config/platoon.yaml"), ["duration=1s"])
    (tmp_path / "inproc").mkdir()
    summary = run_inproc(scenario, tmp_path / "inproc", record=False)
    write_summary(request_.output, summary)
    lines, failure = request_.conclusion()
    assert "  no_collision: 0 (limit 0) passed" in lines
    assert any(line.startswith("  stands_still_by_s: ") and "FAILED" in line for line in lines)
    assert f"  trace {summary.trace_sha256}" in lines
    assert lines[-1] == f"results in {request_.output}"
    assert failure == "verdict not met: stands_before_obstacle, stands_still_by_s"
