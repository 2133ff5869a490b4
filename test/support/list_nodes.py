# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Waits for the nodes and services (``/NAME``) on the command line; tells the nodes there are."""

from __future__ import annotations

import sys
import time

import rclpy

_LIMIT_S = 60.0


def main() -> int:
    """Print a name per line; exit code 1 if some of those wanted did not come."""
    wanted = set(sys.argv[1:])
    rclpy.init(args=[])
    node = rclpy.create_node("list_nodes", enable_rosout=False, start_parameter_services=False)
    deadline = time.monotonic() + _LIMIT_S
    found: set[str] = set()
    while not wanted <= found and time.monotonic() < deadline:
        time.sleep(0.05)
        services = {name for name, _ in node.get_service_names_and_types()}
        found = services.union(node.get_node_names())
    print("\n".join(sorted(node.get_node_names())))
    node.destroy_node()
    rclpy.shutdown()
    return int(not wanted <= found)


if __name__ == "__main__":
    sys.exit(main())
