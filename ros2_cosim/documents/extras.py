# SPDX-License-Identifier: Apache-2.0
"""Packages that only some commands need: extras of this distribution."""

from __future__ import annotations

from importlib.util import find_spec

from ros2_cosim.kernel.errors import ConfigurationError


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
            f"{what} needs {', '.join(missing)}, which is not installed; run 'make setup "
            f"EXTRAS={extra}'"
        )
