# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The process that stands for another host of a run (not a ROS node)."""

import sys
from pathlib import Path

from ros2_cosim.core.process.processes import run_main
from ros2_cosim.ros.bringup.far_host import attend


def main() -> int:
    """Run it; the arguments are the output directory of the run and the name of the host."""
    directory, host = sys.argv[1:3]
    return attend(Path(directory), host)


if __name__ == "__main__":
    run_main(main)
