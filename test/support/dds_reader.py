# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""A process that reads the horizon: for tests of the DDS settings.

Prints ``groups`` with the multicast groups that it is in, stops itself, and when it goes on counts
messages until it has the number that is its argument, or nothing has come for long.
"""

import os
import signal
import sys
import time
from pathlib import Path

from ros2_cosim.core.messages.protocol import Horizon
from ros2_cosim.ros.node import topics
from ros2_cosim.ros.node.session import Session
from ros2_cosim.ros.node.writers import data_qos

_PATIENCE_S = 60.0


def main() -> int:
    """Run the reader."""
    wanted = int(sys.argv[1])
    received: list[int] = []
    heard = time.monotonic()

    def receive(horizon: Horizon) -> None:
        nonlocal heard
        heard = time.monotonic()
        received.append(horizon.time_ns)

    with Session("dds_reader", []) as session:
        session.record_reader(topics.HORIZON, topics.HORIZON_TYPE, data_qos(), receive)
        while not received:
            session.wait(0.1)
        print("groups", Path("/proc/self/net/igmp").read_text().split(), flush=True)
        os.kill(os.getpid(), signal.SIGSTOP)
        while len(received) < wanted and time.monotonic() - heard < _PATIENCE_S:
            session.wait(0.1)
    print("received", len(received), received == sorted(set(received)), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
