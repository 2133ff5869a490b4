# SPDX-License-Identifier: Apache-2.0
"""The headless CARLA-compatible server (not a ROS node: it speaks CARLA's client protocol).

The options are those of ``cosim carla-headless``.
"""

from ros2_cosim.carla_headless.__main__ import run
from ros2_cosim.interfaces.processes import ending_quietly
from ros2_cosim.run.starter_channel import Starter

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
    main()
