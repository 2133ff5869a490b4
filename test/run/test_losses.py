# SPDX-License-Identifier: Apache-2.0
"""Who ends early, and whether the run minds; how the clock hears of those it can spare."""

from __future__ import annotations

from pathlib import Path

from ros2_cosim.run.losses import read_losses, read_required, tell_loss, tell_required
from ros2_cosim.run.watch import RunWatch
from ros2_cosim.scenario.plan import Process

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


def test_a_leaver_that_fails_is_a_failure() -> None:
    watch = RunWatch(PLAN)
    watch.ended("leaver", -9)
    assert watch.failure() == "process 'leaver' was killed by SIGKILL"


def test_who_is_not_required_is_told_once_and_ends_nothing() -> None:
    watch = RunWatch(PLAN)
    watch.said("extra", "extra: no more paper")
    watch.ended("extra", 1)
    watch.ended("visualisation", 2)
    assert watch.lost() == [("extra", "extra: no more paper")]
    assert watch.lost() == []
    watch.ended("extra_slave", -9)
    assert watch.lost() == [("extra", "process 'extra_slave' was killed by SIGKILL")]
    assert watch.failure() is None
    assert not watch.some_ended


def test_who_ends_in_order_is_not_lost() -> None:
    watch = RunWatch(PLAN)
    watch.ended("extra", 0)
    assert watch.lost() == []


def test_losses_are_read_as_they_were_told(tmp_path: Path) -> None:
    assert read_losses(tmp_path) == {}
    tell_loss(tmp_path, "extra", "was killed")
    tell_loss(tmp_path, "other", "failed")
    tell_loss(tmp_path, "extra", "was killed again")
    assert read_losses(tmp_path) == {"extra": "was killed again", "other": "failed"}


def test_whom_the_system_controller_names_the_run_minds(tmp_path: Path) -> None:
    watch = RunWatch(PLAN, lambda: read_required(tmp_path))
    watch.ended("a", -9)
    assert watch.failure() == "process 'a' was killed by SIGKILL"
    tell_required(tmp_path, ["extra", "leaver"])
    assert read_required(tmp_path) == {"extra", "leaver"}
    assert watch.failure() is None
    assert not watch.some_ended
    assert watch.lost() == [("a", "process 'a' was killed by SIGKILL")]
    watch.ended("extra_slave", 1)
    assert str(watch.failure()).startswith("process 'extra_slave' ended with exit code 1")
    assert watch.lost() == []
    watch.ended("extra", 0)
    watch.ended("leaver", 0)
    assert not watch.complete
    watch.ended("clock", 0)
    assert watch.complete
