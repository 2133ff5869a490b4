# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Run control: what each request does to the horizon, and that none of them changes a result."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.kernel_systems import CoordinatedRun, System, run_sequential, systems

from ros2_cosim.core.kernel.coordinator import Coordinator
from ros2_cosim.core.kernel.errors import Aborted, AbortOrigin, ConfigurationError
from ros2_cosim.core.kernel.time import FOREVER, NEVER
from ros2_cosim.core.realtime.pacing import TimeScale
from ros2_cosim.core.realtime.run_control import Answer, Command, Request, RunControl

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


@pytest.mark.parametrize("command", [Command.STOP, Command.ABORT])
def test_a_run_that_is_to_begin_anew_may_end_instead(command: Command) -> None:
    driver = Driver(can_reset=True)
    driver.ask(Command.RESET)
    assert not driver.ask(Command.RESUME)[-1].success
    assert driver.ask(command)[-1] == Answer(True, f"{command.name.lower()} accepted")
    assert not driver.control.reset
    assert driver.ask(Command.RESET)[-1] == Answer(False, "the run is ending already")


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


def test_the_required_participants_are_those_asked_for_before_the_start() -> None:
    driver = Driver(paused=True)
    asked: list[tuple[str, ...]] = []
    driver.control.on_require = asked.append
    assert driver.ask(Command.REQUIRE, participants=("b", "a", "b")) == [
        Answer(True, "required: a, b")
    ]
    assert asked == [("a", "b")] and driver.control.required == ("a", "b")

    def refuse(names: tuple[str, ...]) -> None:
        raise ConfigurationError("there is no c")

    driver.control.on_require = refuse
    assert driver.ask(Command.REQUIRE, participants=("c",)) == [Answer(False, "there is no c")]
    assert driver.control.required == ("a", "b")
    driver.control.granted = driver.time = 1
    assert driver.ask(Command.REQUIRE, participants=("a",)) == [
        Answer(
            False,
            "require: too late, the run is paused at 0s; this is allowed before the system is "
            "RUNNING, or while a run that began paused stands at 0s",
        )
    ]


def test_a_change_is_made_with_its_origin_or_refused() -> None:
    driver = Driver()
    change = {"path": "a.b", "value": "3", "time_ns": 70}
    assert driver.ask(Command.CHANGE, **change) == [
        Answer(False, "change: found 'a.b'; this run takes no changes as requests")
    ]
    made: list[Any] = []

    def make(*what: Any) -> str:
        made.append(what)
        return "from 70ns on"

    driver.control.on_change = make
    assert driver.ask(Command.CHANGE, **change) == [Answer(True, "from 70ns on")]
    assert driver.ask(Command.CHANGE, reason="why", **change) == [Answer(True, "from 70ns on")]
    assert made == [
        ("a.b", "3", 70, "/cosim/control: not told"),
        ("a.b", "3", 70, "/cosim/control: why"),
    ]


def test_an_abort_ends_the_run_at_once_and_nothing_is_taken_after_it() -> None:
    driver = Driver()
    driver.control.check_abort()
    assert driver.ask(Command.ABORT, reason="smoke") == [Answer(True, "abort accepted")]
    assert driver.control.stop_reason is None and not driver.control.reset
    with pytest.raises(Aborted, match="^aborted: smoke$") as raised:
        driver.control.check_abort()
    assert raised.value.origin is AbortOrigin.REQUEST
    assert driver.ask(Command.PAUSE) == [Answer(False, "the run is ending already")]
    driver.control.over("done")
    assert driver.ask(Command.PAUSE) == [Answer(False, "the run is over")]
    assert driver.ask(Command.STATUS) == [Answer(True, "over at 0s")]


@pytest.mark.parametrize(
    ("paused", "steps", "again_paused"),
    [(False, 0, False), (True, 0, True), (False, 1, True), (True, 2, True)],
)
def test_a_reset_says_how_the_run_begins_anew(paused: bool, steps: int, again_paused: bool) -> None:
    driver = Driver(paused=paused, can_reset=True)
    assert driver.ask(Command.RESET, steps=steps) == [Answer(True, "reset accepted")]
    assert driver.control.reset and driver.control.reset_paused is again_paused
    assert driver.control.stop_reason == "reset: on request" and not driver.control.paused
    stopped = Driver()
    assert stopped.ask(Command.STOP, reason="enough") == [Answer(True, "stop accepted")]
    assert (stopped.control.reset, stopped.control.stop_reason) == (False, "stop: enough")


def test_where_the_run_is_in_words() -> None:
    driver = Driver()
    control = driver.control
    control.granted, driver.time = 70, 40
    assert control.describe(40) == "running at 40ns, rate max"
    assert control.describe(-5) == "running at 0s, rate max"
    assert driver.ask(Command.RATE, rate=2.5) == [Answer(True, "rate 2.5")]
    assert control.describe(40) == "running at 40ns, rate 2.5"
    assert driver.ask(Command.RATE) == [Answer(True, "rate max")]
    assert driver.ask(Command.PAUSE) == [] and control.stepping
    assert control.describe(40) == "pausing at 70ns"
    assert not control.update(69, 0)
    assert control.update(70, 0) and not control.stepping
    assert driver.answers[-1] == Answer(True, "paused at 70ns")
    assert driver.ask(Command.RESUME) == [Answer(True, "running")]
    assert driver.ask(Command.UNTIL, time_ns=90) == []
    assert control.describe(75) == "running at 75ns until 90ns"


@pytest.mark.parametrize(
    ("command", "values", "said"),
    [
        (Command.STEP, {"time_ns": -1}, "length of a step: found -1 ns; it must not be negative"),
        (
            Command.UNTIL,
            {"time_ns": 69},
            "until: found 69ns; everything before 70ns has been granted already",
        ),
        (
            Command.RESET,
            {},
            "this run cannot begin anew: it was not started with the means for it",
        ),
    ],
)
def test_requests_that_make_no_sense_are_refused_with_what_is_allowed(
    command: Command, values: dict[str, Any], said: str
) -> None:
    driver = Driver(paused=True)
    driver.control.granted = driver.time = 70
    assert driver.ask(command, **values) == [Answer(False, said)]
    before = Driver()
    assert before.ask(Command.UNTIL, time_ns=-1) == [
        Answer(False, "until: found -1ns; everything before 0s has been granted already")
    ]


@pytest.mark.parametrize(
    ("values", "reached"),
    [
        ({}, 10),
        ({"steps": 3}, 30),
        ({"time_ns": 7}, 7),
        ({"time_ns": 7, "steps": 2}, 14),
        ({"time_ns": 0, "steps": 1}, 10),
    ],
)
def test_a_step_goes_so_far(values: dict[str, Any], reached: int) -> None:
    driver = Driver(paused=True)
    assert driver.ask(Command.STEP, **values) == []
    assert driver.work() == reached
    assert driver.answers == [Answer(True, f"paused at {reached}ns")]
