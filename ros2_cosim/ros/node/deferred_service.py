# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""ROS services whose answers may be sent later than their callbacks return."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rclpy.node import Node

from ros2_cosim.core.messages.namespaces import inside
from ros2_cosim.core.realtime.run_control import Answer, Command, Request
from ros2_cosim.ros.node.lasting_node import LastingNode

Ask = Callable[[Request, Callable[[Answer], None]], None]


def deferred_service(
    node: Node,
    kind: Any,
    name: str,
    handle: Callable[[Any, Any, Callable[[], None]], None],
) -> None:
    """Offer a service that is answered when its request is done.

    The executors of rclpy send the response that the callback returns, through the service's
    own method; here that method hands request and response on instead.

    :param name: as in a run without a namespace
    :param handle: called with (request, response, send); it fills the response and calls send
        once, whenever the request is done
    """
    requests: list[Any] = []

    def take(request: Any, response: Any) -> Any:
        requests.append(request)
        return response

    service = node.create_service(kind, inside(node, name), take)
    send = service.send_response

    def later(response: Any, header: Any) -> None:
        handle(requests.pop(0), response, lambda: send(response, header))

    # Not a declared way, but the one that both executors take.
    setattr(service, "send_response", later)  # noqa: B010 - a method, for type checkers


def answered_when_done(node: LastingNode, ask: Ask) -> Ask:
    """What hands requests on to a run, and has a reset answered when the run has begun anew.

    A client that goes on when it has its answer does not meet a run that is just ending.

    :param node: of this side; it has to last, and to pay what it owes in the next run
    :param ask: what hands them on
    """

    def asking(request: Request, reply: Callable[[Answer], None]) -> None:
        def later(answer: Answer) -> None:
            if answer.success:
                node.owed.append(lambda: reply(answer))
            else:
                reply(answer)

        ask(request, later if request.command is Command.RESET else reply)

    return asking
