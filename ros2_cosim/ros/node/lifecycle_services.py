# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""A participant as a ROS managed node: the services and the topic of ``lifecycle_msgs``.

With them ``ros2 lifecycle nodes``, ``get``, ``list`` and ``set`` work on every participant.
:mod:`lifecycle_mapping` has which state is which, and what may be requested.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, NoReturn

from lifecycle_msgs.msg import State as RosState
from lifecycle_msgs.msg import Transition, TransitionDescription, TransitionEvent
from lifecycle_msgs.srv import (
    ChangeState,
    GetAvailableStates,
    GetAvailableTransitions,
    GetState,
)
from rclpy.node import Node

from ros2_cosim.core.kernel.errors import LifecycleError
from ros2_cosim.core.kernel.lifecycle import Change, State
from ros2_cosim.core.kernel.participant_lifecycle import ParticipantLifecycle
from ros2_cosim.core.kernel.runtime import ParticipantRuntime
from ros2_cosim.ros.node.lifecycle_mapping import (
    EDGES,
    LABELS,
    ROS_STATE,
    Edge,
    LifecycleRequest,
    allowed_of,
    edge_between,
    edges_from,
    ros_state,
)
from ros2_cosim.ros.node.service_switch import services_act


class Resetting(NamedTuple):
    """What resets the model of a participant that stands, by hand.

    ``check`` sees whether that can be, ``reset`` gives the time [ns] from which on it is as at its
    start. Both raise LifecycleError if it cannot.
    """

    check: Callable[[ParticipantRuntime], None]
    reset: Callable[[ParticipantRuntime], int]


def _cannot(runtime: ParticipantRuntime) -> NoReturn:
    raise LifecycleError("participants of this run are not reset by hand")


NO_RESET = Resetting(_cannot, _cannot)


def grant(
    asked: LifecycleRequest,
    reason: str,
    life: ParticipantLifecycle,
    runtime: ParticipantRuntime,
    resetting: Resetting,
    note_reset: Callable[[int], None],
) -> bool:
    """Do what was requested; whether it is a stop, which the caller has to do.

    :param note_reset: takes the time of a reset [ns]
    :raises LifecycleError: it cannot be done now
    """
    if asked is LifecycleRequest.PAUSE:
        life.pause(reason)
    elif asked is LifecycleRequest.CLEAN_UP:
        resetting.check(runtime)
        life.clean_up(reason)
    elif asked is LifecycleRequest.CONFIGURE:
        note_reset(resetting.reset(runtime))
        life.configure(reason)
    elif life.state is State.PAUSED:
        life.resume(reason)
    if asked is not LifecycleRequest.STOP:
        return False
    if runtime.stop_reason is not None:
        raise LifecycleError(f"a stop has been requested already: {runtime.stop_reason}")
    runtime.stop_reason = reason
    return True


class LifecycleServices:
    """Services of one participant, on the node that stands for it.

    :param node: carries them in its private namespace
    :param life: the lifecycle of the participant
    :param grant: does what was requested, with the reason; raises LifecycleError if that
        cannot be
    """

    def __init__(
        self,
        node: Node,
        life: ParticipantLifecycle,
        grant: Callable[[LifecycleRequest, str], None],
    ) -> None:
        self._node = node
        self._life = life
        self._grant = grant
        self._events = node.create_publisher(TransitionEvent, "~/transition_event", 10)
        for kind, name, answer in (
            (ChangeState, "change_state", self._change),
            (GetState, "get_state", self._get_state),
            (GetAvailableStates, "get_available_states", self._get_states),
            (GetAvailableTransitions, "get_available_transitions", self._get_available),
            (GetAvailableTransitions, "get_transition_graph", self._get_graph),
        ):
            node.create_service(kind, f"~/{name}", answer)

    def changed(self, change: Change) -> None:
        """Publish a transition, if it is one between states of managed nodes."""
        self._tell(ROS_STATE[change.before], ROS_STATE[change.state])

    def _tell(self, start: int, goal: int) -> None:
        edge = edge_between(start, goal)
        if edge is None:
            return
        event = TransitionEvent()
        event.timestamp = self._node.get_clock().now().nanoseconds
        event.transition = Transition(id=edge.id, label=edge.label)
        event.start_state, event.goal_state = _ros_state(start), _ros_state(goal)
        self._events.publish(event)

    def _change(self, request: Any, response: Any) -> Any:
        life = self._life
        asked = request.transition
        allowed = allowed_of(life) if services_act() else {}
        known = {edge.id: edge for edge in edges_from(life)}
        # As in rclcpp: a label, where there is one, counts before the number.
        number = asked.id
        if asked.label:
            number = next((e.id for e in known.values() if e.label == asked.label), None)
        response.success = False
        if number not in allowed:
            choices = ", ".join(f"{e.label} ({e.id})" for e in known.values()) or "nothing"
            self._node.get_logger().warning(
                f"change_state: asked for {asked.label or asked.id}; the state is "
                f"{'unconfigured' if life.unconfigured else life.state.name}; allowed is {choices}"
            )
            return response
        try:
            self._grant(allowed[number], f"{known[number].label}, asked for by change_state")
            response.success = True
            self._tell_steps(allowed[number])
        except LifecycleError as error:
            self._node.get_logger().warning(f"change_state: {error}")
        return response

    def _tell_steps(self, granted: LifecycleRequest) -> None:
        """Publish the transitions of a managed node that are not part of the lifecycle of
        participants.
        """
        if granted is LifecycleRequest.CLEAN_UP:
            self._tell(RosState.PRIMARY_STATE_INACTIVE, RosState.PRIMARY_STATE_UNCONFIGURED)
        elif granted is LifecycleRequest.CONFIGURE:
            configuring = RosState.TRANSITION_STATE_CONFIGURING
            self._tell(RosState.PRIMARY_STATE_UNCONFIGURED, configuring)
            self._tell(configuring, RosState.PRIMARY_STATE_INACTIVE)

    def _get_state(self, request: Any, response: Any) -> Any:
        response.current_state = _ros_state(ros_state(self._life))
        return response

    def _get_states(self, request: Any, response: Any) -> Any:
        response.available_states = [_ros_state(number) for number in LABELS]
        return response

    def _get_available(self, request: Any, response: Any) -> Any:
        response.available_transitions = _described(edges_from(self._life))
        return response

    def _get_graph(self, request: Any, response: Any) -> Any:
        response.available_transitions = _described(EDGES)
        return response


def _ros_state(number: int) -> Any:
    return RosState(id=number, label=LABELS[number])


def _described(edges: Iterable[Edge]) -> list[Any]:
    return [
        TransitionDescription(
            transition=Transition(id=edge.id, label=edge.label),
            start_state=_ros_state(edge.start),
            goal_state=_ros_state(edge.goal),
        )
        for edge in edges
    ]
