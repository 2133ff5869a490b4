# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Verbs of other distributions."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from support.distribution import installed
from typer.testing import CliRunner

from ros2_cosim.cli.main import app

VERBS = '''
import typer


def weigh(mass: float) -> None:
    """Weigh something."""
    print(f"{mass} kg")


group = typer.Typer(help="Heavy things.")
group.command("lift")(weigh)
group.callback()(lambda: None)
nothing = 3
'''
ENTRIES = """[ros2_cosim.verbs]
weigh = verbs_of_a_plugin:weigh
heavy = verbs_of_a_plugin:group
none = verbs_of_a_plugin:nothing
lost = verbs_of_a_plugin:missing
broken = verbs_that_are_not_there:weigh
run = verbs_of_a_plugin:weigh
"""


@pytest.fixture(autouse=True)
def plugin(tmp_path: Path) -> Iterator[None]:
    with installed(tmp_path, "verbs_of_a_plugin", ENTRIES, VERBS):
        yield


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["weigh", "3.5"], 0, "3.5 kg"),
        (["heavy", "lift", "2"], 0, "2.0 kg"),
        (["weigh", "much"], 2, "Usage: cosim weigh"),
        (["none"], 1, "verb 'none' cannot be loaded: verbs_of_a_plugin:nothing is neither"),
        (["lost"], 1, "verb 'lost' cannot be loaded: verbs_of_a_plugin:missing is neither"),
        (["broken"], 1, "verb 'broken' cannot be loaded: ModuleNotFoundError: No module named"),
        (["wiegh", "3"], 2, "No such command 'wiegh'. Did you mean 'weigh'?"),
        (["run", "--help"], 0, "Run a scenario"),
    ],
)
def test_a_verb_of_another_distribution_is_one_of_cosim(
    words: list[str], code: int, said: str
) -> None:
    done = CliRunner().invoke(app, words)
    assert done.exit_code == code, done.output
    assert said in " ".join((done.output + done.stderr).split())


def test_the_help_names_those_of_other_distributions_last() -> None:
    shown = CliRunner().invoke(app, ["--help"]).output
    assert shown.index("messages") < shown.index("Heavy things.") < shown.index("Weigh something.")
