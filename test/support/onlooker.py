# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Looks at a run from outside, and asks its services."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from support.patience import until

if TYPE_CHECKING:
    from ros2_cosim.ros.node.session import Session


class Onlooker:
    """Waits for what happens, and asks for services, on the node of a session."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def until(self, condition: Callable[[], bool], what: str) -> None:
        until(condition, lambda: self._session.wait(0.05), lambda: f"waited in vain: {what}")

    def call(self, kind: Any, name: str, request: Any) -> Any:
        client = self._session.node.create_client(kind, name)
        self.until(client.service_is_ready, name)
        future = client.call_async(request)
        self.until(future.done, f"answer of {name}")
        self._session.node.destroy_client(client)
        return future.result()
