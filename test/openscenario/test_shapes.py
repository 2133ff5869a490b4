# SPDX-License-Identifier: Apache-2.0
"""A file of OpenSCENARIO has the same trace in every shape, and when it is run again."""

from __future__ import annotations

from pathlib import Path

from ros2_cosim.run.bringup import RunRequest
from ros2_cosim.run.start import run_request

EXAMPLE = Path(__file__).resolve().parents[2] / "config" / "openscenario" / "overtaking.xosc"


def test_the_trace_is_the_same_in_every_shape(tmp_path: Path, ros_domain: int) -> None:
    traces = {}
    for shape in ("inproc", "composed", "ros"):
        out = tmp_path / shape
        request = RunRequest(EXAMPLE, set=("duration=9s",), shape=shape, out=out, record=False)
        summary = run_request(request)
        traces[shape] = summary.trace_sha256
        assert summary.figures is not None
        events = [name for _, name in summary.figures["storyboard"]["events"]]
        assert events == ["follow", "cut in"]
    resolved = tmp_path / "inproc" / "scenario.json"
    again = RunRequest(resolved, shape="inproc", out=tmp_path / "again", record=False)
    assert {*traces.values(), run_request(again).trace_sha256} == {traces["inproc"]}
