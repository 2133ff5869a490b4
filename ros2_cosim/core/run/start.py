# SPDX-License-Identifier: Apache-2.0
"""Running what has been brought up, in every shape."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from ros2_cosim.core.process.memory import forget_former_run
from ros2_cosim.core.record.summary import Summary, read_summary
from ros2_cosim.core.run.inproc import InprocRun
from ros2_cosim.ros.bringup.bringup import PreparedRun, RunRequest, bring_up
from ros2_cosim.ros.bringup.ros import run_processes

#: Whose lines those of a run without processes are.
INPROC = "inproc"


def start(
    prepared: PreparedRun,
    *,
    progress: Callable[[int], None] = lambda time_ns: None,
    on_line: Callable[[str, str], None] = lambda name, line: None,
    on_started: Callable[[dict[str, int]], None] = lambda pids: None,
    on_poll: Callable[[], None] = lambda: None,
) -> Summary:
    """Run what is prepared to its end.

    :param progress: called with the simulated time [ns] about once per simulated second
    :param on_line: called with (process name, line) of everything its processes print
    :param on_started: called with the process ids by name
    :param on_poll: called again and again; what it raises ends the run
    :raises CosimError: a participant or a process failed; it is named. Bag and summary are
        readable.
    """
    if prepared.options.shape == "inproc":

        def advanced(time_ns: int) -> None:
            on_poll()
            progress(time_ns)

        return _repeated(prepared, advanced, partial(on_line, INPROC))
    run_processes(
        prepared, progress=progress, on_line=on_line, on_started=on_started, on_poll=on_poll
    )
    return read_summary(prepared.output)


def _repeated(
    prepared: PreparedRun,
    progress: Callable[[int], None],
    tell: Callable[[str], None],
) -> Summary:
    """Run as often as is wanted, in this process; the summary of the first time.

    Nothing of one run reaches the next: all models are made anew, and those before are closed.
    """
    first: Summary | None = None
    for repetition in range(prepared.options.repeat):
        once = prepared.again(repetition) if repetition else prepared
        with InprocRun(once, progress=progress, tell=tell) as run:
            summary = run.finish()
        first = first or summary
        forget_former_run()
    assert first is not None, "a run is made at least once"
    return first


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
