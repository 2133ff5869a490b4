# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""What watches over participants that run in this process, driven by a command or a program."""

from __future__ import annotations

from collections.abc import Callable, Collection
from pathlib import Path

from ros2_cosim.core.kernel.runtime import ParticipantRuntime
from ros2_cosim.core.run import apart
from ros2_cosim.core.run.results import leave_incomplete
from ros2_cosim.core.run.watchdog import StuckActivation, Watchdog, interrupting
from ros2_cosim.core.scenario.schema import Scenario


def supervised(
    scenario: Scenario,
    output: Path,
    runtimes: Collection[ParticipantRuntime],
    close: Callable[[], None],
) -> Watchdog:
    """The watchdog of a run in this process; a process apart also notes its activations.

    :param output: of the run, with its resolved scenario
    :param close: closes the bag; called in the thread of the watchdog if this process ends
    """
    place = apart.here()
    if place is not None:
        place.follow(output, list(scenario.participants), runtimes)

    def bark(stuck: StuckActivation) -> None:
        if place is None or place.leave is None:
            interrupting(stuck)
            return
        close()
        leave_incomplete(output, stuck.line, "inproc")
        place.leave(stuck.line)

    watchdog = Watchdog(scenario.watchdog_s, bark)
    watchdog.watch(*runtimes)
    return watchdog
