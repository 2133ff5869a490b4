# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The command ``cosim control``, which talks to a run under way.

What it needs of ROS is imported when it is called.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal

import typer

from ros2_cosim.cli.console import refuse_beside, visiting
from ros2_cosim.cli.parameters import AsJson
from ros2_cosim.core.documents.plain_data import parse_value
from ros2_cosim.core.kernel.errors import ConfigurationError, RunError
from ros2_cosim.core.realtime.pacing import parse_rate
from ros2_cosim.core.realtime.run_control import Command, Request
from ros2_cosim.core.run.request import read_time
from ros2_cosim.core.sockets.peers import own_user

_UNSIGNED = 2**32
#: Requests whose value is their reason.
_REASONED = (Command.STOP, Command.ABORT, Command.RESET)

Out = Annotated[
    Path | None, typer.Option(help="Output directory of the run, if there are several.")
]
Word = Literal[
    "monitor",
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


def make_request(word: str, values: Sequence[str], at: str | None = None) -> Request:
    """The request that a command line asks for.

    :param values: count of steps and the length of each, count of instants, time to run to, or
        rate; names of participants; what is changed, to what and why; why the run ends
    :param at: from when on a change holds
    :raises ConfigurationError: the words are not a request
    """
    command = Command[word.upper()]
    if at is not None and command is not Command.CHANGE:
        raise ConfigurationError(f"control {word}: --at is for changes only")
    if command is Command.CHANGE:
        return _change(values, at)
    if command is Command.REQUIRE:
        if not values:
            raise ConfigurationError("control require: needs the names of participants")
        return Request(command, participants=tuple(values))
    if command is Command.STEP and len(values) == 2:
        count, length = values
        request = make_request(word, (count,), at)
        return request._replace(time_ns=read_time("control step", length))
    value = _only_value(command, word, values)
    request = Request(command)
    if command in _REASONED:
        return request._replace(reason=value)
    if command is Command.UNTIL:
        return request._replace(time_ns=read_time("control until", value, minimum=0))
    if command is Command.RATE:
        return request._replace(rate=parse_rate(value, "control rate") or 0.0)
    if value:
        if not value.isdecimal() or not 0 < int(value) < _UNSIGNED:
            raise ConfigurationError(f"control {word}: found '{value}'; allowed is a count from 1")
        request = request._replace(steps=int(value))
    return request


def _change(values: Sequence[str], at: str | None) -> Request:
    path, equals, text = values[0].partition("=") if 0 < len(values) <= 2 else ("", "", "")
    if not (path and equals):
        found = " ".join(values)
        raise ConfigurationError(
            f"control change: found '{found}'; needed is PATH=VALUE, 'cosim control changes' "
            "lists the paths"
        )
    by = ": ".join((f"cosim control of {own_user()}", *values[1:]))
    change = Request(Command.CHANGE, reason=by, path=path, value=_as_json(text))
    return change if at is None else change._replace(time_ns=read_time("control --at", at))


def _only_value(command: Command, word: str, values: Sequence[str]) -> str:
    """The value of a request that takes one at most; empty: there is none."""
    if len(values) > 1:
        found = " ".join(values)
        raise ConfigurationError(f"control {word}: found '{found}'; it takes one value at most")
    needs = command in (Command.UNTIL, Command.RATE)
    if not values and needs:
        raise ConfigurationError(f"control {word}: needs a value, as in 'cosim control {word} 1s'")
    if values and not needs and command not in (Command.STEP, Command.INSTANT, *_REASONED):
        raise ConfigurationError(f"control {word}: found '{values[0]}'; it takes no value")
    return values[0] if values else ""


def _as_json(text: str) -> str:
    """A value as a scenario has it, in JSON.

    :raises ConfigurationError: it is not valid
    """
    try:
        return json.dumps(parse_value(text, "control change"), allow_nan=False)
    except (ValueError, TypeError) as error:
        raise ConfigurationError(f"control change: found {text!r}: {error}") from None


def _tell_changes(output: Path | None, *, as_json: bool) -> None:
    """Print what may be changed in a run under way, as it is now."""
    from ros2_cosim.ros.bringup.control import changeable_now, find_run

    found = changeable_now(find_run(output, _tell))
    if as_json:
        print(json.dumps([each._asdict() for each in found], indent=1))
    for each in () if as_json else found:
        print(f"{each.path}: {json.dumps(each.value)}")


def control(
    context: typer.Context,
    word: Annotated[
        Word,
        typer.Argument(
            help="The request; monitor: show how far each participant is, and what it waits for."
        ),
    ],
    value: Annotated[
        list[str] | None,
        typer.Argument(
            help="step: a count, and the length of each (clock_step of the scenario); instant: a "
            "count; until: a time; rate: a number or max; require: the participants; change: "
            "PATH=VALUE, and the reason; stop, abort, reset: the reason, which becomes part of "
            "the end reason of the run."
        ),
    ] = None,
    at: Annotated[
        str | None,
        typer.Option(help="Simulated time from which a change holds (as soon as possible)."),
    ] = None,
    as_json: AsJson = False,
    out: Out = None,
) -> None:
    """Watch, pause, step, pace, change or end a run under way; returns when that is done."""
    with visiting() as visit:
        from ros2_cosim.ros.bringup.control import ask

        if word == "monitor":
            from ros2_cosim.ros.bringup.monitor import watch

            refuse_beside(context, "control monitor", "value at")
            live = sys.stdout.isatty()
            watch(visit, out, form="json" if as_json else "live" if live else "table")
            return
        if word == "changes":
            refuse_beside(context, "control changes", "value at")
            _tell_changes(out, as_json=as_json)
            return
        answer = ask(visit, make_request(word, value or (), at), out, told=_tell)
        if not answer.success:
            raise RunError(f"control {word}: {answer.message}")
        print(json.dumps(answer._asdict()) if as_json else answer.message)


def _tell(text: str) -> None:
    print(f"cosim: note: {text}", file=sys.stderr, flush=True)
