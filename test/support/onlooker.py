# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Looks at a run from outside, and asks its services."""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic
from typing import TYPE_CHECKING, Any, Final

from support.patience import until

if TYPE_CHECKING:
    from ros2_cosim.ros.node.session import Session

_AGAIN_S: Final = 5.0


class Onlooker:
    """Waits for what happens, and asks for services, on the node of a session."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def until(self, condition: Callable[[], bool], what: str) -> None:
        until(condition, lambda: self._session.wait(0.05), lambda: f"waited in vain: {what}")

    def call(self, kind: Any, name: str, request: Any, *, changes: bool = True) -> Any:
        """The answer of a service; one that changes nothing is asked again if none comes.

        An answer is lost if its server does not find the reader within 0.1 s (Fast DDS).
        """
        client = self._session.node.create_client(kind, name)
        self.until(client.service_is_ready, name)
        futures = [client.call_async(request)]
        asked = monotonic()

        def answered() -> bool:
            nonlocal asked
            if not changes and monotonic() - asked > _AGAIN_S:
                asked = monotonic()
                futures.append(client.call_async(request))
            return any(future.done() for future in futures)

        self.until(answered, f"answer of {name}")
        self._session.node.destroy_client(client)
        return next(future for future in futures if future.done()).result()
