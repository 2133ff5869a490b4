# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Prints the full names of all nodes, topics and services but its own, when some are there."""

from __future__ import annotations

import sys
import time

import rclpy

_LIMIT_S = 60.0
_OWN = "list_names"


def main() -> int:
    """Print a name per line; exit code 1 if some of those wanted did not come."""
    wanted = set(sys.argv[1:])
    rclpy.init(args=[])
    node = rclpy.create_node(_OWN, enable_rosout=False, start_parameter_services=False)
    deadline = time.monotonic() + _LIMIT_S
    found: set[str] = set()
    while not wanted <= found and time.monotonic() < deadline:
        time.sleep(0.05)
        pairs = node.get_topic_names_and_types() + node.get_service_names_and_types()
        nodes = node.get_node_names_and_namespaces()
        found = {name for name, _ in pairs}
        found |= {f"{space.rstrip('/')}/{name}" for name, space in nodes} - {f"/{_OWN}"}
    print("\n".join(sorted(name for name in found if not name.startswith(f"/{_OWN}/"))))
    node.destroy_node()
    rclpy.shutdown()
    return int(not wanted <= found)


if __name__ == "__main__":
    sys.exit(main())
