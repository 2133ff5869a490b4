# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Runs in processes: shapes ``ros`` (several) and ``composed`` (one for all participants)."""

from __future__ import annotations

import time
from math import inf
from pathlib import Path

from ros2_cosim.core.kernel.errors import CosimError, RunError
from ros2_cosim.core.messages.reporting import NO_PROGRESS
from ros2_cosim.core.run.output_directory import repetitions
from ros2_cosim.core.run.results import complete_results, leave_incomplete, why
from ros2_cosim.core.run.shape import RunCallbacks
from ros2_cosim.core.run.tracebacks import with_place
from ros2_cosim.ros.bringup.prepared import PreparedProcesses
from ros2_cosim.ros.bringup.processes import ProcessGroup
from ros2_cosim.ros.bringup.starter_channel import ClockProgress

_POLL_S = 0.05
#: The clock gives a sign of life every second and is itself the watchdog of all others. It is
#: given up when it is silent for twice the watchdog's time (before its first sign: for the
#: time of the start-up) and this long.
_CLOCK_LATE_S = 5.0


def run_processes(prepared: PreparedProcesses, callbacks: RunCallbacks) -> None:
    """Start the processes of a run and wait for their end.

    :raises RunError: a process ended before its time; it is named. The bag is readable.
    :raises StorageError: the report cannot be written
    """
    plan, scenario = prepared.plan, prepared.scenario
    last_sign = time.monotonic()
    patience = scenario.startup_s + _CLOCK_LATE_S

    def take(name: str, sign: ClockProgress) -> None:
        nonlocal last_sign, patience
        if name == plan[-1].name:
            last_sign = time.monotonic()
            # During a pause the clock itself may be stopped in a debugger.
            patience = inf if sign.resting else 2.0 * scenario.watchdog_s + _CLOCK_LATE_S
            callbacks.progress(sign.time_ns)

    try:
        with ProcessGroup(
            plan,
            prepared.environment,
            callbacks.on_line,
            on_progress=take,
            channel=prepared.channel,
            inherited=[prepared.directory.descriptor],
            ports=prepared.ports,
            scenario=scenario,
        ) as group:
            callbacks.on_started(group.pids())
            while not group.ended():
                callbacks.on_poll()
                _check(group, prepared.output)
                silence = time.monotonic() - last_sign
                if silence > patience:
                    raise RunError(
                        f"{plan[-1].name}: no sign of life for {silence:.0f} s"
                        + _stopped_processes(group)
                    )
                time.sleep(_POLL_S)
            _check(group, prepared.output)
    except BaseException as error:
        for directory in (*repetitions(prepared.output), prepared.output):
            problem = leave_incomplete(directory, why(error), prepared.options.shape)
        if problem and isinstance(error, CosimError):
            raise RunError(f"{error}; {problem}") from None
        raise
    complete_results(prepared.output)


def _check(group: ProcessGroup, output: Path) -> None:
    failure = group.failure()
    if failure is not None:
        failure += _stopped_processes(group) + _open_turns(group, failure)
        raise RunError(with_place(failure, output))


def _open_turns(group: ProcessGroup, failure: str) -> str:
    """Where nothing goes on: the participant that keeps the others of its process from it."""
    turns = group.turns() if NO_PROGRESS in failure else {}
    return "".join(
        f" (process '{process}' stands in the turn of '{participant}')"
        for process, participant in turns.items()
    )


def _stopped_processes(group: ProcessGroup) -> str:
    """A process that was stopped from outside explains why nothing went on."""
    names = group.stopped()
    return f" (stopped by a signal: {', '.join(names)})" if names else ""
