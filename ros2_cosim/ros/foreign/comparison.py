# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Compares the foreign nodes of a scenario with those of a running ROS graph."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from time import monotonic, sleep
from typing import Literal

import rclpy
from rclpy.node import Node

from ros2_cosim.core.documents.settings import read_section
from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.kernel.graph import Graph
from ros2_cosim.core.messages.foreign import ForeignService, ForeignSettings, full_topic
from ros2_cosim.core.messages.wiring import wire_codec
from ros2_cosim.core.scenario.schema import Scenario
from ros2_cosim.ros.foreign.foreign_node import codec_type, input_codec
from ros2_cosim.ros.foreign.foreign_topics import gate_topic
from ros2_cosim.ros.foreign.graph_view import SeenEnd, SeenNode, seen_nodes

MODEL = "foreign_node"
#: Discovery of nodes that do not change for so long [s] is over; it takes this at most.
_SETTLED_S, _LONGEST_S = 1.5, 6.0
_POLL_S = 0.05


def graph_of_domain() -> list[SeenNode]:
    """The nodes of this process's ROS domain, when they have not changed for a while."""
    context = rclpy.Context()
    context.init()
    node = Node("cosim_look", context=context, enable_rosout=False, start_parameter_services=False)
    try:
        found: list[SeenNode] = []
        since = began = monotonic()
        while (now := monotonic()) - began < _LONGEST_S:
            if found and now - since > _SETTLED_S:
                break
            if (seen := seen_nodes(node)) != found:
                found, since = seen, now
            sleep(_POLL_S)
        return found
    finally:
        node.destroy_node()
        context.try_shutdown()


def graph_faults(scenario: Scenario, graph: Graph, nodes: Sequence[SeenNode]) -> list[str]:
    """In what a running graph differs from what a scenario says of its foreign nodes.

    The nodes run by themselves, or in a run of the scenario behind private topics.

    :param scenario: the checked one
    :param graph: of it
    :param nodes: those that run
    """
    found = []
    for name, participant in scenario.participants.items():
        if participant.model != MODEL:
            continue
        settings = read_section(ForeignSettings, participant.parameters, by_hand=False)
        found += _Comparison(name, settings, graph, nodes).faults()
    return found


class _Comparison:
    """One participant beside the nodes of its process."""

    def __init__(
        self, name: str, settings: ForeignSettings, graph: Graph, nodes: Sequence[SeenNode]
    ) -> None:
        self._name, self._settings, self._graph = name, settings, graph
        self._where = f"participants.{name}"
        self._node_name = settings.full_name(name)
        space = self._node_name.rpartition("/")[0]
        others = {
            f"{space}/{target}" for rule, target in settings.remap.items() if ":__node" in rule
        }
        self._nodes = [node for node in nodes if node.name in {self._node_name, *others}]
        self._all = nodes

    def faults(self) -> list[str]:
        """In what they differ; each one names its place."""
        if self._node_name not in {node.name for node in self._nodes}:
            there = ", ".join(node.name for node in self._all) or "none"
            return [f"{self._where}: no node {self._node_name} runs; there are {there}"]
        if twins := [node for node in self._nodes if node.number > 1]:
            return [
                f"{self._where}: {node.number} nodes are called {node.name}, of which ROS shows "
                "the topics of one; allowed is one: end the others, or give them other names"
                for node in twins
            ]
        settings = self._settings
        read = {port: (tied.topic, tied.best_effort) for port, tied in settings.inputs.items()}
        written = {port: (tied.topic, tied.best_effort) for port, tied in settings.outputs.items()}
        reads = [end for node in self._nodes for end in node.reads]
        writes = [end for node in self._nodes for end in node.writes]
        spec = self._graph.participants[self._name]
        out_types = {port.name: codec_type(wire_codec(port)) for port in spec.outputs}
        in_types: dict[str, str] = {}
        for port in read:
            # An input without a writer has no type.
            with suppress(ConfigurationError):
                in_types[port] = codec_type(input_codec(self._graph, self._name, port))
        return [
            *self._of_ends("inputs", "reads", read, in_types, reads),
            *self._of_ends("outputs", "publishes", written, out_types, writes),
            *self._undeclared(reads),
            *self._of_services("calls", settings.calls),
            *self._of_services("offers", settings.offers),
        ]

    def _names(self, port: str, topic: str) -> set[str]:
        """What the topic of a port is called; if it is read and written, its gate is an input."""
        gates = {gate_topic(self._name, way, port) for way in ("in", "out")}
        return {full_topic(topic, self._node_name), *gates}

    def _of_ends(
        self,
        key: str,
        does: str,
        ports: Mapping[str, tuple[str, bool]],
        types: Mapping[str, str],
        ends: Iterable[SeenEnd],
    ) -> list[str]:
        """What is wrong with the ports of one direction."""
        found = []
        for port, (topic, best_effort) in ports.items():
            where = f"{self._where}.parameters.{key}.{port}"
            names = self._names(port, topic)
            those = [end for end in ends if end.topic in names]
            if not those:
                found.append(f"{where}: {self._node_name} {does} no topic {topic}")
            for end in those:
                if port in types and end.type_name != types[port]:
                    found.append(
                        f"{where}: {self._node_name} {does} {end.type_name}; the scenario has "
                        f"{types[port]}"
                    )
                if not (end.reliable or best_effort):
                    found.append(
                        f"{where}: {self._node_name} {does} {topic} without reliable delivery; "
                        "best_effort: true accepts that"
                    )
        return found

    def _of_services(
        self, way: Literal["calls", "offers"], ports: Mapping[str, ForeignService]
    ) -> Iterator[str]:
        """What is wrong with services and actions; what is offered may go unused."""
        both = [node.calls if way == "calls" else node.offers for node in self._nodes]
        there = {name: kind for found in both for name, kind in found.items()}
        known = {full_topic(name, self._node_name) for name in self._settings.allow_services}
        for port, tied in ports.items():
            where = f"{self._where}.parameters.{way}.{port}: {self._node_name} {way}"
            names = {full_topic(tied.called, self._node_name), gate_topic(self._name, way, port)}
            known |= names
            kinds = {there[name] for name in names & there.keys()}
            if not kinds:
                yield f"{where} no {tied.called}"
            elif kinds != {tied.type}:
                yield f"{where} {', '.join(sorted(kinds))}; the scenario has {tied.type}"
        for name in sorted(there.keys() - known) if way == "calls" else ():
            yield (
                f"{self._where}: {self._node_name} calls {name}, which is not in calls; declare "
                "it, or name it in allow_services"
            )

    def _undeclared(self, reads: Iterable[SeenEnd]) -> list[str]:
        """What is read but not declared: a run refuses that."""
        settings = self._settings
        known = {*settings.allow_topics, "/clock", gate_topic(self._name, "clock")}
        tied_topics = [(p, t.topic) for p, t in settings.inputs.items()]
        tied_topics += [(p, t.topic) for p, t in settings.outputs.items()]
        for port, topic in tied_topics:
            known |= self._names(port, topic)
        return [
            f"{self._where}: {self._node_name} reads {topic}, which is not an input; declare it, "
            "or name it in allow_topics"
            for topic in sorted({end.topic for end in reads} - known)
        ]
