# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Our states as those of ROS managed nodes (``lifecycle_msgs``), in one place.

A managed node has four primary states; ours are finer, so several share one. Configuring and
activating at the start and finalising are the run's own business: it is coordinated. From outside a
participant can be deactivated (paused), activated again and shut down (stopped). A deactivated
participant can be cleaned up, and is then configured again: it is as at its start.
"""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple

from ros2_cosim.core.documents.installed import package_table
from ros2_cosim.core.kernel.lifecycle import State
from ros2_cosim.core.kernel.participant_lifecycle import ParticipantLifecycle


class LifecycleRequest(Enum):
    """The requests to a participant from outside."""

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


_TABLE = package_table("ros/node/lifecycle.json")
#: State of a managed node -> its label.
LABELS: dict[int, str] = {int(number): label for number, label in _TABLE["labels"].items()}
_NUMBERS = {label: number for number, label in LABELS.items()}
#: Our state -> state of a managed node.
ROS_STATE = {State[name]: _NUMBERS[label] for name, label in _TABLE["states"].items()}
#: The transitions of a managed node.
EDGES = tuple(
    Edge(number, label, _NUMBERS[start], _NUMBERS[goal])
    for number, label, start, goal in _TABLE["edges"]
)
#: Our state, or ``unconfigured`` -> transitions that may be requested, with what they ask for.
ALLOWED = {
    name: {int(number): LifecycleRequest[asked] for number, asked in allowed.items()}
    for name, allowed in _TABLE["allowed"].items()
}


def ros_state(life: ParticipantLifecycle) -> int:
    """The state of a managed node that a participant is in."""
    return _NUMBERS["unconfigured"] if life.unconfigured else ROS_STATE[life.state]


def allowed_of(life: ParticipantLifecycle) -> dict[int, LifecycleRequest]:
    """What may be requested of a participant now: id of the transition -> request."""
    return ALLOWED.get("unconfigured" if life.unconfigured else life.state.name, {})


def edges_from(life: ParticipantLifecycle) -> list[Edge]:
    """The transitions that may be requested now."""
    allowed = allowed_of(life)
    return [edge for edge in EDGES if edge.id in allowed]


def edge_between(start: int, goal: int) -> Edge | None:
    """The transition from one state of a managed node to another; None within one state."""
    return next((edge for edge in EDGES if (edge.start, edge.goal) == (start, goal)), None)
