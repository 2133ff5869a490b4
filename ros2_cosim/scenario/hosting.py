# SPDX-License-Identifier: Apache-2.0
"""Which participants share a process in shape ``ros``: those with the same key ``process``."""

from __future__ import annotations

from ros2_cosim.kernel.errors import ConfigurationError
from ros2_cosim.scenario.declaration import Declaration
from ros2_cosim.scenario.executables import is_own
from ros2_cosim.scenario.schema import Scenario


def hosted(scenario: Scenario) -> dict[str, list[str]]:
    """Process -> its participants, of those processes that the scenario names."""
    found: dict[str, list[str]] = {}
    for name, settings in scenario.participants.items():
        if settings.process is not None:
            found.setdefault(settings.process, []).append(name)
    return found


def processes_of(scenario: Scenario) -> dict[str, list[str]]:
    """Process -> its participants, of all processes of participants in shape ``ros``."""
    found: dict[str, list[str]] = {}
    for name, settings in scenario.participants.items():
        found.setdefault(settings.process or name, []).append(name)
    return found


def check_hosting(declaration: Declaration) -> None:
    """See whether a participant can run in the process that is named for it.

    :raises ConfigurationError: it needs a process of its own
    """
    settings = declaration.settings
    if settings.process is None:
        return
    reason = declaration.needs.alone
    if is_own(settings.node):
        reason = f"node '{settings.node}'"
    if reason:
        raise ConfigurationError(
            f"participants.{declaration.name}.process: found '{settings.process}' together with "
            f"{reason}; such a participant needs a process of its own. Allowed are participants "
            "without a node of their own and without processes beside them"
        )
