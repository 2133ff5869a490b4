# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Whatever is killed or frozen: one line names it, the bag is readable, nothing is left.

The disturbed runs are made side by side, as far as that helps; each has a ROS domain of its own.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from functools import partial
from pathlib import Path
from typing import NamedTuple

import pytest
from rosbags.highlevel import AnyReader
from runs.cosim_process import (
    PLATOON,
    Result,
    Running,
    cosim,
    left_processes,
    user_environment,
)

from ros2_cosim.core.record.summary import SUMMARY_FILE, read_summary

#: Processes beside those of the participants that may share one.
OTHERS = {"simulator", "world_slave", "world", "recorder", "clock"}
PARTICIPANTS = {"sensor1", "sensor2", "v2v", "cacc1", "cacc2", "referee"}
FROZEN = ("sensor1", "simulator", "recorder", "clock")
#: One of each kind.
KILLED = ("simulator", "world", "recorder", "clock")
WATCHDOG = 5
# Slow enough that no run ends before it is disturbed, on a busy machine either.
PACE = ("--rate", "0.5")
# For what happens to one participant alone, and where each is looked for; by default some share a
# process, for which test_grouping.py is there.
ONE_EACH = ("--processes", "own")
SIDE_BY_SIDE = 4
BROKEN_LAW = """
class Broken:
    count = 0

    def acceleration(self, measurement):
        self.count += 1
        return 1.0 / (100 - self.count)
"""


class Outcome(NamedTuple):
    """What a disturbed run left."""

    result: Result
    output: Path
    processes: list[str]
    shared_memory: list[str]
    #: What a second run in the same ROS domain said.
    second: Result | None = None


def disturbed(
    directory: Path,
    disturb: Callable[[Running], None],
    *options: object,
    second: bool = False,
) -> Outcome:
    """Start a run and disturb it in its middle."""
    output = directory / "out"
    other = None
    with user_environment(directory / "ros-log") as environment:
        with Running(environment, PLATOON, "--out", output, *PACE, *options) as running:
            running.wait_until_recorded(output)
            shared = PARTICIPANTS if ONE_EACH[0] in options else {"group1"}
            assert running.children().keys() == OTHERS | shared
            shared_memory = running.shared_memory()
            if second:
                other = cosim(environment, PLATOON, "--out", directory / "second")
            disturb(running)
            result = running.result()
        return Outcome(result, output, left_processes(environment), shared_memory, other)


def failing(directory: Path) -> Outcome:
    """A run whose controllers fail after a while."""
    law = directory / "broken_law.py"
    law.write_text(BROKEN_LAW)
    with user_environment(directory / "ros-log") as environment:
        output = directory / "out"
        result = cosim(environment, PLATOON, "--out", output, "--controllers", f"{law}:Broken")
        return Outcome(result, output, left_processes(environment), [])


def signal_process(name: str, number: signal.Signals, running: Running) -> None:
    os.kill(running.children()[name], number)


def signal_run(number: signal.Signals, running: Running) -> None:
    running.send(number)


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Future[Outcome]]]:
    """The outcome of each disturbance by its name."""
    frozen = ("--set", f"watchdog_s={WATCHDOG}")
    tasks: dict[str, Callable[[Path], Outcome]] = {}
    for name in FROZEN:
        freeze = partial(signal_process, name, signal.SIGSTOP)
        options = frozen + ONE_EACH * (name in PARTICIPANTS)
        tasks[f"freeze {name}"] = partial(_disturbed, freeze, options)
    for name in KILLED:
        tasks[f"kill {name}"] = partial(
            _disturbed, partial(signal_process, name, signal.SIGKILL), ()
        )
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL):
        tasks[f"run {number.name}"] = partial(
            _disturbed,
            partial(signal_run, number),
            ONE_EACH * (number == signal.SIGKILL),
            second=number == signal.SIGINT,
        )
    tasks["failing law"] = failing
    with ThreadPoolExecutor(SIDE_BY_SIDE) as pool:
        futures = {
            name: pool.submit(task, tmp_path_factory.mktemp(name.replace(" ", "-")))
            for name, task in tasks.items()
        }
        wait(futures.values())  # here, so that this fixture is what is measured as slow
        yield futures


def _disturbed(
    disturb: Callable[[Running], None],
    options: tuple[object, ...],
    directory: Path,
    *,
    second: bool = False,
) -> Outcome:
    return disturbed(directory, disturb, *options, second=second)


def assert_tidy(outcome: Outcome) -> None:
    """Nothing is left but the record of what happened so far."""
    assert outcome.processes == []
    assert outcome.shared_memory == []
    if outcome.result.code == -signal.SIGKILL:  # the command itself: none was there to write one
        assert not (outcome.output / SUMMARY_FILE).exists()
    else:
        assert not read_summary(outcome.output, complete=False).complete
    with AnyReader([outcome.output / "bag"]) as reader:
        stamps = [stamp for _, stamp, _ in reader.messages()]
    assert len(stamps) > 100
    assert stamps == sorted(stamps)


@pytest.mark.parametrize("name", FROZEN)
def test_a_frozen_process_is_named(outcomes: dict[str, Future[Outcome]], name: str) -> None:
    outcome = outcomes[f"freeze {name}"].result()
    error = outcome.result.error()
    if name == "clock":
        assert error.startswith("cosim: clock: no sign of life for ")
    elif name == "simulator":
        assert error.startswith("cosim: participant 'world' has not returned from its activation ")
    else:
        assert error.startswith(f"cosim: clock: no progress for {WATCHDOG} s at ")
    assert error.endswith(f"(stopped by a signal: {name})")
    assert_tidy(outcome)


def test_the_watchdog_tells_what_each_waits_for(outcomes: dict[str, Future[Outcome]]) -> None:
    error = outcomes["freeze sensor1"].result().result.error()
    assert "'sensor1' neither advances nor reports what it waits for" in error
    assert "cacc1 waits to run its next data; needs sensor1.objects" in error


@pytest.mark.parametrize("name", KILLED)
def test_a_killed_process_is_named(outcomes: dict[str, Future[Outcome]], name: str) -> None:
    outcome = outcomes[f"kill {name}"].result()
    assert outcome.result.error() == f"cosim: process '{name}' was killed by SIGKILL"
    assert_tidy(outcome)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_run_ends_in_order_when_asked_to(
    outcomes: dict[str, Future[Outcome]], number: signal.Signals
) -> None:
    outcome = outcomes[f"run {number.name}"].result()
    assert outcome.result.error() == f"cosim: ended by {number.name}"
    assert outcome.result.code == 128 + number
    assert_tidy(outcome)


def test_processes_end_with_the_one_that_started_them(
    outcomes: dict[str, Future[Outcome]],
) -> None:
    outcome = outcomes["run SIGKILL"].result()
    assert outcome.result.code == -signal.SIGKILL
    assert_tidy(outcome)


def test_one_run_per_ros_domain(outcomes: dict[str, Future[Outcome]]) -> None:
    second = outcomes["run SIGINT"].result().second
    assert second is not None
    assert second.error().startswith("cosim: another run uses ROS domain ")
    assert "give this one another place with --namespace, or with ROS_DOMAIN_ID" in second.error()


def test_a_failing_controller_is_named(outcomes: dict[str, Future[Outcome]]) -> None:
    outcome = outcomes["failing law"].result()
    error = outcome.result.error()
    assert "participant 'cacc1' failed" in error or "participant 'cacc2' failed" in error
    assert "ZeroDivisionError: float division by zero" in error
    assert_tidy(outcome)
