# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The standard services for simulators, on top of run control."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from support.patience import until

pytest.importorskip("rclpy", reason="needs rclpy, which make setup installs")
pytest.importorskip("simulation_interfaces", reason="needs the package simulation_interfaces")

import rclpy
from action_msgs.msg import GoalStatus
from rclpy.action import ActionClient
from rclpy.executors import SingleThreadedExecutor
from simulation_interfaces import msg, srv
from simulation_interfaces.action import SimulateSteps

from ros2_cosim.core.realtime.run_control import Answer, Command, Request, RunControl
from ros2_cosim.core.sockets.switchboard import Switchboard
from ros2_cosim.ros.node.session import Session
from ros2_cosim.ros.node.simulation_services import SimulationServices

STEP_NS = 10


class Run:
    """A run that does at once what it is granted, behind the services; and their client."""

    def __init__(self, lane: str) -> None:
        self._lane = lane
        self._begin(paused=False)
        self.control.granted = self.time = 100
        self.client = rclpy.create_node("client")
        self.action_clients: list[ActionClient] = []
        self._executor = SingleThreadedExecutor()
        self._executor.add_node(self.client)

    def _begin(self, *, paused: bool) -> None:
        self.session = Session("simulation_services_test", [])
        if self._lane:
            self.session.join_lane(self._lane)
        self.control = RunControl(step_ns=STEP_NS, can_reset=True, paused=paused)
        self.control.granted = self.time = 0
        self.services = SimulationServices.offer(self.session.node, self.ask, self.control)

    def begin_anew(self) -> None:
        """As a process of a run does: its node stays, and all that it has."""
        self.control.over("the run is over")
        self.until(lambda: not self.services.busy)
        self.session.begins_anew()
        self.session.close()
        self._begin(paused=True)

    def stop(self) -> int:
        """Have the run begin anew; the code of the answer, which comes when it has."""
        wanted = msg.SimulationState(state=msg.SimulationState.STATE_STOPPED)
        answer = self.sent(srv.SetSimulationState, "set_simulation_state", state=wanted)
        self.until(lambda: self.control.reset)
        assert self.state() == msg.SimulationState.STATE_STOPPED  # while it comes to that
        assert not answer.done()
        self.begin_anew()
        self.until(answer.done)
        return int(answer.result().result.result)

    def close(self) -> None:
        # As long as a node has one, the middleware keeps it.
        for client in self.action_clients:
            client.destroy()
        self._executor.shutdown()
        self.client.destroy_node()
        self.session.close()

    def ask(self, request: Request, reply: Callable[[Answer], None]) -> None:
        self.control.handle(request, time=self.time, now=0, reply=reply)

    def call(self, kind: Any, name: str, **fields: Any) -> Any:
        """Call a service while the run goes on."""
        answer = self.sent(kind, name, **fields)
        self.until(answer.done)
        return answer.result()

    def sent(self, kind: Any, name: str, **fields: Any) -> Any:
        """The future answer of a service."""
        client = self.client.create_client(kind, f"/cosim/{name}")
        self.until(client.service_is_ready)
        return client.call_async(kind.Request(**fields))

    def until(self, condition: Callable[[], bool]) -> None:
        """Let the run do what it is granted until something holds."""

        def go_on() -> None:
            self._executor.spin_once(timeout_sec=0.01)
            self.session.wait(0.01)
            self.work()

        until(condition, go_on)

    def work(self) -> None:
        if self.control.paused:
            self.control.granted = self.time = max(self.control.granted, self.control.limit)
        self.control.update(self.time, 0)

    def set_state(self, state: int) -> int:
        wanted = msg.SimulationState(state=state)
        result = self.call(srv.SetSimulationState, "set_simulation_state", state=wanted).result
        return int(result.result)

    def state(self) -> int:
        return int(self.call(srv.GetSimulationState, "get_simulation_state").state.state)


@pytest.fixture(params=["dds", "lane"])
def run(ros_domain: int, request: pytest.FixtureRequest) -> Iterator[Run]:
    """As in shape ``composed``, and as in shape ``ros``, where a thread waits for ROS."""
    with Switchboard("") as board:
        found = Run(board.address if request.param == "lane" else "")
        yield found
        found.close()


def test_states_are_set_and_seen(run: Run) -> None:
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
    assert run.state() == kinds.STATE_QUITTING
    run.control.over("the run is over")
    assert run.state() == kinds.STATE_STOPPED


def test_a_run_at_its_start_is_stopped(run: Run) -> None:
    """As the definition says: the same as to pause and to reset; it can be paused there."""
    kinds, done = msg.SimulationState, msg.Result.RESULT_OK
    assert run.stop() == done
    assert run.state() == 0
    assert run.set_state(kinds.STATE_STOPPED) == 101
    assert run.set_state(kinds.STATE_PAUSED) == done
    assert run.state() == 2
    assert run.stop() == done
    run.call(srv.StepSimulation, "step_simulation", steps=1)
    assert run.state() == 2


def test_steps_need_a_pause_and_answer_when_they_are_done(run: Run) -> None:
    early = run.call(srv.StepSimulation, "step_simulation", steps=3).result
    assert early.result == 4  # as StepSimulation.srv says
    assert early.error_message == "the run is not paused; a step needs a paused run"
    run.set_state(msg.SimulationState.STATE_PAUSED)
    done = run.call(srv.StepSimulation, "step_simulation", steps=3).result
    assert (done.result, done.error_message) == (msg.Result.RESULT_OK, "")
    assert run.time == 100 + 3 * STEP_NS


def test_a_state_that_cannot_be_reached_has_its_own_code(run: Run) -> None:
    run.control.no_reset = "participant 'plant' enters while it goes on"
    code = srv.SetSimulationState.Response.STATE_TRANSITION_ERROR
    assert run.set_state(msg.SimulationState.STATE_STOPPED) == code
    run.control.over("the run is over")
    assert run.set_state(msg.SimulationState.STATE_PLAYING) == code


def test_features_are_those_that_work(run: Run) -> None:
    found = run.call(srv.GetSimulatorFeatures, "get_simulator_features").features.features
    kinds = msg.SimulatorFeatures
    assert kinds.STEP_SIMULATION_MULTIPLE in found
    assert kinds.STEP_SIMULATION_ACTION in found
    assert kinds.SIMULATION_RESET in found
    assert kinds.SIMULATION_RESET_TIME not in found
    assert kinds.SPAWNING not in found


class Goal:
    """A goal of the action, from sending to result."""

    def __init__(self, run: Run, steps: int) -> None:
        self._run = run
        self._client = ActionClient(run.client, SimulateSteps, "/cosim/simulate_steps")
        run.action_clients.append(self._client)
        run.until(self._client.server_is_ready)
        #: (completed, remaining) of each feedback.
        self.feedback: list[tuple[int, int]] = []

        def take(message: Any) -> None:
            found = message.feedback
            self.feedback.append((found.completed_steps, found.remaining_steps))

        sent = self._client.send_goal_async(SimulateSteps.Goal(steps=steps), feedback_callback=take)
        run.until(sent.done)
        self.handle = sent.result()

    def result(self) -> tuple[int, int, str]:
        """Status of the goal; code and message of its result."""
        future = self.handle.get_result_async()
        self._run.until(future.done)
        found = future.result()
        return found.status, found.result.result.result, found.result.result.error_message

    def cancel(self) -> None:
        self.handle.cancel_goal_async()


def test_the_action_tells_each_step(run: Run) -> None:
    run.set_state(msg.SimulationState.STATE_PAUSED)
    began = run.time
    goal = Goal(run, 3)
    assert goal.result() == (GoalStatus.STATUS_SUCCEEDED, msg.Result.RESULT_OK, "")
    run.until(lambda: len(goal.feedback) == 3)
    assert goal.feedback == [(1, 2), (2, 1), (3, 0)]
    assert run.time == began + 3 * STEP_NS
    assert Goal(run, 0).result()[:2] == (GoalStatus.STATUS_SUCCEEDED, msg.Result.RESULT_OK)
    assert run.time == began + 3 * STEP_NS


def test_a_step_is_seen_when_all_have_reacted(run: Run) -> None:
    """A participant does not complete what it was granted: there is no feedback of it."""
    run.set_state(msg.SimulationState.STATE_PAUSED)
    work, began = run.work, run.time
    held: list[int] = []

    def work_once() -> None:
        if run.time < began + STEP_NS:
            work()
        elif not goals or not goals[0].feedback or len(held) < 20:
            held.append(run.control.limit)
            run.control.update(run.time, 0)
        else:
            seen.append(list(goals[0].feedback))
            work()

    seen: list[list[tuple[int, int]]] = []
    goals: list[Goal] = []
    run.work = work_once  # type: ignore[method-assign]
    goals.append(Goal(run, 2))
    assert goals[0].result()[0] == GoalStatus.STATUS_SUCCEEDED
    # Granted up to the second step, the run has completed the first one only.
    assert held[-1] == began + 2 * STEP_NS
    assert seen[0] == [(1, 1)]


def test_the_action_needs_a_pause(run: Run) -> None:
    status, code, message = Goal(run, 3).result()
    assert (status, code) == (GoalStatus.STATUS_ABORTED, msg.Result.RESULT_OPERATION_FAILED)
    assert message == "the run is not paused; a step needs a paused run (after 0 of 3 steps)"


def test_a_goal_is_cancelled_at_a_whole_step(run: Run) -> None:
    run.set_state(msg.SimulationState.STATE_PAUSED)
    began = run.time
    goal = Goal(run, 10**9)
    second = Goal(run, 1)
    assert not second.handle.accepted  # it would overtake the first one
    run.until(lambda: len(goal.feedback) >= 2)
    goal.cancel()
    status, code, message = goal.result()
    assert (status, code) == (GoalStatus.STATUS_CANCELED, msg.Result.RESULT_OPERATION_FAILED)
    completed = (run.time - began) // STEP_NS
    assert message == f"cancelled after {completed} of 1000000000 steps"
    assert completed >= 2
    assert Goal(run, 1).result()[0] == GoalStatus.STATUS_SUCCEEDED


def test_goals_of_a_run_that_begins_anew(run: Run) -> None:
    """The action stays, also for the client that was there before."""
    run.set_state(msg.SimulationState.STATE_PAUSED)
    first = Goal(run, 10**9)
    for _ in range(3):
        assert run.stop() == msg.Result.RESULT_OK
        goal = Goal(run, 2)
        assert goal.result() == (GoalStatus.STATUS_SUCCEEDED, msg.Result.RESULT_OK, "")
        assert run.time == 2 * STEP_NS
    assert first.result()[0] == GoalStatus.STATUS_ABORTED


def test_another_request_ends_the_goal(run: Run) -> None:
    run.set_state(msg.SimulationState.STATE_PAUSED)
    goal = Goal(run, 10**9)
    assert run.set_state(msg.SimulationState.STATE_PLAYING) == msg.Result.RESULT_OK
    status, code, message = goal.result()
    assert (status, code) == (GoalStatus.STATUS_ABORTED, msg.Result.RESULT_OPERATION_FAILED)
    assert "(after " in message


def test_a_pause_ends_the_steps_of_a_goal(run: Run) -> None:
    """As the definition says: after its steps a simulation returns to its pause."""
    kinds = msg.SimulationState
    run.set_state(kinds.STATE_PAUSED)
    goal = Goal(run, 10**9)
    run.until(lambda: len(goal.feedback) >= 2)
    assert run.state() == kinds.STATE_PLAYING
    assert run.set_state(kinds.STATE_PAUSED) == msg.Result.RESULT_OK
    assert run.state() == kinds.STATE_PAUSED
    stands = run.time
    status, code, message = goal.result()
    assert (status, code) == (GoalStatus.STATUS_ABORTED, msg.Result.RESULT_OPERATION_FAILED)
    assert message.startswith("overtaken by ") and "(after " in message
    assert run.time == stands
    assert run.set_state(kinds.STATE_PAUSED) == 101
    assert Goal(run, 1).result()[0] == GoalStatus.STATUS_SUCCEEDED


def test_a_pause_between_two_steps_is_not_lost(run: Run) -> None:
    run.set_state(msg.SimulationState.STATE_PAUSED)
    goal = Goal(run, 10**9)
    run.until(lambda: len(goal.feedback) >= 2)
    run.until(lambda: not run.control.stepping)
    answers: list[Answer] = []
    run.ask(Request(Command.PAUSE), answers.append)
    status, _, message = goal.result()
    assert status == GoalStatus.STATUS_ABORTED
    assert message.startswith("overtaken by another request (after ")
    assert answers and answers[0].success


def test_a_run_that_begins_anew_may_end_instead(run: Run) -> None:
    kinds, done = msg.SimulationState, msg.Result.RESULT_OK
    wanted = kinds(state=kinds.STATE_STOPPED)
    stopped = run.sent(srv.SetSimulationState, "set_simulation_state", state=wanted)
    run.until(lambda: run.control.reset)
    assert run.set_state(kinds.STATE_QUITTING) == done
    assert run.state() == kinds.STATE_QUITTING
    assert not run.control.reset and run.control.stop_reason == "stop: on request"
    assert not stopped.done()
