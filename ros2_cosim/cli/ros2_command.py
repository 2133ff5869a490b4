# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""``ros2 cosim``: the command ``cosim`` among those of ROS, where ros2cli is installed.

It finds this class by an entry point; nothing else imports it.
"""

from __future__ import annotations

from argparse import REMAINDER, ArgumentParser, Namespace

from ros2cli.command import CommandExtension

from ros2_cosim.cli.main import main

#: No word begins with it: all words are passed on unchanged, ``--help`` too.
_NO_PREFIX = "\0"


class CosimCommand(CommandExtension):
    """Deterministic co-simulation for automated driving."""

    def add_arguments(self, parser: ArgumentParser, cli_name: str) -> None:
        """Take all words that follow."""
        parser.prefix_chars = _NO_PREFIX
        parser.add_argument("words", nargs=REMAINDER)

    def main(self, *, parser: ArgumentParser, args: Namespace) -> None:
        """Do what ``cosim`` does with these words; ends the process with its exit code."""
        main(args.words, f"{parser.prog} cosim")
