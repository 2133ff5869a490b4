# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Executable ``visualisation``: draws the run for RViz."""

from __future__ import annotations

import sys

from ros2_cosim.core.kernel.errors import Cancelled, CosimError
from ros2_cosim.core.messages.namespaces import node_name_of
from ros2_cosim.core.process.processes import ignore_interrupts, run_main
from ros2_cosim.ros.node.session import Session
from ros2_cosim.ros.node.visualisation import Visualisation
from ros2_cosim.world.map import RoadNetwork

_WAIT_S = 0.5


def main() -> int:
    """Run until interrupted; 0, or 2 and one line when a parameter is wrong."""
    try:
        with Session(node_name_of("visualisation"), sys.argv) as session:
            try:
                Visualisation(session.node, RoadNetwork.from_file)
                while True:
                    session.wait(_WAIT_S)
            except (Cancelled, KeyboardInterrupt):
                ignore_interrupts()
                session.ends_with(0)
        return 0
    except (Cancelled, KeyboardInterrupt):
        return 0
    except CosimError as error:
        print(f"visualisation: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    run_main(main)
