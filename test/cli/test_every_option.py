# SPDX-License-Identifier: Apache-2.0
"""No option is dropped: its command uses it, or refuses it beside one that leaves no use for it."""

from __future__ import annotations

import ast
import enum
import inspect
import textwrap
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import pytest
import typer
from typer.testing import CliRunner

from ros2_cosim.cli.main import app
from ros2_cosim.run.bringup import RunRequest, checked
from ros2_cosim.run.options import OPTIONS as RUN_OPTIONS
from ros2_cosim.run.options import read_options

ROOT = Path(__file__).parents[2]


def commands(group: typer.Typer, words: tuple[str, ...] = ()) -> Iterator[tuple[str, Any]]:
    """Every command with its function, by its words; what a group does itself is one, too."""
    if group.registered_callback is not None:
        yield " ".join(words), group.registered_callback.callback
    for info in group.registered_commands:
        function: Any = info.callback
        yield " ".join((*words, info.name or function.__name__.replace("_", "-"))), function
    for inner in group.registered_groups:
        assert inner.typer_instance is not None
        name = inner.name or inner.typer_instance.info.name
        yield from commands(inner.typer_instance, (*words, str(name)))


COMMANDS = dict(commands(app))
OPTIONS = [
    (command, name)
    for command, function in COMMANDS.items()
    for name, kind in get_type_hints(function, include_extras=True).items()
    if get_origin(kind) is Annotated
]


def body_of(function: Callable[..., Any]) -> ast.FunctionDef:
    (found,) = ast.parse(textwrap.dedent(inspect.getsource(function))).body
    assert isinstance(found, ast.FunctionDef)
    return found


def parameters(command: Any) -> int:
    """How many options and arguments a command of the command line has, with its own ones."""
    inner = vars(command).get("commands", {}).values()
    return len(command.params) + sum(map(parameters, inner))


def test_all_options_are_seen() -> None:
    """The command line makes two itself, for completion."""
    assert parameters(typer.main.get_command(app)) - len(OPTIONS) == 2


@pytest.mark.parametrize("command", COMMANDS)
def test_each_command_uses_its_options(command: str) -> None:
    body = body_of(COMMANDS[command])
    used = {
        node.id
        for statement in body.body
        for node in ast.walk(statement)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)
    }
    asked = {name for each, name in OPTIONS if each == command}
    if not command:
        asked.remove("version")  # acts before the command, by a function of its own
    assert asked <= used, f"dropped: {', '.join(sorted(asked - used))}"


def value_of(kind: Any) -> list[str]:
    """A value that an option of this type takes; none for a flag."""
    if get_origin(kind) is Annotated:
        return value_of(get_args(kind)[0])
    if get_origin(kind) in (Union, types.UnionType):
        return value_of(next(part for part in get_args(kind) if part is not type(None)))
    if get_origin(kind) is Literal:
        return [str(get_args(kind)[-1])]
    if get_origin(kind) is list:
        return value_of(get_args(kind)[0])
    if isinstance(kind, type) and issubclass(kind, enum.Enum):
        return [str(list(kind)[0].value)]
    return {bool: [], int: ["1"], float: ["0.5"]}.get(kind, ["20ms"])


#: What leaves no use for other options -> the words of the command with it.
CHOICES: dict[tuple[str, str], tuple[str, ...]] = {
    ("vds serve", "--fleet"): ("--fleet", "fleet.yaml"),
    ("vds serve", "--lockstep"): ("--lockstep",),
    ("vds serve", "no --http-port"): (),
    ("dcp serve", "--world"): ("--world", str(ROOT / "config" / "platoon.yaml")),
    ("dcp serve", "--scenario"): ("--scenario", str(ROOT / "config" / "platoon.yaml")),
    ("dcp serve", "a model"): ("gain.py:Gain",),
    ("dcp describe", "--scenario"): ("--scenario", str(ROOT / "config" / "platoon.yaml")),
    ("dcp describe", "--external"): ("--external", str(ROOT / "config" / "platoon.yaml")),
    ("control", "control changes"): ("changes",),
}


def refusals() -> Iterator[tuple[str, str, str]]:
    """Command, choice and parameter of every refusal that a command declares."""
    for command, function in COMMANDS.items():
        for node in ast.walk(body_of(function)):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "refuse_beside":
                for scenario in (True, False):  # the one name that a choice depends on
                    known = {**function.__globals__, "scenario": scenario}
                    choice, names = (
                        eval(compile(ast.Expression(part), "refusal", "eval"), known)
                        for part in node.args[1:]
                    )
                    for name in names.split():
                        yield command, choice, name


@pytest.mark.parametrize(("command", "choice", "name"), sorted(set(refusals())))
def test_what_a_choice_leaves_no_use_for_is_refused(
    command: str, choice: str, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    kind = get_type_hints(COMMANDS[command], include_extras=True)[name]
    info: Any = typer.main.get_command(app)
    for word in command.split():
        info = info.commands[word]
    option = next(p for p in info.params if p.name == name)
    flag = [(option.secondary_opts or option.opts)[0]] if option.opts[0].startswith("-") else []
    given = [*flag, *value_of(kind)] if flag else ["20ms"]
    done = CliRunner().invoke(app, [*command.split(), *CHOICES[command, choice], *given])
    assert done.exit_code == 1, done.output
    assert f"found with {choice}, which leaves no use for it" in done.stderr
    assert len(done.stderr.splitlines()) == 1


PLATOON = ROOT / "config" / "platoon.yaml"
#: Values of those options of a run that take no number, time or truth value.
OF_RUN: dict[str, Any] = {
    "shape": "composed",
    "simulator": "sumo",
    "host": "127.0.0.2",
    "out": "elsewhere",
    "set": "run_ahead=200ms",
    "controllers": "cruise_control",
    "without": "referee",
    "by_hand": "sensor1",
    "transport": "dds",
    "processes": "own",
    "ros_args": "-p use_sim_time:=false",
    "foxglove": "0",
    "namespace": "/other",
}
BY_READER = {"_whole": "3", "_rate": "2", "read_time": "1s", "_times": "1s"}
#: What another option needs beside it.
BESIDE = {
    "hard": {"rate": 1.0},
    "without": {"set": ("participants.referee.required=false",)},
    "checkpoints": {"shape": "inproc"},
}
#: Options that need the files of a run before, or a program; where tests follow them.
ELSEWHERE = {
    "arrivals": ROOT / "test" / "realtime" / "test_runs.py",
    "branch": ROOT / "test" / "run" / "test_checkpoints.py",
    "no-control": ROOT / "test" / "runs" / "test_control.py",
    "rviz": ROOT / "test" / "launch" / "test_plan.py",
}


@pytest.mark.parametrize("name", ELSEWHERE)
def test_the_others_are_followed_elsewhere(name: str) -> None:
    assert name.replace("-", "_") in RUN_OPTIONS
    assert name in ELSEWHERE[name].read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "name", [name for name in RUN_OPTIONS if name.replace("_", "-") not in ELSEWHERE]
)
def test_each_option_of_a_run_changes_what_is_prepared(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    option = RUN_OPTIONS[name]
    text = OF_RUN.get(name) or BY_READER.get(option.read.__name__)
    if text is None:
        text = "false" if option.default == "true" else "true"
    beside: Any = BESIDE.get(name, {})
    given = RunRequest(PLATOON, **beside, **read_options({name: text}))
    assert checked(given) != checked(RunRequest(PLATOON, **beside))
