# SPDX-License-Identifier: Apache-2.0
"""The world as a kernel participant whose plant is a DCP slave.

Each activation is one NRT step of the DCP master: inputs out, STC_do_step, STC_send_outputs,
outputs in.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from ros2_cosim.carla_bridge.dcp_variables import SceneVariables
from ros2_cosim.carla_bridge.describe import scene_description
from ros2_cosim.carla_bridge.parameters import SceneParameters
from ros2_cosim.carla_bridge.plant import latest_commands
from ros2_cosim.dcp.master.master import Master
from ros2_cosim.dcp.master.remote import SlaveUse
from ros2_cosim.dcp.wire.data_path import Missing
from ros2_cosim.dcp.wire.enums import TransportProtocol
from ros2_cosim.kernel.errors import ConfigurationError
from ros2_cosim.kernel.participant import ModelContext, Step

#: The slave may take this long to build its world; longer ends the run.
TIMEOUT_S = 90.0
#: All processes of a run are started at once; the slave may take so long to listen.
CONNECT_WAIT_S = 90.0
_TRANSPORTS = {"tcp": TransportProtocol.TCP_IPv4, "udp": TransportProtocol.UDP_IPv4}


def missing_policy(context: ModelContext) -> Missing:
    """What both sides do about data that got lost over UDP: ``parameters.dcp.missing``.

    :raises ConfigurationError: it names no policy
    """
    found = context.parameters["dcp"].get("missing", Missing.HOLD.value)
    allowed = [choice.value for choice in Missing]
    if found not in allowed:
        raise ConfigurationError(
            f"participants.{context.name}.parameters.dcp.missing: found {found!r}; allowed are "
            + ", ".join(allowed)
        )
    return Missing(found)


class DcpPlant:
    """A DCP master with one slave, the CARLA scene.

    :param context: of the world participant; ``parameters.dcp`` holds ``host``, ``port``,
        ``transport`` (tcp or udp) and optionally ``description``, a .dcpx file,
        ``heartbeat``: how long the slave waits for a sign of life of its master (0: for ever), and
        ``missing``: over UDP, what both sides do about data that got lost (hold, extrapolate,
        stop)
    :param parameters: the scene, from which ports and variables follow
    :raises DcpError: the slave refused something, named with its state
    """

    def __init__(self, context: ModelContext, parameters: SceneParameters) -> None:
        settings = context.parameters.get("dcp")
        where = f"participants.{context.name}.parameters.dcp"
        if not isinstance(settings, Mapping) or "port" not in settings:
            raise ConfigurationError(f"{where}: found {settings!r}; allowed is host, port, ...")
        transport = settings.get("transport", "tcp")
        if transport not in _TRANSPORTS:
            raise ConfigurationError(
                f"{where}.transport: found {transport!r}; allowed are {', '.join(_TRANSPORTS)}"
            )
        self._variables = SceneVariables(parameters)
        self._collisions = 0
        #: Wall time [ns] of the DCP steps, the slave's own time included.
        self.transport_ns = 0
        description: Any = scene_description(context, parameters)
        if "description" in settings:
            description = context.base_directory / settings["description"]
        self._master = Master(
            timeout_s=TIMEOUT_S, connect_wait_s=CONNECT_WAIT_S, missing=missing_policy(context)
        )
        try:
            self._slave = self._master.add_slave(
                description,
                str(settings.get("host", "127.0.0.1")),
                int(settings["port"]),
                name=f"{context.name}_slave",
                transport=_TRANSPORTS[transport],
                use=SlaveUse(resolution=Fraction(parameters.step_ns, 1_000_000_000)),
            )
            self._master.configure({self._slave.name: self._variables.parameter_values()})
            self._master.initialise()
            self._master.run()
        except BaseException:
            self._master.close()
            raise

    def activate(self, step: Step) -> Mapping[str, Any]:
        """Step the slave and report its outputs."""
        slave, variables = self._slave, self._variables
        first = step.time == 0
        if not first:
            commands = latest_commands(step, variables.commanded)
            slave.set_inputs(variables.command_values(commands))
            started = time.perf_counter_ns()
            self._master.do_step()
            self.transport_ns += time.perf_counter_ns() - started
        collisions = variables.collision_count(slave.outputs)
        collided = collisions > self._collisions
        self._collisions = collisions
        return variables.records(slave.outputs, static=first, collided=collided)

    def figures(self) -> Mapping[str, Any]:
        """What the network did to the data, on UDP; ends the run of the slave to learn it."""
        self.finish()
        found = self._master.data_figures()
        return {"dcp_data": found} if found else {}

    def finish(self) -> None:
        """The last step is done: stop the slave, which dismantles its scene."""
        self._master.stop()

    def close(self) -> None:
        """Stop and deregister the slave, as far as it still answers."""
        self._master.close()
