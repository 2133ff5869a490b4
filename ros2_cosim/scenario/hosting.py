# SPDX-License-Identifier: Apache-2.0
"""Which participants share a process in shape ``ros``: those with the same key ``process``."""

from __future__ import annotations

from ros2_cosim.interfaces.foreign import FOREIGN_MODEL
from ros2_cosim.kernel.errors import ConfigurationError
from ros2_cosim.scenario.dcp_slaves import DCP_MASTER_MODEL
from ros2_cosim.scenario.schema import Scenario

#: Nodes of this package that are nothing but a participant: they can share a process.
HOSTABLE = ("cacc_controller", "object_sensor", "participant", "referee", "v2v_channel")
#: Models that have a process, or servers, of their own beside them.
_ACCOMPANIED = {FOREIGN_MODEL: "a foreign node", DCP_MASTER_MODEL: "DCP slaves"}


def hosted(scenario: Scenario) -> dict[str, list[str]]:
    """Process -> its participants, of those processes that the scenario names."""
    found: dict[str, list[str]] = {}
    for name, settings in scenario.participants.items():
        if settings.process is not None:
            found.setdefault(settings.process, []).append(name)
    return found


def check_hosting(scenario: Scenario) -> None:
    """See whether everybody can run in the process that is named for it.

    :raises ConfigurationError: one needs a process of its own
    """
    for name, settings in scenario.participants.items():
        if settings.process is None:
            continue
        reason = ""
        if settings.node not in HOSTABLE:
            reason = f"node '{settings.node}'"
        elif settings.model in _ACCOMPANIED:
            reason = f"model '{settings.model}', which has {_ACCOMPANIED[settings.model]} beside it"
        elif settings.parameters.get("dcp") is not None:
            reason = "parameter 'dcp', which puts its plant behind a DCP slave"
        if reason:
            raise ConfigurationError(
                f"participants.{name}.process: found '{settings.process}' together with {reason}; "
                "such a participant needs a process of its own. Allowed are participants of the "
                f"nodes {', '.join(HOSTABLE)}, without parameter 'dcp', of any model but "
                f"{' and '.join(sorted(_ACCOMPANIED))}"
            )
