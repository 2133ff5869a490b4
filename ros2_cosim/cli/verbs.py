# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The verbs of ``cosim``: its own, and entry points of the group ``ros2_cosim.verbs``.

Each is imported when it is called: to import all takes longer than most of them do.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any, Final, cast

import typer
from typer.core import TyperGroup

from ros2_cosim.cli.console import EXIT_USAGE, clear_errors
from ros2_cosim.cli.examples import add_examples, first_steps
from ros2_cosim.core.documents.offered import offered
from ros2_cosim.core.kernel.errors import ConfigurationError, MissingWingError
from ros2_cosim.core.kernel.loading import line_of, note_code_of_others, refuse_missing_wing
from ros2_cosim.core.run.removed import REMOVED

#: Verb -> where its function, or the application of a group of commands, is; in the order of
#: ``cosim --help``.
VERBS: Final = {
    "run": "ros2_cosim.cli.run:run",
    "check": "ros2_cosim.cli.check:check",
    "plan": "ros2_cosim.cli.plan:plan",
    "report": "ros2_cosim.cli.report:report",
    "carla-headless": "ros2_cosim.cli.headless:carla_headless",
    "models": "ros2_cosim.cli.models:models",
    "new": "ros2_cosim.cli.new:new",
    "diff": "ros2_cosim.cli.diff:diff",
    "profile": "ros2_cosim.cli.profile:profile",
    "replay": "ros2_cosim.cli.replay:replay",
    "sweep": "ros2_cosim.cli.sweep:sweep",
    "join": "ros2_cosim.cli.join:join",
    "control": "ros2_cosim.cli.control:control",
    "dashboard": "ros2_cosim.cli.dashboard:dashboard",
    "dcp": "ros2_cosim.cli.dcp:app",
    "study": "ros2_cosim.cli.study:app",
    "vds": "ros2_cosim.cli.vds:app",
    "fmu": "ros2_cosim.cli.fmu:fmu",
    "messages": "ros2_cosim.cli.messages:app",
}
VERB_GROUP = "ros2_cosim.verbs"


def offered_verbs() -> dict[str, str]:
    """The verbs of other distributions; one with the name of an own verb is none."""
    return {n: entry.value for n, entry in offered(VERB_GROUP).items() if n not in VERBS}


def make_group(name: str, help_text: str, *, cls: type[TyperGroup] | None = None) -> typer.Typer:
    """An application of several commands."""
    return typer.Typer(
        name=name,
        help=help_text,
        cls=cls,
        no_args_is_help=True,
        add_completion=cls is not None,
        # The units in help texts, as [s], are not marks of another language.
        rich_markup_mode="markdown",
        pretty_exceptions_enable=False,
    )


def load(verb: str) -> typer.Typer:
    """The application of a verb; one of a single command stands for that."""
    found = _function(verb, VERBS.get(verb) or offered_verbs()[verb])
    if isinstance(found, typer.Typer):
        return found
    alone = typer.Typer(add_completion=False, rich_markup_mode="markdown")
    alone.command(verb)(found)
    return alone


def _function(verb: str, target: str) -> typer.Typer | Callable[..., Any]:
    """What a verb stands for; in its place a function that says why it cannot be loaded."""
    module, _, name = target.partition(":")
    problem = f"{target} is neither a function nor a typer.Typer"
    if verb not in VERBS:
        note_code_of_others()
    try:
        found = vars(import_module(module)).get(name)
        if callable(found):
            return cast("Callable[..., Any]", found)
    except Exception as error:
        try:
            refuse_missing_wing(error, f"verb '{verb}'")
        except MissingWingError as missing:
            return _refusing(missing)
        if verb in VERBS:
            raise
        problem = f"{type(error).__name__}: {error}{line_of(error)}"
    return _refusing(ConfigurationError(f"verb '{verb}' cannot be loaded: {problem}"))


def _refusing(error: ConfigurationError) -> typer.Typer:
    """A command that takes any words and says why there is no such one."""
    alone = typer.Typer(add_completion=False)
    anything = {"allow_extra_args": True, "ignore_unknown_options": True}
    missing = str(error).partition(" needs ")[2] if isinstance(error, MissingWingError) else ""

    @alone.command(
        context_settings=anything, help=f"Needs {missing}." if missing else "Cannot be loaded."
    )
    def refuse() -> None:
        with clear_errors():
            raise error

    return alone


def _refuse_removed(words: list[str]) -> None:
    """End with one line if a command line has a word that is gone."""
    given = {word.partition("=")[0] for word in words if word.startswith("--")}
    for old, new in REMOVED.items():
        command, _, option = old.partition(" --")
        named = command.split()
        if words[: len(named)] == named and (not option or f"--{option}" in given):
            print(f"cosim: {old} is gone; it is {new} now", file=sys.stderr)
            raise typer.Exit(EXIT_USAGE)


class Verbs(TyperGroup):
    """A group whose commands are the verbs."""

    def load_all(self) -> None:
        """Have all in :attr:`commands`, as programs that look at a command line expect it."""
        context: Any = None
        for verb in self.list_commands(context):
            self.get_command(context, verb)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read a command line; an empty one is answered with the first steps."""
        if not args and not ctx.resilient_parsing:
            print(first_steps())
            raise typer.Exit(EXIT_USAGE)
        return super().parse_args(ctx, args)

    def list_commands(self, ctx: Any) -> list[str]:
        """The names of all."""
        return [*VERBS, *offered_verbs()]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The command of a name; None: there is none."""
        known = cmd_name in VERBS or cmd_name in offered_verbs()
        if known and cmd_name not in self.commands:
            command = typer.main.get_command(load(cmd_name))
            add_examples(command, cmd_name)
            self.add_command(command, cmd_name)
        return super().get_command(ctx, cmd_name)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The command that words name; what is misspelt is compared with all that are loaded."""
        _refuse_removed(args)
        if args[0] not in VERBS and args[0] not in offered_verbs():
            self.load_all()
        return super().resolve_command(ctx, args)
