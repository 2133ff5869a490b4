# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The command line ``cosim``."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from ros2_cosim import __version__, compiled
from ros2_cosim.cli.console import (
    EXIT_ERROR,
    becomes_program,
    safe_output,
    show_notes,
    small_spaces,
)
from ros2_cosim.cli.verbs import Verbs, make_group
from ros2_cosim.core.kernel.errors import MissingWingError
from ros2_cosim.core.kernel.loading import refuse_missing_wing
from ros2_cosim.core.run.request import words

app = make_group("cosim", "Deterministic ROS 2 co-simulation for automated driving.", cls=Verbs)
#: As all programs of ROS take it: what follows is for ROS.
ROS_ARGS = "--ros-args"


def _print_version(wanted: bool) -> None:
    if wanted:
        from ros2_cosim.core.messages.packages import changed_since_build

        print(f"cosim {__version__}, compiled: {compiled.describe()}")
        if changed := changed_since_build():
            print(f"{changed} changed since the messages were compiled; `make setup` does it again")
        raise typer.Exit


@app.callback()
def cosim(
    version: Annotated[
        bool,
        typer.Option(
            "--version",
            callback=_print_version,
            is_eager=True,
            help="Print the version, and whether hot modules and messages are compiled.",
        ),
    ] = False,
) -> None:
    """Options of all commands."""


def main(words: list[str] | None = None, program: str | None = None) -> None:
    """Entry point of the command ``cosim``; ends the process with its exit code.

    :param words: what stands behind the command (None: as the process was started)
    :param program: what the command is called (None: the same)
    """
    show_notes()
    becomes_program()
    with safe_output(), small_spaces():
        try:
            app(_with_ros_arguments(sys.argv[1:] if words is None else words), prog_name=program)
        except ModuleNotFoundError as error:
            _refuse_missing_wing(error)
            raise


def _refuse_missing_wing(error: ModuleNotFoundError) -> None:
    """End with one line, if a command needs a part of this package that is not installed."""
    try:
        refuse_missing_wing(error, "this command")
    except MissingWingError as missing:
        print(f"cosim: {missing}", file=sys.stderr)
        sys.exit(EXIT_ERROR)


def _with_ros_arguments(arguments: list[str]) -> list[str]:
    """Give each word behind ``--ros-args``, up to ``--`` or to the end, to that option."""
    if ROS_ARGS not in arguments:
        return arguments
    start = arguments.index(ROS_ARGS) + 1
    end = arguments.index("--", start) if "--" in arguments[start:] else len(arguments)
    given = arguments[start:end]
    # A single value may be quoted already, as that of the launch argument is.
    values = words(ROS_ARGS, given[0]) if len(given) == 1 else given
    own = [f"{ROS_ARGS}={value}" for value in values]
    return [*arguments[: start - 1], *own, *arguments[end + 1 :]]


if __name__ == "__main__":
    main()
