# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Message types of a scenario that are not part of this project: found, and there for a shape."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.messages.catalogue import DEFAULT as CATALOGUE
from ros2_cosim.core.messages.packages import (
    changed_since_build,
    definition_text,
    find_packages,
    how_to_install,
    is_installed,
)

#: Shapes whose messages are on ROS topics, for which the middleware needs compiled types.
ON_TOPICS = ("ros", "composed")


def offer_messages(directories: Sequence[str], base: Path) -> None:
    """Make the definitions known that a scenario names.

    :param base: directory that relative names refer to
    :raises ConfigurationError: a directory has none, or a type is known by another definition
    """
    for index, name in enumerate(directories):
        where = f"messages.{index}"
        for package in find_packages(base / name, where):
            CATALOGUE.offer({k: definition_text(f) for k, f in package.messages.items()})


def check_own_messages() -> None:
    """Check whether the messages of this project are compiled from the definitions that are there.

    :raises ConfigurationError: one has changed
    """
    changed = changed_since_build()
    if changed:
        raise ConfigurationError(
            f"{changed} changed since the messages were compiled: run `make setup`, "
            "or use --shape inproc"
        )


def check_on_topics(type_name: str, where: str) -> None:
    """Check whether messages of a type can be on a ROS topic.

    :param where: the place in the scenario that names the type
    :raises ConfigurationError: its package is not installed
    """
    if not is_installed(type_name):
        raise ConfigurationError(
            f"{where}: found {type_name}; {how_to_install(type_name)}, or use --shape inproc"
        )
