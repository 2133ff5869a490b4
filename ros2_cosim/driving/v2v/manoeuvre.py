# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""A vehicle joins a platoon at the tail, or leaves it there: what both sides say and do.

Messages may be lost. The vehicle asks, again and again, until it has an answer or has asked often
enough; the leader only answers, and answers the same question in the same way. So each question
fails with probability ``(1 - (1 - p)^2)^tries`` if each message is lost with probability p.

Join: JOIN_REQUEST and ACCEPT (with the formation, so the place, and the time gap); it closes up
without V2V; IN_POSITION and FORM; it drives by V2V; JOINED and FORMATION. Leave: LEAVE_REQUEST
and ACCEPT (with the time gap to open); it falls back; LEFT and FORMATION; it drives without V2V.
"""

from __future__ import annotations

from typing import Final, Literal, NamedTuple

from pydantic import Field

from ros2_cosim.core.documents.settings import Number, PositiveDuration, Section, Whole
from ros2_cosim.driving.v2v.manoeuvre_message import (
    ACCEPT,
    EVERYBODY,
    FORM,
    FORMATION,
    IN_POSITION,
    JOIN_REQUEST,
    JOINED,
    LEAVE_REQUEST,
    LEFT,
    LONGEST_PLATOON,
    REJECT,
    ManoeuvreMessage,
)

#: Of the speed difference at which a vehicle is in position [m/s].
_STEADY: Final = 1.0
#: After which a question without an answer is asked again [ns].
_REPEAT: Final = 200_000_000
#: Share of the time gap that a vehicle which leaves has opened to.
_OPEN: Final = 0.95


class ManoeuvreSettings(Section):
    """What a vehicle does at the tail of a platoon, by messages alone."""

    kind: Literal["join", "leave"] = Field(description="what it does")
    at: PositiveDuration = Field(default=5_000_000_000, description="when it begins")
    within: PositiveDuration = Field(
        default=60_000_000_000, description="time after which it has failed"
    )
    tries: Whole = Field(default=5, ge=1, le=1000, description="how often it is asked at most")
    near: Number = Field(
        default=5.0,
        gt=0,
        description="a vehicle that joins is in position up to that much behind its gap [m]",
    )


class TailView(NamedTuple):
    """What a vehicle sees and does when it looks.

    ``speed`` [m/s]; ``ahead``: station of the object ahead, with its ``gap`` [m] and ``gap_rate``
    [m/s]; ``standstill_gap`` [m] and ``alone_time_gap`` [s]: what it keeps without V2V.
    """

    speed: float
    ahead: int | None
    gap: float
    gap_rate: float
    standstill_gap: float
    alone_time_gap: float


class TailManoeuvre:
    """The side of the vehicle that joins or leaves.

    :ivar state: ``outside``, ``requests``, ``approaches``, ``reports``, ``opens``, ``confirms``,
        ``member``, ``left`` or ``failed``
    :ivar listens: whether it drives by V2V
    :ivar time_gap: that the leader demands [s]
    :ivar done: when it was done [ns]
    """

    def __init__(self, settings: ManoeuvreSettings, own: int, leader: int) -> None:
        self._settings = settings
        self._own, self._leader = own, leader
        self._joins = settings.kind == "join"
        self.state = "outside" if self._joins else "member"
        self.listens = not self._joins
        self.time_gap: float | None = None
        self.done: int | None = None
        self._told: float | None = None
        self._tail: int | None = None
        self._question: int | None = None
        self._tries = 0
        self._next = 0

    @property
    def verdict(self) -> str:
        """Name of the verdict about it."""
        return "joined_by_s" if self._joins else "left_by_s"

    @property
    def end(self) -> int:
        """When it has failed if it is not done [ns]."""
        return self._settings.at + self._settings.within

    @property
    def is_over(self) -> bool:
        """Whether nothing more will be said."""
        return self.done is not None or self.state == "failed"

    def advance(
        self, now: int, message: ManoeuvreMessage | None, view: TailView
    ) -> ManoeuvreMessage | None:
        """Take what was heard and seen, and give what is to be said.

        :param now: time of the look [ns]
        """
        s = self._settings
        if self.is_over or now < s.at:
            return None
        if self._question is None and self.state in ("outside", "member"):
            self._ask(JOIN_REQUEST if self._joins else LEAVE_REQUEST, "requests", now)
        if message is not None and message.sender == self._leader:
            if message.receiver in (self._own, EVERYBODY):
                self._answered(now, message)
        if self.state == "approaches" and self._in_position(view):
            self._ask(IN_POSITION, "reports", now)
        elif self.state == "opens" and self._is_open(view):
            self.listens, self.time_gap = False, None
            self._ask(LEFT, "confirms", now)
        if not self.is_over and now >= self.end:
            self._fail()
        return self._said(now)

    def _answered(self, now: int, message: ManoeuvreMessage) -> None:
        kind, question = message.kind, self._question
        if kind == REJECT and question is not None:
            self._fail()
        elif kind == ACCEPT and question == JOIN_REQUEST and len(message.formation) > 1:
            self._told, self._tail = message.time_gap, message.formation[-2]
            self._question, self.state = None, "approaches"
        elif kind == ACCEPT and question == LEAVE_REQUEST:
            self.time_gap = message.time_gap
            self._question, self.state = None, "opens"
        elif kind == FORM and question == IN_POSITION:
            self.listens, self.time_gap = True, self._told
            self._ask(JOINED, "confirms", now)
        elif kind == FORMATION and question in (JOINED, LEFT):
            if (self._own in message.formation) == (question == JOINED):
                self._question, self.done = None, now
                self.state = "member" if self._joins else "left"

    def _in_position(self, view: TailView) -> bool:
        wanted = view.standstill_gap + view.alone_time_gap * view.speed
        near = view.gap <= wanted + self._settings.near and abs(view.gap_rate) < _STEADY
        return view.ahead == self._tail and near

    def _is_open(self, view: TailView) -> bool:
        assert self.time_gap is not None
        room = view.gap - view.standstill_gap
        return view.ahead is None or room >= _OPEN * self.time_gap * view.speed

    def _ask(self, question: int, state: str, now: int) -> None:
        self._question, self.state = question, state
        self._tries, self._next = self._settings.tries, now

    def _fail(self) -> None:
        # A vehicle that has not joined drives alone. It stays if it could not ask to leave.
        self.state, self._question = "failed", None
        if self._joins:
            self.listens, self.time_gap = False, None

    def _said(self, now: int) -> ManoeuvreMessage | None:
        if self._question is None or now < self._next:
            return None
        if self._tries == 0:
            self._fail()
            return None
        self._tries -= 1
        self._next = now + _REPEAT
        return ManoeuvreMessage(self._question, self._own, self._leader, 1)


class LeaderManoeuvres:
    """The side of the leader: it knows the formation, and answers.

    :param formation: the stations of the platoon, its own first
    :param time_gap: that a vehicle which joins is to keep, and one that leaves is to open [s]
    :param patience: after which a manoeuvre that is not done is given up [ns]
    """

    def __init__(
        self, formation: tuple[int, ...], time_gap: tuple[float, float], patience: int
    ) -> None:
        self.formation = formation
        self._join_gap, self._leave_gap = time_gap
        self._patience = patience
        self._busy_with: int | None = None
        self._until = 0

    def answer(self, now: int, message: ManoeuvreMessage, speed: float) -> ManoeuvreMessage | None:
        """What is said to a message; None: nothing, for it is not for the leader.

        :param speed: of the platoon [m/s]
        """
        m, own = message, self.formation[0]
        if m.receiver != own:
            return None
        if now >= self._until:
            self._busy_with = None
        is_free = self._busy_with in (None, m.sender)
        last = self.formation[-1]
        said = ManoeuvreMessage(REJECT, own, m.sender, m.number, speed)
        if m.kind == JOIN_REQUEST and is_free and m.sender not in self.formation:
            if len(self.formation) < LONGEST_PLATOON:
                self._begin(now, m.sender)
                joined = (*self.formation, m.sender)
                return said._replace(kind=ACCEPT, time_gap=self._join_gap, formation=joined)
        elif m.kind == LEAVE_REQUEST and is_free and m.sender == last != own:
            self._begin(now, m.sender)
            left = self.formation[:-1]
            return said._replace(kind=ACCEPT, time_gap=self._leave_gap, formation=left)
        elif m.kind == IN_POSITION and self._busy_with == m.sender:
            return said._replace(kind=FORM, formation=(*self.formation, m.sender))
        elif m.kind == JOINED and m.sender in (self._busy_with, last):
            if m.sender != last:
                self.formation = (*self.formation, m.sender)
            self._busy_with = None
            return said._replace(kind=FORMATION, receiver=EVERYBODY, formation=self.formation)
        elif m.kind == LEFT and (self._busy_with == m.sender or m.sender not in self.formation):
            self.formation = tuple(n for n in self.formation if n != m.sender)
            self._busy_with = None
            return said._replace(kind=FORMATION, receiver=EVERYBODY, formation=self.formation)
        return said

    def _begin(self, now: int, station: int) -> None:
        self._busy_with, self._until = station, now + self._patience
