# SPDX-License-Identifier: Apache-2.0
"""The world behind DCP: the master of the simulator's slave."""

import sys

from ros2_cosim.nodes._start import run_participant


def main() -> int:
    """Run the node."""
    return run_participant("dcp_master")


if __name__ == "__main__":
    sys.exit(main())
