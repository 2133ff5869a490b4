# SPDX-License-Identifier: Apache-2.0
"""A ROS service whose answer may be sent later than its callback returns."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from rclpy.node import Node

from ros2_cosim.interfaces.namespaces import inside

#: A client that asks at once may not have been found yet: the middleware then waits 100 ms for it
#: and loses the answer. It is sent so often; one that has gone is known at once.
_SENDINGS = 50
NOT_FOUND = "failed to send response (timeout)"


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
        handle(requests.pop(0), response, lambda: _deliver(send, response, header))

    # Not a declared way, but the one that both executors take.
    setattr(service, "send_response", later)  # noqa: B010 - a method, for type checkers


def _deliver(send: Callable[[Any, Any], None], response: Any, header: Any) -> None:
    """Send an answer, again where the client has not been found in time."""
    for _ in range(_SENDINGS):
        # rclpy tells it by a warning.
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always", RuntimeWarning)
            send(response, header)
        if not any(str(warning.message).startswith(NOT_FOUND) for warning in said):
            return
