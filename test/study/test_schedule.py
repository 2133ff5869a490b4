# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Jobs side by side: the budget, which starts when, what failure and interruption leave."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.patience import HANG_S

from ros2_cosim.core.kernel.errors import Cancelled
from ros2_cosim.lab.study.schedule import (
    Control,
    Job,
    Neighbours,
    in_order,
    next_job,
    run_jobs,
)


def job(
    name: str,
    weight: float = 1.0,
    seconds: float = 1.0,
    run: Callable[[Control], str] | None = None,
    **flags: bool,
) -> Job[str]:
    return Job(name, weight, seconds, run or (lambda control: name), **flags)


def wait_for(control: Control, event: threading.Event) -> None:
    """Wait as a run does: look again and again whether it shall end."""
    for _ in range(int(HANG_S / 0.01)):
        control.check()
        if event.wait(0.01):
            return
    raise AssertionError("the event was not set")


@st.composite
def job_lists(draw: st.DrawFn) -> list[Job[str]]:
    """Jobs like those of a study, and odd ones."""
    found = []
    for number in range(draw(st.integers(0, 12))):
        kind = draw(st.sampled_from(("", "", "alone", "quiet")))
        weight = draw(st.integers(1, 30)) / 10
        seconds = draw(st.integers(1, 1000)) / 10
        found.append(
            job(str(number), weight, seconds, alone=kind == "alone", quiet=kind == "quiet")
        )
    return found


def steps(
    jobs: Sequence[Job[str]], budget: float, most: int, choose: Callable[[int], int]
) -> Iterator[tuple[Job[str], list[Job[str]]]]:
    """Each start with those under way before it; ``choose`` tells which ends."""
    waiting, under_way = in_order(jobs), list[Job[str]]()
    while waiting or under_way:
        started = next_job(waiting, under_way, budget, most)
        if started is None:
            del under_way[choose(len(under_way))]
        else:
            yield started, list(under_way)
            waiting.remove(started)
            under_way.append(started)


@given(job_lists(), st.integers(0, 40), st.integers(1, 4), st.randoms(use_true_random=False))
def test_no_start_breaks_a_rule_and_every_job_starts_once(
    jobs: list[Job[str]], tenths: int, most: int, random: object
) -> None:
    budget = tenths / 10
    choose = random.randrange  # type: ignore[attr-defined]
    names = []
    for started, beside in steps(jobs, budget, most, choose):
        names.append(started.name)
        if beside:
            assert sum(j.weight for j in [*beside, started]) <= budget + 1e-6
            assert len(beside) < most
            assert not started.alone
            assert not any(other.alone or other.quiet for other in beside)
    assert sorted(names) == sorted(j.name for j in jobs)


@given(job_lists())
def test_budget_of_zero_is_one_after_the_other_the_longest_first(jobs: list[Job[str]]) -> None:
    order = []
    for started, beside in steps(jobs, 0.0, 8, lambda count: 0):
        assert beside == []
        order.append(started)
    plain = [j for j in order if not j.alone and not j.quiet]
    assert all(a.expected_s >= b.expected_s for a, b in pairwise(plain))
    alone = sum(j.alone for j in jobs)
    assert all(j.alone for j in order[:alone])


def test_work_is_time_by_the_share_of_the_budget() -> None:
    works = [
        job("a", w, 100.0, alone=a).work(2.0) for w, a in ((0.5, False), (4.0, False), (0.5, True))
    ]
    assert works == [25.0, 100.0, 100.0]
    assert job("a", 0.5, 100.0).work(0.0) == 100.0


def test_quiet_job_keeps_room_for_itself() -> None:
    quiet, light, heavy = job("q", 1.0, 1.0, quiet=True), job("l", 0.5, 9.0), job("h", 1.5, 8.0)
    waiting = in_order([quiet, light, heavy])
    assert next_job(waiting, [], 2.0, 8) is light
    assert next_job([heavy, quiet], [light], 2.0, 8) is quiet
    assert next_job([heavy], [light, quiet], 3.0, 8) is None
    assert next_job([heavy], [light], 2.0, 8) is heavy
    assert next_job([light, quiet], [heavy], 9.0, 2) is quiet


def test_jobs_run_side_by_side_within_the_budget() -> None:
    """Real threads: two jobs meet, a third of their weight never sees both of them."""
    meeting = threading.Barrier(2)
    lock = threading.Lock()
    weights: list[float] = []
    largest = 0.0

    def run(name: str, meets: bool) -> Callable[[Control], str]:
        def work(control: Control) -> str:
            nonlocal largest
            with lock:
                weights.append(1.0)
                largest = max(largest, sum(weights))
            control.begun()
            if meets:
                meeting.wait(HANG_S)
            with lock:
                weights.pop()
            return name

        return work

    jobs = [
        job("long", 1.0, 9.0, run("long", True)),
        job("middle", 1.0, 5.0, run("middle", True)),
        job("short", 1.0, 1.0, run("short", False)),
    ]
    done: dict[str, Neighbours] = {}
    started: list[str] = []
    run_jobs(
        jobs,
        2.0,
        8,
        on_start=lambda j: started.append(j.name),
        on_done=lambda j, result, company: done.update({result: company}),
    )
    assert started == ["long", "middle", "short"]
    assert largest == 2.0
    assert done.keys() == {"long", "middle", "short"}
    assert done["middle"].weight == 1.0
    assert done["long"].starts >= 1


def test_next_job_waits_until_the_last_one_has_begun() -> None:
    up = threading.Event()
    second = threading.Event()

    def first(control: Control) -> str:
        # No other is started before it says so.
        up.set()
        assert not second.is_set()
        control.begun()
        wait_for(control, second)
        return "first"

    def then(control: Control) -> str:
        assert up.is_set()
        second.set()
        return "second"

    done: list[str] = []
    run_jobs(
        [job("first", 1.0, 2.0, first), job("second", 1.0, 1.0, then)],
        2.0,
        8,
        on_done=lambda j, result, company: done.append(result),
    )
    assert sorted(done) == ["first", "second"]


def test_failure_ends_the_others_and_keeps_what_is_done() -> None:
    begun = threading.Event()
    cancelled: list[str] = []

    def patient(control: Control) -> str:
        control.begun()
        begun.set()
        try:
            wait_for(control, threading.Event())
        except Cancelled:
            cancelled.append("patient")
            raise
        return "patient"

    def broken(control: Control) -> str:
        wait_for(control, begun)
        raise ValueError("the second one")

    done: list[str] = []
    jobs = [
        job("quick", 1.0, 0.0, alone=True),
        job("patient", 1.0, 9.0, patient),
        job("broken", 1.0, 2.0, broken),
        job("never", 2.0, 1.0),
    ]
    with pytest.raises(ValueError, match="the second one"):
        run_jobs(jobs, 2.0, 8, on_done=lambda j, result, company: done.append(result))
    assert done == ["quick"]
    assert cancelled == ["patient"]


def test_error_in_the_caller_ends_all_jobs() -> None:
    """As when the record cannot be written."""
    before = threading.active_count()
    ended = threading.Event()

    def patient(control: Control) -> str:
        control.begun()
        try:
            wait_for(control, threading.Event())
        finally:
            ended.set()
        return "patient"

    def on_done(finished: Job[str], result: str, neighbours: Neighbours) -> None:
        raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        run_jobs([job("a", 1.0, 9.0, patient), job("b")], 2.0, 8, on_done=on_done)
    assert ended.is_set()
    assert threading.active_count() == before


PROGRAM = """
import subprocess, sys, time
from ros2_cosim.cli.console import clear_errors, ending_in_order
from ros2_cosim.lab.study.schedule import Job, run_jobs
import signal

def patient(control):
    with subprocess.Popen([sys.executable, "-c", "import time; time.sleep(1000)"]) as child:
        try:
            control.begun()
            while True:
                control.check()
                time.sleep(0.01)
        finally:
            child.kill()
            # One write: the two of print are mixed with those of the other threads.
            sys.stdout.write("killed\\n")
            sys.stdout.flush()

def on_done(job, result, company):
    print("done", result, flush=True)

jobs = [Job("first", 1.0, 0.0, lambda control: "first", alone=True)]
jobs += [Job(name, 1.0, 9.0, patient) for name in "abc"]
with clear_errors(), ending_in_order(signal.SIGINT, signal.SIGTERM):
    started = []
    def on_start(job):
        started.append(job)
        if len(started) == 3:
            print("ready", flush=True)
    run_jobs(jobs, 2.0, 8, on_start=on_start, on_done=on_done)
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupt_ends_all_processes_and_keeps_what_is_done(
    nothing_left: None, number: signal.Signals
) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", PROGRAM],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        head = [process.stdout.readline(), process.stdout.readline()]
        process.send_signal(number)
        out, err = process.communicate(timeout=HANG_S)
    assert head == ["done first\n", "ready\n"]
    assert set(out.splitlines()) <= {"killed"}
    assert err.startswith(f"cosim: ended by {number.name}\n")
