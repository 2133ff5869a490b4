# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The headless CARLA-compatible server (not a ROS node: it speaks CARLA's client protocol).

The options are those of ``cosim carla-headless``.
"""

from ros2_cosim.core.process.processes import ending_quietly, run_main
from ros2_cosim.ros.bringup.starter_channel import Starter
from ros2_cosim.world.headless.__main__ import run

#: Its name in the plan of a run.
NAME = "simulator"


def main() -> None:
    """Run the server; ends the process with its exit code."""

    def ended_by(number: int) -> int:
        return int(starter.is_ended_by(number, NAME))

    with ending_quietly():
        starter = Starter(NAME)
        run(
            on_ready=starter.ready,
            on_error=lambda text: starter.failed(f"{NAME}: {text}"),
            on_signal=ended_by,
        )


if __name__ == "__main__":
    run_main(main)
