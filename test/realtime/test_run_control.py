# SPDX-License-Identifier: Apache-2.0
"""Run control: what each request does to the horizon, and that none of them changes a result."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.kernel_systems import CoordinatedRun, System, run_sequential, systems

from ros2_cosim.kernel.coordinator import Coordinator
from ros2_cosim.kernel.time import FOREVER, NEVER
from ros2_cosim.realtime.pacing import TimeScale
from ros2_cosim.realtime.run_control import Answer, Command, Request, RunControl

UNTIL = 200
SECOND = 1_000_000_000


class Driver:
    """A run whose participants do at once what they are granted; its wall clock is a number."""

    def __init__(self, rate: float | None = None, **settings: Any) -> None:
        self.control = RunControl(step_ns=10, scale=TimeScale(rate), **settings)
        self.now = 0
        self.time = NEVER
        self.answers: list[Answer] = []
        self.control.started(0)

    def ask(self, command: Command, **values: Any) -> list[Answer]:
        """Ask for something; the answers that are there at once."""
        before = len(self.answers)
        request = Request(command, **values)
        self.control.handle(request, time=self.time, now=self.now, reply=self.answers.append)
        return self.answers[before:]

    def work(self, wanted: int = FOREVER) -> int:
        """Grant and complete what may be; the time reached."""
        for _ in range(20):
            horizon = max(self.control.granted, self.control.allowed(wanted, self.now))
            self.control.granted = self.time = horizon
            self.control.update(self.time, self.now)
        return self.time


def test_a_run_left_alone_is_not_limited() -> None:
    driver = Driver()
    assert driver.control.allowed(500, 0) == 500
    assert not driver.control.paused
    assert driver.ask(Command.STATUS) == [Answer(True, "running at 0s, rate max")]


def test_a_pause_stands_at_what_was_granted_and_is_answered_then() -> None:
    driver = Driver()
    driver.control.granted, driver.time = 70, 40
    assert driver.ask(Command.PAUSE) == []
    assert driver.control.allowed(500, 0) == 70
    assert not driver.control.update(69, 0)
    assert driver.control.update(70, 0)
    assert driver.answers == [Answer(True, "paused at 70ns")]
    assert driver.control.resting


def test_a_run_that_begins_paused_steps_by_steps_of_the_clock() -> None:
    driver = Driver(paused=True)
    assert driver.work() == 0
    assert driver.ask(Command.STEP) == []
    assert not driver.control.resting
    assert driver.work() == 10
    driver.ask(Command.STEP, steps=3, time_ns=4)
    assert driver.work() == 22
    assert [answer.message for answer in driver.answers] == ["paused at 10ns", "paused at 22ns"]


def test_an_instant_ends_after_the_next_possible_activation() -> None:
    driver = Driver(paused=True)
    control = driver.control
    control.granted = 0
    driver.time = 5  # no participant has anything to do before 5
    assert driver.ask(Command.INSTANT, steps=2) == []
    assert control.allowed(FOREVER, 0) == 6
    assert not control.update(5, 0)
    assert not control.update(9, 0)
    assert control.allowed(FOREVER, 0) == 10
    assert control.update(12, 0)
    assert driver.answers == [Answer(True, "paused at 9ns")]


def test_until_runs_to_a_time_from_wherever_it_is() -> None:
    driver = Driver()
    driver.control.granted = driver.time = 30
    assert driver.ask(Command.UNTIL, time_ns=100) == []
    assert driver.work() == 100
    assert driver.answers == [Answer(True, "paused at 100ns")]
    (refused,) = driver.ask(Command.UNTIL, time_ns=99)
    assert refused == Answer(
        False, "until: found 99ns; everything before 100ns has been granted already"
    )


def test_a_later_request_overtakes_an_open_one() -> None:
    driver = Driver(paused=True)
    driver.work()
    driver.ask(Command.UNTIL, time_ns=100)
    assert driver.ask(Command.RESUME) == [
        Answer(False, "overtaken by a request to resume"),
        Answer(True, "running"),
    ]
    assert driver.work(500) == 500


def test_a_step_needs_a_paused_run() -> None:
    (answer,) = Driver().ask(Command.STEP)
    assert answer == Answer(False, "the run is not paused; a step needs a paused run")


def test_the_wall_time_of_a_pause_does_not_count() -> None:
    driver = Driver(rate=2.0)
    driver.now = SECOND
    assert driver.work() == 2 * SECOND + 1
    driver.ask(Command.PAUSE)
    driver.now = 10 * SECOND
    assert driver.work() == 2 * SECOND + 1
    driver.ask(Command.RESUME)
    driver.now = 11 * SECOND
    assert driver.work() == 4 * SECOND + 2


def test_the_rate_changes_from_now_on() -> None:
    driver = Driver(rate=1.0)
    driver.now = SECOND
    driver.work()
    assert driver.ask(Command.RATE, rate=0.5) == [Answer(True, "rate 0.5")]
    driver.now = 3 * SECOND
    assert driver.work() == 2 * SECOND + 2
    driver.ask(Command.RATE, rate=0.0)
    assert driver.control.rate is None
    assert driver.work(9 * SECOND) == 9 * SECOND


@pytest.mark.parametrize("rate", [-1.0, float("nan"), float("inf"), 1e6])
def test_a_rate_that_makes_no_sense_is_refused(rate: float) -> None:
    (answer,) = Driver().ask(Command.RATE, rate=rate)
    assert not answer.success
    assert answer.message.startswith("rate: found ")


def test_a_stop_lets_a_paused_run_go_to_its_end() -> None:
    driver = Driver(paused=True)
    driver.work()
    assert driver.ask(Command.STOP, reason="seen enough") == [Answer(True, "stop accepted")]
    assert driver.control.stop_reason == "stop: seen enough"
    assert not driver.control.paused
    assert driver.ask(Command.PAUSE) == [Answer(False, "the run is ending already")]


def test_a_run_that_ends_answers_open_requests() -> None:
    driver = Driver(paused=True)
    driver.work()
    driver.ask(Command.UNTIL, time_ns=100)
    driver.control.over("the run is over at 50ns")
    assert driver.answers == [Answer(True, "the run is over at 50ns")]
    assert driver.ask(Command.RESUME) == [Answer(False, "the run is over")]


def test_a_reset_needs_the_means_for_it() -> None:
    (answer,) = Driver().ask(Command.RESET)
    assert not answer.success
    driver = Driver(can_reset=True)
    assert driver.ask(Command.RESET) == [Answer(True, "reset accepted")]
    assert driver.control.reset


def test_a_stop_on_request_ends_the_run_before_all_participants() -> None:
    coordinator = Coordinator(["a"], duration_ns=1000, run_ahead_ns=50, stop_latency_ns=80)
    coordinator.completed("a", 100)
    coordinator.stop_at(150, "stop: on request")
    assert (coordinator.end, coordinator.stop_reason) == (150, "stop: on request")
    coordinator.stop_at(170, "later")
    coordinator.stop_requested("a", 120, "done")  # would end at 200
    assert (coordinator.end, coordinator.stop_reason) == (150, "stop: on request")
    coordinator.completed("a", 150)
    assert coordinator.finished


REQUESTS = st.one_of(
    st.builds(Request, st.sampled_from([Command.PAUSE, Command.RESUME])),
    st.builds(Request, st.just(Command.STEP), st.integers(0, 4), st.integers(0, 30)),
    st.builds(Request, st.just(Command.INSTANT), st.integers(0, 4)),
    st.builds(Request, st.just(Command.UNTIL), time_ns=st.integers(0, UNTIL)),
)


class ControlledRun(CoordinatedRun):
    """A coordinated run that is paused and stepped."""

    def __init__(self, system: System, seed: int, requests: list[Request], paused: bool) -> None:
        self.control = RunControl(step_ns=7, paused=paused)
        self.stood: list[tuple[int, int]] = []
        super().__init__(system, UNTIL, seed, window=40, stop_latency=40)
        self._requests = requests
        self._open = 0

    def horizon(self) -> int:
        """What is granted: what the coordinator allows within the control's limit."""
        granted = self.control.allowed(self.coordinator.horizon, 0)
        self.control.granted = max(self.control.granted, granted)
        return self.control.granted

    def coordinate(self, names: list[str]) -> bool:
        """Also ask for the next thing, now and then, and at a standstill."""
        stands = self.control.update(self.coordinator.time, 0)
        if stands:
            # Everything before the limit is complete, and no participant has gone beyond it.
            assert self.latest < self.control.limit
        if stands or (not self._open and self._random.random() < 0.2):
            self._ask()
        before = self.control.granted
        if self.horizon() > before:
            self._tell()
        return super().coordinate(names) or stands or self.control.granted > before

    def _ask(self) -> None:
        request = self._requests.pop() if self._requests else Request(Command.RESUME)
        self._open += 1
        self.control.handle(request, time=self.coordinator.time, now=0, reply=self._answered)

    def _answered(self, answer: Answer) -> None:
        self._open -= 1


@settings(max_examples=60)
@given(
    system=systems(max_participants=6),
    seed=st.integers(0, 2**32),
    requests=st.lists(REQUESTS, max_size=12),
    paused=st.booleans(),
)
def test_however_it_is_controlled_the_result_is_the_same(
    system: System, seed: int, requests: list[Request], paused: bool
) -> None:
    assert ControlledRun(system, seed, requests, paused).run() == run_sequential(system, UNTIL)


def test_a_reset_is_refused_with_the_reason_where_one_is_known() -> None:
    driver = Driver(can_reset=True)
    driver.control.no_reset = "participant 'a': holds something open"
    assert not driver.control.can_reset
    assert driver.ask(Command.RESET) == [
        Answer(False, "this run cannot begin anew: participant 'a': holds something open")
    ]
    assert driver.control.stop_reason is None
