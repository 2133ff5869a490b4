# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""A file of OpenSCENARIO has the same trace in every shape, and when it is run again."""

from __future__ import annotations

from pathlib import Path

from support.xosc_files import at, document, event, group, speed, teleport, written

from ros2_cosim.core.run.request import RunRequest
from ros2_cosim.core.run.start import run_request

EXAMPLE = Path(__file__).resolve().parents[2] / "config" / "openscenario" / "overtaking.xosc"


def test_the_trace_is_the_same_in_every_shape(tmp_path: Path, ros_domain: int) -> None:
    traces = {}
    for shape in ("inproc", "composed", "ros"):
        out = tmp_path / shape
        request = RunRequest(EXAMPLE, set=("duration=8s",), shape=shape, out=out, record=False)
        summary = run_request(request)
        traces[shape] = summary.trace_sha256
        assert summary.figures is not None
        events = [name for _, name in summary.figures["storyboard"]["events"]]
        assert events == ["follow", "cut in"]
    resolved = tmp_path / "inproc" / "scenario.json"
    again = RunRequest(resolved, shape="inproc", out=tmp_path / "again", record=False)
    assert {*traces.values(), run_request(again).trace_sha256} == {traces["inproc"]}


def test_what_is_placed_is_so_behind_dcp(tmp_path: Path, ros_domain: int) -> None:
    """A pedestrian that walks and a car that is put elsewhere twice to the same place."""
    jump = teleport('<LanePosition roadId="1" laneId="-1" s="300"/>')
    text = document(
        group(event("jump", jump, at(1.0)) + event("again", jump, at(2.0)), actor="B")
        + group(event("walk", speed("1.5"), at(0.5)), actor="P"),
        entities='<ScenarioObject name="P"><Pedestrian name="p"/></ScenarioObject>',
        init='<Private entityRef="P">'
        + teleport('<LanePosition roadId="1" laneId="-3" s="160"><Orientation h="1.57"/>'
                   "</LanePosition>")
        + "</Private>",
        stop=at(3.0),
    )  # fmt: skip
    path = written(tmp_path, text)
    traces = set()
    for shape in ("inproc", "composed"):
        out = tmp_path / shape
        summary = run_request(RunRequest(path, shape=shape, out=out, record=False))
        traces.add(summary.trace_sha256)
        assert summary.figures is not None
        assert summary.figures["storyboard"]["travelled_m"]["P"] > 2.0
    path.unlink()  # the file travels with the scenario
    resolved = tmp_path / "inproc" / "scenario.json"
    again = RunRequest(resolved, shape="inproc", out=tmp_path / "again", record=False)
    assert {*traces, run_request(again).trace_sha256} == traces
    assert len(traces) == 1
