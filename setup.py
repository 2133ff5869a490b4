# SPDX-License-Identifier: Apache-2.0
"""Build the wheel: Python modules, and all that CMakeLists.txt installs besides.

The same CMakeLists.txt that ``colcon build`` runs is run here against the ROS wheels of the
building environment. What it installs goes into the wheel as data files, which land below
the prefix of the virtual environment: the environment becomes a ROS prefix. An editable
installation differs in one thing only: the Python modules stay in the checkout.
"""

from __future__ import annotations

import shutil
import sys
from distutils.command.install_data import install_data
from pathlib import Path
from typing import Any

from setuptools import Distribution, setup
from setuptools.command.build_py import build_py

ROOT = Path(__file__).resolve().parent
sys.path.insert(0, str(ROOT / "buildtools"))

from interface_build import PYTHON_DIRECTORY, build_interfaces  # noqa: E402

PACKAGE = "ros2_cosim"


class PlatformDistribution(Distribution):
    """A distribution whose wheel is bound to the platform and the Python version."""

    def has_ext_modules(self) -> bool:
        """Say yes: the generated messages are compiled."""
        return True

    def has_data(self) -> bool:
        """Say yes: an editable installation asks by this name before it installs data files."""
        return True


class BuildWithInterfaces(build_py):
    """Build the messages along with the Python modules."""

    def run(self) -> None:
        """Build, and hand what CMake installed to the ``install_data`` command."""
        super().run()
        scratch = Path(self.get_finalized_command("build").build_temp).resolve() / "interfaces"
        stage = scratch / "stage"
        shutil.rmtree(scratch, ignore_errors=True)
        build_interfaces(scratch, stage)
        self._drop_own_modules(stage)
        self.distribution.data_files = self._data_files(stage)

    @staticmethod
    def _drop_own_modules(stage: Path) -> None:
        """Leave only what the generators made of the package: the rest is build_py's own."""
        python = stage / PYTHON_DIRECTORY
        for metadata in python.glob("*.egg-info"):
            shutil.rmtree(metadata)
        for module in (ROOT / PACKAGE).iterdir():
            staged = python / PACKAGE / module.name
            if staged.is_dir():
                shutil.rmtree(staged)
            else:
                staged.unlink(missing_ok=True)

    @staticmethod
    def _data_files(stage: Path) -> list[tuple[str, list[str]]]:
        """List the staged files as (directory below the prefix, paths of files)."""
        listing: dict[str, list[str]] = {}
        for path in sorted(stage.rglob("*")):
            relative = path.relative_to(stage)
            if path.is_dir() or "__pycache__" in relative.parts:
                continue
            listing.setdefault(relative.parent.as_posix(), []).append(str(path))
        return sorted(listing.items())


class InstallData(install_data):
    """Install data files; the files list exists only after the build."""

    def initialize_options(self) -> None:
        """Read the list of files late."""
        super().initialize_options()
        self.data_files: list[Any] = []

    def run(self) -> None:
        """Copy the files and keep executables executable."""
        self.data_files = self.distribution.data_files or []
        super().run()
        for installed in map(Path, self.get_outputs()):
            if installed.parent.name == PACKAGE and installed.parent.parent.name == "lib":
                installed.chmod(0o755)


setup(
    distclass=PlatformDistribution,
    cmdclass={"build_py": BuildWithInterfaces, "install_data": InstallData},
    data_files=[("", [])],
)
