# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Scenarios whose topics are looked at: what sends on one, and what came on all of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ros2_cosim.core.messages.catalogue import DEFAULT
from ros2_cosim.core.record.bag_reader import read_bag
from ros2_cosim.core.run.bringup import bring_up
from ros2_cosim.core.run.request import RunRequest
from ros2_cosim.core.run.start import start
from ros2_cosim.core.scenario.composition import resolved
from ros2_cosim.core.scenario.schema import Scenario, make_scenario, save_scenario

#: (Stamp [ns], record) by topic.
Messages = dict[str, list[tuple[int, Any]]]


def sends(kind: str, topic: str, *, period: str = "100ms", **fields: Any) -> dict[str, Any]:
    """A participant that sends one message over and over."""
    return {
        "model": "support.seam_models:Demand",
        "period": period,
        "parameters": {"fields": fields},
        "outputs": {"demand": {"type": kind, "topic": topic}},
    }


def scenario(given: dict[str, Any]) -> Scenario:
    """The scenario that the data of a file stand for."""
    return make_scenario(resolved(given, [], "test"), "test")


def record(given: dict[str, Any], directory: Path) -> Messages:
    """Run a scenario in one process; the bag is left in ``out/bag`` of the directory."""
    save_scenario(scenario(given), directory / "scenario.yaml")
    request = RunRequest(directory / "scenario.yaml", shape="inproc", out=directory / "out")
    with bring_up(request) as prepared:
        start(prepared)
    found: Messages = {}
    for message in read_bag(directory / "out" / "bag"):
        value = DEFAULT.codec(message.type_name).decode(message.data)[2]
        found.setdefault(message.topic, []).append((message.stamp, value))
    return found
