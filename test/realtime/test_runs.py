# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Whole runs: the platoon with a plant that is late, in every shape; replay; the report."""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from support import warm
from support.coupling_signals import loop_scenario
from support.virtual_clock import VirtualClock

from ros2_cosim.core.realtime.pacing import Pacer
from ros2_cosim.core.realtime.run_settings import RealtimeRun
from ros2_cosim.core.record.summary import Summary
from ros2_cosim.core.run.inproc import run_inproc
from ros2_cosim.core.scenario.schema import Scenario, load_scenario

ROOT = Path(__file__).resolve().parents[2]
PLATOON = ROOT / "config" / "platoon.yaml"
PLATOON_TRACE = "15c8bc0b9bb6b55e"
DEADLINE = "{deadline: 9ms, policy: record}"


def late_plant(probability: float) -> str:
    """``--set`` of a plant that is late in this share of its steps, by up to 15 ms."""
    return (
        "participants.world.coupling={estimate: [{fields: x, order: 2, adapt: 0.2}, {order: 1}],"
        f" lateness: {{probability: {probability}, delay: {{uniform: [9ms, 15ms]}}}}}}"
    )


def platoon(*settings: str) -> Scenario:
    deadlines = [f"participants.{name}.overrun={DEADLINE}" for name in ("cacc1", "cacc2")]
    return load_scenario(PLATOON, [*deadlines, *settings])


def paced() -> RealtimeRun:
    return RealtimeRun(Pacer(1.0, VirtualClock()))


@pytest.mark.parametrize("probability", [0.01, 0.05, 0.2])
def test_platoon_with_a_late_plant(probability: float, tmp_path: Path) -> None:
    """At factor 1: no deadline of a controller missed, no collision, everything recorded."""
    summary = run_inproc(platoon(late_plant(probability)), tmp_path, realtime=paced())
    assert summary.passed and summary.collisions == 0 and summary.repeatable
    found = summary.realtime
    assert found is not None and found.overruns == 0
    assert {"cacc1", "cacc2", "world"} == set(found.deadlines)
    assert all(d.jitter.number > 0 for d in found.deadlines.values())
    coupling = found.couplings["world"]
    share = coupling.late / coupling.exchanges
    assert probability / 2 < share < 2.5 * probability
    assert coupling.never_delivered <= 1 and coupling.errors and coupling.learned
    page = (tmp_path / "report.html").read_text("utf-8")
    for heading in (
        "Real time",
        "Jitter",
        "Late results",
        "Errors of estimates",
        "Learned correction",
    ):
        assert heading in page


def test_platoon_paced_without_lateness_has_the_trace_of_the_platoon(tmp_path: Path) -> None:
    scenario = platoon("participants.world.coupling={budget: 8ms}")
    summary = run_inproc(scenario, tmp_path, record=False, realtime=paced())
    assert summary.trace_sha256.startswith(PLATOON_TRACE) and summary.repeatable
    assert summary.realtime is not None and summary.realtime.couplings["world"].late == 0


@pytest.mark.parametrize(
    ("name", "changes"),
    [("sensor1", []), ("cacc1", ["activation=null", "period=40ms", "dynamic_step=false"])],
)
def test_platoon_with_a_late_controller_side(name: str, changes: list[str], tmp_path: Path) -> None:
    """The other way round: the plant keeps its deadlines, a part of the control side is late."""
    late = "coupling={budget: 20ms, lateness: {probability: 0.2, delay: {uniform: [30ms, 90ms]}}}"
    settings = [f"participants.{name}.{change}" for change in (*changes, late)]
    summary = run_inproc(platoon(*settings), tmp_path, record=False, realtime=paced())
    assert summary.passed and summary.collisions == 0
    assert summary.realtime is not None and summary.realtime.couplings[name].late > 50


def cosim(*arguments: str, directory: Path) -> subprocess.CompletedProcess[str]:
    path = f"{ROOT}{os.pathsep}{ROOT / 'test'}"
    return warm.cosim({**os.environ, "PYTHONPATH": path}, *arguments, directory=directory)


def loop_file(directory: Path, **coupling: Any) -> Path:
    path = directory / "loop.yaml"
    path.write_text(yaml.safe_dump(loop_scenario(**coupling)), encoding="utf-8")
    return path


def summary_of(directory: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((directory / "summary.json").read_text("utf-8"))
    return content


LATE = {"lateness": {"probability": 0.2, "delay": "12ms"}, "estimate": [{"order": 2}]}


def test_the_command_line_replays_a_run(tmp_path: Path) -> None:
    loop_file(tmp_path, **LATE)
    done = cosim(
        "run",
        "loop.yaml",
        "--shape",
        "inproc",
        "--rate",
        "1000",
        "--out",
        "a",
        directory=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    assert "slow: " in done.stdout and "paced at factor 1000" in done.stdout
    done = cosim("replay", "a", directory=tmp_path)
    assert done.returncode == 0 and "the same trace as before" in done.stdout, done.stderr
    first, again = summary_of(tmp_path / "a"), summary_of(tmp_path / "a-replay")
    assert first["trace_sha256"] == again["trace_sha256"]
    late = first["realtime"]["couplings"]["slow"]["late"]
    assert late == again["realtime"]["couplings"]["slow"]["late"] > 0
    # A record that says something else gives another run: replay says so.
    arrivals = tmp_path / "a" / "arrivals.json"
    content = json.loads(arrivals.read_text("utf-8"))
    content["participants"]["slow"] = content["participants"]["slow"][1:]
    arrivals.write_text(json.dumps(content), encoding="utf-8")
    done = cosim("replay", "a", directory=tmp_path)
    assert done.returncode == 3 and "the repeated run differs" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["run", "loop.yaml", "--shape", "inproc", "--hard"], "add --rate"),
        (["run", "loop.yaml", "--shape", "inproc", "--arrivals", "x.json"], "cannot be read"),
        (["replay", "nothing"], "cannot be read"),
    ],
)
def test_wrong_use_is_one_line(arguments: list[str], message: str, tmp_path: Path) -> None:
    loop_file(tmp_path)
    done = cosim(*arguments, directory=tmp_path)
    assert done.returncode == 1 and message in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("shape", ["composed", "ros"])
def test_drawn_lateness_is_the_same_in_every_shape(
    shape: str, tmp_path: Path, ros_domain: int, nothing_left: None
) -> None:
    pytest.importorskip("rclpy")
    loop_file(tmp_path, **LATE)
    traces = []
    for name, extra in (("inproc", []), (shape, ["--rate", "2"])):
        done = cosim("run", "loop.yaml", "--shape", name, "--out", name, *extra, directory=tmp_path)
        assert done.returncode == 0, done.stderr
        found = summary_of(tmp_path / name)
        assert found["repeatable"] and found["realtime"]["couplings"]["slow"]["late"] > 10
        traces.append(found["trace_sha256"])
    assert traces[0] == traces[1]
    assert found["realtime"]["rate"] == 2.0


def test_a_summary_of_a_real_time_run_is_read_again(tmp_path: Path) -> None:
    scenario = load_scenario(loop_file(tmp_path, **LATE))
    summary = run_inproc(scenario, tmp_path, record=False, realtime=paced())
    assert Summary.model_validate_json((tmp_path / "summary.json").read_bytes()) == summary


def test_the_whole_chain_behind_a_paced_loop_is_repeated_in_memory(
    tmp_path: Path, ros_domain: int, nothing_left: None
) -> None:
    """CARLA server, client and DCP slave, too slow for the budget; replay needs none of them."""
    pytest.importorskip("rclpy")
    pytest.importorskip("carla")
    # No step of a slave in another process is complete after half a microsecond.
    coupling = "participants.world.coupling={budget: 1us, estimate: [{order: 1}]}"
    arguments = ["run", str(PLATOON), "--shape", "composed", "--rate", "2", "--no-bag"]
    arguments += ["--set", coupling, "--set", "duration=1s", "--out", "chain"]
    done = cosim(*arguments, directory=tmp_path)
    found = summary_of(tmp_path / "chain")
    assert done.returncode == 3, done.stderr  # the platoon does not stand still within 1 s
    assert not found["repeatable"] and "of 'world' were late" in found["not_repeatable_reason"]
    assert found["realtime"]["couplings"]["world"]["late"] > 10
    done = cosim("replay", "chain", directory=tmp_path)
    assert "the same trace as before" in done.stdout, done.stderr


def test_a_missed_deadline_with_the_policy_stop_ends_the_run(tmp_path: Path) -> None:
    loop_file(tmp_path)
    # No activation takes less than a nanosecond of simulated time at this rate.
    stop = "participants.fast.overrun={policy: stop, deadline: 1ns}"
    arguments = ["run", "loop.yaml", "--shape", "inproc", "--rate", "100", "--set", stop]
    done = cosim(*arguments, directory=tmp_path)
    assert done.returncode == 1
    (line,) = done.stderr.strip().splitlines()
    assert line.startswith("cosim: participant 'fast' missed the deadline of its activation at 0s")


def test_hard_real_time_says_what_was_granted(tmp_path: Path) -> None:
    loop_file(tmp_path)
    arguments = ["run", "loop.yaml", "--shape", "inproc", "--rate", "1000", "--hard"]
    done = cosim(*arguments, "--out", "a", directory=tmp_path)
    assert done.returncode == 0, done.stderr
    said = summary_of(tmp_path / "a")["realtime"]["hard"]
    assert said in done.stdout
    assert said.startswith(("hard real time: ", "soft real time only; not granted: "))


def test_the_tests_that_the_table_of_claims_names_are_there() -> None:
    page = (ROOT / "docs" / "realtime.md").read_text(encoding="utf-8")
    table = page.partition("## Claims of the method")[2].partition("\n## ")[0]
    rows = [line.split("|")[1:5] for line in table.splitlines() if re.match(r"\| \d+ ", line)]
    assert [int(row[0]) for row in rows] == list(range(1, 16))
    here = Path(__file__).parent
    written = "".join(path.read_text("utf-8") for path in here.glob("test_*.py"))
    for number, _, modules, tests in rows:
        named = re.findall(r"`(test_\w+)`", tests)
        assert named, f"claim {number} has no test"
        for name in named:
            assert f"def {name}(" in written, f"claim {number}: there is no test {name}"
        for module in re.findall(r"`(core/realtime/\w+\.py)`", modules):
            assert (ROOT / "ros2_cosim" / module).is_file()


def test_estimates_from_an_earlier_run_are_close_where_that_was_alike(tmp_path: Path) -> None:
    """The values that one run leaves behind are the estimates of the next."""
    first = tmp_path / "first"
    first.mkdir()
    run_inproc(load_scenario(loop_file(tmp_path, keep_values=True)), first, record=False)
    errors = {}
    for name, rule in (
        ("held", {"order": 0}),
        ("earlier", {"method": "earlier", "file": "first/values.json"}),
    ):
        (tmp_path / name).mkdir()
        late = {**LATE, "estimate": [rule]}
        scenario = load_scenario(loop_file(tmp_path, **late))
        summary = run_inproc(scenario, tmp_path / name, record=False)
        assert summary.realtime is not None
        ((_, _, mean, _), *_) = summary.realtime.couplings["slow"].errors
        errors[name] = mean
    assert errors["earlier"] < 0.5 * errors["held"]
