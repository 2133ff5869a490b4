# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Runs in namespaces: two in one ROS domain, each with its trace, its names and its tools."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from runs.cosim_process import ROOT, Running, cosim, left_processes, user_environment
from support.control_scenarios import write_chain
from support.controlled_run import Controlled
from support.patience import HANG_S

from ros2_cosim.core.run.inproc import run_inproc
from ros2_cosim.core.scenario.schema import load_scenario
from ros2_cosim.ros.bringup.dds import loopback_environment

pytest.importorskip("rclpy", reason="needs rclpy, which make setup installs")

#: What ROS has once in a domain, whatever the namespaces of its nodes are.
COMMON = {"/rosout", "/parameter_events"}


def names_in(environment: dict[str, str], directory: Path, *wanted: str) -> set[str]:
    """Full names of all nodes, topics and services of a domain."""
    script = ROOT / "test" / "support" / "list_names.py"
    found = subprocess.run(
        [sys.executable, str(script), *wanted],
        env=loopback_environment(environment, directory),
        capture_output=True,
        text=True,
        timeout=HANG_S,
        check=False,
    )
    assert found.returncode == 0, (found.stdout, found.stderr)
    return set(found.stdout.split())


def test_two_runs_in_one_domain_do_not_disturb_each_other(tmp_path: Path) -> None:
    scenario = write_chain(tmp_path / "chain.json")
    reference = run_inproc(load_scenario(scenario), tmp_path, record=False).trace_sha256
    one, two = tmp_path / "one", tmp_path / "two"
    with user_environment(tmp_path / "log") as environment:
        lane = (scenario, "--out", one, "--paused", "--namespace", "cars/a")
        lane += ("--ros-args", "-r", "/cars/a/clock:=/time")
        dds = (scenario, "--out", two, "--paused", "--namespace", "/b", "--transport", "dds")
        with Running(environment, *lane) as first, Running(environment, *dds) as second:
            a = Controlled(environment, first, "--out", str(one))
            b = Controlled(environment, second, "--out", str(two))
            a.wait_for_run()
            b.wait_for_run()
            assert a.control("until", "1s") == "paused at 1s"
            assert b.control("status") == "paused at 0s"
            unclear = a.command("control", "status")
            assert unclear.error() == (
                "cosim: several runs are under way; choose one by --out: "
                f"{two} (chain), {one} (chain)"
            )
            third = cosim(environment, scenario, "--namespace", "b", "--out", tmp_path / "three")
            domain = environment["ROS_DOMAIN_ID"]
            assert third.error() == (
                f"cosim: another run uses ROS domain {domain} in namespace /b; wait for it, or "
                "give this one another place with --namespace, or with ROS_DOMAIN_ID from 0 to 101"
            )
            monitor = b.command("control", "monitor", "--out", str(two))
            assert monitor.stdout.splitlines()[0].strip() == "chain PAUSED: paused at 0s"
            names = names_in(
                environment,
                tmp_path,
                "/time",
                "/b/cosim/control",
                *("/b/plant", "/b/cosim_recorder", "/b/cosim_clock"),
            )
            outside = {n for n in names - COMMON if not n.startswith(("/cars/a/", "/b/"))}
            assert outside == {"/time"}  # as it was remapped
            plain = {n.removeprefix("/b") for n in names if n.startswith("/b/")}
            assert {
                "/clock",
                "/cosim/horizon",
                "/cosim/status",
                "/cosim_recorder",
                "/cosim_clock",
                "/plant",
            } <= plain
            a.end("resume")
            b.end("resume")
            results = first.result(), second.result()
        assert [result.code for result in results] == [0, 0], results
        assert left_processes(environment) == []
    summaries = [json.loads((out / "summary.json").read_text()) for out in (one, two)]
    assert [summary["trace_sha256"] for summary in summaries] == [reference, reference]
    assert [summary["transport"] for summary in summaries] == ["lane", "dds"]


@pytest.mark.parametrize(
    ("namespace", "shape", "said"),
    [
        ("1a", "ros", "cosim: --namespace: found '1a'; allowed are names of letters, digits"),
        ("a", "inproc", "cosim: namespace: found '/a' with shape inproc, which has no ROS;"),
    ],
)
def test_what_is_no_place_for_a_run_is_one_line(
    tmp_path: Path, namespace: str, shape: str, said: str
) -> None:
    scenario = write_chain(tmp_path / "chain.json")
    with user_environment(tmp_path / "log") as environment:
        result = cosim(environment, scenario, "--namespace", namespace, "--shape", shape)
    assert result.error().startswith(said)


def test_arguments_of_ros_are_for_remappings_and_parameters(tmp_path: Path) -> None:
    scenario = write_chain(tmp_path / "chain.json")
    with user_environment(tmp_path / "log") as environment:
        named = cosim(environment, scenario, "--ros-args", "-r", "__node:=x")
        broken = cosim(
            environment,
            scenario,
            *("--shape", "composed", "--out", tmp_path / "out", "--ros-args", "-p"),
            "qos_overrides./cosim/status.publisher.depth:=1",
        )
    assert named.error() == (
        "cosim: --ros-args: found '__node:=x'; the nodes of a run have the names of its "
        "participants; use --namespace to place them"
    )
    assert "qos_overrides./cosim/status.publisher: found reliable" in broken.stderr
    assert broken.stderr.splitlines()[-1].startswith("cosim: ")
