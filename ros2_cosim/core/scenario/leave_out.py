# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""A scenario without some of its optional participants."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.scenario.schema import Scenario, make_scenario


def leave_out(scenario: Scenario, names: Sequence[str]) -> Scenario:
    """Leave optional participants out, as if the scenario did not have them.

    Others read nothing from them. An input without any other writer stays empty (``unfed``): a
    latched one holds no value, a triggering one no sample; a participant whose activation
    function can then never hold is there, but never activated.

    :raises ConfigurationError: a name is unknown, or the scenario requires the participant
    """
    if not names:
        return scenario
    for name in names:
        if name not in scenario.participants:
            raise ConfigurationError(
                f"--without {name}: the scenario '{scenario.name}' has no such participant; it "
                f"has {', '.join(scenario.participants)}"
            )
        if scenario.participants[name].is_required:
            raise ConfigurationError(
                f"--without {name}: the scenario '{scenario.name}' requires it; only participants "
                f"with 'required: false' can be left out ({_optional(scenario) or 'none here'})"
            )
    data: dict[str, Any] = scenario.model_dump(by_alias=True)
    for name in set(names):
        del data["participants"][name]
    data["faults"] = {
        fault: settings
        for fault, settings in data["faults"].items()
        if settings["port"].partition(".")[0] not in names
    }
    for participant in data["participants"].values():
        for port in participant["inputs"].values():
            kept = [source for source in port["from"] if source.partition(".")[0] not in names]
            port["unfed"] = port["unfed"] or not kept
            port["from"] = kept
    return make_scenario(data, scenario.name)


def _optional(scenario: Scenario) -> str:
    return ", ".join(name for name, p in scenario.participants.items() if not p.is_required)
