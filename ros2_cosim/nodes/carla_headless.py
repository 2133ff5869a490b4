# SPDX-License-Identifier: Apache-2.0
"""The headless CARLA-compatible server (not a ROS node: it speaks CARLA's client protocol)."""

import sys

from ros2_cosim.carla_headless.__main__ import main as serve


def main() -> int:
    """Run the server; the options are those of ``python -m ros2_cosim.carla_headless``."""
    return serve()


if __name__ == "__main__":
    sys.exit(main())
