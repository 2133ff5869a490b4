# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Whether Python packages are there that this one needs, in versions that it can use.

In a ROS workspace they come from the distribution: Ubuntu 24.04 has a pydantic that is too old.
"""

from __future__ import annotations

from functools import cache
from importlib.metadata import PackageNotFoundError, distribution

#: What fails at once where it is too old; all requirements are in ``requirements-workspace.txt``.
LEAST = {"pydantic": (2, 6)}
_ADVICE = (
    "in a virtual environment on top of the distribution: python3 -m venv --system-site-packages "
    "venv && venv/bin/pip install -r requirements-workspace.txt (see "
    "docs/how-to/use-it-in-a-ros-2-workspace.md)"
)


@cache
def version_of(name: str) -> str:
    """The version of an installed distribution.

    ``importlib.metadata.version`` reads the whole description as an e-mail, in ten times the time.

    :raises PackageNotFoundError: it is not installed
    """
    found = distribution(name)
    _, _, rest = (found.read_text("METADATA") or "").partition("\nVersion: ")
    return rest.partition("\n")[0].strip() or found.version


def fault() -> str:
    """One sentence about a package that is missing or too old; empty: all are there."""
    for name, least in LEAST.items():
        needed = ".".join(map(str, least))
        try:
            found = version_of(name)
        except PackageNotFoundError:
            return f"ros2_cosim: {name} is missing; needed is {needed} or newer, {_ADVICE}"
        if tuple(int(part) for part in found.split(".")[:2]) < least:
            return f"ros2_cosim: found {name} {found}; needed is {needed} or newer, {_ADVICE}"
    return ""


def check() -> None:
    """Check whether all are there.

    :raises ImportError: one is not
    """
    sentence = fault()
    if sentence:
        raise ImportError(sentence)


def check_for_program() -> None:
    """The same for a program, which ends: a traceback would hide the sentence."""
    sentence = fault()
    if sentence:
        raise SystemExit(sentence)
