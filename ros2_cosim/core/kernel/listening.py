# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Where programs of a run listen, and for what: declared, so that a plan can list all of it."""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple


class PortUse(Enum):
    """What comes in at a port, or at a socket of this machine; each of a run has one of these."""

    SIMULATOR = "RPC of the simulator"
    STREAMS = "streams of the simulator"
    RESERVED = "reserved by CARLA"
    DCP_CONTROL = "DCP control and data of a slave"
    DCP_DATA = "DCP data of slaves"
    VDS_STATES = "VDS1 states"
    LIVE_VIEW = "live view for Foxglove"
    PAGE = "dashboard"
    FAR_PART = "part on another host"
    CHANNEL = "channel of the run"
    LANE = "lane of the run"
    CLAIM = "claim of the ROS domain"
    DDS = "DDS"


class Listening(NamedTuple):
    """A port at which a participant listens.

    ``kind`` is ``tcp``, ``udp`` or ``unix``, ``host`` an address of this machine, or the name of a
    socket of the kind ``unix``. ``port`` 0 is any free one, and 0 for ``unix``.
    """

    use: PortUse
    kind: str
    host: str
    port: int = 0
