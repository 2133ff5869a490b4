# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""What assessments of driving functions ask of a run, from what the referee sees in each look.

Impact speed and speed reduction, time to collision when braking begins, lateral clearance, time
headway, post-encroachment time, the envelope of adaptive cruise control by speed
(``acc_envelope.py``), and the share of a point of Euro NCAP (``euro_ncap.py``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import inf
from typing import Annotated, Any, Final, NamedTuple

from pydantic import Field

from ros2_cosim.core.documents.settings import Number, Section
from ros2_cosim.driving.measures.acc_envelope import AccEnvelope
from ros2_cosim.driving.measures.avoidable import SHADOW_PARTS, AvoidableContacts
from ros2_cosim.driving.measures.euro_ncap import euro_ncap_share
from ros2_cosim.world.map.encounters import (
    Encounters,
    Extreme,
    MovingBox,
    Surroundings,
    apart,
    encounter,
    time_headway,
)
from ros2_cosim.world.map.lane_frame import LaneGeometry
from ros2_cosim.world.map.post_encroachment import POST_ENCROACHMENT_PARTS, PostEncroachment

#: A vehicle brakes from this mean deceleration between two looks, and until it is below the other
#: one [m/s^2]; class estimate.
BRAKES: Final = 1.0
ENDS: Final = 0.3
#: Slower vehicles have no time headway [m/s].
_DRIVES: Final = 2.0
#: How far two that have met are apart at the next look [m]; class estimate.
_REBOUND: Final = 0.2

_Limit = Annotated[Number, Field(ge=0)] | None


class AssessmentParameters(Section):
    """Limits of an assessment; each is a verdict, and what has no limit is a figure alone."""

    max_impact_speed: _Limit = Field(
        default=None, description="own speed at the first contact [m/s]"
    )
    min_speed_reduction: _Limit = Field(
        default=None, description="from when braking began to that contact [m/s]"
    )
    min_braking_ttc: _Limit = Field(
        default=None,
        description="time to collision when braking begins, 0 for a contact without braking [s]",
    )
    min_lateral_clearance: _Limit = Field(
        default=None, description="free way across to what is passed [m]"
    )
    min_headway: _Limit = Field(default=None, description="time headway from 2 m/s on [s]")
    min_post_encroachment: _Limit = Field(
        default=None, description="post-encroachment time with those that cross [s]"
    )
    max_acc_share: _Limit = Field(
        default=None, description="share of the limits of adaptive cruise control (ISO 15622)"
    )
    min_euro_ncap_share: _Limit = Field(
        default=None,
        description="share of a Euro NCAP point by closing speed (Frontal Collisions 1.2)",
    )
    max_avoidable_contacts: _Limit = Field(
        default=None,
        description="contacts that the careful driver of UN R157 would have avoided",
    )


class EgoMotion(NamedTuple):
    """An ego at its last look: time [ns], speed [m/s], deceleration [m/s^2] since the look before,
    and gap [m] and closing speed [m/s] to the nearest ahead.
    """

    time: int
    speed: float
    braking: float
    gap: float
    closing: float
    ttc: float


class Assessment:
    """Watches egos; each value is that of the worst of them.

    :param egos: names of those that are assessed
    :param road: what the ways follow
    """

    def __init__(
        self, egos: Sequence[str], road: LaneGeometry, parameters: AssessmentParameters
    ) -> None:
        self._egos = tuple(egos)
        self._road = road
        self._parameters = parameters
        self._last: dict[str, EgoMotion] = {}
        #: Ego -> its speed when it began to brake [m/s], while it brakes.
        self._braking_from: dict[str, float] = {}
        self._impact: Extreme | None = None
        self._reduction = 0.0
        #: Closing speed at the contact, and the largest speed of an ego before it [m/s].
        self._closing = 0.0
        self._fastest = 0.0
        self._least = {name: Extreme() for name in ("braking_ttc", "lateral_clearance", "headway")}
        self._envelope = AccEnvelope()
        self._avoidable = AvoidableContacts(road)
        self._crossings = PostEncroachment(self._egos)

    def look(self, time: int, movers: Sequence[MovingBox], fixed: Sequence[MovingBox] = ()) -> None:
        """Look once.

        :param time: [ns]
        :param movers: all road users, egos included
        :param fixed: obstacles
        """
        surroundings = Surroundings([*movers, *fixed])
        named = {mover.name: mover for mover in (*movers, *fixed)}
        for mover in movers:
            self._crossings.add(time, mover.name, mover.box)
        for name in self._egos:
            ego = named.get(name)
            if ego is not None:
                self._look_from(time, ego, named, surroundings)

    def contact(self, time: int, one: str, other: str) -> None:
        """Take a contact over, before the look of its time.

        :param time: when it was reported [ns]
        :param one, other: whose it is
        """
        for ego, ahead in ((one, other), (other, one)):
            last = self._last.get(ego)
            if ego not in self._egos or last is None:
                continue
            self._avoidable.contact(ego, ahead)
            if self._impact is None:
                # Between two looks: when the gap was gone, if that says when.
                after = (time - last.time) * 1e-9
                if last.closing > 0.0 and 0.0 <= last.gap < after * last.closing:
                    after = last.gap / last.closing
                lost = max(last.braking, 0.0) * after
                speed = max(0.0, last.speed - lost)
                self._impact = Extreme(speed, (ego, ahead), time)
                # Without a closing speed nothing was seen ahead: the other came across the way.
                self._closing = max(0.0, last.closing - lost) if last.closing > 0.0 else speed
                self._reduction = max(0.0, self._braking_from.get(ego, speed) - speed)
                if last.closing > 0.0 and ego not in self._braking_from:
                    self._note("braking_ttc", Extreme(0.0, (ego, ahead), time))

    def contacts_unread(self, time: int, users: Sequence[MovingBox]) -> None:
        """Take over contacts since the last look of which only the number is known.

        They are those of egos with what they touch, or have just left, at this look.

        :param time: of the look [ns]
        :param users: road users and obstacles, egos included
        """
        for ego in users:
            if ego.name not in self._egos:
                continue
            for other in users:
                if other.name != ego.name and apart(ego.box, other.box) < _REBOUND:
                    self.contact(time, ego.name, other.name)

    def _look_from(
        self,
        time: int,
        ego: MovingBox,
        named: Mapping[str, MovingBox],
        surroundings: Surroundings,
    ) -> None:
        watch = Encounters(self._road)
        watch.look_around(time, ego, surroundings)
        ahead = None if watch.gap.pair is None else named[watch.gap.pair[1]]
        found = None if ahead is None else encounter(self._road, ego, ahead)
        closing = 0.0 if found is None else found.closing
        last, braking = self._last.get(ego.name), 0.0
        if last is not None and time > last.time:
            braking = (last.speed - ego.vx) / ((time - last.time) * 1e-9)
            self._judge_braking(ego.name, last, braking, watch.ttc)
        ttc = watch.ttc.value
        self._last[ego.name] = EgoMotion(time, ego.vx, braking, watch.gap.value, closing, ttc)
        if ego.vx >= _DRIVES and watch.gap.pair is not None:
            headway = time_headway(max(watch.gap.value, 0.0), ego.vx)
            self._note("headway", Extreme(headway, watch.gap.pair, time))
        for other in named.values():
            if other.name != ego.name:
                clearance = _clearance(ego, other)
                self._note("lateral_clearance", Extreme(clearance, (ego.name, other.name), time))
                self._avoidable.look(time, ego, other)
        if self._impact is None:  # what a contact does is not control
            self._fastest = max(self._fastest, ego.vx)
            self._envelope.add(ego.name, time, ego.vx)

    def _judge_braking(self, name: str, last: EgoMotion, braking: float, ttc: Extreme) -> None:
        if braking < ENDS:
            self._braking_from.pop(name, None)
        elif braking >= BRAKES and name not in self._braking_from and self._impact is None:
            self._braking_from[name] = last.speed
            if ttc.pair is not None:
                self._note("braking_ttc", Extreme(last.ttc, ttc.pair, last.time))

    def _note(self, name: str, found: Extreme) -> None:
        if found.value < self._least[name].value:
            self._least[name] = found

    def values(self) -> dict[str, tuple[Any, Extreme]]:
        """Name as of the limits -> value, None if there is none, and whose it is and when."""
        nobody = Extreme()
        impact = self._impact
        found: dict[str, tuple[Any, Extreme]] = {
            "max_impact_speed": (0.0, nobody) if impact is None else (impact.value, impact),
            "min_speed_reduction": (None, nobody) if impact is None else (self._reduction, impact),
        }
        for name, least in (*self._least.items(), ("post_encroachment", self._crossings.least)):
            found[f"min_{name}"] = (least.value if least.value < inf else None, least)
        found["max_acc_share"] = (self._envelope.share, nobody)
        share = euro_ncap_share(self._fastest, self._closing)
        found["min_euro_ncap_share"] = (share, impact or nobody)
        found["max_avoidable_contacts"] = (self._avoidable.count, nobody)
        return found

    def verdicts(self) -> list[tuple[str, Any, float, bool, Extreme]]:
        """Name, value, limit, whether it is met, and of which pair, for each limit.

        A value that there is none of meets its limit.
        """
        judged = []
        for name, (value, of) in self.values().items():
            limit = self._parameters.model_dump()[name]
            if limit is not None:
                met = value is None or (value >= limit if name[:4] == "min_" else value <= limit)
                judged.append((name, value, limit, met, of))
        return judged


def _clearance(ego: MovingBox, other: MovingBox) -> float:
    """Free way across ego's heading to a box beside it [m]; infinite ahead of it and behind."""
    own, box = ego.box, other.box
    dx, dy = box.x - own.x, box.y - own.y
    along, across = dx * own.cos + dy * own.sin, dy * own.cos - dx * own.sin
    cos = abs(box.cos * own.cos + box.sin * own.sin)
    sin = abs(box.sin * own.cos - box.cos * own.sin)
    if abs(along) > 0.5 * (own.length + box.length * cos + box.width * sin):
        return inf
    return max(0.0, abs(across) - 0.5 * (own.width + box.length * sin + box.width * cos))


#: Classes of the state of an assessment.
ASSESSMENT_PARTS: Final = (Assessment, AccEnvelope, *SHADOW_PARTS, *POST_ENCROACHMENT_PARTS)
