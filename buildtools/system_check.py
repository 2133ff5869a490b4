# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""What the set-up needs from the operating system, and which Debian package brings it.

Written for the standard library of any Python 3, so that an unsuitable interpreter gets a
sentence and not a traceback.
"""

from __future__ import annotations

import importlib.util
import os
import platform
import shlex
import shutil
import sys
import sysconfig
from pathlib import Path

OLDEST_PYTHON = (3, 10)
NEWEST_PYTHON = (3, 12)
OLDEST_GLIBC = (2, 28)


def unsuitable_platform(root: Path) -> str | None:
    """Return why this interpreter or machine cannot be used, None if it can.

    :param root: the checkout; its path ends up in search paths.
    """
    if not OLDEST_PYTHON <= sys.version_info[:2] <= NEWEST_PYTHON:
        oldest, newest = ("{}.{}".format(*pair) for pair in (OLDEST_PYTHON, NEWEST_PYTHON))
        return (
            f"Python {platform.python_version()} ({sys.executable}) cannot be used: the ROS and "
            f"CARLA wheels exist for Python {oldest} to {newest}. "
            "Name another one, as in: make setup PYTHON=python3.11 "
            "(docs/how-to/install-on-debian-13.md says how to get one)"
        )
    if sys.platform != "linux" or platform.machine() != "x86_64" or sys.maxsize < 2**32:
        return (
            f"{platform.system()} on {platform.machine()} cannot be used: "
            "the ROS wheels exist for 64-bit Linux on x86_64 only."
        )
    library, version = platform.libc_ver()
    numbers = tuple(int(part) for part in version.split(".")[:2] if part.isdigit())
    if library != "glibc" or numbers < OLDEST_GLIBC:
        return (
            f"the C library is {library or 'unknown'} {version}: the ROS wheels need glibc "
            f"{OLDEST_GLIBC[0]}.{OLDEST_GLIBC[1]} or newer."
        )
    if os.pathsep in str(root) or "\n" in str(root):
        return f"the path of the checkout must not contain a colon or a line break: {root}"
    return None


def missing_packages() -> dict[str, str]:
    """Return the missing system packages: Debian name -> what was looked for and not found."""
    missing: dict[str, str] = {}
    # CMake takes the compilers from these variables, arguments included.
    for variable, default in (("CXX", "c++"), ("CC", "cc")):
        words = shlex.split(os.environ.get(variable, "")) or [default]
        if shutil.which(words[0]) is None:
            missing["g++"] = f"no compiler {words[0]}"
    header = Path(sysconfig.get_path("include")) / "Python.h"
    if not header.is_file():
        missing["python3-dev"] = f"no {header}"
    if importlib.util.find_spec("venv") is None or importlib.util.find_spec("ensurepip") is None:
        missing["python3-venv"] = f"no venv and ensurepip in {sys.executable}"
    return missing


def missing_packages_message(missing: dict[str, str]) -> str:
    """Return one message: what is missing, and the command that installs it on Debian."""
    names = " ".join(sorted(missing))
    reasons = "; ".join(f"{name}: {reason}" for name, reason in sorted(missing.items()))
    return f"system packages are missing ({reasons}). On Debian: sudo apt-get install {names}"
