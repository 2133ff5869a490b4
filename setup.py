# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Build the wheel: Python modules, and all that CMakeLists.txt installs besides.

The same CMakeLists.txt that ``colcon build`` runs is run here against the ROS wheels of the
building environment. What it installs goes into the wheel as data files, which land below
the prefix of the virtual environment: the environment becomes a ROS prefix. The compiled form of
the hot modules is there, too. An editable installation leaves the Python modules, launch files and
configuration in the checkout, and ``buildtools/set_up.py`` compiles the hot modules.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from distutils.command.install_data import install_data
from pathlib import Path
from typing import Any

from setuptools import Command, Distribution, setup
from setuptools.command.build import build

ROOT = Path(__file__).resolve().parent
sys.path.insert(0, str(ROOT / "buildtools"))

import compile_modules  # noqa: E402
from interface_build import PYTHON_DIRECTORY, build_interfaces  # noqa: E402

PACKAGE = "ros2_cosim"
DATA_DIRECTORIES = ("config", "launch", "rviz")


class PlatformDistribution(Distribution):
    """A distribution whose wheel is bound to the platform and the Python version."""

    def has_ext_modules(self) -> bool:
        """Say yes: the generated messages are compiled."""
        return True

    def has_data(self) -> bool:
        """Say yes: an editable installation asks by this name before it installs data files."""
        return True


class BuildInterfaces(Command):
    """Run CMake and hand what it installs to the ``install_data`` command."""

    description = "build the ROS messages and executables"
    user_options: list[tuple[str, str | None, str]] = []

    def initialize_options(self) -> None:
        """Set what setuptools sets before ``run``: the kind of installation."""
        self.editable_mode = False
        self.build_temp: str | None = None

    def finalize_options(self) -> None:
        """Take the scratch directory from the ``build`` command."""
        self.set_undefined_options("build", ("build_temp", "build_temp"))

    def run(self) -> None:
        """Build into a stage and list its files as data files."""
        # A build tree that is kept makes the next build incremental; the stage is always new.
        scratch = Path(os.environ.get("ROS2_COSIM_BUILD_TREE") or str(self.build_temp)).resolve()
        stage = scratch / "stage"
        shutil.rmtree(stage, ignore_errors=True)
        build_interfaces(scratch / "interfaces", stage)
        python = stage / PYTHON_DIRECTORY
        # The wheel has metadata of its own, and the modules are build_py's or the checkout's.
        surplus = [*python.glob("*.egg-info"), *stage.rglob("__pycache__")]
        surplus += [python / PACKAGE / entry.name for entry in (ROOT / PACKAGE).iterdir()]
        # They name the place of the build, and are for the prefix of a workspace.
        surplus += [*stage.rglob("parent_prefix_path"), *stage.glob("share/*/local_setup.*")]
        if self.editable_mode:
            surplus += [stage / "share" / PACKAGE / name for name in DATA_DIRECTORIES]
        else:
            self._compile(scratch / "compiled", stage / compile_modules.directory(Path()))
        for path in surplus:
            if path.is_dir():
                shutil.rmtree(path)
            else:
                path.unlink(missing_ok=True)
        self.distribution.data_files = self._data_files(stage)

    @staticmethod
    def _compile(scratch: Path, place: Path) -> None:
        """Compile the hot modules; without them everything runs as Python, with the same results.

        mypyc changes the process that it works in: it gets one of its own.
        """
        program = str(Path(compile_modules.__file__))
        done = subprocess.run(
            [sys.executable, program, str(scratch), str(place)],
            stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", check=False,
        )  # fmt: skip
        if done.returncode:
            reason = (done.stderr.strip().splitlines() or [f"status {done.returncode}"])[-1]
            print(f"warning: the wheel runs as Python alone: {reason}", file=sys.stderr)

    @staticmethod
    def _data_files(stage: Path) -> list[tuple[str, list[str]]]:
        """List the staged files as (directory below the prefix, paths of files)."""
        listing: dict[str, list[str]] = {}
        for path in sorted(stage.rglob("*")):
            if path.is_file():
                directory = path.relative_to(stage).parent.as_posix()
                listing.setdefault(directory, []).append(str(path))
        return sorted(listing.items())

    def get_source_files(self) -> list[str]:
        """Return nothing: MANIFEST.in lists the sources."""
        return []

    def get_outputs(self) -> list[str]:
        """Return nothing: the outputs are those of ``install_data``."""
        return []

    def get_output_mapping(self) -> dict[str, str]:
        """Return nothing: no output stands for a source file."""
        return {}


class BuildAll(build):
    """Build the Python modules, then the interfaces."""

    sub_commands = [*build.sub_commands, ("build_interfaces", None)]


class InstallData(install_data):
    """Install data files; which ones is known only after the build."""

    def initialize_options(self) -> None:
        """Read the list of files late."""
        super().initialize_options()
        self.data_files: list[Any] = []

    def run(self) -> None:
        """Copy the files and keep executables executable."""
        self.data_files = self.distribution.data_files or []
        super().run()
        for installed in map(Path, self.get_outputs()):
            place = installed.parent
            if place.name == "bin" or (place.name == PACKAGE and place.parent.name == "lib"):
                installed.chmod(0o755)


setup(
    distclass=PlatformDistribution,
    cmdclass={
        "build": BuildAll,
        "build_interfaces": BuildInterfaces,
        "install_data": InstallData,
    },
    data_files=[("", [])],
)
