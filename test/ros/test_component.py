# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""A component that is loaded into its own container, as a participant."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from runs.cosim_process import ROOT, cosim, user_environment
from support import gate_scenarios as scenarios
from support.busy_machine import busy_machine
from support.message_build import build_messages, set_variables
from support.patience import HANG_S

from ros2_cosim.core.record.summary import read_summary

pytest.importorskip("rclpy")
pytest.importorskip("ros2_cosim.msg", reason="generated messages are not built")

PARTS = ROOT / "test" / "support" / "composition"


@pytest.fixture(scope="module")
def prefix(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, str]]:
    """A workspace with a container, a component, and the services between them."""
    place = tmp_path_factory.mktemp("prefix")
    built = build_messages(PARTS / "composition_interfaces", place)
    program = place / "lib" / "rclcpp_components" / "component_container"
    program.parent.mkdir()
    program.write_text(f"#!{sys.executable}\n{(PARTS / 'container.py').read_text()}")
    program.chmod(0o755)
    index = place / "share/ament_index/resource_index/rclcpp_components"
    index.mkdir(parents=True, exist_ok=True)
    (index / "parts").write_text("parts::Relay;lib/libparts.so\nparts::Lost;lib/libparts.so\n")
    return place, built["variables"]


@pytest.fixture
def environment(prefix: tuple[Path, dict[str, str]], tmp_path: Path) -> Iterator[dict[str, str]]:
    """That of a user who has sourced it."""
    with user_environment(tmp_path / "logs") as found:
        set_variables(found, prefix[1])
        yield found


def told(environment: dict[str, str], place: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "ros2_cosim.cli.main", *words]
    return subprocess.run(
        command, env=environment, cwd=place, capture_output=True, text=True, timeout=HANG_S,
        check=False,
    )  # fmt: skip


def test_a_component_has_the_trace_of_the_same_node_in_a_program(
    environment: dict[str, str], tmp_path: Path
) -> None:
    def trace(name: str, data: dict[str, Any], shape: str) -> str:
        (tmp_path / f"{name}.yaml").write_text(yaml.safe_dump(data))
        out = tmp_path / name
        result = cosim(environment, tmp_path / f"{name}.yaml", "--shape", shape, "--out", out)
        assert result.code == 0, result
        summary = read_summary(out)
        assert summary.repeatable, summary.not_repeatable_reason
        return summary.trace_sha256

    loaded = scenarios.relay()
    settings = loaded["participants"]["relay"]["parameters"]
    del settings["script"]
    settings |= {
        "package": "parts",
        "executable": "parts::Relay",
        "node_name": "/cars/one",
        "ros_parameters": {"share": 0.75},
    }
    first = trace("program", scenarios.relay(), "composed")
    assert trace("loaded", loaded, "composed") == first
    with busy_machine():
        assert trace("busy", loaded, "ros") == first


@pytest.mark.usefixtures("nothing_left")
def test_components_of_one_process_are_loaded_anew_for_each_run(
    environment: dict[str, str], prefix: tuple[Path, dict[str, str]], tmp_path: Path
) -> None:
    def two(**settings: Any) -> dict[str, Any]:
        data = scenarios.relay(duration="300ms")
        parts = data["participants"]
        if settings:
            parts["relay"]["parameters"] |= {"ros_parameters": {"share": 0.75}, **settings}
            del parts["relay"]["parameters"]["script"]
        second = {**parts["relay"], "inputs": {"number": "relay.sum"}}
        second["outputs"] = {"sum": {"type": scenarios.FLOAT, "topic": "/second"}}
        parts["second"] = second
        parts["sink"]["inputs"] = {"sum": "second.sum"}
        return data

    def trace(name: str, data: dict[str, Any], shape: str) -> str:
        (tmp_path / "two.yaml").write_text(yaml.safe_dump(data))
        out = tmp_path / name
        result = cosim(environment, tmp_path / "two.yaml", "--shape", shape, "--out", out)
        assert result.code == 0, result
        summary = read_summary(out)
        assert summary.repeatable, summary.not_repeatable_reason
        return summary.trace_sha256

    extra = ["use_intra_process_comms:=true"]
    shared = two(attach="/box", package="parts", executable="parts::Relay", arguments=extra)
    expected = trace("programs", two(), "composed")
    program = prefix[0] / "lib" / "rclcpp_components" / "component_container"
    words = [str(program), "--ros-args", "-r", "__node:=box"]
    with subprocess.Popen(words, env=environment, stdout=subprocess.PIPE, text=True) as container:
        try:
            found = [trace(str(n), shared, shape) for n, shape in enumerate(("composed", "ros"))]
            assert found == [expected, expected]
        finally:
            container.terminate()  # killed, it would leave its shared memory
        said = container.communicate()[0].splitlines()
    assert said.count("loaded") == said.count("extra use_intra_process_comms True") == 4
    # What a container does not do in time at the end of a run it does at the start of the next one.
    assert said.count("unloaded") >= 2


def test_what_is_loaded_becomes_a_scenario_that_runs(
    environment: dict[str, str], tmp_path: Path
) -> None:
    words = (
        "ros2 run parts parts::Relay use_intra_process_comms:=true --ros-args -r __node:=one "
        "-r number:=/n -p share:=0.25"
    )
    made = told(environment, tmp_path, "new", "seen", "--from-node", words)
    assert made.returncode == 0, made
    parts = yaml.safe_load((tmp_path / "seen.yaml").read_text())["participants"]
    parameters = parts["one_adapter"]["parameters"]
    assert parameters["executable"] == "parts::Relay"
    assert parameters["ros_parameters"] == {"share": 0.25}
    assert parameters["arguments"] == ["use_intra_process_comms:=true"]
    assert parameters["inputs"] == {"n": "number"}
    out = tmp_path / "out"
    words_of_run = ("--shape", "composed", "--out", out, "--set", "duration=300ms")
    ran = cosim(environment, tmp_path / "seen.yaml", *words_of_run)
    assert ran.code == 0, ran
    assert read_summary(out).repeatable


def test_what_cannot_be_loaded_is_one_line(environment: dict[str, str], tmp_path: Path) -> None:
    where = "ros2 run parts parts::Lost"
    lost = told(environment, tmp_path, "new", "seen", "--from-node", where)
    assert lost.stderr == (
        f"cosim: --from-node {where}: the container cannot load parts::Lost: Failed to find class "
        "parts::Lost\n"
    )
