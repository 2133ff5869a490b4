# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""What nodes of a ROS graph read, write, offer and call, as a node beside them sees it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, ReliabilityPolicy
from rclpy.topic_endpoint_info import TopicEndpointInfo

from ros2_cosim.ros.foreign.foreign_topics import ACTION, COMMON
from ros2_cosim.ros.node.writers import node_of

#: The service of an action by which it is known, and what the type of that has behind its own.
_GOAL_SERVICE, _GOAL_SUFFIX = "send_goal", "_SendGoal"
#: Services of every node begin with its name and end with one of these.
_NODE_SERVICES = (
    "describe_parameters",
    "get_parameter_types",
    "get_parameters",
    "get_type_description",
    "list_parameters",
    "set_parameters",
    "set_parameters_atomically",
)


class SeenEnd(NamedTuple):
    """A subscription or a publisher: full topic, ROS type, and its quality of service."""

    topic: str
    type_name: str
    reliable: bool
    latched: bool


class SeenNode(NamedTuple):
    """A node by its full name, without what every node has and without the ends of actions.

    ``offers`` and ``calls`` are services and actions -> their types. ``number`` nodes have that
    name: the middleware tells services and topics of one of them.
    """

    name: str
    reads: tuple[SeenEnd, ...]
    writes: tuple[SeenEnd, ...]
    offers: Mapping[str, str]
    calls: Mapping[str, str]
    number: int = 1


def seen_nodes(watcher: Node) -> list[SeenNode]:
    """The other nodes of the graph, sorted by name; of those that go meanwhile what is left."""
    own = watcher.get_fully_qualified_name()
    places = Counter(watcher.get_node_names_and_namespaces())
    found = []
    for full, place in sorted((f"{p[1].rstrip('/')}/{p[0]}", p) for p in places):
        if full == own or place[0].startswith("_"):
            continue
        reads = _names(watcher.get_subscriber_names_and_types_by_node, place)
        writes = _names(watcher.get_publisher_names_and_types_by_node, place)
        offers = _names(watcher.get_service_names_and_types_by_node, place)
        calls = _names(watcher.get_client_names_and_types_by_node, place)
        found.append(
            SeenNode(
                full,
                _ends(full, reads, watcher.get_subscriptions_info_by_topic),
                _ends(full, writes, watcher.get_publishers_info_by_topic),
                _services(full, offers),
                _services(full, {name: calls[name] for name in calls.keys() - offers.keys()}),
                places[place],
            )
        )
    return found


def _names(
    by_node: Callable[[str, str], Iterable[tuple[str, list[str]]]], place: tuple[str, str]
) -> dict[str, str]:
    """Full name -> type."""
    try:
        return {name: types[0] for name, types in by_node(*place) if types}
    except Exception:  # rclpy has no common class for "node not found"
        return {}


def _ends(
    node: str, topics: Iterable[str], infos: Callable[[str], list[TopicEndpointInfo]]
) -> tuple[SeenEnd, ...]:
    found = {
        SeenEnd(
            topic,
            info.topic_type,
            info.qos_profile.reliability == ReliabilityPolicy.RELIABLE,
            info.qos_profile.durability == DurabilityPolicy.TRANSIENT_LOCAL,
        )
        for topic in topics
        if topic not in (*COMMON, f"{node}/transition_event") and ACTION not in topic
        for info in infos(topic)
        if node_of(info) == node
    }
    return tuple(sorted(found))


def _services(node: str, types: Mapping[str, str]) -> dict[str, str]:
    """Services and actions of a node: of an action, the type is that of its first service."""
    of_node = {f"{node}/{name}" for name in _NODE_SERVICES}
    found = {}
    for name in sorted(types.keys() - of_node):
        base, is_action, part = name.partition(ACTION)
        if not is_action:
            found[name] = types[name]
        elif part == _GOAL_SERVICE:
            found[base] = types[name].removesuffix(_GOAL_SUFFIX)
    return found
