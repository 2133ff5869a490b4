# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Run control as ROS services: ``/cosim/control`` for everything, and three short ones.

An answer is sent when the request is done: that of a step once every node has reacted.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rclpy.node import Node
from rclpy.task import Future
from std_srvs.srv import Trigger

from ros2_cosim.core.kernel.lifecycle import State
from ros2_cosim.core.kernel.time import format_ns
from ros2_cosim.core.messages.namespaces import inside
from ros2_cosim.core.realtime.repeated_requests import RepeatedRequests
from ros2_cosim.core.realtime.run_control import Answer, Command, Request, RunControl
from ros2_cosim.core.scene.entities import Offer
from ros2_cosim.ros.node.deferred_service import deferred_service
from ros2_cosim.ros.node.service_switch import NO_CONTROL, services_act
from ros2_cosim.ros.node.session import Session
from ros2_cosim.ros.node.simulation_services import SimulationServices

#: The service for everything, and where the short ones are.
CONTROL = "/cosim/control"
PREFIX = "/cosim"
#: Requests that stand beside ``/cosim/control`` as services without arguments.
SHORT = (Command.PAUSE, Command.RESUME, Command.STEP)
#: A goal of a run that is over ends within a few calls; a thread of a busy machine gets so long.
_FINISH_NS = 1_000_000_000
_POLL_S = 0.01


class ControlServices:
    """The services of one run.

    :param session: the ROS node that owns the clock
    :param control: what they act on
    :param time: gives the time before which everything is complete [ns]
    :param state: gives the state of the system
    :param timer: monotonic wall clock [ns]
    :param world: what the world of the scenario has; None: there is none with entities
    """

    def __init__(
        self,
        session: Session,
        control: RunControl,
        *,
        time: Callable[[], int],
        state: Callable[[], State],
        timer: Callable[[], int],
        world: Offer | None = None,
    ) -> None:
        from ros2_cosim.srv import ControlRun

        self._session = session
        self._control = control
        self._time = time
        self._state = state
        self._timer = timer
        self._repeated = RepeatedRequests()
        deferred_service(session.node, ControlRun, CONTROL, self._control_run)
        for command in SHORT:
            name = f"{PREFIX}/{command.name.lower()}"
            deferred_service(session.node, Trigger, name, self._trigger(command))
        self._simulation = SimulationServices.offer(session.node, self.ask, control, world)

    def over(self, message: str) -> None:
        """The run is over: what waits is answered, goals of actions too.

        :raises Cancelled: the process was asked to end
        """
        self._control.over(message)
        deadline = self._timer() + _FINISH_NS
        while self._simulation and self._simulation.busy and self._timer() < deadline:
            self._session.wait(_POLL_S)

    def ask(self, request: Request, reply: Callable[[Answer], None]) -> None:
        """Hand a request on to the run; refuse it where services must not change a run."""
        if request.command is not Command.STATUS and not services_act():
            reply(Answer(False, f"{NO_CONTROL} is set: no service changes this run"))
            return
        self._control.handle(request, time=self._time(), now=self._timer(), reply=reply)

    def _control_run(self, asked: Any, response: Any, send: Callable[[], None]) -> None:
        def reply(answer: Answer) -> None:
            response.success, response.message = answer
            response.state = int(self._state())
            response.time_ns = self._time()
            send()

        try:
            command = Command(asked.command)
        except ValueError:
            known = ", ".join(f"{c.value} ({c.name})" for c in Command)
            reply(Answer(False, f"command: found {asked.command}; allowed are {known}"))
            return
        names = tuple(asked.participants)
        numbers = asked.steps, asked.time_ns, asked.rate
        change = asked.path, asked.value
        request = Request(command, *numbers, asked.reason, names, *change)
        self._repeated.take(asked.number, reply, lambda done: self.ask(request, done))

    def _trigger(self, command: Command) -> Callable[[Any, Any, Callable[[], None]], None]:
        def handle(asked: Any, response: Any, send: Callable[[], None]) -> None:
            def reply(answer: Answer) -> None:
                response.success, response.message = answer
                send()

            self.ask(Request(command), reply)

        return handle


def asking(node: Node) -> Callable[[Request, Callable[[Answer], None]], None]:
    """What hands requests on to the run, from the node of a participant: by ``/cosim/control``."""
    from ros2_cosim.srv import ControlRun

    client = node.create_client(ControlRun, inside(node, CONTROL))

    def ask(request: Request, reply: Callable[[Answer], None]) -> None:
        if not client.service_is_ready():
            reply(Answer(False, f"{CONTROL} is not there yet"))
            return
        future = client.call_async(as_message(request))

        def done(future: Future) -> None:
            found = future.result()
            reply(Answer(found.success, found.message))

        future.add_done_callback(done)

    return ask


def as_message(request: Request, number: int = 0) -> Any:
    """A request for ``/cosim/control``, as ``ros2_cosim/srv/ControlRun`` has it.

    :param number: see :meth:`RepeatedRequests.take`
    """
    from ros2_cosim.srv import ControlRun

    details = {**request._asdict(), "command": int(request.command)}
    return ControlRun.Request(**details, number=number)


def describe_end(time: int, reason: str) -> str:
    """The answer to requests that wait when the run ends."""
    return f"the run is over at {format_ns(max(time, 0))}: {reason}"
