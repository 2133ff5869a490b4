# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""A copy of the package without one of its wings, in a virtual environment."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
#: Data files and folders that a checkout has beside the package.
_DATA = ("package.xml", "config", "launch", "msg", "rviz", "srv")
#: What its tests need, too.
_OF_TESTS = ("pyproject.toml", "test", "buildtools")
#: Each command is a copy of a process that has imported what all of them do.
_EACH = """
import json, os, sys, tempfile, traceback
import ros2_cosim.core.run.start, ros2_cosim.core.scenario.check
from ros2_cosim.cli.main import main

answers = []
for command in sys.argv[1:]:
    with tempfile.TemporaryFile() as printed:
        pid = os.fork()
        if pid == 0:
            for stream in (1, 2):
                os.dup2(printed.fileno(), stream)
            code = 0
            try:
                main(command.split(), program="cosim")
            except SystemExit as left:
                code = left.code or 0
            except BaseException:
                traceback.print_exc()
                code = 70
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)
        _, status = os.waitpid(pid, 0)
        printed.seek(0)
        answers.append((os.waitstatus_to_exitcode(status), printed.read().decode()))
print(json.dumps(answers))
"""


class BuiltCopy:
    """The package without some of its folders, and the requirements of this environment.

    :param directory: a new one, where all of it is made
    :param without: names of folders of the package
    """

    def __init__(self, directory: Path, *without: str) -> None:
        self.checkout = directory / "checkout"
        # With what has been compiled: sources of a copy are as old as they were.
        shutil.copytree(ROOT / "ros2_cosim", self.checkout / "ros2_cosim")
        for wing in without:
            shutil.rmtree(self.checkout / "ros2_cosim" / wing)
        for name in (*_DATA, *_OF_TESTS):
            if (ROOT / name).exists():
                (self.checkout / name).symlink_to(ROOT / name)
        environment = directory / "environment"
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", environment], check=True)
        self._python = environment / "bin" / "python"
        site, own = Path(sysconfig.get_path("purelib")), Path(sys.prefix)
        packages = environment / site.relative_to(own)
        for entry in site.iterdir():
            if not entry.name.startswith("__editable__"):
                (packages / entry.name).symlink_to(entry)
        (packages / "copy.pth").write_text(f"{self.checkout}\n", encoding="utf-8")
        for name in ("lib/ros2_cosim", "share"):
            if (own / name).exists():
                (environment / name).symlink_to(own / name)

    def cosim(self, commands: Sequence[str], timeout: float = 120.0) -> list[tuple[int, str]]:
        """Run commands one by one: the exit code of each, and what it printed on both streams."""
        done = subprocess.run(
            [self._python, "-c", _EACH, *commands],
            capture_output=True,
            text=True,
            timeout=timeout,
            cwd=self.checkout.parent,
        )
        assert done.returncode == 0, done.stderr
        return [(code, said) for code, said in json.loads(done.stdout)]

    def pytest(self, tests: Sequence[str], timeout: float = 120.0) -> tuple[int, str]:
        """Run files of tests with the copy: the exit code, and what was printed."""
        done = subprocess.run(
            [self._python, "-m", "pytest", "-q", "-p", "no:cacheprovider", *tests],
            capture_output=True,
            text=True,
            timeout=timeout,
            cwd=self.checkout,
        )
        return done.returncode, done.stdout + done.stderr
