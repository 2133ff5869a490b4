# SPDX-License-Identifier: Apache-2.0
"""CARLA as a DCP slave: the bridge between a DCP master and a CARLA server."""

import json
import logging
import socket
import sys
import time
from collections.abc import Callable

from ros2_cosim.carla_bridge.client_world import ClientWorld
from ros2_cosim.carla_bridge.dcp_slave import SceneSlave
from ros2_cosim.carla_bridge.describe import scene_description
from ros2_cosim.carla_bridge.scene_settings import DcpSettings, scene_parameters, scene_sizes
from ros2_cosim.dcp.slave.interfaces import SlaveOptions
from ros2_cosim.dcp.slave.server import serve
from ros2_cosim.dcp.wire.data_path import Missing
from ros2_cosim.dcp.wire.errors import DcpPeerLostError
from ros2_cosim.interfaces.protocol import ParticipantReport
from ros2_cosim.kernel.errors import Aborted, AbortOrigin, ConfigurationError, ConnectionFailedError
from ros2_cosim.nodes._start import Started, run_node
from ros2_cosim.ros import topics
from ros2_cosim.ros.session import Session, data_qos
from ros2_cosim.scenario.declaration import declare
from ros2_cosim.scenario.schema import SimulatorSettings

#: If the server fails instead, the starter of the run notices it at once.
_SERVER_WAIT_S = 60.0

#: Over UDP a step's inputs may come after the request for the step.
INPUT_WAIT_S = 0.2


def main() -> int:
    """Run the node."""
    # The failure of the slave is reported once, at the end, in one line.
    logging.getLogger("ros2_cosim.dcp").setLevel(logging.CRITICAL)
    return run_node("carla_slave", _serve)


def _serve(started: Started) -> None:
    session, scenario = started.session, started.scenario
    name = session.parameter("participant", "world")
    simulator = scenario.simulator
    declared = declare(scenario, name)
    context, parameters = declared.context, declared.parameters
    scene = scene_parameters(context, parameters)
    dcp = parameters.dcp or DcpSettings()
    slave = SceneSlave(
        scene,
        lambda: _client(simulator),
        scene_sizes(context),
        context,
        _reporter(session, name),
    )
    try:
        options = SlaveOptions(
            input_wait_s=INPUT_WAIT_S, missing=Missing(dcp.missing), newest_only=True
        )
        serve(slave, scene_description(parameters, scene), dcp.host, dcp.port, options=options)
    except OSError as error:
        raise ConfigurationError(
            f"DCP port {dcp.port} on {dcp.host} cannot be used: {error.strerror or error}"
        ) from None
    except DcpPeerLostError as error:
        if slave.failure is None:
            # The master's process is the one that failed; it has its own say.
            raise Aborted(str(error), AbortOrigin.ELSEWHERE) from None
    if slave.failure is not None:
        raise ConnectionFailedError(slave.failure)


def _client(simulator: SimulatorSettings) -> ClientWorld:
    """The client; a server that is started together with this node gets time to listen."""
    if simulator.kind == "headless":
        deadline = time.monotonic() + _SERVER_WAIT_S
        while time.monotonic() < deadline:
            try:
                socket.create_connection((simulator.host, simulator.port), 1.0).close()
                break
            except OSError:
                time.sleep(0.1)
    return ClientWorld(simulator.host, simulator.port, simulator.timeout_s)


def _reporter(session: Session, participant: str) -> Callable[[int, int, int], None]:
    """Report the times of the slave's steps, for the step-time breakdown of the run."""
    writer = session.writer(topics.REPORT, topics.REPORT_TYPE, data_qos(latched=True))

    name, details = session.node.get_name(), json.dumps({"beside": participant})

    def report(steps: int, step_ns: int, simulator_ns: int) -> None:
        compute_ns = step_ns - simulator_ns
        writer.send(
            ParticipantReport(name, steps, "", compute_ns, 0, simulator_ns, 0, 0, 0, details)
        )
        # This process ends soon after, and the recorder waits for its report.
        writer.flush()

    return report


if __name__ == "__main__":
    sys.exit(main())
