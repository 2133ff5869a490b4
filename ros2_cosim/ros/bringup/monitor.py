# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""``cosim monitor``: how far the participants of a run under way are, in the terminal."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any, Literal

from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from ros2_cosim.core.kernel.errors import ConnectionFailedError
from ros2_cosim.core.kernel.lifecycle import State
from ros2_cosim.core.kernel.time import FOREVER, NEVER, format_ns
from ros2_cosim.core.messages.protocol import ParticipantStatus, RunStatus
from ros2_cosim.ros.bringup.control import FIND_S, Visit, find_run
from ros2_cosim.ros.bringup.domain_lock import active_runs

_POLL_S = 0.2
#: So many promises are named that a participant waits for.
_NAMED = 3


#: How the state is shown: until the run ends, or once.
Form = Literal["live", "table", "json"]


def watch(visit: Visit, output: Path | None, *, form: Form) -> None:
    """Show the state of a run.

    :param visit: gets the session
    :param output: that of the run, see :func:`~ros2_cosim.ros.bringup.control.find_run`
    :param form: ``live`` shows it until the run ends, ``table`` and ``json`` print it once
    :raises ConfigurationError: there is no such run
    :raises ConnectionFailedError: the run does not report its state
    """
    run = find_run(output)
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
    if form == "json":
        print(json.dumps({"scenario": run.scenario, **as_data(latest[-1])}, indent=1))
        return
    if form == "table":
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
    from ros2_cosim.ros.node import topics
    from ros2_cosim.ros.node.writers import data_qos

    def take(status: RunStatus) -> None:
        latest[:] = [status]

    session.record_reader(topics.STATUS, topics.STATUS_TYPE, data_qos(), take)


def as_data(status: RunStatus) -> dict[str, Any]:
    """The state of a run as plain data, with the fields of ``RunStatus.msg``.

    States have their names; a time that does not exist yet, or has no upper bound, is null.
    """
    participants = [
        {
            **_plain(entry),
            "state": State(entry.state).name,
            "waits_for": list(entry.waits_for),
            "promised_ns": [_or_null(time) for time in entry.promised_ns],
        }
        for entry in status.participants
    ]
    return {**_plain(status), "state": State(status.state).name, "participants": participants}


def _plain(record: RunStatus | ParticipantStatus) -> dict[str, Any]:
    return {
        name: _or_null(value) if name.endswith("_ns") else value
        for name, value in record._asdict().items()
    }


def _or_null(time: Any) -> Any:
    return None if time in (NEVER, FOREVER) else time


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
