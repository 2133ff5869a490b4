# SPDX-License-Identifier: Apache-2.0
"""The standard services for simulators, on top of run control."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

pytest.importorskip("rclpy", reason="needs rclpy, which make setup installs")
pytest.importorskip("simulation_interfaces", reason="needs the package simulation_interfaces")

from simulation_interfaces import msg, srv  # noqa: E402

from ros2_cosim.kernel.run_control import Answer, Request, RunControl  # noqa: E402
from ros2_cosim.ros.session import Session  # noqa: E402
from ros2_cosim.ros.simulation_services import SimulationServices  # noqa: E402

STEP_NS = 10


class Run:
    """A run that does at once what it is granted, behind the services; and their client."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.control = RunControl(step_ns=STEP_NS, can_reset=True)
        self.control.granted = self.time = 100
        SimulationServices.offer(session.node, self.ask, self.control)

    def ask(self, request: Request, reply: Callable[[Answer], None]) -> None:
        self.control.handle(request, time=self.time, now=0, reply=reply)

    def call(self, kind: Any, name: str, **fields: Any) -> Any:
        """Call a service while the run goes on."""
        client = self.session.node.create_client(kind, f"/cosim/{name}")
        while not client.service_is_ready():
            self.session.wait(0.05)
        answer = client.call_async(kind.Request(**fields))
        while not answer.done():
            self.session.wait(0.05)
            if self.control.paused:
                self.control.granted = self.time = max(self.control.granted, self.control.limit)
            self.control.update(self.time, 0)
        return answer.result()

    def set_state(self, state: int) -> int:
        wanted = msg.SimulationState(state=state)
        result = self.call(srv.SetSimulationState, "set_simulation_state", state=wanted).result
        return int(result.result)

    def state(self) -> int:
        return int(self.call(srv.GetSimulationState, "get_simulation_state").state.state)


@pytest.fixture
def run(ros_domain: int) -> Iterator[Run]:
    with Session("simulation_services_test") as session:
        yield Run(session)


def test_states_are_set_and_told(run: Run) -> None:
    kinds, done = msg.SimulationState, msg.Result.RESULT_OK
    assert run.state() == kinds.STATE_PLAYING
    assert run.set_state(kinds.STATE_PAUSED) == done
    assert run.state() == kinds.STATE_PAUSED
    already = srv.SetSimulationState.Response.ALREADY_IN_TARGET_STATE
    assert run.set_state(kinds.STATE_PAUSED) == already
    assert run.set_state(kinds.STATE_PLAYING) == done
    assert run.set_state(kinds.STATE_LOADING_WORLD) == msg.Result.RESULT_FEATURE_UNSUPPORTED
    assert run.set_state(kinds.STATE_QUITTING) == done
    assert run.control.stop_reason == "stop: on request"
    run.control.over("the run is over")
    assert run.state() == kinds.STATE_STOPPED


def test_steps_need_a_pause_and_answer_when_they_are_done(run: Run) -> None:
    early = run.call(srv.StepSimulation, "step_simulation", steps=3).result
    assert early.result == msg.Result.RESULT_INCORRECT_STATE
    assert early.error_message == "the run is not paused; a step needs a paused run"
    run.set_state(msg.SimulationState.STATE_PAUSED)
    done = run.call(srv.StepSimulation, "step_simulation", steps=3).result
    assert (done.result, done.error_message) == (msg.Result.RESULT_OK, "")
    assert run.time == 100 + 3 * STEP_NS


def test_a_reset_is_of_the_whole_run(run: Run) -> None:
    request = srv.ResetSimulation.Request
    part = run.call(srv.ResetSimulation, "reset_simulation", scope=request.SCOPE_SPAWNED).result
    assert part.result == msg.Result.RESULT_FEATURE_UNSUPPORTED
    whole = run.call(srv.ResetSimulation, "reset_simulation", scope=request.SCOPE_ALL).result
    assert whole.result == msg.Result.RESULT_OK
    assert run.control.reset


def test_features_are_those_that_work(run: Run) -> None:
    found = run.call(srv.GetSimulatorFeatures, "get_simulator_features").features.features
    kinds = msg.SimulatorFeatures
    assert kinds.STEP_SIMULATION_MULTIPLE in found
    assert kinds.SIMULATION_RESET in found
    assert kinds.SPAWNING not in found
