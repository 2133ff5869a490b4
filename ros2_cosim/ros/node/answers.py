# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Answers of ROS services that reach their clients."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial
from threading import Lock
from typing import Any

#: A client that asks at once may not have been found yet: the middleware then waits 100 ms for it
#: and loses the answer. The request is repeated at this interval; a server that has gone is known
#: at once.
_SENDINGS = 50
NOT_FOUND = "failed to send response (timeout)"
#: What is done with warnings belongs to the whole process: two threads that change it and put it
#: back in turns would leave it changed for ever.
_WARNINGS = Lock()


#: An answer that has not come by then is requested again [s].
REPEAT_S = 0.5


def answer_of(client: Any, request: Any, wait: Callable[[Callable[[], bool], float], None]) -> Any:
    """The answer of a service, which is asked again until it comes.

    It may not be known yet, or the first answers get lost.

    :param wait: handles messages until a condition holds or so many seconds have passed
    """
    while True:
        future = client.call_async(request)
        wait(future.done, REPEAT_S)
        if future.done():
            return future.result()
        client.remove_pending_request(future)


def answer_until_heard(service: Any) -> None:
    """Let a service of rclpy send an answer again where the client has not been found in time."""
    # Not a declared way, but the one that both executors take.
    service.send_response = partial(_deliver, service.send_response)


def _deliver(send: Callable[[Any, Any], None], response: Any, header: Any) -> None:
    for _ in range(_SENDINGS):
        # rclpy reports that as a warning.
        with _WARNINGS, warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always", RuntimeWarning)
            send(response, header)
        if not any(str(warning.message).startswith(NOT_FOUND) for warning in said):
            return
