# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The topics of the coordination protocol, in one place."""

CLOCK = "/clock"
HORIZON = "/cosim/horizon"
PARTICIPANT_STATE = "/cosim/participant_state"
SYSTEM_STATE = "/cosim/system_state"
REPORT = "/cosim/report"
STATUS = "/cosim/status"
HEARTBEAT = "/cosim/heartbeat"

DIAGNOSTICS = "/diagnostics"

CLOCK_TYPE = "rosgraph_msgs/msg/Clock"
COMPLETION_TYPE = "ros2_cosim/msg/Completion"
HORIZON_TYPE = "ros2_cosim/msg/Horizon"
PARTICIPANT_STATE_TYPE = "ros2_cosim/msg/ParticipantState"
SYSTEM_STATE_TYPE = "ros2_cosim/msg/SystemState"
REPORT_TYPE = "ros2_cosim/msg/ParticipantReport"
STATUS_TYPE = "ros2_cosim/msg/RunStatus"
HEARTBEAT_TYPE = "ros2_cosim/msg/Heartbeat"


def is_coordination(topic: str) -> bool:
    """Whether only processes of a run may publish on a topic: their messages are sealed."""
    shared = (HORIZON, PARTICIPANT_STATE, SYSTEM_STATE, REPORT, STATUS, HEARTBEAT)
    return topic in shared or topic.startswith(completion(""))


def is_progress(topic: str) -> bool:
    """Whether a topic tells how far a participant is."""
    return topic == HEARTBEAT or topic.startswith(completion(""))


def is_superseded(topic: str) -> bool:
    """Whether each message of a topic says all that those before it said."""
    return topic == HORIZON


def completion(participant: str) -> str:
    """Progress and promises of one participant."""
    return f"/cosim/completion/{participant}"
