# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""A storyboard under way: its elements, their states and transitions.

A transition of one period is seen by conditions in the next one, whichever element comes first:
the order of a file does not decide what a condition sees.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, TypeAlias

from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.driving.openscenario.beside import Beside
from ros2_cosim.driving.openscenario.conditions import Instant, TriggerRun
from ros2_cosim.driving.openscenario.motion import Lateral, Longitudinal, Mover, StoryActor
from ros2_cosim.driving.openscenario.story import (
    Event,
    Maneuver,
    ManeuverGroup,
    Story,
    StoryAct,
    StoryAction,
    Storyboard,
    StoryValue,
)
from ros2_cosim.driving.openscenario.traffic import Traffic
from ros2_cosim.driving.openscenario.trajectories import TrajectoryRun
from ros2_cosim.driving.openscenario.walkers import Walker

STANDBY: Final = "standbyState"
RUNNING: Final = "runningState"
COMPLETE: Final = "completeState"
_START: Final = "startTransition"
_END: Final = "endTransition"
_STOP: Final = "stopTransition"
_SKIP: Final = "skipTransition"
#: Directions in which an action moves a vehicle.
_ALONG: Final = "along"
_ASIDE: Final = "aside"
#: What a vehicle obeys.
Obeyed: TypeAlias = Longitudinal | Lateral | Beside | TrajectoryRun


class StagedElement:
    """An element of the storyboard: state, and what happened to it in this period."""

    def __init__(self, kind: str, name: str) -> None:
        self.kind = kind
        self.name = name
        self.state = STANDBY
        self._happened: set[str] = set()
        self._seen: frozenset[str] = frozenset()

    def publish(self) -> None:
        """Begin a period: what happened in the last one can be seen now."""
        self._seen = frozenset((*self._happened, self.state))
        self._happened.clear()

    def shows(self, state: str) -> bool:
        """Whether conditions see this state or transition."""
        return state in self._seen

    def happen(self, transition: str, state: str) -> None:
        """Make a transition."""
        self._happened.add(transition)
        self.state = state


class Cast:
    """The vehicles of a storyboard, and which action each of them obeys."""

    def __init__(
        self, actors: Mapping[str, StoryActor], walkers: Mapping[str, Walker], traffic: Traffic
    ) -> None:
        self.actors = dict(actors)
        self.walkers = dict(walkers)
        self.traffic = traffic
        #: Vehicle and direction -> what it obeys.
        self._obeyed: dict[tuple[str, str], Obeyed] = {}

    def begin(self, action: StoryAction, name: str) -> _Play | None:
        """Begin an action on a vehicle; None: it is complete at once.

        :raises ConfigurationError: it cannot begin here
        """
        traffic = self.traffic
        mover: Mover
        if action.nothing is not None:
            return None
        if action.vanish is not None or action.appear is not None:
            self._show(action, name)
            return None
        if name in self.walkers:
            mover = walker = self.walkers[name]
            if action.teleport is not None:
                walker.teleport(action.teleport, traffic)
                return None
            if action.trajectory is not None:
                return self._follow(walker.follow(action.trajectory, traffic), name)
            return self._obey(_along(action, mover, traffic), name, (_ALONG,))
        if name not in self.actors:
            return None
        mover = actor = self.actors[name]
        if action.teleport is not None:
            actor.teleport(action.teleport, traffic)
            # What moved it to the side is over: it keeps the lane of that place.
            self._obeyed.pop((name, _ASIDE), None)
            return None
        if action.route is not None:
            actor.take_route(action.route, traffic)
            return None
        if action.trajectory is not None:
            return self._follow(actor.follow(action.trajectory, traffic), name)
        if action.lane_change is not None:
            return self._obey(actor.change_lane(action.lane_change, traffic), name, (_ASIDE,))
        if action.lane_offset is not None:
            return self._obey(actor.change_offset(action.lane_offset, traffic), name, (_ASIDE,))
        if action.keep_aside is not None:
            return self._obey(actor.keep_aside(action.keep_aside, traffic), name, (_ASIDE,))
        return self._obey(_along(action, mover, traffic), name, (_ALONG,))

    def _show(self, action: StoryAction, name: str) -> None:
        """Put an entity into the world, or take it out: far beside the roads nothing meets it."""
        found = self.walkers.get(name) or self.actors.get(name)
        if found is None:
            return
        self._obeyed = {place: each for place, each in self._obeyed.items() if place[0] != name}
        if action.appear is None:
            self.traffic.gone.add(name)
            found.vanish(self.traffic)
            return
        if name in self.traffic.gone:
            self.traffic.gone.discard(name)
            found.teleport(action.appear, self.traffic)

    def _follow(self, line: TrajectoryRun, name: str) -> _Play:
        return self._obey(line, name, (_ASIDE, _ALONG) if line.is_timed else (_ASIDE,))

    def _obey(self, action: Obeyed, name: str, directions: Sequence[str]) -> _Play:
        places = [(name, direction) for direction in directions]
        self._obeyed.update(dict.fromkeys(places, action))
        return _Play(action, places, self)

    def obeys(self, places: Sequence[tuple[str, str]], action: Obeyed) -> bool:
        """Whether a vehicle still obeys an action, in all directions that it is about."""
        return all(self._obeyed.get(place) is action for place in places)


def _along(action: StoryAction, mover: Mover, traffic: Traffic) -> Longitudinal:
    """Begin an action on a speed."""
    if action.speed is not None:
        return mover.set_speed(action.speed, traffic)
    if action.synchronize is not None:
        return mover.synchronize(action.synchronize, traffic)
    if action.speed_profile is not None:
        return mover.set_profile(action.speed_profile, traffic)
    assert action.keep_distance is not None
    return mover.keep_distance(action.keep_distance, traffic)


class _Play:
    """One action on one vehicle."""

    def __init__(
        self,
        action: Obeyed,
        places: Sequence[tuple[str, str]],
        cast: Cast,
    ) -> None:
        self._action, self._places, self._cast = action, places, cast

    def done(self) -> bool:
        """Whether it is complete."""
        return self._action.done(self._cast.traffic.time, self._cast.traffic)

    def replaced(self) -> bool:
        """Whether another one has taken its place."""
        return not self._cast.obeys(self._places, self._action)


class Stage:
    """Plays a storyboard, asked once in each period."""

    def __init__(self, storyboard: Storyboard, cast: Cast) -> None:
        self._elements: list[StagedElement] = []
        self._by_name: dict[tuple[str, str], list[StagedElement]] = {}
        self._cast = cast
        self._init = storyboard.init
        self._stories = [_StoryRun(story, self) for story in storyboard.stories]
        self._stop = TriggerRun(storyboard.stop)
        self._stop_given = bool(storyboard.stop)
        self._begun = False
        #: Parameters and variables as conditions see them, and as they will in the next period.
        self._values = dict(storyboard.values)
        self._next_values = dict(storyboard.values)
        #: Events in the order in which they began: (time [ns], name).
        self.begun: list[tuple[int, str]] = []
        #: Why the run is to end; None: it goes on.
        self.ended: str | None = None
        #: Whether the stop trigger has fired.
        self.stopped = False

    @property
    def cast(self) -> Cast:
        """The vehicles."""
        return self._cast

    def add(self, element: StagedElement) -> None:
        """Let an element be found by conditions."""
        self._elements.append(element)
        self._by_name.setdefault((element.kind, element.name), []).append(element)

    def shows(self, kind: str, name: str, state: str) -> bool:
        """Whether an element of a name shows a state; see :class:`Instant`."""
        found = self._by_name.get((kind, name))
        if found is None:
            # A reference may name the elements around it, too, joined by "::".
            found = self._by_name.get((kind, name.rpartition("::")[2]), [])
        return any(element.shows(state) for element in found)

    def play(self) -> None:
        """One period.

        :raises ConfigurationError: an action cannot begin
        """
        if self.ended is not None:
            return
        for element in self._elements:
            element.publish()
        self._values.update(self._next_values)
        instant = Instant(self._cast.traffic, self.shows, self._values)
        if not self._begun:
            self._begun = True
            for action in self._init:
                if action.change is not None:
                    self.change(action.change)
                for name in (action.of,) if action.of else action.actors:
                    self._cast.begin(action, name)
            self._values.update(self._next_values)
        if self._stop_given and self._stop.fires(instant):
            for story in self._stories:
                story.stop()
            self.stopped = True
            self.ended = "the stop trigger of the storyboard has fired"
            return
        for story in self._stories:
            story.play(instant)
        complete = bool(self._stories) and _complete(story.element for story in self._stories)
        if complete and not self._stop_given:
            self.ended = "all stories of the storyboard are complete"

    def change(self, asked: StoryValue) -> None:
        """Change a value; conditions see it in the next period.

        :raises ConfigurationError: a text is to be calculated with
        """
        old, value = self._next_values[asked.of], asked.value
        if asked.how != "set":
            if isinstance(old, str) or isinstance(value, str):
                raise ConfigurationError(
                    f"storyboard: {asked.of}: found {old!r} to {asked.how} {value!r}; allowed are "
                    "numbers"
                )
            value = old + value if asked.how == "add" else old * value
        self._next_values[asked.of] = value

    def new(self, kind: str, name: str) -> StagedElement:
        """A new element."""
        element = StagedElement(kind, name)
        self.add(element)
        return element


class _StoryRun:
    def __init__(self, story: Story, stage: Stage) -> None:
        self.element = stage.new("story", story.name)
        self._acts = [_ActRun(act, stage) for act in story.acts]

    def play(self, instant: Instant) -> None:
        if self.element.state == STANDBY:
            self.element.happen(_START, RUNNING)
        if self.element.state != RUNNING:
            return
        for act in self._acts:
            act.play(instant)
        if _complete(act.element for act in self._acts):
            self.element.happen(_END, COMPLETE)

    def stop(self) -> None:
        _stop(self.element, self._acts)


class _ActRun:
    def __init__(self, act: StoryAct, stage: Stage) -> None:
        self.element = stage.new("act", act.name)
        self._groups = [_GroupRun(group, stage) for group in act.groups]
        self._start = TriggerRun(act.start)
        self._stop = TriggerRun(act.stop) if act.stop else None

    def play(self, instant: Instant) -> None:
        if self.element.state == STANDBY and self._start.fires(instant):
            self.element.happen(_START, RUNNING)
            for group in self._groups:
                group.start(self._start.vehicles)
        if self.element.state != RUNNING:
            return
        if self._stop is not None and self._stop.fires(instant):
            self.stop()
            return
        for group in self._groups:
            group.play(instant)
        if _complete(group.element for group in self._groups):
            self.element.happen(_END, COMPLETE)

    def stop(self) -> None:
        _stop(self.element, self._groups)


class _GroupRun:
    def __init__(self, group: ManeuverGroup, stage: Stage) -> None:
        self.element = stage.new("maneuverGroup", group.name)
        self._group = group
        self._maneuvers = [_ManeuverRun(each, stage) for each in group.maneuvers]
        self._times = 0
        self._actors = group.actors

    def start(self, triggering: Sequence[str]) -> None:
        self._times += 1
        self.element.happen(_START, RUNNING)
        if self._group.triggering:
            self._actors = tuple(dict.fromkeys((*self._group.actors, *triggering)))
        for maneuver in self._maneuvers:
            maneuver.start(self._actors)

    def play(self, instant: Instant) -> None:
        if self.element.state != RUNNING:
            return
        for maneuver in self._maneuvers:
            maneuver.play(instant)
        if not _complete(maneuver.element for maneuver in self._maneuvers):
            return
        # Without manoeuvres there is nothing to repeat.
        if self._times < self._group.times and self._maneuvers:
            self.start(())
        else:
            self.element.happen(_END, COMPLETE)

    def stop(self) -> None:
        _stop(self.element, self._maneuvers)


class _ManeuverRun:
    def __init__(self, maneuver: Maneuver, stage: Stage) -> None:
        self.element = stage.new("maneuver", maneuver.name)
        self._events = [_EventRun(event, stage) for event in maneuver.events]

    def start(self, actors: Sequence[str]) -> None:
        self.element.happen(_START, RUNNING)
        for event in self._events:
            event.wait(actors)

    def play(self, instant: Instant) -> None:
        if self.element.state != RUNNING:
            return
        for event in self._events:
            event.go_on()
        for event in self._events:
            if event.fires(instant):
                self._begin(event)
        if _complete(event.element for event in self._events):
            self.element.happen(_END, COMPLETE)

    def _begin(self, event: _EventRun) -> None:
        running = [e for e in self._events if e.element.state == RUNNING]
        if event.priority == "skip" and running:
            event.skip()
            return
        if event.priority == "overwrite":
            for other in running:
                other.stop()
        event.start()

    def stop(self) -> None:
        _stop(self.element, self._events)


class _EventRun:
    def __init__(self, event: Event, stage: Stage) -> None:
        self.element = stage.new("event", event.name)
        self.priority = event.priority
        self._event = event
        self._stage = stage
        self._actions = [_ActionRun(action, stage) for action in event.actions]
        self._start = TriggerRun(event.start)
        self._times = 0
        self._actors: Sequence[str] = ()

    def wait(self, actors: Sequence[str]) -> None:
        """The manoeuvre has begun."""
        self.element.state = STANDBY
        self._start = TriggerRun(self._event.start)
        self._times = 0
        self._actors = actors

    def fires(self, instant: Instant) -> bool:
        """Whether it is to begin now."""
        return self.element.state == STANDBY and self._start.fires(instant)

    def start(self) -> None:
        """Begin."""
        self._times += 1
        self.element.happen(_START, RUNNING)
        self._stage.begun.append((self._stage.cast.traffic.time, self.element.name))
        for action in self._actions:
            action.start(self._actors)
        self.go_on()

    def skip(self) -> None:
        """What would have begun does not; it counts."""
        self._times += 1
        self.element.happen(_SKIP, self._after())

    def go_on(self) -> None:
        """See which actions are complete."""
        if self.element.state != RUNNING:
            return
        for action in self._actions:
            action.go_on()
        if _complete(action.element for action in self._actions):
            self.element.happen(_END, self._after())

    def stop(self) -> None:
        """End before it is complete."""
        if self.element.state == RUNNING:
            for action in self._actions:
                action.stop()
        if self.element.state != COMPLETE:
            again = self._after() if self.element.state == RUNNING else COMPLETE
            self.element.happen(_STOP, again)

    def _after(self) -> str:
        return STANDBY if self._times < self._event.times else COMPLETE


class _ActionRun:
    def __init__(self, action: StoryAction, stage: Stage) -> None:
        self.element = stage.new("action", action.name)
        self._action = action
        self._stage = stage
        self._plays: list[_Play] = []

    def start(self, actors: Sequence[str]) -> None:
        self.element.happen(_START, RUNNING)
        if self._action.change is not None:
            self._stage.change(self._action.change)
            return
        names = (self._action.of,) if self._action.of else actors
        begun = [self._stage.cast.begin(self._action, name) for name in names]
        self._plays = [play for play in begun if play is not None]

    def go_on(self) -> None:
        if self.element.state != RUNNING:
            return
        going = [play for play in self._plays if not play.replaced()]
        if going and not all(play.done() for play in going):
            return
        ended = bool(going) or not self._plays
        self.element.happen(_END if ended else _STOP, COMPLETE)

    def stop(self) -> None:
        if self.element.state == RUNNING:
            self.element.happen(_STOP, COMPLETE)


def _complete(elements: Iterable[StagedElement]) -> bool:
    return all(element.state == COMPLETE for element in elements)


def _stop(element: StagedElement, below: Iterable[Any]) -> None:
    if element.state == COMPLETE:
        return
    for each in below:
        each.stop()
    element.happen(_STOP, COMPLETE)
