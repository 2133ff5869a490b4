# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Run shapes ``ros`` (several processes) and ``composed`` (one for all participants)."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager

from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.process.seal import RUN_SECRET, new_secret, secret_of
from ros2_cosim.core.record.summary import Summary, read_summary
from ros2_cosim.core.run.output_directory import LOG_DIRECTORY
from ros2_cosim.core.run.process_limits import check_limits
from ros2_cosim.core.run.request import RunOptions, RunRequest
from ros2_cosim.core.run.shape import PreparedRun, RunCallbacks, Shape, refuse_sharing
from ros2_cosim.core.scenario.check import try_models
from ros2_cosim.core.scenario.grouping import cores_for, grouped
from ros2_cosim.core.scenario.held_ports import hold_ports
from ros2_cosim.core.scenario.schema import Scenario
from ros2_cosim.core.scenario.system import with_declared_outputs
from ros2_cosim.core.sockets.switchboard import LANE, Switchboard
from ros2_cosim.ros.bringup.dds import check_ros, dds_environment, dds_settings
from ros2_cosim.ros.bringup.domain_lock import domain_lock
from ros2_cosim.ros.bringup.far_plan import network_of
from ros2_cosim.ros.bringup.guard import Guard
from ros2_cosim.ros.bringup.plan import Process, make_plan
from ros2_cosim.ros.bringup.prepared import PreparedProcesses
from ros2_cosim.ros.bringup.running import run_processes
from ros2_cosim.ros.bringup.starter_channel import CHANNEL, StarterChannel
from ros2_cosim.ros.bringup.transport import TRANSPORTS, has_lane


class ComposedShape(Shape):
    """All participants in one process; clock and recorder have their own."""

    name = "composed"

    def check(self, request: RunRequest, scenario: Scenario) -> None:
        """Check whether there is ROS, and whether the transport is one.

        :raises ConfigurationError: it is not so
        """
        check_transport(request.transport)
        refuse_sharing(request)
        check_ros(f"shape {self.name}", "or use --shape inproc")

    def plan(self, scenario: Scenario, options: RunOptions) -> list[Process]:
        """The processes of a run; see :func:`make_plan`."""
        return make_plan(scenario, options)

    def arranged(self, request: RunRequest, scenario: Scenario, options: RunOptions) -> Scenario:
        """The scenario with its processes.

        :raises ConfigurationError: they are too many for this machine, or a model is wrong
        """
        plan = self.plan(scenario, options)
        on_lane = len(scenario.participants) * has_lane(options, plan, os.environ)
        check_limits(len(plan), on_lane)
        try_models(scenario, self.name)
        return scenario

    @contextmanager
    def held(
        self, request: RunRequest, prepared: PreparedRun, *, domains: Sequence[int] | None
    ) -> Iterator[PreparedProcesses]:
        """Hold a ROS domain and the ports of servers, and open the channel to the processes.

        :raises ConfigurationError: another run has the domain, or a port
        """
        options, directory = prepared.options, prepared.directory
        with ExitStack() as stack:
            # A value that was set holds: processes on other hosts, started by the user, have it
            # too.
            secret = secret_of() or new_secret()
            place = stack.enter_context(domain_lock(domains, namespace=options.namespace))
            ports = hold_ports(prepared.scenario, options.shape)
            stack.callback(ports.close)
            scenario = with_declared_outputs(ports.scenario)
            plan = self.plan(scenario, options)
            network = network_of(scenario, plan)
            settings = dds_settings(dds_environment(os.environ, options.output, network))
            channel = stack.enter_context(StarterChannel(directory))
            stack.enter_context(Guard(f"{CHANNEL}={channel.address}"))
            environment = {
                **os.environ,
                "ROS_DOMAIN_ID": str(place.domain),
                CHANNEL: channel.address,
                RUN_SECRET: secret,
            }
            environment.pop(LANE, None)
            if has_lane(options, plan, environment):
                switchboard = stack.enter_context(Switchboard(secret))
                directory.announce(lane=switchboard.address)
                environment[LANE] = switchboard.address
            # In the home directory it would stay for ever, if it can be written at all.
            environment.setdefault("ROS_LOG_DIR", str(options.output / LOG_DIRECTORY))
            yield PreparedProcesses(
                scenario,
                options,
                directory,
                plan,
                environment,
                channel,
                ports,
                place,
                settings,
                network,
            )

    def run(self, prepared: PreparedRun, callbacks: RunCallbacks) -> Summary:
        """Start the processes, and wait for their end."""
        assert isinstance(prepared, PreparedProcesses)
        run_processes(prepared, callbacks)
        return read_summary(prepared.output)


class RosShape(ComposedShape):
    """Participants in several processes, each as ROS nodes."""

    name = "ros"

    def check(self, request: RunRequest, scenario: Scenario) -> None:
        """Check whether there is ROS, and whether the transport is one.

        :raises ConfigurationError: it is not so
        """
        check_transport(request.transport)
        check_ros(f"shape {self.name}", "or use --shape inproc")

    def arranged(self, request: RunRequest, scenario: Scenario, options: RunOptions) -> Scenario:
        """The scenario with its processes, which participants share."""
        cores = cores_for(request.processes)
        shared = grouped(scenario, cores, request.by_hand)
        return super().arranged(request, shared, options)


def check_transport(transport: str) -> None:
    """Check whether messages can travel so.

    :raises ConfigurationError: there is no such transport
    """
    if transport not in TRANSPORTS:
        raise ConfigurationError(
            f"transport: found '{transport}'; allowed are {' and '.join(TRANSPORTS)}"
        )
