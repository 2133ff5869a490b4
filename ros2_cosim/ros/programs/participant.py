# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Any participant whose model the scenario names."""

from ros2_cosim.core.process.processes import run_main
from ros2_cosim.ros.programs._start import run_participant


def main() -> int:
    """Run the node."""
    return run_participant("participant")


if __name__ == "__main__":
    run_main(main)
