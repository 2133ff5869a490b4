# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""A storyboard as it is played: what :mod:`.reader` makes of a file.

The names follow OpenSCENARIO. Lengths in m, speeds in m/s, times in s.
"""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal, get_args

from pydantic import Field, model_validator
from typing_extensions import Self

from ros2_cosim.core.documents.settings import Number, Section, Whole
from ros2_cosim.core.kernel.exactmath import total

#: An acceleration that is not a limit [m/s^2].
NO_LIMIT: Final = 1000.0
#: Elements below one element: more are written by no hand.
MAX_PARTS: Final = 1000
#: All clothoids of a trajectory together [m]: they are drawn in pieces of a quarter of a metre.
MAX_LENGTH: Final = 100_000.0

_Positive = Annotated[Number, Field(gt=0)]
_NotNegative = Annotated[Number, Field(ge=0)]
_Count = Annotated[Whole, Field(ge=1, le=1_000_000)]
Rule = Literal[
    "lessThan", "greaterThan", "equalTo", "greaterOrEqual", "lessOrEqual", "notEqualTo"
]  # fmt: skip
#: All of them, as readers of files look them up.
RULES: Final = {word: word for word in get_args(Rule)}


class _OneOf(Section):
    """A mapping of which exactly one of the keys is there that say what it is."""

    @classmethod
    def _kinds(cls) -> list[str]:
        return [name for name, field in cls.model_fields.items() if field.default is None]

    @model_validator(mode="after")
    def _one(self) -> Self:
        kinds = self._kinds()
        given = [name for name, value in self if name in kinds and value is not None]
        if len(given) != 1:
            raise ValueError(
                f"found {' and '.join(given) or 'none'}; allowed is one of " + ", ".join(kinds)
            )
        return self


class Dynamics(Section):
    """How a value changes to another one."""

    shape: Literal["linear", "cubic", "sinusoidal", "step"]
    dimension: Literal["time", "distance", "rate"] = "time"
    value: _NotNegative = 0.0


class RelativeSpeed(Section):
    """A speed relative to that of another vehicle: a difference, or a factor."""

    to: str
    value: Number
    factor: bool = False
    continuous: bool = False


class SpeedAction(Section):
    """To another speed: ``target``, or ``relative``."""

    dynamics: Dynamics
    target: Number | None = None
    relative: RelativeSpeed | None = None

    @model_validator(mode="after")
    def _one(self) -> Self:
        if (self.target is None) == (self.relative is None):
            raise ValueError("allowed is one of target and relative")
        return self


class SpeedProfile(Section):
    """Speeds over time, joined by straight lines; without times as fast as the limits allow.

    Times that limits do not allow become later. Without limits 5 and 8 m/s^2 hold where there are
    no times, and none where there are.
    """

    times: tuple[_NotNegative, ...] | None = Field(default=None, min_length=1, max_length=MAX_PARTS)
    speeds: tuple[Number, ...] = Field(min_length=1, max_length=MAX_PARTS)
    max_acceleration: _Positive | None = None
    max_deceleration: _Positive | None = None

    @model_validator(mode="after")
    def _pairs(self) -> Self:
        if self.times is not None and len(self.times) != len(self.speeds):
            raise ValueError("allowed are as many times as speeds")
        return self


class KeepDistance(Section):
    """A distance [m] or time gap [s] to another vehicle.

    ``lead`` says whether to keep it ahead of that one; default: on the side where it is. Where it
    ``jumps``, it begins with a teleport to that distance, with the speed of that vehicle.
    """

    to: str
    distance: _NotNegative | None = None
    time_gap: _NotNegative | None = None
    lead: bool | None = False
    freespace: bool = False
    continuous: bool = False
    max_acceleration: _Positive = 5.0
    max_deceleration: _Positive = 8.0
    max_speed: _Positive = 100.0
    jumps: bool = False

    @model_validator(mode="after")
    def _one(self) -> Self:
        if (self.distance is None) == (self.time_gap is None):
            raise ValueError("allowed is one of distance and time_gap")
        return self


class KeepAside(Section):
    """A distance [m] to the side of another vehicle; without one, that of the action's begin.

    ``left`` says whether on the left of that one; default: on the side where it is.
    """

    to: str
    distance: _NotNegative | None = None
    left: bool | None = None
    freespace: bool = False
    continuous: bool = False
    max_acceleration: _Positive = 3.0
    max_speed: _Positive = 3.0


class StoryLaneChange(Section):
    """To lane ``lane``, or to that so many lanes to the left of the lane of ``relative_to``."""

    dynamics: Dynamics
    lane: Whole
    relative_to: str | None = None
    offset: Number = 0.0


class LaneOffset(Section):
    """To an offset from the middle of the own lane, or from where ``relative_to`` is now.

    Positive towards growing lateral positions of the road. ``continuous``: it never completes.
    """

    offset: Number
    relative_to: str | None = None
    shape: Literal["linear", "cubic", "sinusoidal", "step"] = "cubic"
    max_acceleration: _Positive = 1.0
    continuous: bool = False


class Where(Section):
    """A pose of the map, or one relative to ``to`` when the action begins; headings in rad.

    ``frame`` says what ``x`` and ``y`` are: along the axes of the map (``axes``), ahead of and to
    the left of the vehicle, along and across the road, or ahead in the lane that is so many
    ``lanes`` to the left, and aside from its centre. ``heading`` is relative to that of ``to``, of
    the road or of the lane, or, where it is ``absolute``, that of the map.
    """

    x: Number
    y: Number
    heading: Number = 0.0
    to: str | None = None
    frame: Literal["axes", "vehicle", "road", "lane"] = "axes"
    lanes: Whole = 0
    absolute: bool = False


class Vertex(Section):
    """A corner of a line, or a control point; ``time`` is that of the trajectory."""

    at: Where
    time: Number | None = None
    weight: _Positive = 1.0


class SplineSegment(Section):
    """A clothoid: begins ``at``, or where the one before ends, turned; curvatures in 1/m.

    The first one begins where the vehicle is, if it does not say where.
    """

    at: Where | None = None
    turn: Number = 0.0
    curvature: Number
    curvature_end: Number
    length: Annotated[Number, Field(gt=0, le=MAX_LENGTH)]
    time: Number | None = None


class Nurbs(Section):
    """A NURBS curve."""

    order: Annotated[Whole, Field(ge=2, le=10)]
    points: tuple[Vertex, ...] = Field(min_length=2, max_length=MAX_PARTS)
    knots: tuple[Number, ...] = Field(max_length=2 * MAX_PARTS)

    @model_validator(mode="after")
    def _fits(self) -> Self:
        wanted = len(self.points) + self.order
        if len(self.points) < self.order or len(self.knots) != wanted:
            raise ValueError(
                f"found {len(self.knots)} knots of {len(self.points)} points; allowed are "
                f"{wanted}, and at least {self.order} points"
            )
        growing = all(a <= b for a, b in zip(self.knots, self.knots[1:], strict=False))
        if not growing or self.knots[self.order - 1] >= self.knots[len(self.points)]:
            raise ValueError("found knots that do not grow")
        return self


class TrajectoryTiming(Section):
    """When to be at a time of the trajectory: offset + scale * time, from the action's begin on."""

    absolute: bool = False
    scale: _Positive = 1.0
    offset: Number = 0.0


class Trajectory(Section):
    """A line to be followed, from ``start`` [m] on; with ``timing`` also when to be where."""

    polyline: tuple[Vertex, ...] | None = Field(default=None, min_length=2, max_length=MAX_PARTS)
    spline: tuple[SplineSegment, ...] | None = Field(
        default=None, min_length=1, max_length=MAX_PARTS
    )
    nurbs: Nurbs | None = None
    closed: bool = False
    end_time: Number | None = None
    timing: TrajectoryTiming | None = None
    start: _NotNegative = 0.0

    @model_validator(mode="after")
    def _one(self) -> Self:
        if [self.polyline, self.spline, self.nurbs].count(None) != 2:
            raise ValueError("allowed is one of polyline, spline and nurbs")
        length = total(segment.length for segment in self.spline or ())
        if length > MAX_LENGTH:
            raise ValueError(f"found {length:g} m of clothoids; allowed are {MAX_LENGTH:g} m")
        return self


class StoryRoute(Section):
    """The way to a place, and from there on over ``roads`` (without those in junctions)."""

    road: Whole
    lane: Whole
    s: _NotNegative
    roads: tuple[Whole, ...] = Field(default=(), max_length=MAX_PARTS)


class Synchronize(Section):
    """To be at ``place`` when ``master`` is at its own; with a final speed [m/s] there.

    Both are the points that they are when the action begins.

    ``relative``: to that of the master. The final speed is held over the last ``steady_distance``
    and ``steady_time``.
    """

    master: str
    master_place: Where
    place: Where
    tolerance: _NotNegative = 0.0
    master_tolerance: _NotNegative = 0.0
    final_speed: Number | None = None
    relative: bool = False
    steady_distance: _NotNegative = 0.0
    steady_time: _NotNegative = 0.0


class StoryValue(Section):
    """Another value of a parameter or variable: ``value``, or the old one changed by it."""

    of: str
    value: Number | str
    how: Literal["set", "add", "multiply"] = "set"


class StoryAction(_OneOf):
    """What an event does, to each actor of its group, or to the entity that it names (``of``)."""

    name: str = ""
    actors: tuple[str, ...] = ()
    of: str = ""
    speed: SpeedAction | None = None
    speed_profile: SpeedProfile | None = None
    keep_distance: KeepDistance | None = None
    lane_change: StoryLaneChange | None = None
    lane_offset: LaneOffset | None = None
    keep_aside: KeepAside | None = None
    trajectory: Trajectory | None = None
    route: StoryRoute | None = None
    synchronize: Synchronize | None = None
    change: StoryValue | None = None
    teleport: Where | None = None
    appear: Where | None = None
    vanish: bool | None = None
    nothing: str | None = None


class Compared(Section):
    """A value and how it is compared."""

    rule: Rule
    value: Number


class ElementState(Section):
    """State or transition of an element of the storyboard."""

    type: Literal["story", "act", "maneuverGroup", "maneuver", "event", "action"]
    element: str
    state: Literal[
        "startTransition", "endTransition", "stopTransition", "skipTransition",
        "standbyState", "runningState", "completeState",
    ]  # fmt: skip


class ValueOf(Section):
    """The value of a parameter or variable that actions change."""

    of: str
    rule: Rule
    value: Number | str


class Clearance(Section):
    """No other vehicle is in lanes beside and ahead or behind.

    ``lanes`` are ranges of lanes to the left of the own one, negative to the right; empty: all.
    Distances in m; ``others`` are those that are looked at; empty: all.
    """

    forward: _NotNegative = 0.0
    backward: _NotNegative = 0.0
    freespace: bool = False
    opposite: bool = False
    lanes: tuple[tuple[Whole, Whole], ...] = Field(default=(), max_length=MAX_PARTS)
    others: tuple[str, ...] = ()


class DistanceTo(Compared):
    """A distance to another vehicle or a place.

    Along the road it follows the route of the vehicle, unless it is to be the ``shortest`` way.
    """

    to: str | None = None
    place: Where | None = None
    freespace: bool = False
    along_road: bool = False
    shortest: bool = False
    measure: Literal["longitudinal", "lateral", "euclidian"] = "longitudinal"

    @model_validator(mode="after")
    def _one(self) -> Self:
        if (self.to is None) == (self.place is None):
            raise ValueError("allowed is one of to and place")
        return self


class Angle(Section):
    """A heading [rad] as near as ``tolerance``: on the map, to the road, or to another vehicle.

    ``to`` and ``along_road`` together: both headings are those to the road where each is.
    """

    angle: Number
    tolerance: _NotNegative
    to: str | None = None
    along_road: bool = False


class SpeedRelation(Compared):
    """The own speed minus that of another vehicle."""

    to: str


class Reach(Section):
    """A place and how near it."""

    place: Where
    tolerance: _NotNegative


class StoryCondition(_OneOf):
    """One condition of a trigger; those of vehicles hold for ``any`` or ``all`` of them."""

    name: str = ""
    edge: Literal["none", "rising", "falling", "risingOrFalling"] = "none"
    delay: _NotNegative = 0.0
    vehicles: tuple[str, ...] = ()
    every: bool = False
    time: Compared | None = None
    state: ElementState | None = None
    constant: bool | None = None
    value: ValueOf | None = None
    clearance: Clearance | None = None
    speed: Compared | None = None
    acceleration: Compared | None = None
    angle: Angle | None = None
    relative_speed: SpeedRelation | None = None
    travelled: _NotNegative | None = None
    stand_still: _NotNegative | None = None
    end_of_road: _NotNegative | None = None
    off_road: _NotNegative | None = None
    collision: tuple[str, ...] | None = None
    headway: DistanceTo | None = None
    time_to_collision: DistanceTo | None = None
    distance: DistanceTo | None = None
    reach: Reach | None = None


#: Groups of conditions: all of one group must hold, for any group.
Trigger = tuple[tuple[StoryCondition, ...], ...]


class Event(Section):
    """Actions that begin together; without ``start`` they begin with the manoeuvre."""

    name: str
    priority: Literal["overwrite", "skip", "parallel"] = "overwrite"
    times: _Count = 1
    start: Trigger | None = None
    actions: tuple[StoryAction, ...] = Field(default=(), max_length=MAX_PARTS)


class Maneuver(Section):
    """Events that know each other."""

    name: str
    events: tuple[Event, ...] = Field(default=(), max_length=MAX_PARTS)


class ManeuverGroup(Section):
    """Manoeuvres of the same vehicles."""

    name: str
    times: _Count = 1
    actors: tuple[str, ...] = ()
    triggering: bool = False
    maneuvers: tuple[Maneuver, ...] = Field(default=(), max_length=MAX_PARTS)


class StoryAct(Section):
    """Groups that begin and end together."""

    name: str
    start: Trigger | None = None
    stop: Trigger | None = None
    groups: tuple[ManeuverGroup, ...] = Field(default=(), max_length=MAX_PARTS)


class Story(Section):
    """Acts."""

    name: str = ""
    acts: tuple[StoryAct, ...] = Field(default=(), max_length=MAX_PARTS)


class Box(Section):
    """Size of a vehicle, and its centre ahead of the point that places mean (the rear axle)."""

    length: _Positive
    width: _Positive
    centre: Number = 0.0


class Performance(Section):
    """What a vehicle can at most: speed [m/s], acceleration and deceleration [m/s^2]."""

    max_speed: _Positive = 100.0
    max_acceleration: _Positive = NO_LIMIT
    max_deceleration: _Positive = NO_LIMIT


class Standing(Section):
    """Something that stands still: the point that places mean, and its heading [rad]."""

    x: Number
    y: Number
    heading: Number
    box: Box


class Walking(Standing):
    """A pedestrian or object that acts, where it starts, and its speed there [m/s]."""

    speed: _NotNegative = 0.0


class Storyboard(Section):
    """What the vehicles do: all of it, in the order of the file."""

    #: Vehicle of the scene -> its size.
    boxes: dict[str, Box] = Field(min_length=1)
    #: Vehicle -> its limits, which its driver keeps to.
    performance: dict[str, Performance]
    #: What conditions know beside the vehicles.
    standing: dict[str, Standing]
    #: Pedestrians and objects that act.
    walking: dict[str, Walking]
    #: Vehicles that are put elsewhere.
    teleported: tuple[str, ...]
    #: Entities that are not there at the start.
    absent: tuple[str, ...]
    #: Parameters and variables that actions change.
    values: dict[str, Number | str]
    #: Vehicles that other participants drive.
    external: tuple[str, ...]
    #: Actions at the start.
    init: tuple[StoryAction, ...]
    stories: tuple[Story, ...]
    #: When the run ends.
    stop: Trigger


def compare(rule: str, found: Any, value: Any) -> bool:
    """Whether a comparison holds; a number and a text are not equal, and neither is more."""
    if isinstance(found, str) is not isinstance(value, str):
        return rule == "notEqualTo"
    if rule == "lessThan":
        return bool(found < value)
    if rule == "greaterThan":
        return bool(found > value)
    if rule == "lessOrEqual":
        return bool(found <= value)
    if rule == "greaterOrEqual":
        return bool(found >= value)
    return bool((found == value) == (rule == "equalTo"))
