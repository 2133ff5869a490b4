# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Participants that are cleaned up and configured as managed nodes, while the run holds."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from runs.cosim_process import PLATOON, Running, left_processes, user_environment
from support import counter_models
from support.controlled_run import Controlled
from support.onlooker import Onlooker

from ros2_cosim.core.kernel.time import parse_duration
from ros2_cosim.core.run.inproc import run_inproc
from ros2_cosim.core.run.replay import prepare_replay
from ros2_cosim.core.scenario.schema import load_scenario
from ros2_cosim.ros.bringup.dds import loopback_environment

pytest.importorskip("rclpy", reason="needs rclpy, which make setup installs")

SECOND = 1_000_000_000


class Managed:
    """The lifecycle services of one participant, as ``ros2 lifecycle`` asks them."""

    def __init__(self, onlooker: Onlooker, name: str) -> None:
        from lifecycle_msgs.srv import ChangeState, GetAvailableTransitions, GetState

        self._kinds = (ChangeState, GetState, GetAvailableTransitions)
        self._onlooker = onlooker
        self._name = name

    def set(self, label: str) -> bool:
        from lifecycle_msgs.msg import Transition

        kind = self._kinds[0]
        request = kind.Request(transition=Transition(label=label))
        return bool(self._onlooker.call(kind, f"/{self._name}/change_state", request).success)

    def get(self) -> str:
        kind = self._kinds[1]
        answer = self._onlooker.call(kind, f"/{self._name}/get_state", kind.Request())
        return str(answer.current_state.label)

    def offered(self) -> set[str]:
        kind = self._kinds[2]
        name = f"/{self._name}/get_available_transitions"
        answer = self._onlooker.call(kind, name, kind.Request())
        return {each.transition.label for each in answer.available_transitions}


@pytest.mark.parametrize("shape", ["ros", "composed"])
def test_a_participant_that_was_configured_anew_is_repeated(
    shape: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In shape ``inproc``, by what was recorded; a run without differs."""
    from lifecycle_msgs.msg import TransitionEvent

    from ros2_cosim.ros.node.session import Session

    output = tmp_path / "out"
    sets = ("duration=3s",)
    events: list[tuple[str, str]] = []
    with user_environment(tmp_path / "log") as environment:
        for key, value in loopback_environment(environment, tmp_path).items():
            monkeypatch.setenv(key, value)
        arguments = (PLATOON, "--shape", shape, "--out", output, "--paused", "--no-bag")
        with (
            Session("onlooker") as session,
            Running(environment, *arguments, "--set", sets[0]) as running,
        ):
            onlooker = Onlooker(session)
            run = Controlled(environment, running)
            run.wait_for_run()
            assert run.control("until", "1s") == "paused at 1s"
            cacc = Managed(onlooker, "cacc1")
            session.node.create_subscription(
                TransitionEvent,
                "/cacc1/transition_event",
                lambda e: events.append((e.start_state.label, e.goal_state.label)),
                10,
            )
            onlooker.until(lambda: session.node.count_publishers("/cacc1/transition_event"), "it")
            assert cacc.get() == "active"
            assert not cacc.set("cleanup")
            assert cacc.set("deactivate") and cacc.get() == "inactive"
            assert cacc.offered() == {"activate", "cleanup", "shutdown"}
            assert not cacc.set("configure")
            assert cacc.set("cleanup") and cacc.get() == "unconfigured"
            assert cacc.offered() == {"configure", "shutdown"}
            assert not cacc.set("activate")
            assert cacc.set("configure") and cacc.get() == "inactive"
            assert cacc.set("activate") and cacc.get() == "active"
            onlooker.until(lambda: ("inactive", "active") in events, "its transitions")
            # A simulator goes on: it stays as it is.
            world = Managed(onlooker, "world")
            assert world.set("deactivate") and not world.set("cleanup")
            assert world.get() == "inactive" and world.set("activate")
            run.end("resume")
            result = running.result()
        assert result.code == 3, result  # the platoon does not stand yet
        assert left_processes(environment) == []
    assert events[-5:] == [
        ("active", "inactive"),
        ("inactive", "unconfigured"),
        ("unconfigured", "configuring"),
        ("configuring", "inactive"),
        ("inactive", "active"),
    ]
    (made,) = json.loads((output / "changes.json").read_text())["changes"]
    assert (made["set"], made["to"]) == ("participants.cacc1.reset", True)
    assert 0 < parse_duration(made["at"]) <= SECOND
    scenario, _, former = prepare_replay(output)
    assert former.repeatable
    assert run_inproc(scenario, tmp_path / "again").trace_sha256 == former.trace_sha256
    plain = run_inproc(load_scenario(PLATOON, sets), tmp_path / "plain")
    assert plain.trace_sha256 != former.trace_sha256


@pytest.mark.parametrize("shape", ["ros", "composed"])
def test_one_that_cannot_begin_anew_is_not_cleaned_up(
    shape: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The reason is a warning of its node; another one is shut down while it is unconfigured."""
    from ros2_cosim.ros.node.session import Session

    file = tmp_path / "counting.yaml"
    short = {"stop_latency": "50ms", "run_ahead": "50ms", "clock_step": "10ms"}
    file.write_text(json.dumps(counter_models.scenario("Open", **short)), encoding="utf-8")
    warned: list[str] = []
    with user_environment(tmp_path / "log") as environment:
        for key, value in loopback_environment(environment, tmp_path).items():
            monkeypatch.setenv(key, value)
        arguments = (file, "--shape", shape, "--out", tmp_path / "out", "--paused", "--no-bag")
        with Session("onlooker") as session, Running(environment, *arguments) as running:
            from rcl_interfaces.msg import Log

            onlooker = Onlooker(session)
            session.node.create_subscription(Log, "/rosout", lambda m: warned.append(m.msg), 100)
            run = Controlled(environment, running)
            run.wait_for_run()
            assert run.control("until", "50ms") == "paused at 50ms"
            counter, other = Managed(onlooker, "counter"), Managed(onlooker, "other")
            assert counter.set("deactivate") and not counter.set("cleanup")
            reason = "cannot be reset: its model holds something open"
            onlooker.until(lambda: any(reason in each for each in warned), "the reason")
            assert counter.set("activate")
            assert other.set("deactivate") and other.set("cleanup") and other.set("shutdown")
            run.end("resume")
            result: Any = running.result()
        assert result.code == 0, result
        assert "shutdown, asked for by change_state" in result.stdout
        assert left_processes(environment) == []
