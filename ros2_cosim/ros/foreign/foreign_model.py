# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The model ``foreign_node``: what is known of an unmodified ROS node before it is started."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from typing import Any

from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.kernel.model import (
    FullModel,
    Needs,
    Port,
    Ports,
    Repeatability,
    Report,
    Traits,
)
from ros2_cosim.core.kernel.participant import ModelContext, Step
from ros2_cosim.core.messages.foreign import BUNDLE_TYPE, ForeignSettings, full_topic
from ros2_cosim.ros.foreign.foreign_process import (
    check_container_services,
    foreign_command,
    foreign_environment,
)


class ForeignNode(FullModel):
    """An unmodified ROS node, in its own process, behind the ports of a participant.

    Each port is tied to one of the node's topics. See ``docs/foreign-nodes.md``.

    :raises ConfigurationError: the node cannot be started
    :raises ParticipantError: the node does not appear
    """

    Parameters = ForeignSettings
    traits = Traits(
        repeatable=Repeatability.SAME_MACHINE,
        shapes=("ros", "composed"),
        foreign=True,
        needs_graph=True,
    )
    other_ports = False

    @classmethod
    def declared_ports(cls, context: ModelContext, parameters: ForeignSettings) -> Ports:
        """Those that are tied to topics; an output passes on whole messages."""
        exchanged = parameters.exchanged.items()
        return Ports(
            tuple(
                Port(name, description=f"given to the node on {tied.topic}")
                for name, tied in parameters.inputs.items()
            )
            + tuple(
                Port(name, BUNDLE_TYPE, description=f"of the other side of {tied.called}")
                for name, tied in exchanged
            ),
            tuple(
                Port(
                    name,
                    BUNDLE_TYPE,
                    schedule="sparse",
                    description=f"for the other side of {tied.called}",
                )
                for name, tied in exchanged
            )
            + tuple(
                Port(
                    name,
                    description=f"taken from the node on {tied.topic}",
                    schedule="sparse" if tied.expect == "any" else None,
                    whole=True,
                    header_stamped=tied.stamp == "header",
                )
                for name, tied in parameters.outputs.items()
            ),
        )

    @classmethod
    def needs_beside(cls, context: ModelContext, parameters: ForeignSettings) -> Needs:
        """A process to itself: the node is started by it, and has its signals."""
        return Needs(alone="a foreign node")

    @classmethod
    def check_settings(cls, context: ModelContext, parameters: ForeignSettings) -> None:
        """Check whether the program is there, its topics are told apart, and its clock can be set.

        :raises ConfigurationError: it is not, or cannot
        """
        node_name = parameters.full_name(context.name)
        for key, tied in (
            ("inputs", {port: t.topic for port, t in parameters.inputs.items()}),
            ("outputs", {port: t.topic for port, t in parameters.outputs.items()}),
        ):
            ports: dict[str, str] = {}
            for port, topic in tied.items():
                other = ports.setdefault(full_topic(topic, node_name), port)
                if other != port:
                    raise ConfigurationError(
                        f"{context.where}.{key}.{port}: found '{topic}', the topic of '{other}'; "
                        "allowed is one port for each topic"
                    )
        follows_clock = parameters.use_sim_time and context.period_ns is not None
        if follows_clock and parameters.clock_start is None and context.enters_freely:
            raise ConfigurationError(
                f"participants.{context.name}.enter: missing; a foreign node whose timers follow "
                "the simulated clock must know when it enters"
            )
        if parameters.attach:
            if parameters.is_component:
                check_container_services(context.where)
            return
        command = foreign_command(parameters, context.base_directory, {}, context.where)
        path = foreign_environment(parameters).get("PATH")
        if shutil.which(command[0], path=path) is None:
            raise ConfigurationError(
                f"{context.where}.command: found {command[0]!r}; allowed is an installed program"
            )

    def __init__(self, context: ModelContext, parameters: ForeignSettings) -> None:
        # ROS is not needed for all that is known before.
        from ros2_cosim.ros.foreign.foreign_node import connected_node

        self._made_of = context, parameters
        self._node = connected_node(context, parameters)

    def reset(self) -> None:
        """End the process of the node, and start it anew.

        :raises ParticipantError: it does not appear again
        """
        from ros2_cosim.ros.foreign.foreign_node import connected_node

        self._node.close()
        self._node = connected_node(*self._made_of)

    def activate(self, step: Step) -> Mapping[str, Any]:
        """Hand the samples over and collect what the node publishes.

        :raises ParticipantError: the node died, is silent, or publishes what is not expected
        """
        return self._node.activate(step)

    def finish(self) -> None:
        """Refuse a run in which the node read what it was not given.

        :raises ParticipantError: it did
        """
        self._node.finish()

    def report(self) -> Report:
        """The wall time that was spent on the node, and whether its threads make runs differ."""
        node = self._node
        return Report(not_repeatable=node.not_repeatable(), transport_ns=node.transport_ns)

    def close(self) -> None:
        """End the foreign process and leave the ROS graph."""
        self._node.close()
