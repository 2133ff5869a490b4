# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The ROS namespace of a run: all its nodes, topics and services are inside it.

Scenarios, bags and the trace name topics without it, so that runs in different namespaces are
equal. Where a topic meets ROS it gets the namespace of its node.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Protocol

from ros2_cosim.core.kernel.errors import ConfigurationError

#: The namespace of a run that asked for none.
ROOT = "/"
#: Processes of a run beside its participants whose nodes have this in front of their names: beside
#: nodes of other programs, ``clock`` would not say whose it is.
OWN_PROCESSES = frozenset({"clock", "composed", "recorder", "visualisation"})
_OWN = "cosim_"
OWN_NODES = frozenset(_OWN + name for name in OWN_PROCESSES)
_NAMESPACE = re.compile(r"/?[A-Za-z_][A-Za-z0-9_]*(/[A-Za-z_][A-Za-z0-9_]*)*")
#: Full names in ROS have at most 255 characters; topics of scenarios need some of them.
LONGEST_NAMESPACE = 127


class PlacedNode(Protocol):
    """A node, as far as its place is concerned."""

    def get_namespace(self) -> str:
        """Its namespace: ``/``, or without a slash at the end."""


def node_name_of(process: str) -> str:
    """The name of the node of a process of a run; that of a participant is its own."""
    return shared_node_name(process) if process in OWN_PROCESSES else process


def shared_node_name(process: str) -> str:
    """The name of the node of a process that does not belong to one participant alone."""
    return _OWN + process


def process_name_of(node: str) -> str:
    """The process that a node of a run belongs to."""
    return node.removeprefix(_OWN) if node in OWN_NODES else node


def renamed_argument(argument: str) -> str:
    """A ROS argument for one node, ``NODE:FROM:=TO``, with the present name of that node.

    Up to version 0.1.0 the nodes had the names of their processes.
    """
    node, colon, rest = argument.partition(":")
    return node_name_of(node) + colon + rest if colon and rest[:1] != "=" else argument


def parse_namespace(text: str, where: str = "namespace") -> str:
    """The full form of a namespace: ``a`` and ``/a`` are ``/a``, an empty text is the root.

    :param where: names it in an error
    :raises ConfigurationError: it is not a namespace
    """
    if text in ("", ROOT):
        return ROOT
    if not _NAMESPACE.fullmatch(text) or "__" in text or len(text) > LONGEST_NAMESPACE:
        raise ConfigurationError(
            f"{where}: found '{text}'; allowed are names of letters, digits and single "
            f"underscores that begin with no digit, with / between them, of at most "
            f"{LONGEST_NAMESPACE} characters"
        )
    return ROOT + text.removeprefix(ROOT)


def qualified(namespace: str, name: str) -> str:
    """The full name of a topic, service or node of a run.

    :param namespace: of the run, or of a node of it
    :param name: as in a run without a namespace: ``/clock``
    """
    return namespace.rstrip("/") + name


def inside(node: PlacedNode, name: str) -> str:
    """The full name of a topic or service of the run that a node belongs to.

    :param name: as in a run without a namespace
    """
    return qualified(node.get_namespace(), name)


def remapping(namespace: str) -> list[str]:
    """The ROS arguments that put a node into a namespace."""
    return [] if namespace == ROOT else ["-r", f"__ns:={namespace}"]


def namespace_of(arguments: Sequence[str]) -> str:
    """The namespace that the arguments of a process give its nodes.

    :raises ConfigurationError: it is not a namespace
    """
    found = [a.partition(":=")[2] for a in arguments if a.startswith("__ns:=")]
    return parse_namespace(found[0] if found else ROOT, "__ns")


def in_words(namespace: str) -> str:
    """For a message, behind the domain; empty for the root."""
    return "" if namespace == ROOT else f" in namespace {namespace}"
