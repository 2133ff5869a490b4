# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""A foreign node that is a lifecycle node: it is active before the first activation."""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from typing import Any, Literal

from lifecycle_msgs.msg import State, Transition
from lifecycle_msgs.srv import ChangeState, GetState
from rclpy.node import Node

from ros2_cosim.ros.foreign.foreign_patience import Patience
from ros2_cosim.ros.node.answers import answer_of

#: The state in which a transition begins -> its name and number.
_UP = {
    State.PRIMARY_STATE_UNCONFIGURED: ("configure", Transition.TRANSITION_CONFIGURE),
    State.PRIMARY_STATE_INACTIVE: ("activate", Transition.TRANSITION_ACTIVATE),
}
_DOWN = {
    State.PRIMARY_STATE_ACTIVE: ("deactivate", Transition.TRANSITION_DEACTIVATE),
    State.PRIMARY_STATE_INACTIVE: ("cleanup", Transition.TRANSITION_CLEANUP),
}

_POLL_S = 0.1


class ForeignLifecycle:
    """The states of a foreign node, if it has any.

    :param node: the adapter's
    :param node_name: full name of the foreign node
    :param mode: ``manage``: it is configured and activated; ``own``: something else does that
    :param wait: handles messages until a condition holds or a number of seconds is over
    """

    def __init__(
        self,
        node: Node,
        node_name: str,
        mode: Literal["manage", "own"],
        patience: Patience,
        wait: Callable[[Callable[[], bool], float], None],
    ) -> None:
        self._name = node_name
        self._mode = mode
        self._patience = patience
        self._wait = wait
        # The node learns of its clients in this order: when it has answered the second one, it
        # can answer the first one, too.
        self._change = node.create_client(ChangeState, f"{node_name}/change_state")
        self._get = node.create_client(GetState, f"{node_name}/get_state")
        #: The name of the state that the node was in last; empty: it has none.
        self.state = ""
        self._doing = ""

    @property
    def found(self) -> bool:
        """Whether the node has the services of a lifecycle node."""
        return bool(self._get.service_is_ready() and self._change.service_is_ready())

    def bring_up(self) -> None:
        """Return when the node is active.

        :raises ParticipantError: it refuses a transition, or has been shut down
        """
        self._patience.begin(self._unfinished)
        while (state := self._ask()) != State.PRIMARY_STATE_ACTIVE:
            if state == State.PRIMARY_STATE_FINALIZED:
                self._patience.fail(f"the lifecycle node {self._name} has been shut down")
            if self._mode == "manage" and state in _UP:
                self._go(*_UP[state])
            else:
                self._wait(_never, _POLL_S)

    def bring_down(self) -> None:
        """Return when the node is unconfigured, as another run expects it.

        :raises ParticipantError: it refuses a transition
        """
        if self.state and self._mode == "manage":
            while (state := self._ask()) in _DOWN:
                self._go(*_DOWN[state])

    def _ask(self) -> int:
        """The node's state."""
        answer = answer_of(self._get, GetState.Request(), self._wait)
        self.state = str(answer.current_state.label)
        return int(answer.current_state.id)

    def _go(self, name: str, number: int) -> None:
        request = ChangeState.Request(transition=Transition(id=number, label=name))
        self._doing = f"; it has been asked to {name}"
        self._patience.begin(self._unfinished)
        future = self._change.call_async(request)
        self._wait(future.done, inf)
        self._doing = ""
        answer: Any = future.result()
        if not answer.success:
            before = self.state
            self._ask()
            self._patience.fail(
                f"the lifecycle node {self._name}, which was {before}, refused to {name}; it is "
                f"{self.state} now"
            )

    def _unfinished(self) -> str:
        state = self.state or "in a state that it has not reported yet"
        others = "; another program has to activate it (lifecycle: own)"
        return (
            f"the lifecycle node {self._name} is {state}"
            f"{others if self._mode == 'own' else self._doing}"
        )


def _never() -> bool:
    return False
