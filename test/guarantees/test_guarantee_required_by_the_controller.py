# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The system controller sets the required participants before the run begins."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from runs.cosim_process import Running, left_processes, user_environment
from support.held_runs import participant, reference, scenario
from support.onlooker import Onlooker

from ros2_cosim.core.kernel.lifecycle import State
from ros2_cosim.core.realtime.run_control import Command
from ros2_cosim.core.record.summary import Summary, read_summary
from ros2_cosim.ros.bringup.dds import loopback_environment

pytest.importorskip("rclpy", reason="needs rclpy, which make setup installs")


def system() -> dict[str, Any]:
    """``extra`` is required as far as the scenario goes, and others read what it sends."""
    return scenario(
        "required",
        "300ms",
        source=participant(period="10ms"),
        extra=participant({"in": "source.out"}, period="20ms"),
        reader=participant({"raw": "source.out", "in": "extra.out"}, period="20ms"),
    )


class Commander:
    """A run that begins paused, and a system controller beside it."""

    def __init__(self, session: Any) -> None:
        from ros2_cosim.srv import ControlRun

        from ros2_cosim.ros.node.system_controller import SystemController
        from ros2_cosim.ros.node.system_monitor import SystemMonitor

        self._kind = ControlRun
        self.onlooker = Onlooker(session)
        self._controller = SystemController(session.node)
        self.monitor = SystemMonitor(session.node)

    def require(self, *names: str) -> tuple[bool, str]:
        self.onlooker.until(lambda: self._controller.ready, "a run that takes commands")
        future = self._controller.require(names)
        self.onlooker.until(future.done, "the answer")
        return future.result().success, future.result().message

    def control(self, command: Command) -> Any:
        request = self._kind.Request(command=int(command))
        return self.onlooker.call(self._kind, "/cosim/control", request)

    def await_state(self, state: State) -> None:
        self.onlooker.until(lambda: self.monitor.system_state is state, state.name)


@contextmanager
def commanded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, data: dict[str, Any], *options: str
) -> Iterator[tuple[Commander, Callable[[], Summary]]]:
    """Begin a run; gives (commander, function that ends it and gives its summary)."""
    from ros2_cosim.ros.node.session import Session

    file = tmp_path / "system.json"
    file.write_text(json.dumps(data), encoding="utf-8")
    with user_environment(tmp_path / "log") as environment:
        for key, value in loopback_environment(environment, tmp_path).items():
            monkeypatch.setenv(key, value)
        arguments = (file, "--out", tmp_path / "out", "--no-bag", "--paused", *options)
        with Session("commander") as session, Running(environment, *arguments) as running:
            commander = Commander(session)

            def end() -> Summary:
                result = running.result()
                assert result.code == 0, result
                return read_summary(tmp_path / "out")

            yield commander, end
        assert not left_processes(environment)


def test_a_run_waits_for_the_named_ones_and_no_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = system()
    with commanded(tmp_path, monkeypatch, data, "--by-hand", "extra") as (commander, end):
        assert commander.require("source", "ghost") == (
            False,
            "require: there is no participant 'ghost'; participants are extra, reader, source",
        )
        assert commander.require("source", "reader") == (True, "required: reader, source")
        # ``extra`` is not started.
        commander.await_state(State.PAUSED)
        success, message = commander.require("source", "extra")
        assert not success
        assert message.startswith("require: the run goes on without 'extra' already (was not there")
        assert commander.control(Command.STEP).message == "paused at 50ms"
        success, message = commander.require("source")
        assert not success
        assert message.startswith("require: too late, the run is paused at 50ms; this is allowed")
        assert commander.control(Command.RESUME).success
        summary = end()
    assert summary.required == ("reader", "source")
    assert {p.name for p in summary.participants if p.entered_s is not None} == {"source", "reader"}
    assert summary.not_repeatable_since_s == 0.0
    assert summary.not_repeatable_reason == (
        "'extra' was lost: was not there when all required ones were (with enter: 300ms it repeats)"
    )
    again = deepcopy(data)
    again["participants"]["extra"]["enter"] = "300ms"
    assert reference(tmp_path, again).trace_sha256 == summary.trace_sha256


def test_where_all_are_in_one_process_the_system_state_follows_those_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from lifecycle_msgs.msg import Transition
    from lifecycle_msgs.srv import ChangeState

    data = system()
    with commanded(tmp_path, monkeypatch, data, "--shape", "composed") as (commander, end):
        assert commander.require("source", "ghost")[0] is False
        commander.await_state(State.RUNNING)
        assert commander.require("source", "reader") == (True, "required: reader, source")

        def ask(name: str, transition: int) -> bool:
            request = ChangeState.Request(transition=Transition(id=transition))
            kind = f"/{name}/change_state"
            return bool(commander.onlooker.call(ChangeState, kind, request).success)

        told: list[tuple[State, str]] = []
        commander.monitor.add_system_handler(lambda *state: told.append(state))
        for name in ("extra", "reader"):
            assert ask(name, Transition.TRANSITION_DEACTIVATE)
            assert ask(name, Transition.TRANSITION_ACTIVATE)
        commander.onlooker.until(
            lambda: any(s is State.RUNNING and why.startswith("reader: ") for s, why in told),
            "the end of the reader's pause",
        )
        paused = [why for state, why in told if state is State.PAUSED]
        assert len(paused) == 1
        assert paused[0].startswith("reader: ")
        assert commander.control(Command.RESUME).success
        summary = end()
    assert summary.required == ("reader", "source")
    assert summary.repeatable
    assert reference(tmp_path, data).trace_sha256 == summary.trace_sha256
