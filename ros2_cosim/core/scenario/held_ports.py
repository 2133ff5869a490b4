# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The ports of a run's servers, known and bound before their processes are started."""

from __future__ import annotations

import errno
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ros2_cosim.core.documents.files import cause_of
from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.kernel.listening import Listening, PortUse
from ros2_cosim.core.kernel.model import Companion
from ros2_cosim.core.scenario.declaration import declare_all
from ros2_cosim.core.scenario.distribution import SIMULATOR, hosts_of
from ros2_cosim.core.scenario.schema import Scenario
from ros2_cosim.core.scenario.server_ports import server_ports
from ros2_cosim.core.scenario.system import with_declared_outputs
from ros2_cosim.core.sockets.inherited import HeldSocket, close_all, hold

LOOPBACK = "127.0.0.1"
#: (use, kind, how far above the port that is named); CARLA reserves the third port for secondary
#: servers.
_SIMULATOR_SOCKETS = (
    (PortUse.SIMULATOR, "tcp", 0),
    (PortUse.STREAMS, "tcp", 1),
    (PortUse.RESERVED, "tcp", 2),
)
_SLAVE_SOCKETS = ((PortUse.DCP_CONTROL, "tcp", 0), (PortUse.DCP_CONTROL, "udp", 0))


class HeldPorts:
    """The ports of the servers of a run, bound until their processes take them over.

    :ivar scenario: the scenario with their numbers
    :ivar of: the sockets, by the name of the process
    """

    def __init__(self, scenario: Scenario, of: dict[str, list[HeldSocket]]) -> None:
        self.scenario = scenario
        self.of = of

    def take(self, process: str) -> list[HeldSocket]:
        """The sockets of a process, which the caller closes."""
        return self.of.pop(process, [])

    def close(self) -> None:
        """Give up those that no process has taken."""
        close_all(held for sockets in self.of.values() for held in sockets)
        self.of.clear()


def hold_ports(scenario: Scenario, shape: str = "ros") -> HeldPorts:
    """Bind the ports of all servers of the plan, a free one where the scenario asks for port 0.

    Processes that are started at once must know each other's ports beforehand, also under
    ``ros2 launch``. For a server on another host the number is drawn only.

    :raises ConfigurationError: a port that the scenario asks for is in use
    """
    data = scenario.model_dump(by_alias=True)
    declared = declare_all(scenario)
    simulator = data["simulator"]
    far = hosts_of(scenario, declared, shape)
    held = HeldPorts(scenario, {})
    try:
        if SIMULATOR in far:
            simulator["port"] = simulator["port"] or next(server_ports())
        elif simulator["kind"] == "headless" and any(d.needs.simulator for d in declared.values()):
            held.of[SIMULATOR] = _reserve(
                simulator["host"], simulator["port"], "simulator", _SIMULATOR_SOCKETS
            )
            simulator["port"] = held.of[SIMULATOR][0].port
        for name, declaration in declared.items():
            parameters = data["participants"][name]["parameters"]
            for companion in declaration.needs.companions:
                if companion.address:
                    entry = address_of(companion, parameters)
                    place = ".".join((declaration.context.where, *companion.address))
                    entry["host"] = entry.get("host") or LOOPBACK
                    if companion.name in far:
                        entry["port"] = entry.get("port") or next(server_ports())
                        continue
                    sockets = _reserve(entry["host"], entry.get("port") or 0, place, _SLAVE_SOCKETS)
                    held.of[companion.name] = sockets
                    entry["port"] = sockets[0].port
        held.scenario = Scenario.model_validate(data)
    except BaseException:
        held.close()
        raise
    return held


def resolve_ports(scenario: Scenario, shape: str = "ros") -> Scenario:
    """The scenario with the numbers of :func:`hold_ports`, which are given up again; and with what
    models declare.

    :raises ConfigurationError: a port that the scenario asks for is in use
    """
    held = hold_ports(scenario, shape)
    held.close()
    return with_declared_outputs(held.scenario)


def server_sockets(scenario: Scenario, shape: str = "ros") -> Iterator[tuple[str, Listening]]:
    """Each socket at which a server of a run listens, with the process that it is in.

    :param scenario: with the numbers of :func:`hold_ports`
    """
    declared = declare_all(scenario, shape)
    simulator = scenario.simulator
    if simulator.kind == "headless" and any(d.needs.simulator for d in declared.values()):
        for use, kind, above in _SIMULATOR_SOCKETS:
            yield SIMULATOR, Listening(use, kind, simulator.host, simulator.port + above)
    for name, declaration in declared.items():
        for companion in declaration.needs.companions:
            if companion.address:
                entry = address_of(companion, scenario.participants[name].parameters)
                for use, kind, above in _SLAVE_SOCKETS:
                    yield companion.name, Listening(use, kind, entry["host"], entry["port"] + above)


def address_of(companion: Companion, parameters: Mapping[str, Any]) -> Any:
    """Where a companion listens: what of its participant's parameters has the host and port."""
    found: Any = parameters
    for key in companion.address:
        found = found[key]
    return found


def _reserve(
    host: Any, port: Any, place: str, wanted: Sequence[tuple[PortUse, str, int]]
) -> list[HeldSocket]:
    """Bind sockets to a port, or to a free one for 0.

    :param wanted: use and kind of each socket, and how far its port is above the first
    """
    highest = 65535 - max(above for *_, above in wanted)
    if not isinstance(port, int) or isinstance(port, bool) or not 0 <= port <= highest:
        raise ConfigurationError(f"{place}.port: found {port!r}; allowed is 0 to {highest}")
    if not isinstance(host, str):
        raise ConfigurationError(f"{place}.host: found {host!r}; allowed is a host name")
    for candidate in (port,) if port else server_ports():
        if candidate > highest:
            continue
        sockets: list[HeldSocket] = []
        for _, kind, above in wanted:
            try:
                sockets.append(hold(kind, host, candidate + above))
            except OSError as error:
                close_all(sockets)
                if port == 0 and error.errno == errno.EADDRINUSE:
                    break  # try the next candidate
                which = f"port {port + above} on {host}"
                which += f", needed beside {port}," if above else ""
                raise ConfigurationError(
                    f"{place}: {which} cannot be used: {cause_of(error)}"
                    f"{'' if above else ' (port 0 takes a free one)'}"
                ) from None
        else:
            return sockets
    raise ConfigurationError(f"{place}: found no free port on {host}")
