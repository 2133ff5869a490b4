# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""A ROS service whose answer may be sent later than its callback returns."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rclpy.node import Node

from ros2_cosim.core.messages.namespaces import inside


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
