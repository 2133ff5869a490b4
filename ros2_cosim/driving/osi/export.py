# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""A recorded run as OSI traces: the export ``osi`` of a bag."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from ros2_cosim.core.documents.extras import need_extra
from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.scenario.exports import Export
from ros2_cosim.core.scenario.schema import Scenario
from ros2_cosim.driving.osi.sources import OsiParameters, Subject, sources_of


class OsiExport(Export):
    """Ground truth of the run, and a view and the data of each object sensor, as trace files."""

    Parameters = OsiParameters

    def __init__(self, scenario: Scenario, parameters: OsiParameters, where: str) -> None:
        need_extra("osi", ("osi3", "mcap_protobuf"), where)
        sources = sources_of(scenario)
        vehicles = scenario.scene.get("vehicles") or {}
        tracked = [s.name for s in sources.values() if s.kind == "odometry"]
        if not tracked:
            raise ConfigurationError(
                f"{where}: found no vehicle; allowed is a scenario with an output odometry/VEHICLE"
            )
        for topic, source in sources.items():
            if not scenario.bag.has(topic):
                raise ConfigurationError(
                    f"{where}: found a bag without {topic} ({source.kind}); allowed are bag.topics "
                    "and bag.exclude that leave it in"
                )
        if parameters.host is not None and parameters.host not in tracked:
            raise ConfigurationError(
                f"{where}.host: found '{parameters.host}'; allowed are {', '.join(tracked)}"
            )
        sensors = [s.name for s in sources.values() if s.kind == "objects"]
        egos = [str(scenario.participants[name].parameters["ego"]) for name in sensors]
        ordered = [*egos, *(scenario.scene.get("platoon") or ()), *vehicles]
        host = parameters.host or next(name for name in ordered if name in tracked)
        self._subject = Subject(scenario, parameters, sources, host)

    @property
    def subject(self) -> Subject:
        """What the traces are made of."""
        return self._subject

    def versions(self) -> Mapping[str, str]:
        """The version of OSI, and that of the package which writes the bytes."""
        from ros2_cosim.driving.osi.messages import VERSION_TEXT
        from ros2_cosim.driving.osi.trace_files import PROTOBUF

        return {"osi": VERSION_TEXT, "protobuf": PROTOBUF}

    def write(self, bag: Path, directory: Path) -> None:
        """Write the traces, of a run that ended early as far as it is recorded."""
        from ros2_cosim.driving.osi.recorded import write_traces

        write_traces(self._subject, bag, directory)
