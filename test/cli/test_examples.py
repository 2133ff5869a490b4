# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Each command has examples that its own command line accepts."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from typing import Any

import pytest
import typer
from typer.core import TyperGroup
from typer.testing import CliRunner

from ros2_cosim.cli.console import EXIT_USAGE
from ros2_cosim.cli.examples import EXAMPLES, FIRST
from ros2_cosim.cli.main import app

SHOWN = [command for command, _ in FIRST] + [
    each for several in EXAMPLES.values() for each in several
]


def commands(found: Any, *words: str) -> Iterator[tuple[str, Any]]:
    if not isinstance(found, TyperGroup):
        yield " ".join(words), found
        return
    for name, part in found.commands.items():
        yield from commands(part, *words, name)


@pytest.fixture(scope="module")
def cosim() -> Any:
    found: Any = typer.main.get_command(app)
    found.load_all()
    return found


def test_each_command_shows_its_examples(cosim: Any) -> None:
    own = {words: command for words, command in commands(cosim)}
    assert own.keys() == EXAMPLES.keys()
    for words, examples in EXAMPLES.items():
        said = CliRunner().invoke(app, [*words.split(), "--help"], env={"COLUMNS": "200"})
        assert said.exit_code == 0
        missing = [example for example in examples if example not in said.stdout]
        assert missing == [], words


@pytest.mark.parametrize("example", SHOWN)
def test_a_command_line_accepts_its_example(example: str, cosim: Any) -> None:
    program, *words = shlex.split(example)
    assert program == "cosim"
    command = cosim
    while isinstance(command, TyperGroup):
        command = command.commands[words.pop(0)]
    command.make_context(example, words)


def test_the_command_alone_shows_the_first_steps() -> None:
    said = CliRunner().invoke(app, [])
    assert said.exit_code == EXIT_USAGE
    assert [command for command, _ in FIRST if command not in said.stdout] == []
    assert len(said.stdout.splitlines()) < 12
