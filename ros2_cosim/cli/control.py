# SPDX-License-Identifier: Apache-2.0
"""The commands ``cosim control`` and ``cosim monitor``, which talk to a run under way.

What they need of ROS is imported when they are called.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from ros2_cosim.cli.console import refuse_beside, visiting
from ros2_cosim.core.documents.plain_data import parse_value
from ros2_cosim.core.kernel.errors import ConfigurationError, RunError
from ros2_cosim.core.kernel.time import parse_duration, to_seconds
from ros2_cosim.core.realtime.pacing import parse_rate
from ros2_cosim.core.realtime.run_control import Command, Request
from ros2_cosim.core.run.request import read_time
from ros2_cosim.core.sockets.peers import own_user

if TYPE_CHECKING:
    from ros2_cosim.ros.bringup.control import WhichRun

_UNSIGNED = 2**32

Domain = Annotated[int | None, typer.Option(help="ROS domain of the run, if there are several.")]
Namespace = Annotated[
    str | None, typer.Option(help="Namespace of the run, if there are several in its domain.")
]
Out = Annotated[Path | None, typer.Option(help="Output directory of the run, which says it, too.")]
Word = Literal[
    "status",
    "pause",
    "resume",
    "step",
    "instant",
    "until",
    "rate",
    "stop",
    "abort",
    "reset",
    "require",
    "change",
    "changes",
]


def make_request(
    word: str, values: Sequence[str], by: str | None, reason: str, at: str | None = None
) -> Request:
    """The request that a command line asks for.

    :param values: count of steps or instants, time to run to, or rate; names of participants; what
        is changed, and to what
    :param by: length of a step
    :param at: from when on a change holds
    :raises ConfigurationError: the words are no request
    """
    command = Command[word.upper()]
    if by is not None and command is not Command.STEP:
        raise ConfigurationError(f"control {word}: --by is for steps only")
    if at is not None and command is not Command.CHANGE:
        raise ConfigurationError(f"control {word}: --at is for changes only")
    if command is Command.CHANGE:
        path, equals, text = values[0].partition("=") if len(values) == 1 else ("", "", "")
        if not (path and equals):
            found = " ".join(values)
            raise ConfigurationError(
                f"control change: found '{found}'; needed is PATH=VALUE, 'cosim control changes' "
                "lists the paths"
            )
        by = f"cosim control of {own_user()}" + (f": {reason}" if reason else "")
        change = Request(command, reason=by, path=path, value=_as_json(text))
        return change if at is None else change._replace(time_ns=read_time("control --at", at))
    if command is Command.REQUIRE:
        if not values:
            raise ConfigurationError("control require: needs the names of participants")
        return Request(command, reason=reason, participants=tuple(values))
    if len(values) > 1:
        found = " ".join(values)
        raise ConfigurationError(f"control {word}: found '{found}'; it takes one value at most")
    value = values[0] if values else None
    counted = command in (Command.STEP, Command.INSTANT)
    if value is None and command in (Command.UNTIL, Command.RATE):
        raise ConfigurationError(f"control {word}: needs a value, as in 'cosim control {word} 1s'")
    if value is not None and not counted and command not in (Command.UNTIL, Command.RATE):
        raise ConfigurationError(f"control {word}: found '{value}'; it takes no value")
    request = Request(command, reason=reason)
    if command is Command.UNTIL:
        return request._replace(time_ns=read_time("control until", str(value), minimum=0))
    if command is Command.RATE:
        return request._replace(rate=parse_rate(str(value)) or 0.0)
    if counted and value is not None:
        if not value.isdecimal() or not 0 < int(value) < _UNSIGNED:
            raise ConfigurationError(f"control {word}: found '{value}'; allowed is a count from 1")
        request = request._replace(steps=int(value))
    if by is not None:
        request = request._replace(time_ns=read_time("control step --by", by))
    return request


def _as_json(text: str) -> str:
    """A value as a scenario has it, in JSON.

    :raises ConfigurationError: it is none
    """
    try:
        return json.dumps(parse_value(text, "control change"), allow_nan=False)
    except (ValueError, TypeError) as error:
        raise ConfigurationError(f"control change: found {text!r}: {error}") from None


def _tell_changes(which: WhichRun, *, as_json: bool) -> None:
    """Print what may be changed in a run under way, as it is now."""
    from ros2_cosim.ros.bringup.control import changeable_now, find_run

    found = changeable_now(find_run(which, _tell))
    if as_json:
        print(json.dumps([each._asdict() for each in found], indent=1))
    for each in () if as_json else found:
        print(f"{each.path}: {json.dumps(each.value)}")


def control(
    context: typer.Context,
    word: Annotated[Word, typer.Argument(help="The request.")],
    value: Annotated[
        list[str] | None,
        typer.Argument(
            help="step, instant: a count; until: a time; rate: a number or max; require: the "
            "participants; change: PATH=VALUE."
        ),
    ] = None,
    by: Annotated[
        str | None, typer.Option(help="Length of a step (clock_step of the scenario).")
    ] = None,
    at: Annotated[
        str | None,
        typer.Option(help="Simulated time from which on a change holds (as soon as it can)."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Answer as one JSON document.")] = False,
    reason: Annotated[
        str, typer.Option(help="The reason; part of the end reason of the run.")
    ] = "",
    domain: Domain = None,
    namespace: Namespace = None,
    out: Out = None,
    timeout: Annotated[
        str, typer.Option(help="Wall time to wait until the run answers; 0: no limit.")
    ] = "0",
) -> None:
    """Pause, step, pace, change or end a run under way; returns when that is done."""
    with visiting() as visit:
        from ros2_cosim.ros.bringup.control import WhichRun, ask

        which = WhichRun(domain, namespace, out)
        if word == "changes":
            refuse_beside(context, "control changes", "value by at reason timeout")
            _tell_changes(which, as_json=as_json)
            return
        request = make_request(word, value or (), by, reason, at)
        limit_s = to_seconds(parse_duration(timeout, "--timeout"))
        answer = ask(visit, request, which, limit_s, _tell)
        if not answer.success:
            raise RunError(f"control {word}: {answer.message}")
        print(json.dumps(answer._asdict()) if as_json else answer.message)


def monitor(
    once: Annotated[bool, typer.Option("--once", help="Print one table and end.")] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the state as one JSON document, and end.")
    ] = False,
    domain: Domain = None,
    namespace: Namespace = None,
    out: Out = None,
) -> None:
    """Show how far each participant of a run under way is, and what it waits for."""
    with visiting() as visit:
        from ros2_cosim.ros.bringup.control import WhichRun
        from ros2_cosim.ros.bringup.monitor import Form, watch

        form: Form = "json" if as_json else "table" if once else "live"
        watch(visit, WhichRun(domain, namespace, out), form=form)


def _tell(text: str) -> None:
    print(f"cosim: note: {text}", file=sys.stderr, flush=True)
