# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""What another distribution offers: layer, kind of fault, section of a scenario, run shape.

A layer and a fault are there in all shapes, in a repetition, and behind a checkpoint. Searches,
verbs and control laws of others are in the tests of their rooms.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from runs.cosim_process import ROOT, Result, Running, left_processes, user_environment
from support.distribution import installed, write_distribution
from support.warm import cosim

from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.record.summary import read_summary
from ros2_cosim.core.scenario.check import check_scenario
from ros2_cosim.core.scenario.schema import load_scenario

pytest.importorskip("rclpy", reason="needs rclpy, which make setup installs")

LAYER = '''
from ros2_cosim.core.documents.settings import Section
from ros2_cosim.core.scenario.layers import OfferedLayer


class Parameters(Section):
    step: float


class Fading(OfferedLayer):
    """What a participant sends fades from message to message."""

    Parameters = Parameters

    def __init__(self, context, parameters):
        self.step, self.factor = parameters.step, 1.0

    def sent(self, time, values):
        self.factor -= self.step
        return {port: self.faded(record) for port, record in values.items()}

    def faded(self, record):
        return record._replace(acceleration=record.acceleration * self.factor)

    def save_state(self):
        return self.factor

    def restore_state(self, state):
        self.factor = state

    def report(self, report):
        return report._replace(figures={**(report.figures or {}), "factor": self.factor})
'''
FAULT = '''
from ros2_cosim.core.faults.kinds import NumberFault


class Drift(NumberFault):
    """A number goes away from what it was, the longer the more."""

    rate: float

    def changed_number(self, old, act):
        return old + self.rate * (act.time - self.from_time) * 1e-9
'''
TEMPLATE = '''
from ros2_cosim.core.scenario.templates import Template


class Brief(Template):
    """A scenario that is shorter than its file says."""

    times: float

    def stands_for(self, rest, origin):
        return {"startup_s": 60.0 * self.times}
'''
SHAPE = '''
from ros2_cosim.core.run.inproc_shape import InprocShape


class Loud(InprocShape):
    """A run shape that says what it does."""

    def run(self, prepared, callbacks):
        callbacks.on_line("loud", "I run " + prepared.scenario.name)
        return super().run(prepared, callbacks)
'''
ENTRIES = """[ros2_cosim.layers]
fading = own_parts:Fading
[ros2_cosim.faults]
drift = own_parts:Drift
[ros2_cosim.templates]
brief = own_parts:Brief
[ros2_cosim.shapes]
loud = own_parts:Loud
"""
LAYERS = "participants.driving.layers="
FADING = "participants.driving.layers={fading: {step: 0.001}}"
DRIFT = (
    "faults={d: {port: driving.front, kind: drift, field: objects.distance, "
    "rate: 0.5, from: 500ms}}"
)


@pytest.fixture
def environment(tmp_path: Path):
    """One in which all of that is installed."""
    code = LAYER + FAULT + TEMPLATE + SHAPE
    site = write_distribution(tmp_path / "site", "own_parts", ENTRIES, code)
    with user_environment(tmp_path / "log") as made:
        yield {**made, "PYTHONPATH": f"{site}:{made['PYTHONPATH']}"}


def result(environment: dict[str, str], *words: object) -> Result:
    with Running(environment, *words) as running:
        found = running.result()
    assert left_processes(environment) == []
    return found


def test_a_layer_and_a_fault_of_others_are_there_in_all_shapes(environment, tmp_path):
    scenario = ROOT / "config" / "car_following.yaml"
    given = (scenario, "--set", "duration=2s", "--set", FADING, "--set", DRIFT, "--no-bag")
    found = {}
    for shape in ("inproc", "composed", "ros"):
        out = tmp_path / shape
        more = ("--checkpoint", "1s") if shape == "inproc" else ("--repeat", "2")
        done = result(environment, *given, "--shape", shape, "--out", out, *more)
        assert done.code == 0, done
        summary = read_summary(out)
        figures = summary.figures["driving"]
        found[shape] = (summary.trace_sha256, figures["factor"], figures["fault.d"])
    assert len(set(found.values())) == 1, found
    trace, factor, drifted = found["inproc"]
    assert 0.0 < factor < 0.9 and 10 < drifted < 200
    # A branch continues from what was saved.
    checkpoint = tmp_path / "inproc" / "checkpoint-1s.ckpt"
    branch = result(environment, "--branch", checkpoint, "--out", tmp_path / "branch")
    assert branch.code == 0, branch
    assert read_summary(tmp_path / "branch").trace_sha256 == trace
    # Each of the two makes a difference, beside the other one and alone.
    traces = {trace}
    for name, settings in {"plain": (), "fading": given[3:5], "drift": given[5:7]}.items():
        words = (*given[:3], *settings, "--no-bag", "--shape", "inproc", "--out", tmp_path / name)
        assert result(environment, *words).code == 0
        traces.add(read_summary(tmp_path / name).trace_sha256)
    assert len(traces) == 4


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (LAYERS + "{faded: {}}", LAYERS[:-1] + ".faded: found 'faded'; allowed are fading"),
        (LAYERS + "{fading: {}}", LAYERS[:-1] + ".fading.step: missing"),
        (LAYERS + "{fading: {step: 1, stop: 2}}", "layers.fading.stop: "),
        (DRIFT.replace("drift", "drfit"), "faults.d.kind: found 'drfit'; did you mean 'drift'?"),
        (DRIFT.replace("rate: 0.5, ", ""), "faults.d.rate: missing"),
        (DRIFT.replace("rate", "rte"), "faults.d: rte does not belong to kind drift; did you mean"),
        ("brief={time: 1}", "brief.times: missing"),
    ],
)
def test_what_does_not_fit_is_refused_with_its_place(tmp_path, change, message):
    scenario = ROOT / "config" / "car_following.yaml"
    with (
        installed(tmp_path, "own_parts", ENTRIES, LAYER + FAULT + TEMPLATE + SHAPE),
        pytest.raises(ConfigurationError, match=re.escape(message)),
    ):
        check_scenario(load_scenario(scenario, [change]), "inproc")


def test_a_section_of_others_is_as_those_of_the_package(tmp_path):
    scenario = ROOT / "config" / "car_following.yaml"
    with installed(tmp_path, "own_parts", ENTRIES, LAYER + FAULT + TEMPLATE + SHAPE):
        assert load_scenario(scenario, ["brief={times: 0.5}"]).startup_s == 30.0


def test_a_shape_of_others_is_a_shape_of_the_command_line(environment, tmp_path):
    scenario = ROOT / "config" / "car_following.yaml"
    traces = []
    for shape in ("loud", "inproc"):
        out = tmp_path / shape
        options = ("--set", "duration=1s", "--no-bag", "--shape", shape, "--out", out)
        done = cosim(environment, "run", scenario, *options)
        assert done.returncode == 0, done
        assert ("[loud] I run car_following" in done.stderr) == (shape == "loud")
        traces.append(read_summary(out).trace_sha256)
    assert traces[0] == traces[1]
    # Its participants are checked as those of the shape that it is derived from.
    for words in (("check", scenario), ("plan", scenario), ("replay", tmp_path / "inproc")):
        done = cosim(environment, *words, "--shape", "loud")
        assert done.returncode == 0, done
    wrong = cosim(environment, "check", scenario, "--shape", "lout")
    assert (wrong.returncode, wrong.stderr) == (
        1,
        "cosim: --shape: found 'lout'; did you mean 'loud'? allowed are composed, inproc, loud, "
        "ros\n",
    )
