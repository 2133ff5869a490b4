# SPDX-License-Identifier: Apache-2.0
"""Scenarios of former versions are understood, with one line that names what is written today."""

from __future__ import annotations

import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import pytest
import yaml

from ros2_cosim.core.kernel.errors import OutdatedWarning
from ros2_cosim.core.scenario.check import check_scenario
from ros2_cosim.core.scenario.schema import make_scenario

ROOT = Path(__file__).resolve().parents[2]
PLATOON = ROOT / "config" / "platoon.yaml"
#: The nodes of the platoon as they once had to be named.
FORMER = {
    "world": "dcp_master",
    "sensor1": "object_sensor",
    "sensor2": "object_sensor",
    "v2v": "v2v_channel",
    "referee": "referee",
}


def platoon(nodes: dict[str, str]) -> dict[str, Any]:
    data: dict[str, Any] = yaml.safe_load(PLATOON.read_text(encoding="utf-8"))
    for name, node in nodes.items():
        data["participants"][name]["node"] = node
    return {**data, "base_directory": str(PLATOON.parent)}


@pytest.mark.parametrize("name", FORMER)
def test_a_former_node_is_left_out_and_said_so(name: str) -> None:
    text = (
        rf"^scenario platoon: participants\.{name}\.node: '{FORMER[name]}' is outdated; "
        "leave 'node' out, the model says what runs$"
    )
    with pytest.warns(OutdatedWarning, match=text):
        former = make_scenario(platoon({name: FORMER[name]}), "platoon")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        present = make_scenario(platoon({}), "platoon")
    assert former == present
    check_scenario(former, "ros")


def test_the_command_says_it_in_one_line(tmp_path: Path) -> None:
    file = tmp_path / "old.yaml"
    file.write_text(
        yaml.safe_dump(platoon({"v2v": "v2v_channel"}), sort_keys=False), encoding="utf-8"
    )
    command = [sys.executable, "-m", "ros2_cosim.cli.main", "check", str(file)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stderr.splitlines() == [
        f"cosim: note: scenario {file}: participants.v2v.node: 'v2v_channel' is outdated; "
        "leave 'node' out, the model says what runs"
    ]
