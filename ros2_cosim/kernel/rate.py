# SPDX-License-Identifier: Apache-2.0
"""The wanted real-time factor of a run."""

from __future__ import annotations

from ros2_cosim.kernel.errors import ConfigurationError


def parse_rate(text: str) -> float | None:
    """Real-time factor: a number above zero, or ``max`` for as fast as possible (None).

    :raises ConfigurationError: anything else
    """
    if text == "max":
        return None
    try:
        rate = float(text)
    except ValueError:
        rate = 0.0
    if not 0.0 < rate < 1e6:
        raise ConfigurationError(f"rate: found '{text}'; allowed is a number above 0, or max")
    return rate
