# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The how-to pages about worlds, sensors and nodes do what they say."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
from tutorial import Tutorial

from ros2_cosim.core.record.bag_reader import read_bag


def page(name: str, directory: Path) -> Tutorial:
    return Tutorial(f"../how-to/{name}.md", directory)


def summary_of(tutorial: Tutorial, run: str) -> Any:
    return json.loads((tutorial.directory / "out" / run / "summary.json").read_text())


def test_a_controller_drives_a_vehicle_of_an_openscenario_file(tmp_path: Path) -> None:
    how_to = page("drive-an-openscenario-file", tmp_path)
    assert how_to.files == ["my_law.py", "my_overtaking.yaml"]
    how_to.carry_out()
    summary = summary_of(how_to, "mine")
    assert [v["name"] for v in summary["verdicts"] if v["passed"]] == ["stop_trigger"]
    assert "driver" in {participant["name"] for participant in summary["participants"]}


def test_a_model_gives_throttle_and_brake(tmp_path: Path) -> None:
    how_to = page("give-throttle-and-brake", tmp_path)
    assert how_to.files == ["my_acc.py", "with_my_acc.yaml"]
    how_to.carry_out()
    summary = summary_of(how_to, "pedals")
    assert summary["repeatable"] is True
    assert [verdict["name"] for verdict in summary["verdicts"] if not verdict["passed"]] == []


def test_camera_and_lidar_are_in_the_bag(tmp_path: Path) -> None:
    how_to = page("record-camera-and-lidar", tmp_path)
    (command,) = how_to.commands
    done = how_to.run(command)
    assert done.returncode == 0, done.stdout + done.stderr
    topics = [message.topic for message in read_bag(tmp_path / "out" / "recording" / "bag")]
    assert topics.count("/ego/front/image") == topics.count("/ego/roof") == 30
    assert {"/tf", "/clock"} <= set(topics)
