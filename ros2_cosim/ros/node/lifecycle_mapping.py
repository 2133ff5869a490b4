# SPDX-License-Identifier: Apache-2.0
"""Our states as those of ROS managed nodes (``lifecycle_msgs``), in one place.

A managed node has four primary states; ours are finer, so several share one. Configuring and
activating at the start and finalising are the run's own business: it is coordinated. From
outside a participant can be deactivated (paused), activated again and shut down (stopped). One
that is deactivated can be cleaned up, and is then configured again: it is as at its start.
"""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple

from lifecycle_msgs.msg import State as RosState
from lifecycle_msgs.msg import Transition

from ros2_cosim.core.kernel.lifecycle import State
from ros2_cosim.core.kernel.participant_lifecycle import ParticipantLifecycle


class LifecycleRequest(Enum):
    """What may be asked of a participant from outside."""

    PAUSE = "pause"
    CLEAN_UP = "clean up"
    CONFIGURE = "configure"
    RESUME = "resume"
    STOP = "stop"


class Edge(NamedTuple):
    """One transition of a managed node: id and label, from one state to another."""

    id: int
    label: str
    start: int
    goal: int


#: State of a managed node -> its label.
LABELS: dict[int, str] = {
    RosState.PRIMARY_STATE_UNKNOWN: "unknown",
    RosState.PRIMARY_STATE_UNCONFIGURED: "unconfigured",
    RosState.PRIMARY_STATE_INACTIVE: "inactive",
    RosState.PRIMARY_STATE_ACTIVE: "active",
    RosState.PRIMARY_STATE_FINALIZED: "finalized",
    RosState.TRANSITION_STATE_CONFIGURING: "configuring",
    RosState.TRANSITION_STATE_SHUTTINGDOWN: "shuttingdown",
    RosState.TRANSITION_STATE_ERRORPROCESSING: "errorprocessing",
}

#: Our state -> state of a managed node.
ROS_STATE: dict[State, int] = {
    State.INVALID: RosState.PRIMARY_STATE_UNKNOWN,
    State.SERVICES_CREATED: RosState.PRIMARY_STATE_UNCONFIGURED,
    State.COMMUNICATION_INITIALISING: RosState.TRANSITION_STATE_CONFIGURING,
    State.COMMUNICATION_INITIALISED: RosState.TRANSITION_STATE_CONFIGURING,
    State.READY_TO_RUN: RosState.PRIMARY_STATE_INACTIVE,
    State.RUNNING: RosState.PRIMARY_STATE_ACTIVE,
    State.PAUSED: RosState.PRIMARY_STATE_INACTIVE,
    State.STOPPING: RosState.TRANSITION_STATE_SHUTTINGDOWN,
    State.STOPPED: RosState.TRANSITION_STATE_SHUTTINGDOWN,
    State.ERROR: RosState.TRANSITION_STATE_ERRORPROCESSING,
    State.SHUTTING_DOWN: RosState.TRANSITION_STATE_SHUTTINGDOWN,
    State.SHUT_DOWN: RosState.PRIMARY_STATE_FINALIZED,
    State.ABORTING: RosState.TRANSITION_STATE_SHUTTINGDOWN,
}

_UNCONFIGURED = RosState.PRIMARY_STATE_UNCONFIGURED
_INACTIVE = RosState.PRIMARY_STATE_INACTIVE
_ACTIVE = RosState.PRIMARY_STATE_ACTIVE
_FINALIZED = RosState.PRIMARY_STATE_FINALIZED
_CONFIGURING = RosState.TRANSITION_STATE_CONFIGURING
_SHUTTING = RosState.TRANSITION_STATE_SHUTTINGDOWN
_ERROR = RosState.TRANSITION_STATE_ERRORPROCESSING

#: Every transition that a participant can make, as those of a managed node.
EDGES: tuple[Edge, ...] = (
    Edge(Transition.TRANSITION_CREATE, "create", RosState.PRIMARY_STATE_UNKNOWN, _UNCONFIGURED),
    Edge(Transition.TRANSITION_CONFIGURE, "configure", _UNCONFIGURED, _CONFIGURING),
    Edge(Transition.TRANSITION_ON_CONFIGURE_SUCCESS, "transition_success", _CONFIGURING, _INACTIVE),
    Edge(Transition.TRANSITION_ON_CONFIGURE_ERROR, "transition_error", _CONFIGURING, _ERROR),
    Edge(Transition.TRANSITION_CLEANUP, "cleanup", _INACTIVE, _UNCONFIGURED),
    Edge(Transition.TRANSITION_ACTIVATE, "activate", _INACTIVE, _ACTIVE),
    Edge(Transition.TRANSITION_ON_ACTIVATE_ERROR, "transition_error", _INACTIVE, _ERROR),
    Edge(Transition.TRANSITION_DEACTIVATE, "deactivate", _ACTIVE, _INACTIVE),
    Edge(Transition.TRANSITION_ON_DEACTIVATE_ERROR, "transition_error", _ACTIVE, _ERROR),
    Edge(Transition.TRANSITION_UNCONFIGURED_SHUTDOWN, "shutdown", _UNCONFIGURED, _SHUTTING),
    Edge(Transition.TRANSITION_INACTIVE_SHUTDOWN, "shutdown", _INACTIVE, _SHUTTING),
    Edge(Transition.TRANSITION_ACTIVE_SHUTDOWN, "shutdown", _ACTIVE, _SHUTTING),
    Edge(Transition.TRANSITION_ON_CONFIGURE_FAILURE, "transition_failure", _CONFIGURING, _SHUTTING),
    Edge(Transition.TRANSITION_ON_SHUTDOWN_SUCCESS, "transition_success", _SHUTTING, _FINALIZED),
    Edge(Transition.TRANSITION_ON_SHUTDOWN_ERROR, "transition_error", _SHUTTING, _ERROR),
    Edge(Transition.TRANSITION_ON_ERROR_FAILURE, "transition_failure", _ERROR, _SHUTTING),
    Edge(Transition.TRANSITION_ON_CLEANUP_SUCCESS, "transition_success", _SHUTTING, _CONFIGURING),
    Edge(Transition.TRANSITION_ON_ERROR_ERROR, "transition_error", _UNCONFIGURED, _ERROR),
)

#: Our state -> what may be asked for from outside: id of the transition -> request.
ALLOWED: dict[State, dict[int, LifecycleRequest]] = {
    State.RUNNING: {
        Transition.TRANSITION_DEACTIVATE: LifecycleRequest.PAUSE,
        Transition.TRANSITION_ACTIVE_SHUTDOWN: LifecycleRequest.STOP,
    },
    State.PAUSED: {
        Transition.TRANSITION_CLEANUP: LifecycleRequest.CLEAN_UP,
        Transition.TRANSITION_ACTIVATE: LifecycleRequest.RESUME,
        Transition.TRANSITION_INACTIVE_SHUTDOWN: LifecycleRequest.STOP,
    },
}
#: The same of a participant that is PAUSED and unconfigured.
ALLOWED_UNCONFIGURED: dict[int, LifecycleRequest] = {
    Transition.TRANSITION_CONFIGURE: LifecycleRequest.CONFIGURE,
    Transition.TRANSITION_UNCONFIGURED_SHUTDOWN: LifecycleRequest.STOP,
}


def ros_state(life: ParticipantLifecycle) -> int:
    """The state of a managed node that a participant is in."""
    return _UNCONFIGURED if life.unconfigured else ROS_STATE[life.state]


def allowed_of(life: ParticipantLifecycle) -> dict[int, LifecycleRequest]:
    """What may be asked for of a participant now: id of the transition -> request."""
    return ALLOWED_UNCONFIGURED if life.unconfigured else ALLOWED.get(life.state, {})


def edges_from(life: ParticipantLifecycle) -> list[Edge]:
    """The transitions that may be asked for now."""
    allowed = allowed_of(life)
    return [edge for edge in EDGES if edge.id in allowed]


def edge_between(start: int, goal: int) -> Edge | None:
    """The transition from one state of a managed node to another; None within one state."""
    return next((edge for edge in EDGES if (edge.start, edge.goal) == (start, goal)), None)
