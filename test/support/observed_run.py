# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""A run that is watched, paused and resumed from outside, and all that an onlooker saw of it."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from runs.cosim_process import ROOT, Result, Running, left_processes, user_environment
from support.lifecycle_models import MS, SCENARIO
from support.onlooker import Onlooker

from ros2_cosim.core.kernel.lifecycle import State
from ros2_cosim.core.record.summary import read_summary
from ros2_cosim.core.run.inproc import run_inproc
from ros2_cosim.core.scenario.schema import load_scenario
from ros2_cosim.ros.bringup.dds import loopback_environment

if TYPE_CHECKING:
    from ros2_cosim.ros.node.session import Session


@dataclass
class Observed:
    """What an onlooker saw of a run."""

    names: frozenset[str] = frozenset()
    statuses: list[Any] = field(default_factory=list)
    systems: list[tuple[State, str]] = field(default_factory=list)
    connected: list[str] = field(default_factory=list)
    disconnected: list[str] = field(default_factory=list)
    #: Labels of the managed node's state, and ids that could be asked for, by our state.
    labels: dict[str, str] = field(default_factory=dict)
    offered: dict[str, list[int]] = field(default_factory=dict)
    graph: list[tuple[str, str, str]] = field(default_factory=list)
    events: list[tuple[str, str]] = field(default_factory=list)
    granted: dict[str, bool] = field(default_factory=dict)
    #: Number of lines in the log of the paused one: when it was, and before it went on.
    paused_steps: tuple[int, int] = (-1, -2)
    result: Result = Result(-1, "", "")
    trace: str = ""
    reference: str = ""
    logs: dict[str, list[str]] = field(default_factory=dict)
    reference_logs: dict[str, list[str]] = field(default_factory=dict)
    left: list[str] = field(default_factory=list)

    def states_of(self, name: str) -> list[State]:
        """The states of one participant, in order, without mere reasons."""
        states: list[State] = []
        for status in self.statuses:
            if status.participant == name and status.state not in states[-1:]:
                states.append(status.state)
        return states


def _lines(log: Path) -> dict[str, list[str]]:
    return {file.name: file.read_text().splitlines() for file in sorted(log.iterdir())}


def _scenario(directory: Path, name: str, hold_at: int) -> tuple[Path, Path]:
    log = directory / f"log_{name}"
    log.mkdir()
    file = directory / f"{name}.yaml"
    file.write_text(SCENARIO.format(log=log, hold_at=hold_at), encoding="utf-8")
    return file, log


def watch(shape: str, directory: Path, patch: pytest.MonkeyPatch) -> Observed:
    """Watch, pause and resume a run, beside its reference in this process.

    :param directory: for what the runs write
    :param patch: gives this process the DDS settings of the run
    """
    from ros2_cosim.ros.node.session import Session
    from ros2_cosim.ros.node.system_monitor import SystemMonitor

    seen = Observed()
    file, log = _scenario(directory, "reference", -1)
    (directory / "reference").mkdir()
    seen.reference = run_inproc(load_scenario(file), directory / "reference").trace_sha256
    seen.reference_logs = _lines(log)
    file, log = _scenario(directory, "held", 100 * MS)
    seen.names = frozenset(load_scenario(file).participants)
    with user_environment(directory / "ros") as environment, ThreadPoolExecutor(1) as pool:
        environment["PYTHONPATH"] += f":{ROOT / 'test'}"
        for key, value in loopback_environment(environment, directory).items():
            patch.setenv(key, value)
        with Session("onlooker") as session:
            onlooker, monitor = Onlooker(session), SystemMonitor(session.node)
            monitor.add_participant_handler(seen.statuses.append)
            monitor.add_system_handler(lambda state, why: seen.systems.append((state, why)))
            monitor.add_connected_handler(seen.connected.append)
            monitor.add_disconnected_handler(seen.disconnected.append)
            arguments = (file, "--shape", shape, "--out", directory / "out", "--no-bag")
            with Running(environment, *arguments) as running:
                end = pool.submit(running.result)
                _pause_and_resume(session, onlooker, monitor, log, seen)
                onlooker.until(end.done, "end of the run")
                seen.result = end.result()
            onlooker.until(lambda: not monitor.connected, "the participants to go")
        seen.left = left_processes(environment)
    seen.trace = read_summary(directory / "out").trace_sha256
    seen.logs = _lines(log)
    return seen


def _pause_and_resume(
    session: Session, onlooker: Onlooker, monitor: Any, log: Path, seen: Observed
) -> None:
    """While ``holder`` is held in its step at 100 ms: pause ``asker``, release, resume."""
    from lifecycle_msgs.msg import Transition, TransitionEvent
    from lifecycle_msgs.srv import ChangeState, GetAvailableTransitions, GetState
    from std_srvs.srv import SetBool

    def look(name: str) -> None:
        seen.labels[name] = onlooker.call(
            GetState, "/asker/get_state", GetState.Request(), changes=False
        ).current_state.label
        seen.offered[name] = [
            description.transition.id
            for description in onlooker.call(
                GetAvailableTransitions,
                "/asker/get_available_transitions",
                GetAvailableTransitions.Request(),
                changes=False,
            ).available_transitions
        ]

    def change(label: str) -> None:
        request = ChangeState.Request(transition=Transition(label=label))
        seen.granted[label] = onlooker.call(ChangeState, "/asker/change_state", request).success

    def release(data: bool) -> bool:
        request = SetBool.Request(data=data)
        return bool(onlooker.call(SetBool, "/holder/release", request).success)

    def asker_is(state: State) -> bool:
        status = monitor.participants.get("asker")
        return status is not None and status.state is state and monitor.system_state is state

    session.node.create_subscription(
        TransitionEvent,
        "/asker/transition_event",
        lambda event: seen.events.append((event.start_state.label, event.goal_state.label)),
        10,
    )
    onlooker.until(lambda: asker_is(State.RUNNING), "RUNNING")
    # What a participant has said is lost with its process to an onlooker that finds it too late.
    onlooker.until(lambda: monitor.participants.keys() >= seen.names, "all participants")
    onlooker.until(lambda: release(False), "the step at 100 ms")
    # It comes up to the step for which it needs the holder, and no farther.
    onlooker.until(lambda: "answer True" in (log / "asker").read_text(), "steps of asker")
    onlooker.until(
        lambda: session.node.count_publishers("/asker/transition_event") == 1, "transition_event"
    )
    look("RUNNING")
    change("configure")
    change("deactivate")
    onlooker.until(lambda: asker_is(State.PAUSED), "PAUSED")
    before = len(_lines(log)["asker"])
    look("PAUSED")
    graph = onlooker.call(
        GetAvailableTransitions, "/asker/get_transition_graph", GetAvailableTransitions.Request(),
        changes=False,
    )  # fmt: skip
    seen.graph = [
        (d.transition.label, d.start_state.label, d.goal_state.label)
        for d in graph.available_transitions
    ]
    assert release(True)
    for _ in range(10):
        session.wait(0.05)
    seen.paused_steps = (before, len(_lines(log)["asker"]))
    change("activate")
    onlooker.until(lambda: monitor.participants["asker"].state is not State.PAUSED, "RUNNING")
