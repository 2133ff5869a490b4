# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Says once again what was said on a topic: ``python chaos_echo.py TOPIC SECONDS``.

Waits until something comes, then for so long, and then repeats the newest message once.
"""

from __future__ import annotations

import sys
import time

from ros2_cosim.ros.node.session import Session
from ros2_cosim.ros.node.writers import data_qos

TYPES = {"/cosim": "ros2_cosim/msg/Completion"}
DATA = "ros2_cosim/msg/ControlCommand"
#: So long [s] something has to come on the topic.
PATIENCE_S = 30.0


def main() -> int:
    """Listen, wait, repeat."""
    topic, after_s = sys.argv[1], float(sys.argv[2])
    kind = TYPES.get(topic[:6], DATA)
    heard: list[bytes] = []
    with Session("chaos_echo") as session:
        deadline = time.monotonic() + PATIENCE_S
        # Not before the run is under way: this reader must not be taken for one of its own.
        started: list[float] = []
        clock = "rosgraph_msgs/msg/Clock"
        session.reader("/clock", clock, data_qos(), lambda data: started.append(time.monotonic()))
        while not started:
            session.wait(0.05)
            if time.monotonic() > deadline:
                return 1
        session.reader(topic, kind, data_qos(), heard.append)
        writer = session.writer(topic, kind, data_qos())
        repeat_at = time.monotonic() + after_s
        while time.monotonic() < repeat_at or not (heard and writer.readers > 1):
            session.wait(0.02)
            if time.monotonic() > deadline:
                return 1
        writer.send_bytes(heard[-1])
        writer.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main())
