# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The options of a run are the fields of a request, for ``cosim run`` and for launch files."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest
import typer.main

from ros2_cosim.cli.verbs import load
from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.run.request import RunRequest, read_options, run_options
from ros2_cosim.ros.bringup.launch_request import launch_arguments

#: Shape ``inproc`` alone has the first two, which launch files do not start.
COMMAND_LINE_ALONE = ("--dashboard", "--open", "--pdb", "--traceback", "--json")


def test_options_are_the_fields_of_a_request() -> None:
    fields = {field.name for field in dataclasses.fields(RunRequest)}
    assert fields == {"scenario", *(option.field for option in run_options().values())}


def test_the_command_line_and_launch_files_offer_them_all_in_their_order() -> None:
    told = {name: option.told.help for name, option in run_options().items()}
    command = typer.main.get_command(load("run"))
    options = [p for p in command.params if p.param_type_name == "option"]
    shared = [p for p in options if p.opts[0] not in COMMAND_LINE_ALONE]
    assert {p.opts[0][2:].replace("-", "_"): p.help for p in shared} == told
    scenario, duration, *arguments = launch_arguments()
    assert (scenario.name, duration.name) == ("scenario", "duration")
    assert list({a.name: a.description for a in arguments}.items()) == list(told.items())


def test_what_is_not_given_means_the_same_everywhere() -> None:
    defaults = read_options({name: option.text for name, option in run_options().items()})
    assert RunRequest(Path("x"), **defaults) == RunRequest(Path("x"))
    given = {p.name: p.default for p in typer.main.get_command(load("run")).params}
    shown = {name: value for name, value in given.items() if name in run_options()}
    assert RunRequest(Path("x"), **read_options(shown)) == RunRequest(Path("x"))


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("set", "duration=2s 'a.b={kp: 1}'", {"set": ("duration=2s", "a.b={kp: 1}")}),
        ("without", "a b", {"without": ("a", "b")}),
        ("by_hand", "cacc1", {"by_hand": ("cacc1",)}),
        ("rate", "0.5", {"rate": 0.5}),
        ("hard", "TRUE", {"hard": True}),
        ("repeat", "3", {"repeat": 3}),
        ("bag", "false", {"record": False}),
        ("arrivals", "/x/arrivals.json", {"arrivals": Path("/x/arrivals.json")}),
        ("checkpoint", "1s 20ms", {"checkpoints": (1_000_000_000, 20_000_000)}),
    ],
)
def test_texts_are_read(name: str, text: str, value: object) -> None:
    assert read_options({name: text}) == value


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("set", "a='b", "set: found 'a='b'; no closing quotation"),
        ("hard", "yes", "hard: found 'yes'; allowed are true and false"),
        ("repeat", "1.5", "repeat: found '1.5'; allowed is a whole number"),
        (
            "rate",
            "fast",
            "rate: found 'fast'; allowed is a number from 0.0001 to below 1e6, or max",
        ),
    ],
)
def test_texts_that_are_wrong_are_refused(name: str, text: str, message: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        read_options({name: text})
    assert str(caught.value) == message
