# SPDX-License-Identifier: Apache-2.0
"""One run at a time in a ROS domain: two would read each other's topics."""

from __future__ import annotations

import contextlib
import fcntl
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

from ros2_cosim.kernel.errors import ConfigurationError


@contextlib.contextmanager
def domain_lock() -> Iterator[None]:
    """Hold the ROS domain of this process (``ROS_DOMAIN_ID``, 0 by default) for a run.

    :raises ConfigurationError: another run on this machine uses the domain
    """
    domain = os.environ.get("ROS_DOMAIN_ID") or "0"
    if not domain.isdecimal() or int(domain) > 232:
        raise ConfigurationError(f"ROS_DOMAIN_ID: found '{domain}'; allowed is 0 to 232")
    path = Path(tempfile.gettempdir()) / f"ros2_cosim_run_{os.getuid()}_{int(domain)}.lock"
    with path.open("a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise ConfigurationError(
                f"another run uses ROS domain {domain}; wait for it, or set ROS_DOMAIN_ID to "
                "another number from 0 to 101"
            ) from None
        yield
