# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Ports as topics: every output port has a name and a codec that can leave the process."""

from __future__ import annotations

import pytest

from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.kernel.graph import Graph, OutputPort, ParticipantSpec
from ros2_cosim.core.messages.catalogue import DEFAULT as CATALOGUE
from ros2_cosim.core.messages.wiring import DataTopic, Wiring, wire_codec

CODEC = CATALOGUE.codec("ros2_cosim/msg/SystemState")


def system(*ports: OutputPort) -> Graph:
    return Graph([ParticipantSpec("a", period_ns=1, outputs=ports)], [])


def test_a_port_is_tied_to_its_topic_and_codec() -> None:
    graph = system(OutputPort("x", codec=CODEC), OutputPort("y", codec=CODEC))
    wiring = Wiring.of(graph, lambda name, port: f"/{name}/{port}")
    assert wiring.graph is graph
    assert wiring.topics == {
        ("a", "x"): DataTopic("/a/x", CODEC),
        ("a", "y"): DataTopic("/a/y", CODEC),
    }


def test_a_port_whose_messages_stay_in_the_process_has_no_topic() -> None:
    port = OutputPort("x")
    with pytest.raises(ConfigurationError, match="output port 'x': found TextCodec.*needs a codec"):
        wire_codec(port)
    with pytest.raises(ConfigurationError, match="output port 'x'"):
        Wiring.of(system(port), lambda name, port: "/x")
