# SPDX-License-Identifier: Apache-2.0
"""A relay that is also a client: of its own service, and of one of another node."""

import sys

from relay_node import Relay
from running import run
from std_srvs.srv import Empty


class Client(Relay):
    def __init__(self) -> None:
        super().__init__()
        self.create_service(Empty, "own", lambda request, response: response)
        self.create_client(Empty, "own")
        for service in sys.argv[1 : sys.argv.index("--ros-args")]:
            self.create_client(Empty, service)


if __name__ == "__main__":
    run(Client)
