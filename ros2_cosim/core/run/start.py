# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Run a prepared run, in every shape."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ros2_cosim.core.record.summary import Summary
from ros2_cosim.core.run.bringup import bring_up
from ros2_cosim.core.run.request import RunRequest
from ros2_cosim.core.run.shape import PreparedRun, RunCallbacks, find_shape


def start(
    prepared: PreparedRun,
    *,
    progress: Callable[[int], None] = lambda time_ns: None,
    on_line: Callable[[str, str], None] = lambda name, line: None,
    on_started: Callable[[dict[str, int]], None] = lambda pids: None,
    on_poll: Callable[[], None] = lambda: None,
) -> Summary:
    """Run what is prepared to its end; the callbacks are those of :class:`RunCallbacks`.

    :raises CosimError: a participant or a process failed; it is named. Bag and summary are
        readable.
    """
    callbacks = RunCallbacks(progress, on_line, on_started, on_poll)
    return find_shape(prepared.options.shape).run(prepared, callbacks)


def run_request(
    request: RunRequest,
    *,
    clear: bool = True,
    domains: Sequence[int] | None = None,
    progress: Callable[[int], None] = lambda time_ns: None,
    on_line: Callable[[str, str], None] = lambda name, line: None,
    on_started: Callable[[dict[str, int]], None] = lambda pids: None,
    on_poll: Callable[[], None] = lambda: None,
) -> Summary:
    """Bring a run up and run it to its end; see :func:`bring_up` and :func:`start`.

    :raises CosimError: the request is wrong, or the run failed
    """
    with bring_up(request, clear=clear, domains=domains) as prepared:
        return start(
            prepared, progress=progress, on_line=on_line, on_started=on_started, on_poll=on_poll
        )
