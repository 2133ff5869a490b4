# SPDX-License-Identifier: Apache-2.0
"""Executable ``visualisation``: draws the run for RViz."""

from __future__ import annotations

import sys

import rclpy
from rclpy.executors import ExternalShutdownException
from rclpy.experimental import EventsExecutor

from ros2_cosim.kernel.errors import CosimError
from ros2_cosim.models.road import RoadNetwork
from ros2_cosim.ros.visualisation import Visualisation

# Without a limit this executor spins without ever delivering anything.
_WAIT_S = 0.5


def main(args: list[str] | None = None) -> int:
    """Run until interrupted; 0, or 2 and one line when a parameter is wrong."""
    try:
        rclpy.init(args=args)
        node = Visualisation(RoadNetwork.from_file)
        executor = EventsExecutor()
        executor.add_node(node)
        while rclpy.ok():
            executor.spin_once(timeout_sec=_WAIT_S)
    except (KeyboardInterrupt, ExternalShutdownException):
        pass
    except CosimError as error:
        print(f"visualisation: {error}", file=sys.stderr)
        return 2
    finally:
        rclpy.try_shutdown()
    return 0


if __name__ == "__main__":
    sys.exit(main())
