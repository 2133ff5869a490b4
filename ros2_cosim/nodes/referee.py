# SPDX-License-Identifier: Apache-2.0
"""The referee of the platoon."""

import sys

from ros2_cosim.nodes._start import run_participant


def main() -> int:
    """Run the node."""
    return run_participant("referee")


if __name__ == "__main__":
    sys.exit(main())
