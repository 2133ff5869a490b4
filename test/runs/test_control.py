# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Runs that are paused, stepped, watched and ended from outside: same trace, nothing left."""

from __future__ import annotations

import json
import os
import re
import signal
import time
from pathlib import Path

import pytest
from runs.cosim_process import Running, left_processes, user_environment
from support.control_scenarios import write_chain
from support.controlled_run import Controlled
from support.patience import HANG_S, until

from ros2_cosim.core.realtime.run_control import Command, Request
from ros2_cosim.core.record.summary import read_summary
from ros2_cosim.core.run.bringup import bring_up
from ros2_cosim.core.run.inproc import InprocRun, run_inproc
from ros2_cosim.core.run.request import RunRequest
from ros2_cosim.core.scenario.schema import Scenario, load_scenario

pytest.importorskip("rclpy", reason="needs rclpy, which make setup installs")

SHAPES = ("ros", "composed")


def trace_of(output: Path) -> str:
    return str(json.loads((output / "summary.json").read_text())["trace_sha256"])


@pytest.fixture(scope="module")
def reference(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The trace of the undisturbed run."""
    directory = tmp_path_factory.mktemp("reference")
    scenario = load_scenario(write_chain(directory / "chain.json"))
    return run_inproc(scenario, directory, record=False).trace_sha256


def table_of(text: str) -> dict[str, str]:
    """The rows of the monitor's table by participant."""
    found = {}
    for line in text.splitlines():
        words = line.split(maxsplit=1)
        if words and words[0] in ("plant", "sensor", "controller", "observer", "recorder"):
            found[words[0]] = words[1]
    return found


@pytest.mark.parametrize("shape", ["ros", "composed"])
def test_services_of_a_run_only_tell_where_that_is_asked_for(shape: str, tmp_path: Path) -> None:
    scenario, output = write_chain(tmp_path / "chain.json"), tmp_path / "out"
    with user_environment(tmp_path / "log") as environment:
        environment["COSIM_NO_CONTROL"] = "1"
        arguments = (scenario, "--shape", shape, "--out", output, "--paused", "--no-bag")
        with Running(environment, *arguments) as running:
            run = Controlled(environment, running)
            run.wait_for_run()
            for word in ("resume", "abort"):
                assert run.command("control", word).error() == (
                    f"cosim: control {word}: COSIM_NO_CONTROL is set: no service changes this run"
                )
            assert run.control("status") == "paused at 0s"
            running.send(signal.SIGINT)
            running.result()
        assert left_processes(environment) == []


@pytest.mark.parametrize("shape", SHAPES)
def test_a_run_that_is_paused_and_stepped_has_the_same_trace(
    shape: str, reference: str, tmp_path: Path
) -> None:
    scenario = write_chain(tmp_path / "chain.json")
    output = tmp_path / "out"
    with user_environment(tmp_path / "log") as environment:
        arguments = (scenario, "--shape", shape, "--out", output, "--paused")
        with Running(environment, *arguments) as running:
            run = Controlled(environment, running)
            run.wait_for_run()
            assert run.control("status") == "paused at 0s"
            assert run.control("step") == "paused at 50ms"
            assert run.control("step", "3", "7ms") == "paused at 71ms"
            # A message of the sensor, to be read by the observer.
            assert run.control("instant") == "paused at 73ms"
            assert run.control("until", "1s") == "paused at 1s"
            monitor = run.command("control", "monitor")
            assert monitor.code == 0, monitor
            assert monitor.stdout.splitlines()[0].strip() == "chain PAUSED: paused at 1s"
            rows = table_of(monitor.stdout)
            state = json.loads(run.command("control", "monitor", "--json").stdout)
            assert (state["state"], state["time_ns"]) == ("PAUSED", 1_000_000_000)
            assert {entry["participant"] for entry in state["participants"]} == rows.keys()
            participants = {"plant", "sensor", "controller", "observer"}
            assert rows.keys() == participants | ({"recorder"} if shape == "ros" else set())
            for row in rows.values():
                assert re.search(r"horizon +[0-9.]+ s$", row.strip()), row
            refused = run.command("control", "until", "1ms")
            assert refused.error() == (
                "cosim: control until: until: found 1ms; everything before 1s has been granted "
                "already"
            )
            assert run.control("rate", "max") == "rate max"
            run.end("resume")
            result = running.result()
        assert result.code == 0, result
        assert left_processes(environment) == []
    assert trace_of(output) == reference


def test_a_process_stopped_during_a_pause_is_left_alone(reference: str, tmp_path: Path) -> None:
    scenario = write_chain(tmp_path / "chain.json", watchdog_s=1.0, watchdog_warn_s=0.5)
    output = tmp_path / "out"
    with user_environment(tmp_path / "log") as environment:
        with Running(environment, scenario, "--out", output, "--paused") as running:
            run = Controlled(environment, running)
            run.wait_for_run()
            assert run.control("until", "1s") == "paused at 1s"
            children = running.children()
            for name in ("sensor", "recorder"):
                os.kill(children[name], signal.SIGSTOP)
            # Until the silence has been longer than both limits.
            silent = set()
            deadline = time.monotonic() + HANG_S
            while silent != {"sensor", "recorder"}:
                assert time.monotonic() < deadline
                rows = table_of(run.command("control", "monitor").stdout)
                found = {
                    n: re.search(r"no sign of life for ([0-9.]+) s", r) for n, r in rows.items()
                }
                silent = {n for n, match in found.items() if match and float(match[1]) > 2.0}
            for name in ("sensor", "recorder"):
                os.kill(children[name], signal.SIGCONT)
            run.end("resume")
            result = running.result()
        assert result.code == 0, result
        assert "warning: no sign of life of 'sensor'" in result.stderr
        assert left_processes(environment) == []
    assert trace_of(output) == reference


@pytest.mark.parametrize("shape", SHAPES)
def test_a_stop_ends_the_run_in_order(shape: str, tmp_path: Path) -> None:
    scenario = write_chain(tmp_path / "chain.json")
    output = tmp_path / "out"
    with user_environment(tmp_path / "log") as environment:
        with Running(
            environment, scenario, "--shape", shape, "--out", output, "--paused"
        ) as running:
            run = Controlled(environment, running)
            run.wait_for_run()
            run.control("until", "500ms")
            run.end("stop", "seen enough")
            result = running.result()
        assert result.code == 0, result
        assert "stop: seen enough" in result.stdout
        assert left_processes(environment) == []
    shorter = load_scenario(scenario, ["duration=500ms"])
    again = run_inproc(shorter, tmp_path, record=False)
    # A prefix of the undisturbed run: that of a run with this duration.
    assert trace_of(output) == again.trace_sha256


@pytest.mark.parametrize("shape", SHAPES)
def test_an_abort_ends_everything_with_one_line(shape: str, tmp_path: Path) -> None:
    scenario = write_chain(tmp_path / "chain.json")
    output = tmp_path / "out"
    with user_environment(tmp_path / "log") as environment:
        with Running(
            environment, scenario, "--shape", shape, "--out", output, "--paused"
        ) as running:
            run = Controlled(environment, running)
            run.wait_for_run()
            run.control("step", "2")
            run.end("abort", "wrong scene")
            error = running.result().error()
        name = "clock" if shape == "ros" else "composed"
        assert error == f"cosim: {name}: aborted: wrong scene"
        assert left_processes(environment) == []
    assert not read_summary(output, complete=False).complete


@pytest.mark.parametrize("shape", SHAPES)
def test_a_run_is_repeated_in_the_same_processes(
    shape: str, reference: str, tmp_path: Path
) -> None:
    scenario = write_chain(tmp_path / "chain.json")
    output = tmp_path / "out"
    with user_environment(tmp_path / "log") as environment:
        arguments = (scenario, "--shape", shape, "--out", output, "--repeat", "3")
        with Running(environment, *arguments) as running:
            result = running.result()
        assert result.code == 0, result
        assert left_processes(environment) == []
    again = [output, output / "again-1", output / "again-2"]
    assert [trace_of(path) for path in again] == 3 * [reference]
    assert all((path / "bag").is_dir() for path in again)
    assert result.stdout.count(f"trace {reference}") == 3 + 1  # and once for all


def test_a_reset_begins_a_paused_run_anew(reference: str, tmp_path: Path) -> None:
    scenario = write_chain(tmp_path / "chain.json")
    output = tmp_path / "out"
    with user_environment(tmp_path / "log") as environment:
        with Running(environment, scenario, "--out", output, "--paused", "--no-bag") as running:
            run = Controlled(environment, running)
            run.wait_for_run()
            assert run.control("until", "1s") == "paused at 1s"
            before = running.children()
            assert run.control("reset") == "reset accepted"
            until(lambda: run.command("control", "status").stdout.strip() == "paused at 0s")
            assert running.children() == before
            run.end("resume")
            result = running.result()
        assert result.code == 0, result
        assert left_processes(environment) == []
    assert "reset: on request" in result.stdout
    assert trace_of(output / "again-1") == reference


def test_commands_need_a_run_and_make_sense(tmp_path: Path) -> None:
    with user_environment(tmp_path / "log") as environment:
        run = Controlled(environment)
        domain = environment["ROS_DOMAIN_ID"]
        for words, error in (
            (("control", "pause"), f"no run is under way .* {domain}$"),
            (("control", "monitor"), f"no run is under way .* {domain}$"),
            (("control", "until"), "control until: needs a value"),
            (("control", "until", "soon"), "control until: found 'soon'"),
            (
                ("control", "rate", "0"),
                "control rate: found '0'; allowed is a number from 0.0001 to below 1e6, or max",
            ),
            (("control", "step", "-1"), "No such option|found"),
            (("control", "step", "many"), "control step: found 'many'; allowed is a count"),
            (("control", "pause", "2"), "control pause: found '2'; it takes no value"),
            (("control", "pause", "--at", "2ms"), "control pause: --at is for changes only"),
        ):
            result = run.command(*words)
            assert result.code != 0
            assert re.search(error, result.stderr), result


def request_of(scenario: Scenario, directory: Path) -> RunRequest:
    return RunRequest(scenario, shape="inproc", out=directory / "driven", record=False)


def test_a_run_in_this_process_is_driven_by_requests(reference: str, tmp_path: Path) -> None:
    scenario = load_scenario(write_chain(tmp_path / "chain.json"))
    with bring_up(request_of(scenario, tmp_path)) as prepared, InprocRun(prepared) as run:
        assert run.request(Request(Command.STEP, steps=2)).message == "paused at 100ms"
        assert run.time == 100_000_000
        assert run.request(Request(Command.INSTANT)).message == "paused at 100ms"
        # The sensor's message of 90 ms is stamped 93 ms; the next one comes at 113 ms.
        assert run.request(Request(Command.INSTANT)).message == "paused at 110ms"
        assert not run.request(Request(Command.UNTIL, time_ns=1)).success
        assert run.request(Request(Command.UNTIL, time_ns=10**9)).message == "paused at 1s"
        assert not run.finished
        summary = run.finish()
        assert run.finished
        assert run.request(Request(Command.STEP)).message == "the run is over"
    assert summary.trace_sha256 == reference


def test_a_run_in_this_process_can_be_paused_and_stopped(tmp_path: Path) -> None:
    scenario = load_scenario(write_chain(tmp_path / "chain.json", duration="5s"))
    seen: list[int] = []

    def pause(time_ns: int) -> None:
        seen.append(time_ns)
        if len(seen) == 1:
            run.request(Request(Command.PAUSE))

    with (
        bring_up(request_of(scenario, tmp_path)) as prepared,
        InprocRun(prepared, progress=pause) as run,
    ):
        assert run.request(Request(Command.RESUME)).message == "running"
        assert (run.time, seen) == (10**9, [10**9])
        run.request(Request(Command.STOP, reason="seen enough"))
        summary = run.finish()
    assert (summary.sim_time_s, summary.end_reason) == (1.0, "stop: seen enough")
