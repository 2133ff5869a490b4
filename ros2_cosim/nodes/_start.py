# SPDX-License-Identifier: Apache-2.0
"""What the mains of all nodes share: parameters in, one clear line and an exit code out."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from ros2_cosim.kernel.errors import ConfigurationError, CosimError
from ros2_cosim.kernel.graph import Graph
from ros2_cosim.kernel.lifecycle import Operation
from ros2_cosim.kernel.participant import Behaviour
from ros2_cosim.kernel.rate import parse_rate
from ros2_cosim.realtime.run_settings import RealtimeRun, realtime_run
from ros2_cosim.ros.participant_node import Aborted, ParticipantNode
from ros2_cosim.ros.session import Session, Stopped
from ros2_cosim.scenario.schema import Scenario, load_scenario
from ros2_cosim.scenario.system import build_graph, build_model, with_adapters

#: Exit codes: an own failure, and the end of a run that somebody else caused.
EXIT_FAILED = 1
EXIT_ABORTED = 3


class Started(NamedTuple):
    """A node with its scenario."""

    session: Session
    scenario: Scenario
    graph: Graph

    def topic_of(self, participant: str, port: str) -> tuple[str, str]:
        """(topic, ROS type) of an output port."""
        settings = self.scenario.outputs_of(participant)[port]
        return settings.topic, settings.type


def run_node(default_name: str, body: Callable[[Started], None]) -> int:
    """Start a node, run ``body`` and turn its outcome into an exit code.

    The node needs the ROS parameter ``scenario_file``, the resolved scenario of the run.
    """
    name = default_name
    try:
        with Session(default_name, sys.argv) as session:
            name = session.node.get_name()
            path = session.parameter("scenario_file", "")
            if not path:
                raise ConfigurationError(
                    "parameter scenario_file is empty; it names the scenario of the run"
                )
            scenario = load_scenario(Path(path))
            body(Started(session, scenario, build_graph(scenario)))
    except (Stopped, KeyboardInterrupt):
        return 0
    except Aborted:
        return EXIT_ABORTED
    except CosimError as error:
        print(f"{name}: {error}", file=sys.stderr, flush=True)
        return EXIT_FAILED
    return 0


def realtime_of(session: Session, *, floating: bool = False) -> RealtimeRun:
    """The wall clock of the run, as the ROS parameters rate, hard and arrivals say.

    :param floating: another process does the pacing
    """
    arrivals = session.parameter("arrivals", "")
    return realtime_run(
        parse_rate(session.parameter("rate", "max")),
        hard=session.parameter("hard", "false") == "true",
        arrivals=Path(arrivals) if arrivals else None,
        floating=floating,
    )


def run_participant(
    default_name: str, build: Callable[[Started, str], Behaviour] | None = None
) -> int:
    """The main of every participant: which one it is says the ROS parameter ``participant``.

    :param build: makes the behaviour of the participant named; None: as the scenario says
    """

    def body(started: Started) -> None:
        session, scenario, graph = started
        name = session.parameter("participant", default_name)
        if name not in scenario.participants:
            raise ConfigurationError(
                f"parameter participant: found '{name}'; the scenario has "
                f"{', '.join(scenario.participants)}"
            )
        realtime = realtime_of(session, floating=True)
        if build:
            behaviour = with_adapters(scenario, name, build(started, name), realtime)
        else:
            behaviour = build_model(scenario, name, "ros", realtime)
        ParticipantNode(
            session,
            graph,
            name,
            behaviour,
            topic_of=started.topic_of,
            recorded=True,
            quantum_ns=scenario.clock_step,
            unsynchronised=scenario.participants[name].unsynchronised,
            timer=time.perf_counter_ns,
            operation=Operation(scenario.participants[name].mode),
        ).run()

    return run_node(default_name, body)
