# SPDX-License-Identifier: Apache-2.0
"""The headless CARLA-compatible server (not a ROS node: it speaks CARLA's client protocol)."""

import sys

from ros2_cosim.carla_headless.__main__ import main as serve
from ros2_cosim.run.channel import Starter

#: Its name in the plan of a run.
NAME = "simulator"


def main() -> int:
    """Run the server; the options are those of ``python -m ros2_cosim.carla_headless``."""
    starter = Starter(NAME)
    return serve(on_ready=starter.ready, on_error=lambda text: starter.failed(f"{NAME}: {text}"))


if __name__ == "__main__":
    sys.exit(main())
