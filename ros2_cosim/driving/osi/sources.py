# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""What of a run OSI traces are made of: settings, and the topics that are read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Literal, NamedTuple

from pydantic import Field

from ros2_cosim.core.documents.settings import PositiveDuration, Section
from ros2_cosim.core.messages.message_types import (
    ACCELERATION,
    LIGHT_AHEAD,
    OBJECTS,
    ODOMETRY,
    ROAD_USERS,
    STATIC_OBJECTS,
)
from ros2_cosim.core.scenario.schema import OutputSettings, Scenario

#: Message type -> kinds of ports whose messages are read; None: of any port.
_KINDS: Final[Mapping[str, tuple[str, ...] | None]] = {
    ODOMETRY: ("odometry",),
    ACCELERATION: ("acceleration",),
    # Not "vehicles", which has those with an odometry once more.
    ROAD_USERS: ("traffic",),
    STATIC_OBJECTS: ("static_objects",),
    LIGHT_AHEAD: ("light",),
    OBJECTS: None,
}


#: Which messages of a channel have lanes.
Lanes = Literal["first", "every", "none"]


class OsiParameters(Section):
    """What a trace has."""

    period: PositiveDuration = Field(
        default=50_000_000,
        description="between two ground truths: that of the first step of the world at or after "
        "each multiple; sensors have a message at each of their activations",
    )
    host: str | None = Field(
        default=None,
        description="host vehicle of the ground truth; default: that of the first object sensor, "
        "else the first of the platoon or the scene",
    )
    lanes: Lanes = Field(
        default="first",
        description="which messages of a channel have lanes, signs and objects of the map",
    )


class OsiSource(NamedTuple):
    """Where messages of a run come from: the kind of the port, and the vehicle or the sensor."""

    kind: str
    name: str
    output: OutputSettings


class Subject(NamedTuple):
    """What a trace is made of: the scenario, its settings, where messages come from by topic, and
    the host vehicle of the ground truth.
    """

    scenario: Scenario
    parameters: OsiParameters
    sources: Mapping[str, OsiSource]
    host: str


def sources_of(scenario: Scenario) -> dict[str, OsiSource]:
    """The topics that OSI messages are made of; of two with the same content the first."""
    vehicles: Mapping[str, Any] = scenario.scene.get("vehicles") or {}
    found: dict[str, OsiSource] = {}
    taken: set[tuple[str, str]] = set()
    for participant, settings in scenario.participants.items():
        for port, output in scenario.outputs_of(participant).items():
            if output.type not in _KINDS or output.seam is not None:
                continue
            kind, _, name = port.partition("/")
            kinds = _KINDS[output.type]
            if kinds is None:
                if settings.parameters.get("ego") not in vehicles:
                    continue
                kind, name = "objects", participant
            elif kind not in kinds or (name and name not in vehicles):
                continue
            elif not name:
                name = participant
            if (kind, name) not in taken:
                taken.add((kind, name))
                found[output.topic] = OsiSource(kind, name, output)
    return found
