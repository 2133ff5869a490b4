# SPDX-License-Identifier: Apache-2.0
"""``cosim monitor``: how far the participants of a run under way are, in the terminal."""

from __future__ import annotations

import sys
import time
from typing import Any

from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from ros2_cosim.interfaces.protocol import ParticipantStatus, RunStatus
from ros2_cosim.kernel.errors import ConnectionFailedError
from ros2_cosim.kernel.lifecycle import State
from ros2_cosim.kernel.time import FOREVER, NEVER, format_ns
from ros2_cosim.run.control import FIND_S, Visit, find_run
from ros2_cosim.run.domain_lock import active_runs

_POLL_S = 0.2
#: So many promises are named that a participant waits for.
_NAMED = 3


def watch(visit: Visit, domain: int | None, namespace: str | None = None, *, once: bool) -> None:
    """Show the state of a run until it ends.

    :param visit: gets the session
    :param domain: ROS domain of the run, None: the only one
    :param namespace: of the run, None: any
    :param once: print one table and return
    :raises ConfigurationError: there is no such run
    :raises ConnectionFailedError: the run does not tell its state
    """
    run = find_run(domain, namespace)
    console = Console() if sys.stdout.isatty() else Console(width=140)
    session = visit.join(run, "monitor")
    latest: list[RunStatus] = []
    _listen(session, latest)
    began = time.monotonic()
    while not latest:
        if time.monotonic() - began > FIND_S:
            raise ConnectionFailedError(
                f"the run in {run.place} published no state within {FIND_S:g} s"
            )
        if run not in active_runs():
            raise ConnectionFailedError(f"the run in {run.place} has ended")
        session.wait(_POLL_S)
    if once:
        console.print(render(latest[-1], run.scenario))
        return
    with Live(console=console, auto_refresh=False) as live:
        shown: RunStatus | None = None
        looked = time.monotonic()
        while True:
            session.wait(_POLL_S)
            if latest[-1] is not shown:
                shown = latest[-1]
                live.update(render(shown, run.scenario), refresh=True)
            if time.monotonic() - looked > 1.0:
                looked = time.monotonic()
                if run not in active_runs():
                    return


def _listen(session: Any, latest: list[RunStatus]) -> None:
    from ros2_cosim.ros import topics
    from ros2_cosim.ros.writers import data_qos

    def take(status: RunStatus) -> None:
        latest[:] = [status]

    session.record_reader(topics.STATUS, topics.STATUS_TYPE, data_qos(), take)


def render(status: RunStatus, scenario: str) -> Group:
    """The state of a run as a head line, a table, and a line about what holds it back."""
    wanted = f"{status.rate:g}" if status.rate else "max"
    head = Text.assemble(
        (f"{scenario} ", "bold"),
        f"{State(status.state).name}: {status.reason}\n",
        f"at {_time(status.time_ns)}, granted to {_time(status.horizon_ns)}, "
        f"end {_time(status.end_ns)}; real-time factor {status.real_time_factor:.2f} "
        f"(wanted {wanted}); {status.wall_s:.1f} s of wall time",
    )
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("participant", no_wrap=True)
    table.add_column("state", no_wrap=True)
    for title in ("complete before", "activations", "per s"):
        table.add_column(title, justify="right", no_wrap=True)
    table.add_column("waits for")
    table.add_column("since", justify="right", no_wrap=True)
    for entry in status.participants:
        style = "bold red" if entry.silent else None
        if entry.participant == status.blocking:
            style = "bold yellow"
        table.add_row(
            entry.participant,
            State(entry.state).name if entry.present else "not seen",
            _time(entry.bound_ns),
            str(entry.activations),
            f"{entry.rate:.0f}",
            waiting(entry),
            f"{entry.since_s:.1f} s",
            style=style,
        )
    foot = f"held back by {status.blocking}: {status.why}" if status.blocking else ""
    return Group(head, table, Text(foot))


def waiting(entry: ParticipantStatus) -> str:
    """What a participant waits for, in a few words."""
    if not entry.present:
        return "to be started"
    if entry.silent:
        return f"no sign of life for {entry.heard_s:.1f} s"
    needs = [
        source if source == "horizon" else f"{source} ({_time(time)})"
        for source, time in zip(entry.waits_for, entry.promised_ns, strict=True)
    ]
    more = f" and {len(needs) - _NAMED} more" if len(needs) > _NAMED else ""
    return ", ".join(needs[:_NAMED]) + more


def _time(time: int) -> str:
    if time == NEVER:
        return "-"
    return "the end" if time == FOREVER else format_ns(time)
