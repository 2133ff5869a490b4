# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""``ros2 cosim`` takes all words as ``cosim`` does.

ros2cli comes with a ROS installation only. Here a class stands for its base class of commands, and
the words go through argparse as ros2cli lets them: by a parser for each command.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from ros2_cosim import __version__

ROOT = Path(__file__).resolve().parents[2]
PLATOON = str(ROOT / "config" / "platoon.yaml")
ROS2 = """
import sys
from argparse import ArgumentParser
from types import ModuleType

package, module = ModuleType("ros2cli"), ModuleType("ros2cli.command")
module.CommandExtension = type("CommandExtension", (), {})
sys.modules |= {"ros2cli": package, "ros2cli.command": module}

from ros2_cosim.cli.ros2_command import CosimCommand

parser, command = ArgumentParser("ros2"), CosimCommand()
command.add_arguments(parser.add_subparsers(dest="command").add_parser("cosim"), "ros2 cosim")
sys.exit(command.main(parser=parser, args=parser.parse_args()))
"""


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["--version"], 0, f"cosim {__version__}, compiled: "),
        (["check", PLATOON, "--json"], 0, '"good": true'),
        (["check", "--help"], 0, "ros2 cosim check [OPTIONS]"),
        (["check", "nowhere.yaml"], 1, "cosim: scenario nowhere.yaml: there is no such file"),
    ],
)
def test_words_are_those_of_cosim(words: list[str], code: int, said: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", ROS2, "cosim", *words],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert done.returncode == code, done
    assert said in done.stdout + done.stderr
