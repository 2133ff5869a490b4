# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""What a controller does is published, recorded and shown: mode, time-gap error, age of V2V."""

from __future__ import annotations

from pathlib import Path

import pytest

from ros2_cosim.core.messages.catalogue import codec
from ros2_cosim.core.messages.records import CONTROLLER_MODES, ControllerStatus
from ros2_cosim.core.record.bag_reader import read_bag
from ros2_cosim.core.record.summary import Summary
from ros2_cosim.core.run.inproc import run_inproc
from ros2_cosim.core.scenario.library import library_file
from ros2_cosim.core.scenario.schema import load_scenario
from ros2_cosim.lab.report.report import render_report


def outage(out: Path, status: bool, duration: str) -> Summary:
    changes = [f"duration={duration}", f"platoon.status={str(status).lower()}"]
    return run_inproc(load_scenario(library_file("v2v_outage"), changes), out)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Summary]:
    out = tmp_path_factory.mktemp("outage")
    return out, outage(out, True, "12s")


def statuses(out: Path) -> list[ControllerStatus]:
    decode = codec("ros2_cosim/msg/ControllerStatus").decode
    found = [
        decode(message.data)[2]
        for message in read_bag(out / "bag")
        if message.topic == "/follower1/controller_status"
    ]
    assert all(isinstance(record, ControllerStatus) for record in found)
    return found


def test_the_mode_follows_the_radio(run: tuple[Path, Summary]) -> None:
    out, summary = run
    found = statuses(out)
    names = {CONTROLLER_MODES[record.mode] for record in found}
    assert {"law", "fallback"} <= names
    for record in found:
        mode = CONTROLLER_MODES[record.mode]
        if mode == "law":
            assert 0.0 <= record.predecessor_age <= 0.25
        if mode == "fallback":
            assert record.predecessor_age != record.predecessor_age
            assert record.time_gap >= 0.2
        if mode in ("law", "fallback"):
            assert abs(record.time_gap_error) < 2.0
    assert summary.figures is not None
    shares = summary.figures["cacc1"]["modes"]
    assert set(shares) == names and sum(shares.values()) == pytest.approx(1.0)
    counted = sum(CONTROLLER_MODES[record.mode] == "fallback" for record in found) / len(found)
    assert shares["fallback"] == pytest.approx(counted)


def test_the_report_shows_it(run: tuple[Path, Summary]) -> None:
    page = render_report(run[0]).read_text()
    assert "Controller mode" in page and "4 fallback, 5 emergency" in page
    assert "Age of V2V in the controller" in page


def test_without_the_port_nothing_is_published(tmp_path: Path) -> None:
    summary = outage(tmp_path, False, "2s")
    assert statuses(tmp_path) == []
    assert summary.figures is not None and "modes" in summary.figures["cacc1"]
    assert "Controller mode" not in render_report(tmp_path).read_text()
