# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Where a view of a run listens."""

from __future__ import annotations

from typing import NamedTuple

from ros2_cosim.core.kernel.errors import ConfigurationError

LOOPBACK = "127.0.0.1"


class Address(NamedTuple):
    """Host and port; port 0: any free one."""

    host: str
    port: int

    @classmethod
    def of(cls, text: str, where: str, highest: int = 65535) -> Address:
        """Read ``[HOST:]PORT``; without a host it is this machine alone.

        :param where: how messages call the place that has it
        :param highest: the highest port
        :raises ConfigurationError: it is not an address
        """
        host, _, port = text.rpartition(":")
        if not (port.isascii() and port.isdigit() and int(port) <= highest):
            raise ConfigurationError(
                f"{where}: found '{text}'; allowed is [HOST:]PORT with a port from 0 to {highest}"
            )
        return cls(host.strip("[]") or LOOPBACK, int(port))
