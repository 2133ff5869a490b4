# SPDX-License-Identifier: Apache-2.0
"""A participant as a ROS managed node: the services and the topic of ``lifecycle_msgs``.

With them ``ros2 lifecycle nodes``, ``get``, ``list`` and ``set`` work on every participant.
:mod:`lifecycle_mapping` has which state is which, and what may be requested.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from lifecycle_msgs.msg import State as RosState
from lifecycle_msgs.msg import Transition, TransitionDescription, TransitionEvent
from lifecycle_msgs.srv import (
    ChangeState,
    GetAvailableStates,
    GetAvailableTransitions,
    GetState,
)
from rclpy.node import Node

from ros2_cosim.kernel.errors import LifecycleError
from ros2_cosim.kernel.lifecycle import Change, State
from ros2_cosim.ros.lifecycle_mapping import (
    ALLOWED,
    EDGES,
    LABELS,
    ROS_STATE,
    Edge,
    LifecycleRequest,
    edge_between,
    edges_from,
)


class LifecycleServices:
    """Services of one participant, on the node that stands for it.

    :param node: carries them in its private namespace
    :param state: gives the present state of the participant
    :param grant: does what was requested, with the reason; raises LifecycleError if that
        cannot be
    """

    def __init__(
        self, node: Node, state: Callable[[], State], grant: Callable[[LifecycleRequest, str], None]
    ) -> None:
        self._node = node
        self._state = state
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
        start, goal = ROS_STATE[change.before], ROS_STATE[change.state]
        edge = edge_between(start, goal)
        if edge is None:
            return
        event = TransitionEvent()
        event.timestamp = self._node.get_clock().now().nanoseconds
        event.transition = Transition(id=edge.id, label=edge.label)
        event.start_state, event.goal_state = _ros_state(start), _ros_state(goal)
        self._events.publish(event)

    def _change(self, request: Any, response: Any) -> Any:
        state = self._state()
        asked = request.transition
        allowed = ALLOWED.get(state, {})
        known = {edge.id: edge for edge in edges_from(state)}
        # As in rclcpp: a label, where there is one, counts before the number.
        number = asked.id
        if asked.label:
            number = next((e.id for e in known.values() if e.label == asked.label), None)
        response.success = False
        if number not in allowed:
            choices = ", ".join(f"{e.label} ({e.id})" for e in known.values()) or "nothing"
            self._node.get_logger().warning(
                f"change_state: asked for {asked.label or asked.id}; the state is {state.name}; "
                f"allowed is {choices}"
            )
            return response
        try:
            self._grant(allowed[number], f"{known[number].label}, asked for by change_state")
            response.success = True
        except LifecycleError as error:
            self._node.get_logger().warning(f"change_state: {error}")
        return response

    def _get_state(self, request: Any, response: Any) -> Any:
        response.current_state = _ros_state(ROS_STATE[self._state()])
        return response

    def _get_states(self, request: Any, response: Any) -> Any:
        response.available_states = [_ros_state(number) for number in LABELS]
        return response

    def _get_available(self, request: Any, response: Any) -> Any:
        response.available_transitions = _described(edges_from(self._state()))
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
