# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""How much there is to learn: counted, so that it shows when it grows.

A command is what does something; a group of commands is none. An option counts in each command that
has it; ``--bag`` and ``--no-bag`` are one, ``--help`` and what stands before the command
(``--version`` and the two for completion) are none. Words count once: one has the same meaning in
all commands, as a test sees to.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer
from typer.core import TyperGroup

from ros2_cosim.cli.main import app

ROOT = Path(__file__).resolve().parents[1]


def keys() -> int:
    """The keys of scenario files: the properties of all objects of the schema, each class once."""

    def below(schema: dict[str, Any]) -> int:
        properties = schema.get("properties", {})
        nested = [*properties.values(), *schema.get("$defs", {}).values()]
        return len(properties) + sum(below(part) for part in nested)

    schema = (ROOT / "config" / "scenario.schema.json").read_text(encoding="utf-8")
    return below(json.loads(schema))


def walk(command: Any = None, words: tuple[str, ...] = ()) -> Iterator[tuple[str, Any]]:
    """Each command of ``cosim``, by its words."""
    command = command or typer.main.get_command(app)
    if not isinstance(command, TyperGroup):
        yield " ".join(words), command
        return
    context: Any = None
    for name in command.list_commands(context):
        yield from walk(command.get_command(context, name), (*words, name))


def commands() -> int:
    """The commands of ``cosim``."""
    return len(list(walk()))


def options() -> list[str]:
    """The options of all commands."""
    parameters = [p for _, command in walk() for p in command.params]
    return [p.opts[0] for p in parameters if p.param_type_name == "option"]


def main() -> None:
    """Print all counts."""
    print(f"keys: {keys()}")
    print(f"commands: {commands()}")
    print(f"options: {len(options())}, words: {len(set(options()))}")


if __name__ == "__main__":
    main()
