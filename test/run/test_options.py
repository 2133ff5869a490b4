# SPDX-License-Identifier: Apache-2.0
"""``cosim run`` and launch files offer the same options of a run, with the same meaning."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import pytest
import typer.main

from ros2_cosim.cli.verbs import load
from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.run.options import OPTIONS, read_options
from ros2_cosim.core.run.request import RunRequest
from ros2_cosim.ros.bringup.launch_request import launch_arguments

#: Shape ``inproc`` alone has the first two, which launch files do not start.
COMMAND_LINE_ALONE = ("--dashboard", "--open", "--pdb", "--traceback", "--json")


def options_of_run() -> dict[str, Any]:
    command = typer.main.get_command(load("run"))
    return {p.opts[0]: p for p in command.params if p.param_type_name == "option"}


def test_options_are_the_fields_of_a_request() -> None:
    fields = {field.name for field in dataclasses.fields(RunRequest)}
    assert fields == {"scenario", *OPTIONS}


def test_the_command_line_offers_them_all_in_their_order() -> None:
    options = options_of_run()
    shared = [flag for flag in options if flag not in COMMAND_LINE_ALONE]
    assert shared == [option.flag for option in OPTIONS.values()]
    for option in OPTIONS.values():
        assert options[option.flag].help == option.help


def test_launch_files_offer_them_all_in_their_order() -> None:
    arguments = launch_arguments()
    assert [argument.name for argument in arguments] == ["scenario", *OPTIONS]
    assert [a.description for a in arguments[1:]] == [option.help for option in OPTIONS.values()]


def test_what_is_not_given_means_the_same_everywhere() -> None:
    defaults = read_options({name: option.default for name, option in OPTIONS.items()})
    assert RunRequest(Path("x"), **defaults) == RunRequest(Path("x"))
    given = options_of_run()
    for name, option in OPTIONS.items():
        default = given[option.flag].default
        if name == "rate":
            assert default == option.default
        elif name == "shape":  # which is chosen by what else is asked for
            assert default is None and not option.default
        else:
            assert (default or None) == (getattr(RunRequest(Path("x")), name) or None), name


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("set", "duration=2s 'a.b={kp: 1}'", ("duration=2s", "a.b={kp: 1}")),
        ("without", "a b", ("a", "b")),
        ("by_hand", "cacc1", ("cacc1",)),
        ("rate", "0.5", 0.5),
        ("hard", "TRUE", True),
        ("repeat", "3", 3),
        ("record", "false", False),
        ("arrivals", "/x/arrivals.json", Path("/x/arrivals.json")),
    ],
)
def test_texts_are_read(name: str, text: str, value: object) -> None:
    assert read_options({name: text}) == {name: value}


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
