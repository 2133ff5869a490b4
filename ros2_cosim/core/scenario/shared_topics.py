# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Topics with several writers, such as ``/tf``, as the participants that they stand for.

Each writer keeps its own topic, ``TOPIC/PARTICIPANT/PORT``, and one participant more handles
the messages of all and sends them on: in the order of stamp, writer and number, at the same stamp.
So the kernel has no rule of its own for them. Readers name the writers, as ever, and get their
messages in the same order.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple, Protocol

from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.kernel.model import FullModel, Port, Traits
from ros2_cosim.core.kernel.participant import Step

MODEL = "topic_merger"
MERGED = "merged"


class SharingWriter(Protocol):
    """What is needed of the settings of a participant."""

    outputs: dict[str, Any]


class SharedTopic(NamedTuple):
    """A topic of several outputs: ``writers`` are (participant, port), with the new topic."""

    participant: str
    settings: dict[str, Any]
    writers: dict[tuple[str, str], str]


def shared_topics(participants: Mapping[str, SharingWriter]) -> Iterator[SharedTopic]:
    """The topics that several outputs share, in the order of the scenario.

    :raises ConfigurationError: outputs of one topic have different types, or the participant that
        merges them has the name of another one
    """
    found: dict[str, dict[tuple[str, str], Any]] = {}
    for name, participant in participants.items():
        for port, output in participant.outputs.items():
            if output.shared:
                found.setdefault(output.topic, {})[name, port] = output
    for topic, writers in found.items():
        types = {output.type for output in writers.values()}
        places = [f"participants.{name}.outputs.{port}" for name, port in writers]
        if len(types) > 1:
            raise ConfigurationError(
                f"{places[-1]}: shares {topic} with {', '.join(places[:-1])}; found the types "
                f"{', '.join(sorted(types))}, allowed is one"
            )
        merger = "shared_" + re.sub(r"\W+", "_", topic.strip("/")).lower()
        if merger in participants:
            raise ConfigurationError(
                f"participants.{merger}: is the name of what merges the writers of {topic}; "
                "allowed is any other name"
            )
        settings = {
            "model": MODEL,
            "inputs": {
                f"{name}/{port}": {"from": [f"{name}.{port}"], "handled": True}
                for name, port in writers
            },
            "outputs": {
                MERGED: {
                    "type": types.pop(),
                    "topic": topic,
                    "schedule": "sparse",
                    "latched": any(output.latched for output in writers.values()),
                }
            },
        }
        own = {place: f"{topic}/{'/'.join(place)}" for place in writers}
        yield SharedTopic(merger, settings, own)


class TopicMerger(FullModel):
    """Sends on, at its stamp, each message of the writers of a topic that they share.

    Written by ``shared: true`` of their outputs.
    """

    traits = Traits(cost_ns=20_000)
    output_ports = (Port(MERGED, whole=True, schedule="sparse", description="all messages"),)

    def activate(self, step: Step) -> Mapping[str, Any]:
        """Send nothing: all is handled."""
        return {}

    def handle_message(self, port: str, step: Step) -> Mapping[str, Any]:
        """Send on one message."""
        return {MERGED: step.samples[port][0].value}
