# SPDX-License-Identifier: Apache-2.0
"""The error of the road room."""

from ros2_cosim.kernel.errors import ConfigurationError


class RoadError(ConfigurationError):
    """A road description is malformed or unsupported, or a place does not exist on it."""
