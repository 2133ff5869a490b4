# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""What carries the messages of a run between its processes: a lane on this host, or DDS."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from ros2_cosim.core.run.output_directory import read_holder
from ros2_cosim.core.run.request import RunOptions
from ros2_cosim.core.sockets.switchboard import LANE
from ros2_cosim.ros.bringup.dds import keeps_dds
from ros2_cosim.ros.bringup.plan import Process
from ros2_cosim.ros.bringup.starter_channel import CHANNEL

#: A lane wherever it reaches all processes; or DDS in any case.
TRANSPORTS = ("auto", "dds")


def has_lane(options: RunOptions, plan: Sequence[Process], environment: Mapping[str, str]) -> bool:
    """Whether the processes of a run use a lane.

    Those of the plan are on its host, unless a part of it is for another one. Those that the user
    starts may be elsewhere if DDS settings of the user, which hold then, reach other hosts.
    """
    if options.shape != "ros" or options.transport == "dds":
        return False
    if any(process.there for process in plan):
        return False
    return not (options.by_hand and keeps_dds(environment))


def lane_address(directory: Path) -> str:
    """Where this process finds the lane of its run; empty: there is none.

    The starter passes it in the environment; a process that the user has started finds it in the
    lock file of the output directory.

    :param directory: that of the scenario of the run
    """
    if os.environ.get(CHANNEL):
        return os.environ.get(LANE, "")
    facts = read_holder(directory)
    address = facts.get("lane") if facts else None
    return address if isinstance(address, str) else ""
