# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Nodes of the user's own in a plan, and what their endings say of a run."""

from __future__ import annotations

import os
import sys

import pytest

from ros2_cosim.core.documents.installed import share_file
from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.run.request import RunOptions
from ros2_cosim.core.scenario.adjust import adjusted
from ros2_cosim.core.scenario.schema import load_scenario
from ros2_cosim.core.scenario.system import build_model
from ros2_cosim.driving.controllers import Measurement, make_law
from ros2_cosim.ros.bringup.plan import Process, make_plan
from ros2_cosim.ros.bringup.processes import ProcessGroup, command_of
from ros2_cosim.ros.bringup.watch import RunWatch

NODE = """
import sys
from neighbour import Law
from ros2_cosim.ros.programs.cacc_controller import run_controller

GAIN = 2.0
assert __name__ == "__main__" and len(sys.argv) == 1
run_controller(Law(lambda: GAIN))
"""
NEIGHBOUR = """
class Law:
    def __init__(self, gain):
        self.gain = gain

    def acceleration(self, m):
        return self.gain() * m.gap
"""


@pytest.fixture
def scenario():
    return load_scenario(share_file("config/platoon.yaml"))


@pytest.fixture
def script(tmp_path, monkeypatch):
    path = tmp_path / "my_node.py"
    path.write_text(NODE)
    (tmp_path / "neighbour.py").write_text(NEIGHBOUR)
    monkeypatch.chdir(tmp_path)
    yield path
    sys.modules.pop("neighbour", None)


@pytest.fixture
def package(tmp_path, monkeypatch):
    path = tmp_path / "lib" / "my_package" / "my_node"
    path.parent.mkdir(parents=True)
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    monkeypatch.setenv("AMENT_PREFIX_PATH", f"/nowhere{os.pathsep}{tmp_path}")
    return path


def controllers_of(scenario, tmp_path):
    plan = make_plan(scenario, RunOptions(out=tmp_path))
    return [process for process in plan if process.name in ("cacc1", "cacc2")]


def test_script_runs_as_every_controller_with_the_same_parameters(scenario, script, tmp_path):
    default = controllers_of(scenario, tmp_path)
    own = controllers_of(adjusted(scenario, controllers="./my_node.py"), tmp_path)
    assert [p.parameters for p in own] == [p.parameters for p in default]
    for process in own:
        assert (process.package, process.executable) == ("", str(script))
        assert command_of(process)[:2] == [sys.executable, str(script)]


def test_executable_of_a_package_runs_as_controller(scenario, package, tmp_path):
    own = controllers_of(adjusted(scenario, controllers="my_package/my_node"), tmp_path)
    for process in own:
        assert (process.package, process.executable) == ("my_package", "my_node")
        assert command_of(process)[0] == str(package)


def test_script_named_in_a_scenario_file_is_relative_to_it(scenario, script, tmp_path):
    path = tmp_path / "own.yaml"
    text = share_file("config/platoon.yaml").read_text()
    model = "model: cacc_controller\n"
    path.write_text(text.replace(model, f"{model}    node: my_node.py\n"))
    own = controllers_of(load_scenario(path), tmp_path)
    assert [process.executable for process in own] == [str(script)] * 2


def test_law_of_a_script_is_made_as_the_script_makes_it(scenario, script):
    own = adjusted(scenario, controllers="my_node.py")
    first, second = (build_model(own, name, "inproc") for name in ("cacc1", "cacc2"))
    assert first is not second
    law = make_law(str(script))
    measurement = Measurement(0.04, 20.0, 0.0, 3.0, 0.0, 2.0, 0.6, 30.0)
    assert law.acceleration(measurement) == 6.0
    assert law is not make_law(str(script))


def test_script_leaves_no_trace_in_this_process(script):
    before = (list(sys.argv), list(sys.path), sys.modules["__main__"])
    make_law(str(script))
    assert (sys.argv, sys.path, sys.modules["__main__"]) == before


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x = 1\n", "ended without calling run_controller"),
        ("1 / 0\n", "failed before it called run_controller: ZeroDivisionError"),
        ("import sys; sys.exit(3)\n", "failed before it called run_controller: SystemExit: 3"),
        ("def f(:\n", "SyntaxError"),
        (
            "from ros2_cosim.ros.programs.cacc_controller import run_controller\n"
            "run_controller(7)\n",
            "int has no method acceleration",
        ),
    ],
)
def test_script_that_gives_no_law_is_said(text, message, script):
    script.write_text(text)
    with pytest.raises(ConfigurationError, match=message):
        make_law(str(script))


def test_package_node_is_refused_in_process(scenario, package):
    own = adjusted(scenario, controllers="my_package/my_node")
    with pytest.raises(ConfigurationError, match="'my_package/my_node' runs in shape ros only"):
        build_model(own, "cacc1", "inproc")


@pytest.mark.parametrize(
    ("node", "message"),
    [
        ("cacc", "participants.cacc1.node: found 'cacc'; allowed are path/to/script.py and "),
        ("./gone.py", "there is no file .*gone.py"),
        ("a/b/c", "there is no file .*a/b/c"),
        ("my_package/gone", "nor an executable 'gone' of an installed ROS package 'my_package'"),
    ],
)
def test_node_that_is_not_there_is_said(node, message, scenario, package, tmp_path):
    data = scenario.model_dump(by_alias=True)
    data["participants"]["cacc1"]["node"] = node
    with pytest.raises(ConfigurationError, match=message):
        make_plan(type(scenario).model_validate(data), RunOptions(out=tmp_path))


def watch(*names: str) -> RunWatch:
    return RunWatch([Process(name, name, required=name != "extra") for name in names])


def test_cause_is_the_process_that_was_not_told_to_end():
    run = watch("a", "b", "c")
    run.ended("a", 3)
    assert run.failure() == "process 'a' ended with exit code 3: it printed nothing"
    run.printed("b", "Traceback")
    run.told("b", "b: no licence")
    run.ended("b", 1)
    run.ended("c", -9)
    assert run.failure() == "b: no licence"


def test_killed_process_is_named_with_its_signal():
    run = watch("a", "b")
    run.ended("b", -9)
    assert run.some_failed and run.failure() == "process 'b' was killed by SIGKILL"


def test_extra_process_may_end_as_it_likes():
    run = watch("a", "extra")
    run.ended("extra", 1)
    assert not run.some_failed and not run.some_ended and run.early() is None
    run.ended("a", 0)
    assert run.complete and run.all_ended and run.failure() is None and run.early() is None


def test_process_that_ends_early_without_an_error_is_named():
    run = RunWatch([Process("cacc1", "/x/my_law.py", package=""), Process("clock", "clock")])
    run.ended("cacc1", 0)
    assert run.failure() is None
    assert "'cacc1' ended before the run was over" in run.early()
    assert "does it call run_controller(law)?" in run.early()


def test_group_names_a_script_that_only_defines_a_law(tmp_path, monkeypatch, nothing_left):
    monkeypatch.setattr("ros2_cosim.ros.bringup.processes.EARLY_S", 0.0)
    law, other = tmp_path / "law.py", tmp_path / "other.py"
    law.write_text("class Law:\n    pass\n")
    other.write_text("import time\ntime.sleep(300)\n")
    plan = [Process(path.stem, str(path), package="") for path in (law, other)]
    with ProcessGroup(plan, os.environ) as group:
        while (failure := group.failure()) is None:
            assert not group.ended()
    assert failure.startswith("process 'law' ended before the run was over")
