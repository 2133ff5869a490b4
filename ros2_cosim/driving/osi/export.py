# SPDX-License-Identifier: Apache-2.0
"""A recorded run as OSI traces: the export ``osi`` of a bag."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

from pydantic import Field

from ros2_cosim.core.documents.extras import need_extra
from ros2_cosim.core.documents.settings import PositiveDuration, Section
from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.messages.message_types import (
    ACCELERATION,
    LIGHT_AHEAD,
    OBJECTS,
    ODOMETRY,
    ROAD_USERS,
    STATIC_OBJECTS,
)
from ros2_cosim.core.scenario.exports import Export
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


class OsiParameters(Section):
    """What a trace has."""

    period: PositiveDuration = Field(
        default=50_000_000,
        description="between two ground truths: that of the first step of the world at or after "
        "each multiple; views and data of sensors are told at each of their activations",
    )
    host: str | None = Field(
        default=None,
        description="host vehicle of the ground truth; default: that of the first object sensor, "
        "else the first of the platoon or the scene",
    )
    lanes: Literal["first", "every", "none"] = Field(
        default="first",
        description="which messages of a channel have lanes, signs and objects of the map",
    )


class Source(NamedTuple):
    """Where messages of a run come from: the kind of the port, and the vehicle or the sensor."""

    kind: str
    name: str
    output: OutputSettings


class OsiExport(Export):
    """Ground truth of the run, and a view and the data of each object sensor, as trace files."""

    Parameters = OsiParameters

    def __init__(self, scenario: Scenario, parameters: OsiParameters, where: str) -> None:
        need_extra("osi", ("osi3", "mcap_protobuf"), where)
        self._scenario = scenario
        self._parameters = parameters
        self._where = where
        self._sources = sources_of(scenario)
        vehicles = scenario.scene.get("vehicles") or {}
        tracked = [s.name for s in self._sources.values() if s.kind == "odometry"]
        if not tracked:
            raise ConfigurationError(
                f"{where}: found no vehicle; allowed is a scenario with an output odometry/VEHICLE"
            )
        for topic, source in self._sources.items():
            if not scenario.bag.has(topic):
                raise ConfigurationError(
                    f"{where}: found a bag without {topic} ({source.kind}); allowed are bag.topics "
                    "and bag.exclude that leave it in"
                )
        if parameters.host is not None and parameters.host not in tracked:
            raise ConfigurationError(
                f"{where}.host: found '{parameters.host}'; allowed are {', '.join(tracked)}"
            )
        sensors = [s.name for s in self._sources.values() if s.kind == "objects"]
        egos = [str(scenario.participants[name].parameters["ego"]) for name in sensors]
        ordered = [*egos, *(scenario.scene.get("platoon") or ()), *vehicles]
        self._host = parameters.host or next(name for name in ordered if name in tracked)

    def versions(self) -> Mapping[str, str]:
        """The version of OSI, and that of the package which writes the bytes."""
        from ros2_cosim.driving.osi.messages import VERSION_TEXT
        from ros2_cosim.driving.osi.trace_files import PROTOBUF

        return {"osi": VERSION_TEXT, "protobuf": PROTOBUF}

    def write(self, bag: Path, directory: Path) -> None:
        """Write the traces, of a run that ended early as far as it is recorded."""
        from ros2_cosim.driving.osi.recorded import write_traces

        write_traces(self, bag, directory)

    @property
    def scenario(self) -> Scenario:
        """The scenario of the run."""
        return self._scenario

    @property
    def parameters(self) -> OsiParameters:
        """What a trace has."""
        return self._parameters

    @property
    def sources(self) -> Mapping[str, Source]:
        """Where the messages come from, by topic."""
        return self._sources

    @property
    def host(self) -> str:
        """The host vehicle of the ground truth."""
        return self._host


def sources_of(scenario: Scenario) -> dict[str, Source]:
    """The topics that OSI messages are made of; of two with the same content the first."""
    vehicles: Mapping[str, Any] = scenario.scene.get("vehicles") or {}
    found: dict[str, Source] = {}
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
                found[output.topic] = Source(kind, name, output)
    return found
