# SPDX-License-Identifier: Apache-2.0
"""Who a run requires, where the system controller says so instead of the scenario.

Processes know the graph of the scenario, and readers conclude from it when the next message of a
port comes. So a participant on whose messages others count in that way cannot become one that
may fall silent; in a scenario that declares it ``required: false`` they would not count on it.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from ros2_cosim.kernel.errors import ConfigurationError
from ros2_cosim.kernel.graph import Graph


def check_required(graph: Graph, names: Collection[str]) -> None:
    """Refuse a set of required participants that the system cannot run with.

    :param graph: the system, as the scenario declares it
    :param names: who is required; all others are not
    :raises ConfigurationError: nobody is named, somebody is unknown, or somebody is left out whose
        silence readers would not notice
    """
    known = ", ".join(sorted(graph.participants))
    if not names:
        raise ConfigurationError(f"require: nobody is named; participants are {known}")
    for name in names:
        if name not in graph.participants:
            raise ConfigurationError(
                f"require: there is no participant '{name}'; participants are {known}"
            )
    for name, spec in graph.participants.items():
        if not spec.required or name in names:
            continue
        ports = _counted_on(graph, name)
        if ports:
            raise ConfigurationError(
                f"require: '{name}' is not named, but readers of {', '.join(ports)} count on its "
                "messages; name it, too, or declare it 'required: false' in the scenario"
            )


def _counted_on(graph: Graph, name: str) -> list[str]:
    """Ports that need no promises only because a participant certainly stays."""
    relaxed = Graph(
        [
            replace(spec, required=False) if spec.name == name else spec
            for spec in graph.participants.values()
        ],
        graph.connections,
    )
    return [
        f"{writer}.{port.name}"
        for writer, spec in graph.participants.items()
        for port in spec.outputs
        if relaxed.needs_promises(writer, port.name) and not graph.needs_promises(writer, port.name)
    ]
