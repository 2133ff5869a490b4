# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Reading a tutorial: its files and its commands.

A fenced block whose first line names a file (three backticks, ``python my_law.py``) is that
file. A ``bash`` block holds commands that are executed. A ``console`` block is for readers:
its commands need what a test machine may lack (a ROS installation, RViz, CARLA).
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Collection
from pathlib import Path

from support.warm import cosim

from ros2_cosim.cli.console import EXIT_VERDICT

ROOT = Path(__file__).resolve().parents[2]
_BLOCK = re.compile(r"^```(\w+)(?: (\S+))?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
#: Nothing that only a shell understands, but where modules are found.
_COSIM_ALONE = re.compile(r"(PYTHONPATH=\$PWD )?(cosim [^|&;<>$*`#\n]+)")
#: Makes a run too short for its verdicts, and long enough for a trace of its own.
SHORT = " --set duration=2s"


class Tutorial:
    """One tutorial, carried out in a directory that stands for the checkout."""

    def __init__(self, name: str, directory: Path) -> None:
        self.directory = directory
        self.files: list[str] = []
        self.commands: list[str] = []
        self.shown: list[str] = []
        text = (ROOT / "docs" / "tutorials" / name).read_text(encoding="utf-8")
        for language, file_name, body in _BLOCK.findall(text):
            if file_name:
                (directory / file_name).parent.mkdir(parents=True, exist_ok=True)
                (directory / file_name).write_text(body, encoding="utf-8")
                self.files.append(file_name)
            elif language == "bash":
                self.commands += body.splitlines()
            elif language == "console":
                self.shown += [line.removeprefix("$ ") for line in body.splitlines()]
        shutil.copytree(ROOT / "config", directory / "config", dirs_exist_ok=True)
        programs = directory / "bin"
        programs.mkdir()
        for program, arguments in {"cosim": " -m ros2_cosim.cli.main", "python": ""}.items():
            script = programs / program
            script.write_text(f'#!/bin/sh\nexec "{sys.executable}"{arguments} "$@"\n')
            script.chmod(0o755)

    def run(self, command: str) -> subprocess.CompletedProcess[str]:
        """Execute one command of the tutorial; one of ``cosim`` alone as a copy."""
        path = [str(self.directory / "bin"), os.environ.get("PATH", "")]
        python_path = [str(ROOT), os.environ.get("PYTHONPATH", ""), str(ROOT / "test")]
        environment = {
            **os.environ,
            "PATH": os.pathsep.join(path),
            "PYTHONPATH": os.pathsep.join(p for p in python_path if p),
        }
        if found := _COSIM_ALONE.fullmatch(command):
            if found[1]:
                environment["PYTHONPATH"] = str(self.directory)
            words = shlex.split(found[2])[1:]
            return cosim(environment, *words, directory=self.directory)
        return subprocess.run(
            ["sh", "-c", command],
            cwd=self.directory,
            env=environment,
            capture_output=True,
            text=True,
            timeout=240,
        )

    def carry_out(self, short: Collection[str] = (), code_of_short: int = EXIT_VERDICT) -> Tutorial:
        """Execute all commands, each of which has to succeed.

        :param short: names of the runs that are short, for the test looks at their trace alone
        :param code_of_short: their exit code
        """
        for command in self.commands:
            is_short = any(f"--out out/{run} " in f"{command} " for run in short)
            done = self.run(command + SHORT if is_short else command)
            expected = code_of_short if is_short else 0
            assert done.returncode == expected, f"{command}\n{done.stdout}{done.stderr}"
        return self
