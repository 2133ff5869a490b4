# SPDX-License-Identifier: Apache-2.0
"""The V2V channel between the vehicles."""

import sys

from ros2_cosim.nodes._start import run_participant


def main() -> int:
    """Run the node."""
    return run_participant("v2v_channel")


if __name__ == "__main__":
    sys.exit(main())
