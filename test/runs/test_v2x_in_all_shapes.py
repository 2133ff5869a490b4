# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Joining, leaving and DENMs give the same trace in every shape."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from runs.cosim_process import cosim, user_environment

from ros2_cosim.core.scenario.library import library_file

#: The vehicle that joins is behind the platoon already; after the join the leader brakes.
JOIN = (
    "duration=11s",
    "scene.vehicles.follower3.s=325",
    "platoon.manoeuvre.at=1s",
    "platoon.driver={manoeuvre: [{constant: 7s}, {ramp: {speed: 0.0, acceleration: 6.0}}]}",
)
WARNED = (
    "platoon.v2v.parameters.denm={}",
    "platoon.controller={set_speed: 30.0, warnings: {deceleration: 2.0, time_gap: 1.0}}",
)
LEAVE = ("duration=11s", "platoon.manoeuvre.at=1s")


@pytest.mark.parametrize("name", ["join", "leave"])
def test_the_trace_is_the_same(name: str, tmp_path: Path) -> None:
    changes = LEAVE
    if name == "join":
        pytest.importorskip("asn1tools", reason="needs the extra v2x")
        changes = JOIN + WARNED
    found: dict[str, dict[str, Any]] = {}
    with user_environment(tmp_path / "ros-log") as environment:
        for shape in ("inproc", "composed", "ros"):
            out = tmp_path / shape
            words = [word for change in changes for word in ("--set", change)]
            cosim(
                environment, library_file(name), "--shape", shape, "--out", out, *words, anew=True
            )
            found[shape] = json.loads((out / "summary.json").read_text())
    assert len({summary["trace_sha256"] for summary in found.values()}) == 1
    summary = found["inproc"]
    passed = {verdict["name"]: verdict["passed"] for verdict in summary["verdicts"]}
    assert passed["formation"] and passed["joined_by_s" if name == "join" else "left_by_s"]
    figures = summary["figures"]
    assert figures["v2v"]["manoeuvres"] >= (6 if name == "join" else 4)
    if name == "join":
        assert figures["v2v"]["warnings"] >= 1 and figures["cacc3"]["warnings"] >= 1
