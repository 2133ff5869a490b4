# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Build the ROS interfaces of this package against the ROS wheels of a virtual environment."""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BUILDTOOLS = ROOT / "buildtools"
sys.path.insert(0, str(ROOT))

from ros2_cosim.core.messages.compilation import PYTHON_DIRECTORY as PYTHON_DIRECTORY  # noqa: E402
from ros2_cosim.core.messages.compilation import build_interface_package, wheel_prefix  # noqa: E402


def build_interfaces(scratch: Path, stage: Path) -> None:
    """Build this package, and ``tf2_msgs`` if the wheels lack it, into ``stage``.

    :raises InterfaceBuildError: if a tool is missing or a step fails.
    """
    description = wheel_prefix() / "share" / "tf2_msgs" / "package.xml"
    # Where an earlier installation of this package is being replaced, the substitute is there.
    if not description.is_file() or b"ros2_cosim maintainers" in description.read_bytes():
        build_interface_package("tf2_msgs", BUILDTOOLS / "tf2_msgs", scratch / "tf2_msgs", stage)
    build_interface_package("ros2_cosim", ROOT, scratch / "ros2_cosim", stage)
