# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Files of installed packages: this one's own data files, and those of any ROS package."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import ros2_cosim
from ros2_cosim.core.kernel.errors import ConfigurationError

PACKAGE = "ros2_cosim"
_RUN_MODULE = Path(__file__).with_name("run_module.py")


def module_command(module: str) -> list[str]:
    """The command line that runs a module, whatever lies in the working directory.

    ``python -m`` looks for modules in the working directory first, where a file of any name may
    lie, such as ``random.py``. Only Python 3.11 has an option against that, which scripts of users
    that import their neighbours must not get.
    """
    return [sys.executable, str(_RUN_MODULE), module]


def share_file(name: str) -> Path:
    """Find a data file of this package, such as ``config/platoon.yaml`` or ``msg/Horizon.msg``.

    It lies beside the package in a checkout, and in ``share/ros2_cosim`` of the prefix that the
    package is installed in otherwise (virtual environment or ROS 2 workspace). Looked for from
    the place of the package: code and data always belong together.

    :raises ConfigurationError: the file is not there
    """
    # Not resolved: a symlink install leads back to the checkout, whose data it links, too.
    package = Path(ros2_cosim.__file__).parent.absolute()
    checkout = package.parent
    if (checkout / "package.xml").is_file() and (checkout / name).is_file():
        return checkout / name
    for prefix in checkout.parents:
        path = prefix / "share" / PACKAGE / name
        if path.is_file():
            return path
    raise ConfigurationError(f"{name}: not found beside {package}, nor installed above it")


def package_text(name: str) -> str:
    """A file beside the code of this package, such as ``ros/bringup/dds_profile.xml``."""
    return Path(ros2_cosim.__file__).parent.joinpath(name).read_text(encoding="utf-8")


def package_table(name: str) -> Any:
    """A table of data beside the code of this package, such as ``world/vehicle/vehicles.json``."""
    return json.loads(package_text(name))


def find_share(package: str, name: str) -> Path | None:
    """Find a data file of an installed ROS package; None: no prefix has it."""
    paths = (prefix / "share" / package / name for prefix in _prefixes())
    return next((path for path in paths if path.is_file()), None)


def find_executable(package: str, name: str) -> Path | None:
    """Find an executable of an installed ROS package, as ``ros2 run`` does; None: there is none."""
    paths = (prefix / "lib" / package / name for prefix in _prefixes())
    return next((p for p in paths if p.is_file() and os.access(p, os.X_OK)), None)


def _prefixes() -> Iterator[Path]:
    """The prefixes of sourced workspaces, then that of this interpreter.

    ``ament_index_python`` knows AMENT_PREFIX_PATH only, and fails where it is not set: an
    environment of ROS wheels does not set it.
    """
    for prefix in os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep):
        if prefix:
            yield Path(prefix)
    yield Path(sys.prefix)
