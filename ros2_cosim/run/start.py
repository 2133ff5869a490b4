# SPDX-License-Identifier: Apache-2.0
"""Running what has been brought up, in every shape."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial

from ros2_cosim.interfaces.memory import forget_former_run
from ros2_cosim.interfaces.turns import TurnWriter
from ros2_cosim.record.summary import Summary, read_summary
from ros2_cosim.run.bringup import PreparedRun, RunRequest, bring_up
from ros2_cosim.run.inproc import InprocRun
from ros2_cosim.run.ros import run_processes
from ros2_cosim.run.tracebacks import noting
from ros2_cosim.run.watchdog import Watchdog

#: Whose lines those of a run without processes are.
INPROC = "inproc"


def start(
    prepared: PreparedRun,
    *,
    progress: Callable[[int], None] = lambda time_ns: None,
    on_line: Callable[[str, str], None] = lambda name, line: None,
    on_started: Callable[[dict[str, int]], None] = lambda pids: None,
    on_poll: Callable[[], None] = lambda: None,
    on_stuck: Callable[[str], None] | None = None,
    turns: TurnWriter | None = None,
) -> Summary:
    """Run what is prepared to its end.

    :param progress: called with the simulated time [ns] about once per simulated second
    :param on_line: called with (process name, line) of everything its processes print
    :param on_started: called with the process ids by name
    :param on_poll: called again and again; what it raises ends the run
    :param on_stuck: in shape ``inproc`` called with one line, in a thread of its own, when a
        participant does not return; the bag is complete, and it ends this process. None: nothing
        ends such a run. Other shapes end it by an error
    :param turns: takes which activation is going on, in shape ``inproc``
    :raises CosimError: a participant or a process failed; it is named. The bag is readable.
    """
    if prepared.options.shape == "inproc":

        def advanced(time_ns: int) -> None:
            on_poll()
            progress(time_ns)

        return _repeated(prepared, advanced, partial(on_line, INPROC), on_stuck, turns)
    run_processes(
        prepared, progress=progress, on_line=on_line, on_started=on_started, on_poll=on_poll
    )
    return read_summary(prepared.output)


def _repeated(
    prepared: PreparedRun,
    progress: Callable[[int], None],
    tell: Callable[[str], None],
    on_stuck: Callable[[str], None] | None,
    turns: TurnWriter | None,
) -> Summary:
    """Run as often as is wanted, in this process; the summary of the first time.

    Nothing of one run reaches the next: all models are made anew, and those before are closed.
    """
    first: Summary | None = None
    for repetition in range(prepared.options.repeat):
        once = prepared.again(repetition) if repetition else prepared
        with noting(prepared.output), InprocRun(once, progress=progress, tell=tell) as run:
            if turns is not None:
                turns.follow(run.runtimes.values())
            with _watched(run, prepared.scenario.watchdog_s, on_stuck):
                summary = run.finish()
        first = first or summary
        forget_former_run()
    assert first is not None, "a run is made at least once"
    return first


@contextmanager
def _watched(
    run: InprocRun, limit_s: float, on_stuck: Callable[[str], None] | None
) -> Iterator[None]:
    if on_stuck is None:
        yield
        return

    def bark(line: str) -> None:
        run.abandon()
        on_stuck(line)

    with Watchdog(limit_s, bark) as watchdog:
        watchdog.watch(*run.runtimes.values())
        yield


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
