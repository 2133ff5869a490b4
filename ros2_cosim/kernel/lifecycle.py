# SPDX-License-Identifier: Apache-2.0
"""States of participants and of the system, with the numbers that messages carry."""

from __future__ import annotations

from enum import IntEnum


class State(IntEnum):
    """State of a participant or of the system (constants of ros2_cosim/msg/ParticipantState)."""

    CREATED = 0
    CONNECTING = 1
    READY = 2
    RUNNING = 3
    PAUSED = 4
    STOPPING = 5
    STOPPED = 6
    ERROR = 7
    SHUT_DOWN = 8
    ABORTING = 9
