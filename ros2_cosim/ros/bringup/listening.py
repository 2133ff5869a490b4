# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""All ports and sockets at which processes of a run listen, and which users are served there."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from ros2_cosim.core.kernel.address import LOOPBACK, Address
from ros2_cosim.core.kernel.listening import Listening, PortUse
from ros2_cosim.core.run.request import RunOptions
from ros2_cosim.core.scenario.declaration import declare_all
from ros2_cosim.core.scenario.held_ports import server_sockets
from ros2_cosim.core.scenario.hosting import processes_of
from ros2_cosim.core.scenario.schema import Scenario
from ros2_cosim.core.sockets.endpoints import is_loopback
from ros2_cosim.core.sockets.switchboard import LANE_NAME
from ros2_cosim.ros.bringup.dds import keeps_dds
from ros2_cosim.ros.bringup.domain_lock import own_domain, place_name
from ros2_cosim.ros.bringup.far_plan import network_of
from ros2_cosim.ros.bringup.plan import Process
from ros2_cosim.ros.bringup.starter_channel import CHANNEL_NAME
from ros2_cosim.ros.bringup.transport import has_lane

#: The process that starts the others; in shape ``inproc`` the only one.
STARTER = "cosim run"
_OWN = "this user"
_USERS = {
    PortUse.LIVE_VIEW: "all users of the machine, to read",
    PortUse.DDS: "all users of the machine",
    PortUse.CLAIM: "all users of the machine, which find it taken",
    PortUse.LANE: "this user, with the secret of the run",
}
_FROM_ELSEWHERE = {
    PortUse.LIVE_VIEW: "all users and other hosts, to read",
    PortUse.DDS: "all users and other hosts",
    PortUse.PAGE: "this user and other hosts, with the token",
    PortUse.FAR_PART: "this user and other hosts, with the secret of the run",
}


@dataclass(frozen=True)
class ListeningPort:
    """A port, or a socket of this machine, at which a process of a run will listen.

    ``users`` are those that it serves. See :class:`~ros2_cosim.core.kernel.listening.Listening`.
    """

    process: str
    use: str
    kind: str
    host: str
    port: int
    users: str

    def __str__(self) -> str:
        """One line of a plan."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        place = host if self.kind == "unix" else f"{host}:{self.port or 'any'}"
        return f"{self.process} listens at {self.kind} {place} for {self.users}: {self.use}"


def listening_ports(
    scenario: Scenario,
    options: RunOptions,
    plan: Sequence[Process],
    *,
    dashboard: str = "",
    is_open: bool = False,
    environment: Mapping[str, str] = os.environ,
) -> list[ListeningPort]:
    """All that listens in a run.

    :param scenario: with the numbers of :func:`~ros2_cosim.core.scenario.held_ports.hold_ports`
    :param plan: its processes; none in shape ``inproc``
    :param dashboard: where its page is to be, ``[HOST:]PORT``; empty: nowhere
    :param is_open: whether all users of the machine are served
    """
    found = [
        *_of_starter(scenario, options, plan, environment),
        *_of_servers(scenario, options),
        *_of_nodes(scenario, plan, environment),
    ]
    if dashboard:
        found.append((STARTER, Listening(PortUse.PAGE, "tcp", *Address.of(dashboard, "dashboard"))))
    return [
        ListeningPort(process, at.use.value, at.kind, at.host, at.port, _users(at, is_open))
        for process, at in found
    ]


def _users(at: Listening, is_open: bool) -> str:
    is_here = at.kind == "unix" or is_loopback(at.host)
    users = _USERS.get(at.use, _OWN)
    if not is_here:
        users = _FROM_ELSEWHERE.get(at.use, "this user and other hosts")
    if is_open and at.kind != "unix":
        return users.replace(_OWN, "all users of the machine")
    return users


def _of_starter(
    scenario: Scenario,
    options: RunOptions,
    plan: Sequence[Process],
    environment: Mapping[str, str],
) -> Iterator[tuple[str, Listening]]:
    """What the starter listens at, and for a part on another host that is started by hand."""
    if options.shape != "inproc":
        name = place_name(own_domain(environment), options.namespace)
        yield STARTER, Listening(PortUse.CLAIM, "unix", name)
        yield STARTER, Listening(PortUse.CHANNEL, "unix", f"@{CHANNEL_NAME}-*")
        if has_lane(options, plan, environment):
            yield STARTER, Listening(PortUse.LANE, "unix", f"@{LANE_NAME}-*")
    network = network_of(scenario, plan)
    for process in plan:
        if network is not None and process.there and scenario.hosts[process.name].start == "hand":
            port = scenario.hosts[process.name].port
            yield process.name, Listening(PortUse.FAR_PART, "tcp", network.own[0], port)


def _of_servers(scenario: Scenario, options: RunOptions) -> Iterator[tuple[str, Listening]]:
    """What is declared: by servers of the run, by models, and by the option for a live view."""
    shape = options.shape
    yield from server_sockets(scenario, shape)
    homes: dict[str, str] = {}
    if shape == "ros":
        for process, names in processes_of(scenario).items():
            homes |= dict.fromkeys(names, process)
    home = STARTER if shape == "inproc" else "composed"
    for name, declaration in declare_all(scenario, shape).items():
        for at in declaration.listens_at:
            yield homes.get(name, home), at
    if options.foxglove:
        recorder = "recorder" if shape == "ros" else home
        place = Address.of(options.foxglove, "--foxglove")
        yield recorder, Listening(PortUse.LIVE_VIEW, "tcp", *place)


def _of_nodes(
    scenario: Scenario, plan: Sequence[Process], environment: Mapping[str, str]
) -> Iterator[tuple[str, Listening]]:
    """What the middleware opens in each process that is a ROS node."""
    network = network_of(scenario, plan)
    here = network.own[0] if network else LOOPBACK
    if keeps_dds(environment):
        here = "0.0.0.0"
    for process in plan:
        if process.is_ros:
            yield process.name, Listening(PortUse.DDS, "udp", here)
        for far in process.there:
            if far.is_ros:
                address = scenario.hosts[process.name].address
                yield far.name, Listening(PortUse.DDS, "udp", address)
