# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""A run in processes that can be started."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace

from ros2_cosim.core.process.seal import secret_of
from ros2_cosim.core.run.shape import PreparedRun
from ros2_cosim.core.scenario.held_ports import HeldPorts
from ros2_cosim.ros.bringup.dds import Network, dds_notes, loopback_environment
from ros2_cosim.ros.bringup.domain_lock import HeldPlace
from ros2_cosim.ros.bringup.far_plan import write_parts
from ros2_cosim.ros.bringup.plan import Process
from ros2_cosim.ros.bringup.processes import commands_by_hand
from ros2_cosim.ros.bringup.starter_channel import StarterChannel


@dataclass(frozen=True)
class PreparedProcesses(PreparedRun):
    """A run in processes that can be started.

    :ivar plan: its processes
    :ivar environment: theirs
    :ivar channel: connects them with the starter
    :ivar ports: what their servers listen at
    :ivar place: the ROS domain that the run holds
    :ivar settings: what the middleware gets in this environment
    :ivar network: between its hosts; None: all are on this one
    """

    plan: list[Process]
    environment: Mapping[str, str]
    channel: StarterChannel
    ports: HeldPorts
    place: HeldPlace
    settings: Mapping[str, str]
    network: Network | None

    def with_files(self) -> PreparedProcesses:
        """Write what the middleware and other hosts read, and tell other programs of the run."""
        options = self.options
        environment = loopback_environment(
            self.environment, options.output, options.namespace, self.network
        )
        if self.network is not None:
            write_parts(self.scenario, options, self.plan, self.network)
        secret = secret_of(environment)
        self.place.announce(self.scenario.name, options.output, self.settings, secret)
        return replace(self, environment=environment)

    def notes(self) -> list[str]:
        """Those of every shape, and what keeps the middleware from what it needs."""
        return [*super().notes(), *(dds_notes(os.environ) if self.plan else [])]

    def commands_by_hand(self) -> list[tuple[str, str]]:
        """(name, command line) of the processes that the user starts."""
        return commands_by_hand(self.scenario, self.options) if self.options.by_hand else []
