# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Each word of the command line has one meaning, and each meaning one word."""

from __future__ import annotations

import inspect
import re
from collections import defaultdict
from functools import cache
from typing import Any

import pytest
from typer.testing import CliRunner

from buildtools.count_house import commands, options, walk
from ros2_cosim.cli.main import app
from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.run.removed import REMOVED
from ros2_cosim.ros.bringup.launch_request import check_names

#: A word that several commands explain in their own words -> what all of them say of it.
MEANINGS = {
    "--controllers": r"[Cc]ontrol law",
    "--json": r"one JSON document",
    "--out": r"(?i)output directory|CSV file of the|^File (of|for) the",
    "--port": r"Port to listen at",
    "--repeat": r"Number of repetitions",
    "--resume": r"Continue the \w+ in the output directory",
    "--scenario": r"[Ss]cenario",
    "--seed": r"^Seed of the",
    "--set": r"^Change one value",
    "--shape": r"^Run shape",
    "--transport": r"^Transport of",
    "--vehicles": r"^Number of vehicles",
}
#: Words that scripts of users rely on, with a second meaning.
KEPT = {"--from": {"new", "replay"}, "--rate": {"carla-headless", "run"}}


def kind_of(option: Any) -> tuple[str, bool, bool]:
    return type(option.type_descriptor).__name__, option.is_flag, option.multiple


@cache
def explained() -> dict[str, list[tuple[str, Any]]]:
    """Word -> the commands that have it, with their options."""
    found = defaultdict(list)
    for words, command in walk():
        for parameter in command.params:
            if parameter.param_type_name == "option":
                found[parameter.opts[0]].append((words, parameter))
    return dict(found)


@pytest.mark.parametrize("word", sorted(explained().keys() - KEPT.keys()))
def test_a_word_means_the_same_in_all_commands(word: str) -> None:
    given = [option for _, option in explained()[word]]
    assert len({kind_of(option) for option in given}) == 1
    texts = {option.help for option in given}
    if word in MEANINGS:
        assert len(texts) > 1, "its texts are the same: it needs no entry"
        assert [text for text in texts if not re.search(MEANINGS[word], text)] == []
    else:
        assert len(texts) == 1


def test_two_meanings_of_a_word_are_not_more_than_scripts_rely_on() -> None:
    assert {word: {c for c, _ in explained()[word]} for word in KEPT} == KEPT


def test_a_meaning_has_one_word() -> None:
    words = defaultdict(set)
    for word, given in explained().items():
        for _, option in given:
            words[option.help].add(word)
    assert [found for found in words.values() if len(found) > 1] == []


def test_the_command_line_is_not_larger_than_it_was() -> None:
    assert commands() <= 26 and len(options()) <= 150


@pytest.mark.parametrize(("words", "command"), list(walk()), ids=str)
def test_no_command_is_a_function_of_more_than_fifteen_things(words: str, command: Any) -> None:
    assert len(inspect.signature(inspect.unwrap(command.callback)).parameters) <= 15


@pytest.mark.parametrize("old", REMOVED)
def test_what_is_gone_is_refused_with_what_is_there_instead(old: str) -> None:
    if old.startswith("launch "):
        with pytest.raises(
            ConfigurationError, match=f"is gone; it is {re.escape(REMOVED[old])} now"
        ):
            check_names({old.removeprefix("launch "): ""})
        return
    for given in (old, f"{old} value", f"{old}=value" if "--" in old else old):
        done = CliRunner().invoke(app, given.split())
        said = f"cosim: {old} is gone; it is {REMOVED[old]} now\n"
        assert (done.exit_code, done.stderr) == (2, said)


def test_what_is_gone_is_not_there() -> None:
    there = {words for words, _ in walk()}
    for words, command in walk():
        for option in command.params:
            there |= {f"{words} {flag}" for flag in (*option.opts, *option.secondary_opts)}
    assert not there & REMOVED.keys()
