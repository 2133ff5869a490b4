# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Random graphs give the same trace in every shape, whatever delays their activations have."""

from __future__ import annotations

import json
import shutil
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, reject, settings
from hypothesis import strategies as st
from runs.cosim_process import ROOT, cosim, user_environment
from support.graph_scenarios import CannotBeWrittenError, scenario_of
from support.kernel_systems import System, systems

from ros2_cosim.core.run.inproc import run_inproc
from ros2_cosim.core.scenario.schema import make_scenario

UNTIL = 200
# Each example starts a dozen processes: few of them here, and the same ones each time.
FEW = settings(
    max_examples=3,
    deadline=None,
    derandomize=True,
    database=None,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)


def written(system: System, longest_delay_s: float) -> dict[str, Any]:
    try:
        return scenario_of(system, UNTIL, longest_delay_s)
    except CannotBeWrittenError:
        reject()


def reference(data: dict[str, Any], directory: Path) -> str:
    output = directory / "inproc"
    output.mkdir()
    return run_inproc(make_scenario(data, "random"), output).trace_sha256


def in_processes(data: dict[str, Any], directory: Path, shape: str, transport: str) -> str:
    file = directory / "random.json"
    file.write_text(json.dumps(data), encoding="utf-8")
    output = directory / shape
    with user_environment(directory / "log") as environment:
        environment["PYTHONPATH"] += f":{ROOT / 'test'}"
        arguments = ("--shape", shape, "--transport", transport, "--out", output, "--no-bag")
        result = cosim(environment, file, *arguments)
    assert result.code == 0, result
    summary = json.loads((output / "summary.json").read_text())
    assert summary["causality"] == {"timing": 0, "order": 0, "loss": 0}
    if shape == "ros":
        assert summary["transport"] == ("dds" if transport == "dds" else "lane")
    return str(summary["trace_sha256"])


@pytest.mark.parametrize(
    ("shape", "transport"), [("composed", "auto"), ("ros", "auto"), ("ros", "dds")]
)
@FEW
@given(
    system=systems(max_participants=6),
    processes=st.lists(st.sampled_from([None, "left", "right"]), min_size=6, max_size=6),
)
def test_random_graphs_give_the_trace_of_the_reference(
    system: System, processes: list[str | None], shape: str, transport: str
) -> None:
    slow = shape == "ros"
    data = written(system, 0.005 if slow else 0.0)
    for settings_, process in zip(data["participants"].values(), processes, strict=False):
        settings_["process"] = process
    directory = Path(tempfile.mkdtemp(prefix="cosim_random_"))
    try:
        expected = reference(written(system, 0.0), directory)
        assert in_processes(data, directory, shape, transport) == expected
    finally:
        shutil.rmtree(directory)
