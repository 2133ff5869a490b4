# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Which processes may end early, and what the end of the others means for the run."""

from __future__ import annotations

from ros2_cosim.core.process.processes import EXIT_ABORTED, EXIT_HUNG
from ros2_cosim.ros.bringup.plan import Process
from ros2_cosim.ros.bringup.watch import RunWatch

PLAN = [
    Process("a", "participant", participant="a"),
    Process("leaver", "participant", participant="leaver", leaves=True),
    Process("extra_slave", "carla_slave", participant="extra", required=False),
    Process("extra", "participant", participant="extra", required=False),
    Process("visualisation", "visualisation", required=False),
    Process("clock", "clock"),
]


def test_a_leaver_that_ends_in_order_is_no_early_end() -> None:
    watch = RunWatch(PLAN)
    watch.ended("leaver", 0)
    assert not watch.some_ended
    assert watch.early() is None
    watch.ended("a", 0)
    assert watch.some_ended
    assert (watch.early() or "").startswith("process 'a' ended before the run was over")


def test_once_the_run_is_over_those_that_still_run_are_to_blame() -> None:
    watch = RunWatch([PLAN[0], Process("b", "participant", participant="b"), *PLAN[1:]])
    watch.over()
    watch.ended("a", 0)
    assert watch.early() == (
        "'b', 'leaver' still ran 10 s after others had ended; the run itself was over"
    )
    watch.ended("b", 0)
    watch.ended("leaver", 0)
    assert str(watch.early()).startswith("'clock' still ran")
    watch.ended("clock", 0)
    assert watch.early() is None


def test_a_leaver_that_fails_is_a_failure() -> None:
    watch = RunWatch(PLAN)
    watch.ended("leaver", -9)
    assert watch.failure() == "process 'leaver' was killed by SIGKILL"


def test_what_is_not_required_is_reported_once_and_ends_nothing() -> None:
    watch = RunWatch(PLAN)
    watch.told("extra", "extra: no more paper")
    watch.ended("extra", 1)
    watch.ended("visualisation", 2)
    assert watch.early_leaves() == [("extra", "extra: no more paper")]
    assert watch.early_leaves() == []
    watch.ended("extra_slave", -9)
    assert watch.early_leaves() == [("extra", "process 'extra_slave' was killed by SIGKILL")]
    assert watch.failure() is None
    assert not watch.some_ended


def test_what_ends_in_order_is_not_lost() -> None:
    watch = RunWatch(PLAN)
    watch.ended("extra", 0)
    assert watch.early_leaves() == []


def test_what_the_system_controller_names_is_required() -> None:
    named: list[frozenset[str] | None] = [None]
    watch = RunWatch(PLAN, lambda: named[-1])
    watch.ended("a", -9)
    assert watch.failure() == "process 'a' was killed by SIGKILL"
    named.append(frozenset(["extra", "leaver"]))
    assert watch.failure() is None
    assert not watch.some_ended
    assert watch.early_leaves() == [("a", "process 'a' was killed by SIGKILL")]
    watch.ended("extra_slave", 1)
    assert str(watch.failure()).startswith("process 'extra_slave' ended with exit code 1")
    assert watch.early_leaves() == []
    watch.ended("extra", 0)
    watch.ended("leaver", 0)
    assert not watch.complete
    watch.ended("clock", 0)
    assert watch.complete


def test_last_words_explain_a_process_that_ended_itself() -> None:
    watch = RunWatch(PLAN)
    watch.printed("a", "  what():  std::bad_alloc")
    watch.ended("a", -6)
    assert watch.failure() == (
        "process 'a' was killed by SIGABRT; its last line: what():  std::bad_alloc"
    )
    watch = RunWatch(PLAN)
    watch.ended("a", -6)
    assert watch.failure() == "process 'a' was killed by SIGABRT"


def test_a_process_that_hung_in_the_middleware_is_named() -> None:
    watch = RunWatch(PLAN)
    watch.printed("a", "all is well")
    watch.ended("a", EXIT_HUNG)
    assert watch.failure() == (
        "process 'a' hung in the middleware while it gave up a node, and was ended"
    )


def test_a_process_that_a_signal_ends_is_the_cause_before_it_has_ended() -> None:
    watch = RunWatch(PLAN)
    watch.told("extra", "process 'extra' was ended by SIGTERM", asked=True)
    assert watch.asked() is None  # the run can spare it
    watch.ended("a", EXIT_ABORTED)  # it has heard of it first
    watch.told("clock", "process 'clock' was ended by SIGINT", asked=True)
    assert watch.asked() == "process 'clock' was ended by SIGINT"
    watch.told("a", "a: the clock is gone")
    assert watch.asked() == "process 'clock' was ended by SIGINT"
