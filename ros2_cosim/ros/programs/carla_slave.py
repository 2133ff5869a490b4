# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""CARLA as a DCP slave: the bridge between a DCP master and a CARLA server."""

import itertools
import json
import logging
import socket
import time
from collections.abc import Callable
from functools import partial

from ros2_cosim.core.messages.protocol import ParticipantReport
from ros2_cosim.core.process.processes import run_main
from ros2_cosim.core.record.spans import Chronicle
from ros2_cosim.core.scenario.declaration import declare
from ros2_cosim.core.scenario.schema import SimulatorSettings
from ros2_cosim.core.scene.named_simulator import find_simulator
from ros2_cosim.core.scene.simulator import Simulator
from ros2_cosim.dcp.slave.server import SlaveServer
from ros2_cosim.ros.node import topics
from ros2_cosim.ros.node.repetition import run_id_of
from ros2_cosim.ros.node.session import Session
from ros2_cosim.ros.node.writers import data_qos
from ros2_cosim.ros.programs._start import Started, profiled, run_node
from ros2_cosim.world.carla.client_world import ClientWorld
from ros2_cosim.world.carla.serve import serve_world
from ros2_cosim.world.carla.world import simulator_context

#: Of a report: the clock and the recorder.
_READERS = 2
#: So often the node looks for requests of tools [ns of wall time]; nothing of the run waits for it.
_TOOLS_NS = 100_000_000
#: If the server fails instead, the starter of the run notices it at once.
_SERVER_WAIT_S = 60.0


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
    named = find_simulator(context.simulator)

    def made() -> Simulator:
        return _client(simulator) if named is None else named.make(simulator_context(context))

    with profiled(started, (), waits_in_session=False) as spans:
        chronicle = None if spans is None else Chronicle(spans)
        servers: list[SlaveServer] = []

        def ready(server: SlaveServer) -> None:
            if chronicle is not None:
                server.reactor.note_waits(chronicle.sleeps, chronicle.woke)
                server.sockets.on_sent = partial(chronicle.sent, name)
            _answer_tools(session, server)
            servers.append(server)

        try:
            serve_world(
                context,
                parameters,
                made,
                # It takes the signal instead of the session.
                stopped=_reporter(started, name, lambda: any(each.ended_by for each in servers)),
                simulates=None if chronicle is None else chronicle.simulates,
                on_ready=ready,
            )
        finally:
            # What fails after a signal follows from it: others are ending, too.
            if servers and servers[0].ended_by:
                session.stop(servers[0].ended_by)


def _answer_tools(session: Session, server: SlaveServer) -> None:
    """Let the node answer the tools of ROS now and then, between the messages of the master."""
    session.wait(0.0)
    server.reactor.call_later(_TOOLS_NS, partial(_answer_tools, session, server))


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


def _reporter(
    started: Started, participant: str, asked_to_end: Callable[[], bool]
) -> Callable[[int, int, int], None]:
    """Report the times of the slave's steps, for the step-time breakdown of the run.

    This process outlasts a run that begins anew, and its reports stay readable: they say of which
    run they are.

    :param asked_to_end: whether a signal has asked this process to end: their readers may have
        gone then, and are not waited for
    """
    session, scenario = started.session, started.scenario
    writer = session.writer(topics.REPORT, topics.REPORT_TYPE, data_qos(latched=True))
    name = session.node.get_name()
    repetitions = itertools.count()

    def report(steps: int, step_ns: int, simulator_ns: int) -> None:
        compute_ns = step_ns - simulator_ns
        run_id = run_id_of(scenario.name, scenario.seed, next(repetitions))
        details = json.dumps({"beside": participant, "run": run_id})
        writer.send(
            ParticipantReport(name, steps, "", compute_ns, 0, simulator_ns, 0, 0, 0, details)
        )
        # This process ends soon after, and the recorder waits for its report.
        session.deliver(writer, _READERS, asked_to_end)

    return report


if __name__ == "__main__":
    run_main(main)
