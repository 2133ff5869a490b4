# SPDX-License-Identifier: Apache-2.0
"""The gate of one unmodified ROS node: a participant on its behalf."""

import sys

from ros2_cosim.nodes._start import run_participant


def main() -> int:
    """Run the node."""
    return run_participant("gate")


if __name__ == "__main__":
    sys.exit(main())
