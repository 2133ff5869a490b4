# SPDX-License-Identifier: Apache-2.0
"""A copy of the package without one of its wings, in a virtual environment."""

from __future__ import annotations

import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
#: Data files and folders that a checkout has beside the package.
_DATA = ("package.xml", "config", "launch", "msg", "rviz", "srv")


class BuiltCopy:
    """The package without some of its folders, and the requirements of this environment.

    :param directory: a new one, where all of it is made
    :param without: names of folders of the package
    """

    def __init__(self, directory: Path, *without: str) -> None:
        self.checkout = directory / "checkout"
        left_out = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / "ros2_cosim", self.checkout / "ros2_cosim", ignore=left_out)
        for wing in without:
            shutil.rmtree(self.checkout / "ros2_cosim" / wing)
        for name in _DATA:
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

    def cosim(self, *words: str | Path, timeout: float = 120.0) -> tuple[int, str]:
        """Run the command: its exit code, and what it printed on both streams."""
        start = "from ros2_cosim.cli.main import main; main(program='cosim')"
        done = subprocess.run(
            [self._python, "-c", start, *words],
            capture_output=True,
            text=True,
            timeout=timeout,
            cwd=self.checkout.parent,
        )
        return done.returncode, done.stdout + done.stderr
