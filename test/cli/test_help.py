# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The help of every command tells what its options say of themselves, units included."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
import typer
from typer.core import TyperGroup
from typer.testing import CliRunner

from ros2_cosim.cli.main import app


def commands(command: Any, words: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    if not isinstance(command, TyperGroup):
        yield words, command
        return
    context: Any = None
    for name in command.list_commands(context):
        yield from commands(command.get_command(context, name), (*words, name))


COMMANDS = dict(commands(typer.main.get_command(app)))


def plain(text: str) -> str:
    """The words, without frames and line breaks."""
    return re.sub(r"[\s│]+", " ", text)


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_units_are_shown(words: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    """Square brackets are marks of style to the library that prints the help."""
    monkeypatch.setenv("COLUMNS", "250")  # a help text of one line stays one
    texts = [p.help for p in COMMANDS[words].params if getattr(p, "help", None)]
    bracketed = [text for text in texts if "[" in text]
    if words == ("study", "pedals"):
        assert "Highest speed to measure [m/s]." in bracketed
    if bracketed:
        shown = plain(CliRunner().invoke(app, [*words, "--help"]).output)
        assert [text for text in bracketed if plain(text) not in shown] == []
