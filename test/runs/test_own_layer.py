# SPDX-License-Identifier: Apache-2.0
"""A layer of another distribution: in all shapes, in a repetition, and behind a checkpoint."""

from __future__ import annotations

from pathlib import Path

import pytest
from runs.cosim_process import ROOT, Result, Running, left_processes, user_environment

from ros2_cosim.core.record.summary import read_summary

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
FADING = "participants.driving.layers={fading: {step: 0.001}}"


@pytest.fixture
def environment(tmp_path: Path):
    """One in which the layer is installed."""
    info = tmp_path / "site" / "fading-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: fading\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[ros2_cosim.layers]\nfading = my_layer:Fading\n")
    (info.parent / "my_layer.py").write_text(LAYER)
    with user_environment(tmp_path / "log") as made:
        yield {**made, "PYTHONPATH": f"{info.parent}:{made['PYTHONPATH']}"}


def result(environment: dict[str, str], *words: object) -> Result:
    with Running(environment, *words) as running:
        found = running.result()
    assert left_processes(environment) == []
    return found


def test_a_layer_of_another_distribution_is_there_in_all_shapes(environment, tmp_path):
    scenario = ROOT / "config" / "car_following.yaml"
    given = (scenario, "--set", "duration=2s", "--set", FADING)
    found = {}
    for shape in ("inproc", "composed", "ros"):
        out = tmp_path / shape
        more = ("--checkpoint", "1s") if shape == "inproc" else ("--repeat", "2")
        done = result(environment, *given, "--shape", shape, "--out", out, *more)
        assert done.code == 0, done
        summary = read_summary(out)
        found[shape] = (summary.trace_sha256, summary.figures["driving"]["factor"])
    assert len(set(found.values())) == 1, found
    (trace, factor), *_ = found.values()
    assert 0.0 < factor < 0.9
    # A branch continues from the saved state of the layer.
    checkpoint = tmp_path / "inproc" / "checkpoint-1s.ckpt"
    branch = result(environment, "--branch", checkpoint, "--out", tmp_path / "branch")
    assert branch.code == 0, branch
    assert read_summary(tmp_path / "branch").trace_sha256 == trace
    plain = result(environment, *given[:3], "--shape", "inproc", "--out", tmp_path / "plain")
    assert plain.code == 0 and read_summary(tmp_path / "plain").trace_sha256 != trace


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("{faded: {}}", "participants.driving.layers.faded: found 'faded'; allowed are fading"),
        ("{fading: {}}", "participants.driving.layers.fading.step: missing"),
        ("{fading: {step: 1, stop: 2}}", "layers.fading.stop: "),
    ],
)
def test_a_layer_that_does_not_fit_is_refused_with_its_place(
    environment, tmp_path, change, message
):
    scenario = ROOT / "config" / "car_following.yaml"
    given = (scenario, "--set", f"participants.driving.layers={change}", "--shape", "inproc")
    assert message in result(environment, *given, "--out", tmp_path / "out").error()
