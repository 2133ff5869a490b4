# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The same scenario gives the same run: in every shape, under any load, at any pace."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from rosbags.highlevel import AnyReader
from runs.cosim_process import PLATOON, cosim, left_processes, user_environment
from support.busy_machine import busy_machine

# What the design demands of summary.json, for driving scenarios.
FIELDS = {
    "scenario", "shape", "seed", "steps", "sim_time_s", "wall_time_s", "rtf", "trace_sha256",
    "repeatable", "causality", "participants", "verdicts", "collisions", "min_gap_m",
    "final_gap_to_obstacle_m",
}  # fmt: skip
RATE = 5.0
#: The whole run in shape ros is the paced one. The one on a busy machine ends early, as does its
#: reference: that is disturbed from its start on.
WHOLE = ("inproc", "again", "composed", "paced")
RUNS = (*WHOLE, "busy")
REFERENCE = dict.fromkeys(WHOLE, "inproc") | {"busy": "short"}
SHORT = ("--set", "duration=8s")
#: The vehicles do not stand by then.
NOT_MET = "cosim: verdict not met: stands_before_obstacle, stands_still_by_s\n"


class Run(NamedTuple):
    """A finished run."""

    output: Path
    summary: dict[str, Any]
    stdout: str

    def bag(self) -> dict[str, bytes]:
        """File name -> content."""
        return {path.name: path.read_bytes() for path in (self.output / "bag").iterdir()}


def run(directory: Path, name: str, shape: str, *options: object) -> Run:
    """One run of the platoon in a ROS domain of its own, with a seed of hashes of its own."""
    output = directory / name
    with user_environment(directory / "ros-log") as environment:
        words = (PLATOON, "--shape", shape, "--out", output, *options)
        result = cosim(environment, *words, anew=True)
        told = (3, NOT_MET) if options == SHORT else (0, "")
        assert (result.code, result.stderr) == told, result
        assert left_processes(environment) == []
    return Run(output, json.loads((output / "summary.json").read_text()), result.stdout)


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Run]:
    """The platoon once in every way, some of them side by side."""
    directory = tmp_path_factory.mktemp("runs")
    ways: dict[str, tuple[object, ...]] = {
        "paced": ("ros", "--rate", RATE),
        "composed": ("composed",),
        "inproc": ("inproc",),
        "again": ("inproc",),
        "seed": ("inproc", "--seed", 2),
        "short": ("inproc", *SHORT),
    }
    with ThreadPoolExecutor(3) as pool:
        futures = {name: pool.submit(run, directory, name, *way) for name, way in ways.items()}
    found = {name: future.result() for name, future in futures.items()}
    with busy_machine():
        found["busy"] = run(directory, "busy", "ros", *SHORT)
    return found


@pytest.mark.parametrize("name", RUNS)
def test_same_trace(runs: dict[str, Run], name: str) -> None:
    assert runs[name].summary["trace_sha256"] == runs[REFERENCE[name]].summary["trace_sha256"]


@pytest.mark.parametrize("name", RUNS)
def test_same_bag_to_the_byte(runs: dict[str, Run], name: str) -> None:
    bag = runs[name].bag()
    assert bag.keys() == {"bag_0.mcap", "metadata.yaml"}
    assert bag == runs[REFERENCE[name]].bag()


def test_another_seed_is_another_run(runs: dict[str, Run]) -> None:
    assert runs["seed"].summary["trace_sha256"] != runs["inproc"].summary["trace_sha256"]
    assert runs["seed"].summary["seed"] == 2
    assert runs["seed"].bag() != runs["inproc"].bag()


@pytest.mark.parametrize("name", [*WHOLE, "seed"])
def test_platoon_stands_before_the_roadblock(runs: dict[str, Run], name: str) -> None:
    summary = runs[name].summary
    assert summary["collisions"] == 0
    assert summary["min_gap_m"] > 0.5
    assert 0.0 < summary["final_gap_to_obstacle_m"] < 20.0
    assert summary["end_reason"] == "referee: all vehicles stand still"
    assert summary["verdicts"]
    assert all(verdict["passed"] for verdict in summary["verdicts"])


@pytest.mark.parametrize("name", RUNS)
def test_summary_has_all_that_is_promised(runs: dict[str, Run], name: str) -> None:
    summary = runs[name].summary
    assert summary.keys() >= FIELDS
    assert summary["repeatable"] is True
    assert summary["repeatable_scope"] == "everywhere"
    assert summary["causality"] == {"timing": 0, "order": 0, "loss": 0}
    assert summary["shape"] == (name if name in ("inproc", "composed") else
                                "inproc" if name == "again" else "ros")  # fmt: skip
    participants = {entry["name"]: entry for entry in summary["participants"]}
    assert participants.keys() >= {"world", "sensor1", "v2v", "cacc1", "cacc2", "referee"}
    expected = runs[REFERENCE[name]].summary["participants"]
    reference = {entry["name"]: entry["activations"] for entry in expected}
    for participant, activations in reference.items():
        assert participants[participant]["activations"] == activations
        assert participants[participant].keys() >= {"compute_s", "wait_s"}
    for verdict in summary["verdicts"]:
        assert verdict.keys() - {"pair", "time_s"} == {"name", "value", "limit", "passed"}
        assert ("pair" in verdict) == ("time_s" in verdict) == (verdict["name"] == "min_gap_m")


def test_run_tells_its_results(runs: dict[str, Run]) -> None:
    run = runs["paced"]
    assert run.summary["trace_sha256"] in run.stdout
    assert str(run.output) in run.stdout
    assert (run.output / "report.html").stat().st_size > 10_000


def test_pacing_holds_the_run_back(runs: dict[str, Run]) -> None:
    # One-sided: a busy machine may be slower than asked for, but it is never faster.
    assert runs["paced"].summary["rtf"] <= RATE * 1.01


def test_bag_opens_elsewhere(runs: dict[str, Run]) -> None:
    run = runs["paced"]
    with AnyReader([run.output / "bag"]) as reader:
        stamps = [stamp for _, stamp, _ in reader.messages()]
        assert "/follower2/control" in reader.topics
    assert stamps == sorted(stamps)
    assert stamps[-1] <= run.summary["sim_time_s"] * 1e9 + 100e6
