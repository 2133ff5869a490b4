# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""What happens in traffic, and whose fault it is: the server's or the traffic manager's.

A :class:`Watch` sees every vehicle in every step. It names contacts, stands, red crossings and
bends that are driven too fast, and judges each by what the server answered and the manager
commanded in the seconds before. The fault is the server's where an answer was wrong (a light, a
place that jumps) or where the vehicle did not follow its command; else the manager's command moved
it there.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Mapping
from itertools import pairwise
from math import cos, hypot, sin
from typing import Final, NamedTuple

RED, YELLOW, GREEN = range(3)
SERVER, MANAGER = "server", "manager"

#: A vehicle whose front is so far before a line, at least and at most, must know its light [m].
_TOLD: Final = (0.3, 3.8)
#: A light may be red for so long when a front crosses its line [s].
_LATE: Final = 0.1
_HISTORY_S: Final = 3.0
_CELL: Final = 30.0  # m
#: A place that is so far from where the speed leads has jumped [m].
_JUMP: Final = 0.15
_PUSHED: Final = 3  # steps
#: Full brakes slow down by at least so much [m/s^2].
_WEAKEST_BRAKES: Final = 4.0
#: After a contact accelerations do not count for so long, and the same pair is one contact [s].
_SHAKEN_S: Final = 5.0
#: The bend that a vehicle drives follows its steering after at most this time [s]; this factor
#: allows for more. While it turns in, or brakes in a bend, its middle moves sideways by this share
#: of half its length.
_STEERING_S, _STEERED, _LEVER = 0.6, 1.2, 0.6
#: Steps above the limit that are not further apart are one bend [s].
_BEND_S: Final = 0.5
LATERAL_LIMIT: Final = 6.0
"""Lateral acceleration that traffic is to keep below [m/s^2]."""
STANDING: Final = 0.1
"""What is slower stands [m/s]."""


class Line(NamedTuple):
    """The stop line of a light in one lane: its middle, the driving direction, half its width."""

    light: int
    x: float
    y: float
    dx: float
    dy: float
    half: float


class Sample(NamedTuple):
    """A vehicle in one step, in CARLA's frame (m, rad, s).

    ``bend`` [1/m] is the curvature that its steering command means; ``at`` and ``state``: what the
    server says of its light.
    """

    id: int
    half_length: float
    x: float
    y: float
    yaw: float
    vx: float
    vy: float
    ax: float
    ay: float
    throttle: float
    brake: float
    bend: float
    at: bool
    state: int
    z: float = 0.0

    def speed(self) -> float:
        """How fast it is [m/s]."""
        return hypot(self.vx, self.vy)

    def front(self) -> tuple[float, float]:
        """Where its front is [m]."""
        return (
            self.x + self.half_length * cos(self.yaw),
            self.y + self.half_length * sin(self.yaw),
        )

    def lateral(self) -> float:
        """Acceleration across the vehicle [m/s^2]."""
        return abs(self.ay * cos(self.yaw) - self.ax * sin(self.yaw))


class Event(NamedTuple):
    """What happened: kind, time [s], vehicles, place [m], whose fault, why."""

    kind: str
    time: float
    who: tuple[int, ...]
    place: tuple[float, float]
    fault: str
    why: str

    def __str__(self) -> str:
        who = " and ".join(map(str, self.who))
        at = "({:.0f}, {:.0f})".format(*self.place)
        return f"{self.time:.1f} s: {self.kind} of {who} at {at}: {self.fault}, {self.why}"


class _Bend(NamedTuple):
    """A bend that is driven above the limit: when, whose fault, and the largest acceleration."""

    began: float
    last: float
    fault: str
    across: float
    when: float
    worst: Sample

    def event(self, explain: Callable[[float, Sample], str]) -> Event:
        """It is over."""
        sample = self.worst
        why = (
            f"up to {self.across:.1f} m/s^2 for {self.last - self.began:.2f} s, at "
            f"{sample.speed():.1f} m/s, steering for {abs(sample.bend):.2f} 1/m"
            f"{explain(self.when, sample)}"
        )
        return Event("bend", self.began, (sample.id,), (sample.x, sample.y), self.fault, why)


class Watch:
    """Sees traffic step by step.

    :ivar events: in the order in which they were known
    :ivar wrong: steps in which the server said a wrong light to a vehicle, or none
    :ivar lateral: the largest acceleration across each vehicle without contact [m/s^2]
    :ivar too_lateral: the steps in which one was above the limit, by whose fault: the manager's
        where it had steered so
    :ivar odd: the first ten wrong answers, with the state that was right
    """

    def __init__(
        self,
        lines: Iterable[Line],
        step_s: float,
        longest_s: float,
        explain: Callable[[float, Sample], str] = lambda now, sample: "",
    ) -> None:
        """Begin.

        :param longest_s: a stand that takes longer is an event
        :param explain: what else there is to say of a bend, by its time and its fastest moment
        """
        self.events: list[Event] = []
        self.wrong = 0
        self.steps = 0
        self.too_lateral = {SERVER: 0, MANAGER: 0}
        self.lateral: dict[int, float] = {}
        self.worst: dict[int, Sample] = {}
        self.odd: list[tuple[float, Sample, int]] = []
        self._step_s, self._longest_s, self._explain = step_s, longest_s, explain
        self._bends: dict[int, _Bend] = {}
        self._cells: dict[tuple[int, int], list[Line]] = defaultdict(list)
        for line in lines:
            for i in (-1, 0, 1):
                for j in (-1, 0, 1):
                    self._cells[_cell(line.x + i * _CELL, line.y + j * _CELL)].append(line)
        self._past: dict[int, deque[Sample]] = {}
        self._since: dict[int, tuple[int, float]] = {}
        self._stands: dict[int, float] = {}
        self._saw_green: set[int] = set()  # while they stand
        self._shaken: dict[int, float] = {}
        self._pairs: dict[tuple[int, int], float] = {}
        self._lights: Mapping[int, int] = {}

    def step(self, now: float, lights: Mapping[int, int], samples: Iterable[Sample]) -> None:
        """One step: the states of all lights, and all vehicles that there are."""
        before, self._lights = self._lights, lights
        for light, state in lights.items():
            if light not in self._since or self._since[light][0] != state:
                self._since[light] = state, now
        seen = set()
        for sample in samples:
            seen.add(sample.id)
            past = self._past.setdefault(sample.id, deque(maxlen=round(_HISTORY_S / self._step_s)))
            self._look_at_lights(now, sample, past, before)
            self._stand(now, sample)
            past.append(sample)
            self._feel(now, past)
            if sample.id in self._bends and now - self._bends[sample.id].last > _BEND_S:
                self.events.append(self._bends.pop(sample.id).event(self._explain))
        for gone in self._past.keys() - seen:
            self._removed(now, self._past.pop(gone))

    def touched(self, now: float, who: int, other: int) -> None:
        """Two have touched; what no step has shown is not a vehicle."""
        pair = (min(who, other), max(who, other))
        if now - self._pairs.get(pair, -_SHAKEN_S) >= _SHAKEN_S and who in self._past:
            fault, why = self._cause(now, pair)
            last = self._past[who][-1]
            self.events.append(Event("contact", now, pair, (last.x, last.y), fault, why))
        self._pairs[pair] = self._shaken[who] = self._shaken[other] = now

    def end(self, now: float) -> None:
        """The drive is over: what still stands is judged."""
        for past in self._past.values():
            self._judge_stand(now, past[-1], "at the end")
        for bend in self._bends.values():
            self.events.append(bend.event(self._explain))
        self._bends.clear()

    def _look_at_lights(
        self, now: float, sample: Sample, past: deque[Sample], before: Mapping[int, int]
    ) -> None:
        ahead = cos(sample.yaw), sin(sample.yaw)
        x, y = sample.front()
        for line in self._cells.get(_cell(x, y), ()):
            if line.dx * ahead[0] + line.dy * ahead[1] < 0.8 or line.light not in self._lights:
                continue
            along, across = _to(line, x, y)
            state, since = self._since[line.light]
            if abs(across) > line.half:
                continue
            if -_TOLD[1] < along < -_TOLD[0]:
                self.steps += 1
                told = sample.state if sample.at else None
                # In the step in which the light changes it may see none.
                changes = told is None and state != before.get(line.light)
                if told not in (state, before.get(line.light)) and not changes:
                    self.wrong += 1
                    self.odd += [(now, sample, state)] if len(self.odd) < 10 else []
            if past and state == RED and now - since > _LATE and along >= 0.0:
                if _to(line, *past[-1].front())[0] < 0.0:
                    fault, why = _judge_crossing(past, line)
                    why = f"red for {now - since:.1f} s, {why}"
                    self.events.append(
                        Event("red crossing", now, (sample.id, line.light), (x, y), fault, why)
                    )

    def _stand(self, now: float, sample: Sample) -> None:
        if sample.speed() < STANDING:
            self._stands.setdefault(sample.id, now)
            if sample.at and sample.state == GREEN:
                self._saw_green.add(sample.id)
        elif sample.id in self._stands:
            self._judge_stand(now, sample, "then it went on")
            del self._stands[sample.id]
            self._saw_green.discard(sample.id)

    def _judge_stand(self, now: float, sample: Sample, end: str) -> None:
        began = self._stands.get(sample.id, now)
        if now - began <= self._longest_s and not end.startswith("removed"):
            return
        fault, why = MANAGER, "it braked"
        if sample.at and sample.state != GREEN and sample.id not in self._saw_green:
            fault, why = SERVER, "its light did not become green"
        elif sample.throttle > 0.2 and sample.brake == 0.0:
            fault, why = SERVER, f"it did not move at throttle {sample.throttle:.1f}"
        why = f"{now - began:.0f} s, {why}, {end}"
        self.events.append(Event("stand", began, (sample.id,), (sample.x, sample.y), fault, why))

    def _removed(self, now: float, past: deque[Sample]) -> None:
        self._judge_stand(now, past[-1], "removed by the manager")
        self._stands.pop(past[-1].id, None)

    def _feel(self, now: float, past: deque[Sample]) -> None:
        """Look at the step before the last ones: a contact is known late."""
        if len(past) <= _PUSHED:
            return
        *last, sample = list(past)[:-_PUSHED][-round(_STEERING_S / self._step_s) :]
        if now - self._shaken.get(sample.id, -_SHAKEN_S) < _SHAKEN_S:
            return
        across = sample.lateral()
        if across > LATERAL_LIMIT:
            seen = (*last, sample)
            bend = max(abs(other.bend) for other in seen)
            turn = max((abs(b.bend - a.bend) for a, b in pairwise(seen)), default=0.0)
            lever = _LEVER * sample.half_length
            speed, changing = sample.speed(), hypot(sample.ax, sample.ay)
            meant = (bend * speed + lever * turn / self._step_s) * speed + lever * bend * changing
            fault = SERVER if across > _STEERED * meant + 1.0 else MANAGER
            self.too_lateral[fault] += 1
            self._bend(now, sample, across, fault)
        if across > self.lateral.get(sample.id, 0.0):
            self.lateral[sample.id], self.worst[sample.id] = across, sample

    def _bend(self, now: float, sample: Sample, across: float, fault: str) -> None:
        """One more step above the limit, which was some steps ago."""
        when = now - _PUSHED * self._step_s
        bend = self._bends.get(sample.id)
        if bend is None:
            bend = _Bend(now, now, fault, across, when, sample)
        if across > bend.across:
            bend = bend._replace(across=across, when=when, worst=sample)
        fault = SERVER if SERVER in (fault, bend.fault) else MANAGER
        self._bends[sample.id] = bend._replace(last=now, fault=fault)

    def _cause(self, now: float, pair: tuple[int, int]) -> tuple[str, str]:
        """Whose fault a contact is."""
        for who in pair:
            past = list(self._past.get(who, ()))
            if len(past) * self._step_s < 1.0 and past:
                return SERVER, "it had just been spawned"
            calm = now - self._shaken.get(who, -_SHAKEN_S) >= _SHAKEN_S
            # The contact itself pushes the two apart.
            for last, sample in pairwise(past[:-_PUSHED]) if calm else ():
                off = hypot(
                    sample.x - last.x - sample.vx * self._step_s,
                    sample.y - last.y - sample.vy * self._step_s,
                )
                if off > _JUMP:
                    return SERVER, f"{who} jumped by {off:.2f} m"
            if _brakes_fail(past[:-_PUSHED], self._step_s):
                return SERVER, f"{who} did not slow down at full brake"
            for event in self.events:
                if event.kind == "red crossing" and event.fault == SERVER and who in event.who:
                    if now - event.time < 15.0:
                        return SERVER, f"{who} had crossed at red"
        movers = [self._past[who][-1] for who in pair if who in self._past]
        mover = max(movers, key=Sample.speed)
        return MANAGER, (
            f"{mover.id} moved at {mover.speed():.1f} m/s, throttle {mover.throttle:.1f}, "
            f"brake {mover.brake:.1f}"
        )


def _cell(x: float, y: float) -> tuple[int, int]:
    return int(x // _CELL), int(y // _CELL)


def _to(line: Line, x: float, y: float) -> tuple[float, float]:
    """How far a point is past a line, and to its side [m]."""
    x, y = x - line.x, y - line.y
    return x * line.dx + y * line.dy, y * line.dx - x * line.dy


def _judge_crossing(past: Iterable[Sample], line: Line) -> tuple[str, str]:
    near = [sample for sample in past if -_TOLD[1] < _to(line, *sample.front())[0] < 0.0]
    told = sum(sample.at and sample.state != GREEN for sample in near)
    braked = sum(sample.brake for sample in near) / max(len(near), 1)
    if not near or told < len(near):
        return SERVER, f"told in {told} of {len(near)} steps before the line"
    if braked > 0.5:
        return SERVER, f"told too late: it had braked with {braked:.1f}"
    return MANAGER, f"told, but braked with {braked:.1f} only"


def _brakes_fail(past: list[Sample], step_s: float) -> bool:
    """Whether full brakes over half a second have not slowed a vehicle down."""
    count = round(0.5 / step_s)
    last = past[-count:]
    if len(last) < count or min(sample.brake for sample in last) < 1.0 or last[-1].speed() < 1.0:
        return False
    return (last[0].speed() - last[-1].speed()) / (step_s * (count - 1)) < _WEAKEST_BRAKES
