# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""A request that is sent again is not done again.

The middleware may lose the answer to a client that it has found a moment ago: the server's writer
does not know the client's reader yet. So a client repeats its request, under the same number.
"""

from __future__ import annotations

from collections.abc import Callable

from ros2_cosim.core.realtime.run_control import Answer

#: A way to one client.
Reply = Callable[[Answer], None]


class RepeatedRequests:
    """Does each request once, and answers it as often as it comes.

    :param kept: how many requests are remembered, the newest
    """

    def __init__(self, kept: int = 64) -> None:
        self._kept = kept
        self._known: dict[int, _Known] = {}

    def take(self, number: int, reply: Reply, do: Callable[[Reply], None]) -> None:
        """Take a request.

        :param number: of the client's choice, the same if it repeats the request; 0: it never does
        :param reply: sends the answer to this arrival of the request
        :param do: called with what takes the answer, unless the request is known
        """
        if not number:
            do(reply)
            return
        known = self._known.get(number)
        if known is not None:
            known.came_again(reply)
            return
        while len(self._known) >= self._kept:
            del self._known[next(iter(self._known))]
        self._known[number] = known = _Known(reply)
        do(known.done)


class _Known:
    """One request: its answer, or the replies that wait for it."""

    def __init__(self, reply: Reply) -> None:
        self._answer: Answer | None = None
        self._waiting = [reply]

    def came_again(self, reply: Reply) -> None:
        if self._answer is None:
            self._waiting.append(reply)
        else:
            reply(self._answer)

    def done(self, answer: Answer) -> None:
        self._answer = answer
        waiting, self._waiting = self._waiting, []
        for reply in waiting:
            reply(answer)
