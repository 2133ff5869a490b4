# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""What the how-to pages about runs show is accepted: settings, control laws."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
import yaml

from ros2_cosim.core.scenario.check import check_scenario
from ros2_cosim.core.scenario.schema import load_scenario
from ros2_cosim.driving.controllers.registry import available_laws

ROOT = Path(__file__).resolve().parents[2]
PLATOON = ROOT / "config" / "platoon.yaml"
NAMES = (
    "checkpoint-and-branch",
    "couple-a-late-simulator",
    "inject-faults",
    "replay-a-run",
    "run-in-real-time",
    "run-with-another-seed",
)
PAGES = {
    name: (ROOT / "docs" / "how-to" / f"{name}.md").read_text(encoding="utf-8") for name in NAMES
}
SETTINGS = [
    (name, setting)
    for name, text in PAGES.items()
    for setting in re.findall(r"--set '([^']+)'", text)
]


def blocks(name: str) -> list[str]:
    return re.findall(r"^```yaml\n(.*?)^```$", PAGES[name], re.DOTALL | re.MULTILINE)


def test_settings_are_found() -> None:
    assert {name for name, _ in SETTINGS} >= {"run-in-real-time", "couple-a-late-simulator"}


@pytest.mark.parametrize(("name", "setting"), SETTINGS)
def test_each_setting_is_accepted(name: str, setting: str) -> None:
    check_scenario(load_scenario(PLATOON, [setting]))


def test_the_faults_are_accepted() -> None:
    (block,) = blocks("inject-faults")
    faults = yaml.safe_load(block)["faults"]
    assert set(faults) == {"fog", "blind", "loose_plug"}
    check_scenario(load_scenario(PLATOON, [f"faults={json.dumps(faults)}"]))


def test_the_coupling_is_accepted() -> None:
    (block,) = blocks("couple-a-late-simulator")
    world = yaml.safe_load(block)["participants"]["world"]
    setting = f"participants.world.coupling={json.dumps(world['coupling'])}"
    scenario = load_scenario(PLATOON, [setting])
    check_scenario(scenario)
    found = scenario.participants["world"]
    assert (found.model, found.period) == (world["model"], 10_000_000)


@pytest.mark.parametrize("name", NAMES)
def test_control_laws_exist(name: str) -> None:
    named = re.findall(r"--controllers (\w+)|--substitute \w+=(\w+)", PAGES[name])
    assert {a or b for a, b in named} <= set(available_laws())
