# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Several participants in one process: those whose ``process`` in the scenario is this one."""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection
from contextlib import ExitStack
from functools import partial
from pathlib import Path

from ros2_cosim.core.kernel.errors import (
    Cancelled,
    ConfigurationError,
    CosimError,
    begun_elsewhere,
)
from ros2_cosim.core.kernel.lifecycle_group import LifecycleGroup
from ros2_cosim.core.kernel.model import FullModel
from ros2_cosim.core.process.processes import run_main
from ros2_cosim.core.record.spans import Spans
from ros2_cosim.core.run.tracebacks import noted
from ros2_cosim.core.scenario.hosting import hosted, sharing_thread
from ros2_cosim.core.scenario.system import bare_model, layered_model
from ros2_cosim.ros.bringup.starter_channel import Starter
from ros2_cosim.ros.node.hosting import Member, SystemThreads, Threads, run_members
from ros2_cosim.ros.node.session import Session
from ros2_cosim.ros.programs._start import (
    ReportedError,
    Started,
    participant_node,
    profiled,
    realtime_maker,
    run_node,
)


def main() -> int:
    """Run the node; the ROS parameter ``process`` names the process."""
    return run_node("participants", partial(host, {}, SystemThreads()), shared=True)


def host(models: dict[str, FullModel], threads: Threads, started: Started) -> bool:
    """Run all participants of the process.

    :param models: of those that take part again; changed to those that will
    :param threads: in which they run
    :returns: whether the run begins anew
    """
    session, scenario = started.session, started.scenario
    process = session.process
    names = hosted(scenario).get(process, [])
    if not names:
        raise ConfigurationError(
            f"parameter process: found '{process}'; the scenario has "
            f"{', '.join(hosted(scenario)) or 'no participant with the key process'}"
        )
    if session.repetition:
        names = [name for name in names if name in models]
    failures = _Failures(session, started.starter)
    together = sharing_thread(scenario, names)
    with profiled(started, sorted(together)) as spans:
        bunches = _members(started, names, models, failures, together, spans)
        note = _noted_turns(started, bunches, spans)
        endings = run_members(session, bunches, failures.report, threads, note)
    again = {ending.member.name for ending in endings if ending.again}
    for name in models.keys() - again:
        del models[name]
    failures.check(all_of=len(names))
    if session.stop_signal is not None:
        raise Cancelled("the process was asked to end")
    for ending in endings:
        if ending.error is not None and begun_elsewhere(ending.error):
            raise ending.error
    return bool(again)


def _members(
    started: Started,
    names: list[str],
    models: dict[str, FullModel],
    failures: _Failures,
    together: Collection[str],
    spans: Spans | None,
) -> list[list[Member]]:
    """Make the participants one after the other, without those that fail and can be spared.

    :param models: those of the run before; then those of this one
    :param together: those that share a thread
    :param spans: take what that thread spends its time on
    :returns: those of each thread
    :raises ReportedError: one failed that the run needs; the others have ended
    """
    scenario = started.scenario
    realtime = realtime_maker(started.session, floating=True)
    shared: list[Member] = []
    alone: list[list[Member]] = []
    with ExitStack() as stack:
        for name in names:
            required = partial(failures.matters, name, scenario.participants[name].is_required)
            own = Session(name, host=started.session, waits=name not in together)
            # As of a node with its own process.
            own.parameter("scenario_file", "")
            own.parameter("participant", name)
            member = started._replace(session=own)

            def make(name: str = name) -> FullModel:
                return bare_model(scenario, name, "ros")

            try:
                former = models.pop(name, None)
                models[name] = model = layered_model(scenario, name, make, realtime(), former)
                noted = spans if name in together else None
                node = participant_node(member, name, model, noted)
            except Exception as error:  # whatever it is, it is that participant's
                member.session.close()
                failures.report(name, required(), error)
                _close({name: models.pop(name)} if name in models else {})
                if required():
                    _close(models)
                failures.check(all_of=len(names))
            else:
                stack.push(member.session)
                made = Member(name, member.session, node.course, required)
                if name in together:
                    shared.append(made)
                else:
                    alone.append([made])
        stack.pop_all()
    shared.sort(key=lambda member: started.graph.order.index(member.name))
    return [bunch for bunch in (shared, *alone) if bunch]


def _noted_turns(
    started: Started, bunches: list[list[Member]], spans: Spans | None
) -> Callable[[str], None]:
    """What notes whose turn it is: of a death the starter learns only that it was one.

    :param spans: take how long it took to find out; None: nothing does
    """
    if not any(len(bunch) > 1 for bunch in bunches):
        return lambda name: None
    if spans is None:
        return started.turns.note

    def note(name: str) -> None:
        started.turns.note(name)
        spans.turn(name)

    return note


class _Failures:
    """Reports each failure once: that of the process, or the loss of an optional participant."""

    def __init__(self, session: Session, starter: Starter) -> None:
        self._process = session.process
        self._output = Path(session.parameter("scenario_file", "")).parent
        self._starter = starter
        self._count = 0
        self._fatal = False

    def report(self, name: str, required: bool, error: BaseException) -> None:
        """Say on behalf of a participant why it failed."""
        kind = "" if isinstance(error, CosimError) else f"{type(error).__name__}: "
        text = f"{name}: {kind}{noted(error, self._output)}"
        if required:
            # Report one cause; others of the same process often fail at the same time for the same
            # reason.
            if not self._fatal:
                self._starter.failed(text)
        else:
            # The process goes on: its end will not show the loss.
            self._starter.leave_early(name, text)
            print(f"process {self._process} goes on without {text}", file=sys.stderr, flush=True)
        self._fatal = self._fatal or required
        self._count += 1

    def matters(self, name: str, declared: bool) -> bool:
        """Whether the run cannot go on without a participant.

        :param declared: what the scenario says of it; the system controller may say otherwise
        """
        named = self._starter.required
        return declared if named is None else name in named

    def check(self, *, all_of: int) -> None:
        """Check whether the process has failed: with a participant that is required, or with all.

        :param all_of: how many there were
        :raises ReportedError: it has
        """
        if self._fatal or self._count == all_of:
            raise ReportedError


def _close(models: dict[str, FullModel]) -> None:
    LifecycleGroup(models).close()
    models.clear()


if __name__ == "__main__":
    run_main(main)
