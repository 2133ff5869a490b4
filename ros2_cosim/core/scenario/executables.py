# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The executable that a participant's ``node`` names: of this package, or the user's own.

======================  ==============================================================
``participant``         the node of this package that runs any model
``my_node.py``          a Python script, relative to the scenario (``controllers``: to the
                        working directory)
``my_package/my_node``  an executable of a ROS package, as ``ros2 run`` finds it
======================  ==============================================================
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from ros2_cosim.core.documents.installed import PACKAGE, find_executable
from ros2_cosim.core.kernel.errors import ConfigurationError

#: The node of this package that runs any model.
PARTICIPANT_NODE = "participant"


class Executable(NamedTuple):
    """``package`` is empty if ``name`` is the absolute path of a Python script."""

    package: str
    name: str

    @property
    def is_script(self) -> bool:
        """Whether it is a Python script of the user."""
        return not self.package


def is_own(node: str) -> bool:
    """Whether ``node`` names a program of the user."""
    return "/" in node or node.endswith(".py")


def find_node(node: str, directory: Path, where: str) -> Executable:
    """Find what ``node`` names.

    :param directory: what a script's path is relative to
    :param where: how messages call the place that names it
    :raises ConfigurationError: it is not there
    """
    if not is_own(node):
        if node != PARTICIPANT_NODE:
            raise ConfigurationError(
                f"{where}: found '{node}'; allowed are path/to/script.py and package/executable; "
                "without the key the model runs"
            )
        return Executable(PACKAGE, node)
    script = (directory / node).absolute()
    if node.endswith(".py") and script.is_file():
        return Executable("", str(script))
    package, slash, name = node.partition("/")
    if not slash or "/" in name or package in ("", ".", ".."):
        raise ConfigurationError(f"{where}: there is no file {script}")
    find_installed(package, name, where)
    return Executable(package, name)


def find_installed(package: str, name: str, where: str) -> Path:
    """Find an executable of an installed ROS package.

    :raises ConfigurationError: neither a sourced workspace nor this environment has it
    """
    path = find_executable(package, name)
    if path is not None:
        return path
    raise ConfigurationError(
        f"{where}: there is neither a file {package}/{name} nor an executable '{name}' of an "
        f"installed ROS package '{package}'; is its workspace sourced?"
    )
