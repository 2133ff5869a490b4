# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The ports of a graph as topics: which one, and with which codec.

The kernel asks of a codec no more than that it encodes; what leaves the process needs the whole
of a :class:`~.cdr.WireCodec`. Here, and nowhere else, one is made of the other.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.kernel.graph import Graph, OutputPort
from ros2_cosim.core.messages.cdr import WireCodec
from ros2_cosim.core.messages.raw import CARRIER_TYPE


def wire_codec(port: OutputPort) -> WireCodec:
    """The codec of an output port.

    :raises ConfigurationError: the messages of the port cannot leave the process
    """
    if not isinstance(port.codec, WireCodec):
        raise ConfigurationError(
            f"output port '{port.name}': found {type(port.codec).__name__}, whose messages stay "
            "in one process; a topic needs a codec of a message type"
        )
    return port.codec


class DataTopic(NamedTuple):
    """The topic of an output port: its name and the codec of its messages."""

    name: str
    codec: WireCodec


@dataclass(frozen=True)
class Wiring:
    """A checked system together with the topics of its output ports.

    :param graph: the system
    :param topics: (participant, output port) -> topic, for all output ports
    """

    graph: Graph
    topics: Mapping[tuple[str, str], DataTopic]

    @classmethod
    def of(cls, graph: Graph, name_of: Callable[[str, str], str]) -> Wiring:
        """Tie the ports of a system to topics.

        :param name_of: (participant, output port) -> name of the topic
        :raises ConfigurationError: the messages of a port cannot leave the process
        """
        topics = {
            (name, port.name): DataTopic(name_of(name, port.name), wire_codec(port))
            for name, spec in graph.participants.items()
            for port in spec.outputs
        }
        return cls(graph, topics)


def edge_topic(topic: str, codec: WireCodec) -> str:
    """The topic between participants: messages without a header travel beside the plain ones."""
    return f"{topic}/stamped" if codec.type_name == CARRIER_TYPE else topic
