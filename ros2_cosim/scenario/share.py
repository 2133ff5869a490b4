# SPDX-License-Identifier: Apache-2.0
"""The data files that come with the package: scenarios, launch files, the RViz view."""

from __future__ import annotations

from pathlib import Path

import ros2_cosim
from ros2_cosim.kernel.errors import ConfigurationError

_PACKAGE = "ros2_cosim"


def share_file(name: str) -> Path:
    """Find a data file such as ``config/platoon.yaml``.

    It lies beside the package in a checkout, and in ``share/ros2_cosim`` of the prefix that the
    package is installed in otherwise (virtual environment or ROS 2 workspace). Looked for from
    the place of the package: code and data always belong together.

    :raises ConfigurationError: the file is not there
    """
    # Not resolved: a symlink install leads back to the checkout, whose data it links, too.
    package = Path(ros2_cosim.__file__).parent.absolute()
    checkout = package.parent
    if (checkout / "package.xml").is_file() and (checkout / name).is_file():
        return checkout / name
    for prefix in checkout.parents:
        path = prefix / "share" / _PACKAGE / name
        if path.is_file():
            return path
    raise ConfigurationError(f"{name}: not found beside {package}, nor installed above it")
