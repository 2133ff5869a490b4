# SPDX-License-Identifier: Apache-2.0
"""Signs of life of participants that do not advance.

Who advances tells the clock so anyway. Who has told nothing for a second, because it waits,
says once a second what it waits for; who says nothing at all for longer has been stopped or is
inside an activation. While a run goes on this sends nothing.
"""

from __future__ import annotations

from collections.abc import Callable

from ros2_cosim.interfaces.protocol import Heartbeat
from ros2_cosim.ros import topics
from ros2_cosim.ros.blocking import HORIZON
from ros2_cosim.ros.session import Session, data_qos

#: Time between two signs of life [ns of wall time].
BEAT_NS = 1_000_000_000


class Heart:
    """The signs of life of one participant.

    :param session: the ROS node
    :param name: the participant
    :param timer: monotonic wall clock [ns]
    """

    def __init__(self, session: Session, name: str, timer: Callable[[], int]) -> None:
        self._name = name
        self._timer = timer
        self._last = timer()
        self._writer = session.writer(topics.HEARTBEAT, topics.HEARTBEAT_TYPE, data_qos())

    def heard(self) -> None:
        """The clock was told something else: no sign of life is due for a while."""
        self._last = self._timer()

    def beat(
        self, activations: int, bound: int, needs: Callable[[], list[tuple[str, int]] | None]
    ) -> None:
        """Give a sign of life if one is due.

        :param activations: complete so far
        :param bound: no further activation takes place before it [ns]
        :param needs: gives (connection, promised so far [ns]) of what is waited for, None for
            the horizon
        """
        now = self._timer()
        if now - self._last < BEAT_NS:
            return
        self._last = now
        waits = needs()
        if waits is None:
            waits = [(HORIZON, bound)]
        names = tuple(name for name, _ in waits)
        reach = tuple(time for _, time in waits)
        self._writer.send(Heartbeat(self._name, activations, bound, names, reach))
