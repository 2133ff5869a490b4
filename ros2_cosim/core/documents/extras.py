# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Packages that only some commands need: extras of this distribution."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import ros2_cosim
from ros2_cosim.core.kernel.errors import ConfigurationError


def need_extra(extra: str, modules: tuple[str, ...], what: str) -> None:
    """Make sure that the packages of an extra are there.

    :param extra: its name in ``pyproject.toml``
    :param modules: what is imported of it
    :param what: what needs them, for the message
    :raises ConfigurationError: one is missing
    """
    missing = [module for module in modules if find_spec(module) is None]
    if missing:
        raise ConfigurationError(
            f"{what} needs {', '.join(missing)}, which is not installed; run '{command_for(extra)}'"
        )


def command_for(extra: str) -> str:
    """The command that brings an extra: a checkout has locked versions, a wheel has none."""
    if (Path(ros2_cosim.__file__).parent.parent / "Makefile").is_file():
        return f"make setup EXTRAS={extra}"
    return f'pip install "ros2_cosim[{extra}]"'
