# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The common part of all nodes' mains: parameters in, one clear line and an exit code out."""

from __future__ import annotations

import itertools
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import NamedTuple

from ros2_cosim.core.documents.run_files import RESOLVED_SCENARIO
from ros2_cosim.core.kernel.errors import (
    Cancelled,
    ConfigurationError,
    CosimError,
    RunError,
    begun_elsewhere,
    reported_elsewhere,
)
from ros2_cosim.core.kernel.graph import Graph
from ros2_cosim.core.kernel.layers import LayeredModel, bare
from ros2_cosim.core.kernel.lifecycle import Operation
from ros2_cosim.core.kernel.model import FullModel
from ros2_cosim.core.kernel.runtime import ParticipantRuntime
from ros2_cosim.core.messages.namespaces import namespace_of, node_name_of
from ros2_cosim.core.messages.wiring import Wiring
from ros2_cosim.core.process.memory import forget_former_run
from ros2_cosim.core.process.processes import EXIT_ABORTED, ignore_interrupts
from ros2_cosim.core.process.seal import RUN_SECRET, secret_of
from ros2_cosim.core.process.turns import TurnWriter
from ros2_cosim.core.realtime.pacing import parse_rate
from ros2_cosim.core.realtime.renewal import cannot_begin_anew
from ros2_cosim.core.realtime.run_settings import RealtimeRun, realtime_run
from ros2_cosim.core.record.spans import Spans
from ros2_cosim.core.run.output_directory import repetition_directory, shown, was_left
from ros2_cosim.core.run.tracebacks import noted
from ros2_cosim.core.run.watchdog import StuckActivation, Watchdog
from ros2_cosim.core.scenario.changes_by_hand import settings_of
from ros2_cosim.core.scenario.changing import ChangesTaken
from ros2_cosim.core.scenario.schema import Scenario, load_scenario, save_scenario
from ros2_cosim.core.scenario.system import bare_model, build_graph, layered_model
from ros2_cosim.core.scene.entities import EntityWorld
from ros2_cosim.core.scene.scene import read_scene
from ros2_cosim.driving.ros_bridge.ros_bridge_objects import BridgeObjects
from ros2_cosim.driving.ros_bridge.ros_bridge_ports import BRIDGE_MODEL
from ros2_cosim.ros.bringup.domain_lock import active_runs, own_domain
from ros2_cosim.ros.bringup.starter_channel import Starter
from ros2_cosim.ros.bringup.transport import lane_address
from ros2_cosim.ros.node.control_services import asking
from ros2_cosim.ros.node.entity_services import EntityServices, offered_world, place_of
from ros2_cosim.ros.node.lifecycle_services import Resetting
from ros2_cosim.ros.node.participant_node import NodeSettings, ParticipantNode
from ros2_cosim.ros.node.repetition import await_clock, run_id_of
from ros2_cosim.ros.node.session import Session

#: Exit code of its own failure.
EXIT_FAILED = 1
#: Of an interrupt of all processes: from the first one that it reaches to the last one [s]. The
#: end of a failed run under ``ros2 launch`` takes this much longer.
INTERRUPT_WAIT_S = 0.3
_POLL_S = 0.01


class ReportedError(RunError):
    """Something failed, and the starter of the run knows why."""


class Started(NamedTuple):
    """A node with its scenario, and the starter of the run."""

    session: Session
    scenario: Scenario
    graph: Graph
    starter: Starter
    watchdog: Watchdog
    turns: TurnWriter

    def watch(self, *runtimes: ParticipantRuntime) -> None:
        """Have the activations watched, and noted for the case that one ends the process."""
        self.watchdog.watch(*runtimes)
        self.turns.follow(runtimes)

    def wiring(self) -> Wiring:
        """The system and the topics of its output ports."""
        outputs_of = self.scenario.outputs_of
        return Wiring.of(self.graph, lambda name, port: outputs_of(name)[port].topic)

    def output(self) -> Path:
        """The output directory; of a run that begins anew, one of its own below it."""
        output = Path(self.session.parameter("output", "."))
        if self.session.repetition:
            output = output / repetition_directory(self.session.repetition)
            output.mkdir()
            save_scenario(self.scenario, output / RESOLVED_SCENARIO)
        return output

    def run_id(self) -> str:
        """The identity of the run in messages."""
        return run_id_of(self.scenario.name, self.scenario.seed, self.session.repetition)


def run_node(
    default_name: str,
    body: Callable[[Started], bool | None],
    *,
    awaits_clock: bool = True,
    shared: bool = False,
) -> int:
    """Start a node, run ``body`` and turn its outcome into an exit code.

    The node needs the ROS parameter ``scenario_file``, the resolved scenario of the run.

    :param body: returns whether the run begins anew; then the node starts again in this process
    :param awaits_clock: whether a node that starts again has to wait for the clock to do so
    :param shared: whether participants share the process; the ROS parameter ``process`` names it
    """
    starters: list[Starter] = []
    for repetition in itertools.count():
        code = _run_once(default_name, body, starters, repetition, awaits_clock, shared)
        if code is not None:
            return code
        forget_former_run()
    raise AssertionError("unreachable")


def _run_once(
    default_name: str,
    body: Callable[[Started], bool | None],
    starters: list[Starter],
    repetition: int,
    awaits: bool,
    shared: bool,
) -> int | None:
    """The exit code, None if the run begins anew.

    :param starters: the starter of the run, once there is a connection; it is kept
    """
    try:
        _take_secret()
        name = node_name_of(default_name)
        with Session(name, sys.argv, simulated_time=True) as session:
            session.repetition = repetition
            if shared:
                session.process = session.parameter("process", session.process)
            code = _outcome(session, body, starters, awaits)
            if code is None:
                session.begins_anew()
            else:
                ignore_interrupts()
                session.ends_with(code)
            return code
    except (Cancelled, KeyboardInterrupt):
        return 0
    except CosimError as error:  # before there was a node
        starter = starters[0] if starters else Starter(default_name)
        starter.failed(f"{default_name}: {error}")
        return EXIT_FAILED


def _outcome(
    session: Session,
    body: Callable[[Started], bool | None],
    starters: list[Starter],
    awaits: bool,
) -> int | None:
    """Run ``body``, tell the starter of a failure, and give the exit code; see above."""
    name, path = session.process, ""
    try:
        path = session.parameter("scenario_file", "")
        if not path:
            raise ConfigurationError(
                "parameter scenario_file is empty; it names the scenario of the run"
            )
        if not starters:
            starters.append(Starter(name, Path(path).parent))
            if not starters[0].is_there and was_left(Path(path).parent):
                # The user has started it by hand; it would wait for a clock that does not come.
                raise RunError(f"the run in {shown(Path(path).parent)} is over")
        address = lane_address(Path(path).parent)
        if address:
            session.join_lane(address)
        scenario = load_scenario(Path(path))
        session.start_ns = scenario.start_time
        names = list(scenario.participants)
        with (
            Watchdog(scenario.watchdog_s, partial(_leave_stuck, starters[0])) as watchdog,
            TurnWriter(names) as turns,
        ):
            starters[0].shares(turns, names)
            graph = build_graph(scenario)
            started = Started(session, scenario, graph, starters[0], watchdog, turns)
            if session.repetition and awaits:
                await_clock(session, started.run_id(), scenario.startup_s)
            return None if body(started) else _asked_code(session, starters)
    except (Cancelled, KeyboardInterrupt):
        return _asked_code(session, starters)
    except ReportedError:
        return 0 if _asked_to_end(session, starters) else EXIT_FAILED
    except (CosimError, OSError, MemoryError) as error:
        if session.stop_signal is not None:
            # What fails after the request follows from it: other processes are ending, too.
            return _asked_code(session, starters)
        if not reported_elsewhere(error):
            starter = starters[0] if starters else Starter(name)
            starter.failed(f"{name}: {noted(error, Path(path).parent) if path else error}")
        if _asked_to_end(session, starters):
            return 0
        return EXIT_ABORTED if begun_elsewhere(error) else EXIT_FAILED


def _asked_code(session: Session, starters: Sequence[Starter]) -> int:
    """The exit code of a process that has done its work, or was asked to end."""
    number = session.stop_signal
    if number is not None and starters and starters[0].is_ended_by(number, session.process):
        return EXIT_FAILED
    return 0


def _leave_stuck(starter: Starter, stuck: StuckActivation) -> None:
    """Tell why this process cannot go on, and end it: a thread of it does not come back."""
    starter.failed(stuck.line)
    os._exit(EXIT_FAILED)


def _asked_to_end(session: Session, starters: Sequence[Starter]) -> bool:
    """Whether the end of the run comes from an interrupt that has not reached this process yet.

    ``ros2 launch`` interrupts one process after the other: others may notice the end of the first
    ones before it is their turn.
    """
    is_shielded = any(starter.is_shielded for starter in starters)
    deadline = time.monotonic() + (0.0 if is_shielded else INTERRUPT_WAIT_S)
    while session.stop_signal is None and time.monotonic() < deadline:
        time.sleep(_POLL_S)
    return session.stop_signal == signal.SIGINT


def _take_secret() -> None:
    """Take part in the run of this ROS domain and namespace, if the user has started this process.

    Its own starter gives a process the secret that seals its messages.

    :raises ConfigurationError: what is known of the run cannot be read
    """
    if not secret_of():
        secrets = {(run.domain, run.namespace): run.secret for run in active_runs()}
        place = own_domain(), namespace_of(sys.argv)
        os.environ[RUN_SECRET] = secrets.get(place, "")


def bridge_objects(scenario: Scenario) -> BridgeObjects | None:
    """What programs may ask of CARLA's ROS bridge; None: the run has none of its topics."""
    bridge = next((p for p in scenario.participants.values() if p.model == BRIDGE_MODEL), None)
    if bridge is None:
        return None
    vehicles = dict.fromkeys(v for _, _, v in (port.partition("/") for port in bridge.outputs) if v)
    topics = [o.topic for p in scenario.participants.values() for o in p.outputs.values()]
    return BridgeObjects(read_scene(scenario.scene), tuple(vehicles), topics)


def realtime_of(session: Session, *, floating: bool = False) -> RealtimeRun:
    """The wall clock of the run, as the ROS parameters rate, hard and arrivals say.

    :param floating: another process does the pacing
    """
    return realtime_maker(session, floating=floating)()


def realtime_maker(session: Session, *, floating: bool = False) -> Callable[[], RealtimeRun]:
    """Makes the wall clock of each participant of a process, see :func:`realtime_of`."""
    arrivals = session.parameter("arrivals", "")
    return partial(
        realtime_run,
        parse_rate(str(session.parameter("rate", "max"))),
        hard=session.parameter("hard", False),
        arrivals=Path(arrivals) if arrivals else None,
        floating=floating,
    )


@contextmanager
def profiled(
    started: Started,
    participants: Sequence[str],
    *,
    works: bool = False,
    waits_in_session: bool = True,
) -> Iterator[Spans | None]:
    """Record what this process spends its time on, if the run is profiled; None: it is not.

    :param participants: those whose activations are noted
    :param works: it has none, and does its own work between its waits
    :param waits_in_session: it waits for others in its session only, which notes that
    """
    session = started.session
    directory = session.parameter("profile", "")
    if session.repetition or not directory:
        yield None
        return
    spans = Spans(session.process, participants, session.timer, works=works)
    if waits_in_session:
        session.watch(spans)
    try:
        yield spans
    finally:
        spans.save(Path(directory))


def participant_node(
    started: Started, name: str, model: LayeredModel, spans: Spans | None = None
) -> ParticipantNode:
    """The participant named, on the node of ``started``."""
    settings = started.scenario.participants[name]
    taken = ChangesTaken(started.scenario, name)
    node = ParticipantNode(
        started.session,
        started.wiring(),
        name,
        model,
        NodeSettings(
            quantum_ns=started.scenario.clock_step,
            entry_step_ns=started.scenario.clock_step,
            unsynchronised=settings.unsynchronised,
            operation=Operation(settings.mode),
            cannot_reset=cannot_begin_anew(model),
            run_id=started.run_id(),
            startup_s=started.scenario.startup_s,
        ),
        started.session.timer,
        spans,
        lambda runtime, changes: taken.take(runtime, settings_of(changes)),
        Resetting(taken.check_reset, taken.reset),
    )
    started.watch(node.runtime)
    # Only the world asks: to find out what it offers, the models of all others are imported.
    if isinstance(bare(model), EntityWorld):
        place = place_of(offered_world(started.scenario, "ros"), name, model)
        ros = started.session.node
        if place is not None:
            EntityServices.offer(ros, place, asking(ros), list(started.scenario.participants))
    return node


def run_participant(
    default_name: str, build: Callable[[Started, str], FullModel] | None = None
) -> int:
    """The main of every participant: which one it is says the ROS parameter ``participant``.

    :param build: makes the model of the participant named; None: as the scenario says
    """
    kept: list[FullModel] = []

    def body(started: Started) -> bool:
        session, scenario = started.session, started.scenario
        name = session.parameter("participant", default_name)
        if name not in scenario.participants:
            raise ConfigurationError(
                f"parameter participant: found '{name}'; the scenario has "
                f"{', '.join(scenario.participants)}"
            )
        realtime = realtime_of(session, floating=True)

        def make() -> FullModel:
            return build(started, name) if build else bare_model(scenario, name, "ros")

        model = layered_model(scenario, name, make, realtime, kept.pop() if kept else None)
        with profiled(started, [name]) as spans:
            again = participant_node(started, name, model, spans).run()
        if again:
            kept.append(model)
        return again

    return run_node(default_name, body)
