# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""A relay that is also a client: of its own service, and of those that its arguments name."""

import sys

from rclpy.action import ActionClient
from relay_node import Relay
from running import run
from std_srvs.srv import Empty
from tf2_msgs.action import LookupTransform


class Client(Relay):
    def __init__(self) -> None:
        super().__init__()
        self.create_service(Empty, "own", lambda request, response: response)
        self.create_client(Empty, "own")
        service, action = sys.argv[1:3]
        self.create_client(Empty, service)
        self._action = ActionClient(self, LookupTransform, action)


if __name__ == "__main__":
    run(Client)
