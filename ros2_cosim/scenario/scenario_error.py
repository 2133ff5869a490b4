# SPDX-License-Identifier: Apache-2.0
"""Several faults of one scenario in one error."""

from __future__ import annotations

from ros2_cosim.documents.settings import in_one_line
from ros2_cosim.kernel.errors import ConfigurationError


class ScenarioError(ConfigurationError):
    """What is wrong with a scenario, fault by fault."""

    def __init__(self, faults: list[str]) -> None:
        super().__init__(in_one_line(faults))
        self.faults = faults
