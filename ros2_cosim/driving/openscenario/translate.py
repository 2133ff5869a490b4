# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The storyboard of a file as the plain data of :mod:`ros2_cosim.driving.openscenario.story`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import isfinite
from typing import Any, Final

from ros2_cosim.core.kernel.guesses import did_you_mean
from ros2_cosim.driving.openscenario.document import (
    Element,
    Findings,
    FollowingError,
    declared,
)
from ros2_cosim.driving.openscenario.lines import Lines
from ros2_cosim.driving.openscenario.places import Places
from ros2_cosim.driving.openscenario.story import RULES, compare
from ros2_cosim.world.map.lane_routes import Stretch, roads_of

#: Largest speed [m/s].
MAX_SPEED: Final = 100.0
#: Executions of an element that may be repeated without end.
_MAX_TIMES: Final = 1_000_000
#: Without limits of its own a vehicle keeps its distance with these [m/s^2, m/s].
_LIMITS: Final = {"max_acceleration": 5.0, "max_deceleration": 8.0, "max_speed": MAX_SPEED}

#: A range of lanes without an end has this one.
_MOST_LANES: Final = 100
#: Largest acceleration [m/s^2] and speed [m/s] to the side.
_MOST_ASIDE: Final = 3.0

_Plain = dict[str, Any]

_SHAPES: Final = {word: word for word in ("linear", "cubic", "sinusoidal", "step")}
_DIMENSIONS: Final = {word: word for word in ("time", "distance", "rate")}
_PRIORITIES: Final = {
    "overwrite": "overwrite", "override": "overwrite", "skip": "skip", "parallel": "parallel",
}  # fmt: skip
_EDGES: Final = {word: word for word in ("none", "rising", "falling", "risingOrFalling")}
_STATES: Final = {
    word: word
    for word in (
        "startTransition", "endTransition", "stopTransition", "skipTransition",
        "standbyState", "runningState", "completeState",
    )
}  # fmt: skip
_ELEMENTS: Final = {
    word: word for word in ("story", "act", "maneuverGroup", "maneuver", "event", "action")
}

#: Why controllers of a file have no effect.
DRIVEN: Final = "the storyboard drives all vehicles that are not external"
#: Actions without effect on what is simulated here, and why.
_WITHOUT_EFFECT: Final = {
    "ActivateControllerAction": DRIVEN,
    "AnimationAction": "appearance is not simulated",
    "AppearanceAction": "appearance is not simulated",
    "AssignControllerAction": DRIVEN,
    "ControllerAction": DRIVEN,
    "EnvironmentAction": "the weather is that of the scene",
    "LightStateAction": "lights are not simulated",
    "OverrideControllerValueAction": DRIVEN,
    "UserDefinedAction": "its content is known to one tool only",
    "VisibilityAction": "how things are drawn is not simulated",
}

#: Actions that keep or change a lane.
_IN_LANES: Final = ("LaneChangeAction", "LaneOffsetAction", "LateralDistanceAction")
#: Actions that say a way.
_WAYS: Final = ("AssignRouteAction", "AcquirePositionAction")

#: Elements around the one that says what is done.
_WRAPPERS: Final = (
    "GlobalAction", "LateralAction", "LongitudinalAction", "PrivateAction",
    "RoutingAction", "TrafficAction",
)  # fmt: skip


class Translator:
    """Translates the elements of one storyboard.

    :param names: entity -> vehicle of the scene
    :param objects: entity that stands still -> object of the scene
    :param catalogues: from a CatalogReference to the entry
    """

    def __init__(
        self,
        places: Places,
        names: Mapping[str, str],
        objects: Mapping[str, str],
        findings: Findings,
        catalogues: Callable[[Element], Element],
    ) -> None:
        self._places = places
        self._names = names
        self._objects = objects
        self._findings = findings
        self._catalogues = catalogues
        self._lines = Lines(places, self.entity, catalogues)
        #: Parameters and variables that actions change, and their values at the start.
        self.values: dict[str, float | str] = {}
        #: What is in the scene -> its kind of entity.
        self.tags: dict[str, str] = {}
        #: Entities that are wrong.
        self.wrong: set[str] = set()
        #: What the actions that are read are for, in words of the scene.
        self.actors: list[str] = []
        #: Types and names of the elements of the storyboard, and those that conditions ask for.
        self._is_played = True
        self._elements: dict[tuple[str, str], None] = {}
        self._asked: list[tuple[Element, str, str]] = []

    def story(self, element: Element) -> _Plain:
        """A Story."""
        here = element.within(declared(element, {}))
        return {
            "name": self._name("story", here),
            "acts": [self._act(act) for act in here.each("Act")],
        }

    def trigger(self, element: Element | None) -> list[list[_Plain]] | None:
        """A StartTrigger or StopTrigger; None: there is none.

        A group with a condition that can never be decided here never holds, and is left out.
        """
        if element is None:
            return None
        groups = []
        for group in element.each("ConditionGroup"):
            conditions = []
            for condition in group.each("Condition"):
                with self._findings.collected(condition):
                    conditions.append(self._condition(condition))
            groups.append(conditions)
        return groups

    def _act(self, element: Element) -> _Plain:
        act: _Plain = {
            "name": self._name("act", element),
            "groups": [self._group(group) for group in element.each("ManeuverGroup")],
        }
        for key, tag in (("start", "StartTrigger"), ("stop", "StopTrigger")):
            trigger = self.trigger(element.find(tag))
            if trigger:
                act[key] = trigger
        return act

    def _group(self, element: Element) -> _Plain:
        actors = element.one("Actors")
        names = []
        for reference in actors.each("EntityRef"):
            with self._findings.collected(reference):
                names.append(self.entity(reference))
        self.actors = names
        triggering = _triggering(actors)
        self._is_played = bool(names or triggering)
        maneuvers = []
        for child in element.children():
            if child.tag == "Maneuver":
                maneuvers.append(self._maneuver(child.within(declared(child, {}))))
            elif child.tag == "CatalogReference":
                with self._findings.collected(child):
                    maneuvers.append(self._maneuver(self._catalogues(child)))
        name = self._name("maneuverGroup", element)
        group = {"name": name, "actors": names, "maneuvers": maneuvers}
        return {**group, **self._times(element), **triggering}

    def _maneuver(self, element: Element) -> _Plain:
        return {
            "name": self._name("maneuver", element),
            "events": [self._event(event) for event in element.each("Event")],
        }

    def _event(self, element: Element) -> _Plain:
        event: _Plain = {"name": self._name("event", element), "actions": []}
        with self._findings.collected(element):
            event["priority"] = element.one_of("priority", _PRIORITIES, "overwrite")
            event.update(self._times(element))
        trigger = self.trigger(element.find("StartTrigger"))
        if trigger:
            event["start"] = trigger
        for action in element.each("Action"):
            with self._findings.collected(action):
                name, choice = self._name("action", action), action.choice()
                if choice.tag == "PrivateAction" and not self._is_played:
                    self._findings.notes.append(
                        f"{choice.place}: has no effect: its ManeuverGroup has no actors"
                    )
                event["actions"].append({"name": name, **self.action(choice)})
        return event

    def _name(self, kind: str, element: Element) -> str:
        """The name of an element of the storyboard, which conditions may ask for."""
        name = element.label()
        self._elements[kind, name] = None
        return name

    def note_unknown_elements(self) -> None:
        """Note the conditions about elements that the storyboard, now read, does not have."""
        for element, kind, name in self._asked:
            if self._elements.keys().isdisjoint(((kind, name), (kind, name.rpartition("::")[2]))):
                there = [each for of, each in self._elements if of == kind]
                self._findings.notes.append(
                    f"{element.place}: never holds: found the {kind} '{name}'; "
                    f"{did_you_mean(name, there)}the storyboard has {', '.join(there) or 'none'}"
                )

    def _times(self, element: Element) -> _Plain:
        if not element.has("maximumExecutionCount"):
            return {}
        return {"times": min(max(element.whole("maximumExecutionCount"), 1), _MAX_TIMES)}

    def vehicle(self, element: Element, attribute: str = "entityRef") -> str:
        """The vehicle of the scene that an attribute names.

        :raises ConfigurationError: there is none
        """
        name = element.text(attribute)
        if name in self.wrong:
            raise FollowingError(name)
        if name not in self._names:
            raise element.error(
                f"{attribute}: found '{name}'; allowed are {', '.join(self._names) or 'none'}"
            )
        return self._names[name]

    def entity(self, element: Element, attribute: str = "entityRef") -> str:
        """The vehicle or object of the scene that an attribute names.

        :raises ConfigurationError: there is none
        """
        name = element.text(attribute)
        return self._objects[name] if name in self._objects else self.vehicle(element, attribute)

    # Actions -----------------------------------------------------------------------------

    def action(self, element: Element) -> _Plain:
        """A PrivateAction, GlobalAction or UserDefinedAction, without its name.

        :raises ConfigurationError: it is not supported, or wrong
        """
        if element.tag == "EntityAction":
            return self._entity_action(element)
        if element.tag in _WRAPPERS:
            return self.action(element.choice())
        makers = {
            "SpeedAction": self._speed,
            "SpeedProfileAction": self._speed_profile,
            "LongitudinalDistanceAction": self._keep_distance,
            "LaneChangeAction": self._lane_change,
            "LaneOffsetAction": self._lane_offset,
            "LateralDistanceAction": self._keep_aside,
            "FollowTrajectoryAction": self._follow,
            "AssignRouteAction": self._assign_route,
            "AcquirePositionAction": self._acquire,
            "SynchronizeAction": self._synchronize,
            "ParameterAction": self._change,
            "VariableAction": self._change,
            "TeleportAction": self._teleport,
        }
        if element.tag in makers:
            self._require_actors(element)
            return makers[element.tag](element)
        if element.tag in _WITHOUT_EFFECT:
            self._require_no_more(element)
            self._findings.note(element, f"has no effect: {_WITHOUT_EFFECT[element.tag]}")
            return {"nothing": element.tag}
        supported = (*makers, "AddEntityAction", "DeleteEntityAction")
        raise element.error(f"not supported; supported are {', '.join(supported)}")

    def _entity_action(self, element: Element) -> _Plain:
        """An entity comes into the world, or leaves it."""
        name, kind = self.entity(element), element.choice()
        if kind.tag == "DeleteEntityAction":
            return {"vanish": True, "of": name}
        if kind.tag != "AddEntityAction":
            raise kind.error("not supported; supported are AddEntityAction, DeleteEntityAction")
        return {"appear": self._lines.where(kind.one("Position")), "of": name}

    def _require_actors(self, element: Element) -> None:
        """Check whether what walks can do this."""
        walking = [name for name in self.actors if name in self._objects.values()]
        if not walking:
            return
        if element.tag in _IN_LANES:
            raise element.error(
                f"found for '{walking[0]}', which is not a vehicle; supported for it are actions "
                "on its speed, trajectories, routes and teleports"
            )
        if element.tag in _WAYS and len(self.actors) > 1:
            raise element.error(
                f"found for {', '.join(self.actors)}; supported for what walks is one actor"
            )

    def _require_no_more(self, element: Element) -> None:
        """Check whether an action without effect here asks for nothing that is simulated."""
        if element.tag == "EnvironmentAction":
            found = element.find("Environment")
            if found is None:
                found = self._catalogues(element.one("CatalogReference"))
            else:
                found = found.within(declared(found, {}))
            road = found.find("RoadCondition")
            friction = 1.0 if road is None else road.number("frictionScaleFactor")
            if road is not None and friction != 1.0:
                raise road.error(f"frictionScaleFactor: found {friction:g}; supported is 1")
            found.leave()
        elif element.tag == "VisibilityAction":
            for name in ("sensors", "traffic"):
                if not element.flag(name):
                    raise element.error(f"{name}: found false; supported is true: all are visible")
        elif element.tag == "OverrideControllerValueAction":
            for control in element.children():
                if control.flag("active"):
                    raise control.error(f"active: found true; supported is false: {DRIVEN}")
        for override in element.each("OverrideControllerValueAction"):
            self._require_no_more(override)

    def _teleport(self, element: Element) -> _Plain:
        return {"teleport": self._lines.where(element.one("Position"))}

    def _straight_to(self, positions: list[Element]) -> _Plain:
        """The way of what walks: straight from where it is to one place after the other."""
        start: _Plain = {"x": 0.0, "y": 0.0, "to": self.actors[0], "frame": "axes"}
        places = [start, *(self._lines.where(position) for position in positions)]
        return {"trajectory": {"polyline": [{"at": place} for place in places]}}

    def _speed(self, element: Element) -> _Plain:
        action: _Plain = {"dynamics": _dynamics(element.one("SpeedActionDynamics"))}
        target = element.one("SpeedActionTarget").choice()
        if target.tag == "AbsoluteTargetSpeed":
            action["target"] = _speed_in(target, "value")
        else:
            factor = target.one_of("speedTargetValueType", {"delta": "", "factor": "1"}, "delta")
            action["relative"] = {
                "to": self.entity(target),
                "value": target.number("value"),
                "factor": bool(factor),
                "continuous": target.flag("continuous", False),
            }
        return {"speed": action}

    def _speed_profile(self, element: Element) -> _Plain:
        if element.has("entityRef"):
            raise element.error("entityRef: speeds relative to a vehicle are not supported")
        times, speeds, now = [], [], 0.0
        limits: _Plain = {}
        entries = element.each("SpeedProfileEntry")
        if not entries:
            raise element.error("missing SpeedProfileEntry")
        timed = [entry for entry in entries if entry.has("time")]
        if not timed or element.find("DynamicConstraints") is not None:
            limits = _limits(element, "acceleration", "deceleration")
        if not timed:
            found: _Plain = {"speeds": [_speed_in(entry, "speed") for entry in entries]}
            return {"speed_profile": {**found, **limits}}
        for number, entry in enumerate(entries):
            if not entry.has("time"):
                raise entry.error("time: missing; supported is a time in all entries, or in none")
            now += entry.number("time")
            if entry.number("time") < 0.0 or (number and entry.number("time") == 0.0):
                raise entry.error(f"time: found {entry.number('time'):g}; allowed is more than 0")
            times.append(now)
            speeds.append(_speed_in(entry, "speed"))
        return {"speed_profile": {"times": times, "speeds": speeds, **limits}}

    def _keep_distance(self, element: Element) -> _Plain:
        action: _Plain = {
            "to": self.entity(element),
            "freespace": element.flag("freespace"),
            "continuous": element.flag("continuous"),
        }
        sides = {
            "any": "", "leadingReferencedEntity": "lead", "trailingReferencedEntity": "trail",
        }  # fmt: skip
        element.one_of("coordinateSystem", _ROAD, "entity")
        side = element.one_of("displacement", sides, "trailingReferencedEntity")
        action["lead"] = side == "lead" if side else None
        keys = {"distance": "distance", "timeGap": "time_gap"}
        given = [name for name in keys if element.has(name)]
        if len(given) != 1:
            raise element.error("allowed is one of distance and timeGap")
        action[keys[given[0]]] = element.amount(given[0])
        limits = _limits(element, "acceleration", "deceleration", "speed")
        if element.find("DynamicConstraints") is None and not self._walks():
            limits["jumps"] = True
        return {"keep_distance": {**action, **limits}}

    def _lane_change(self, element: Element) -> _Plain:
        target = element.one("LaneChangeTarget").choice()
        action: _Plain = {
            "dynamics": _dynamics(element.one("LaneChangeActionDynamics")),
            "lane": target.whole("value"),
            "offset": element.number("targetLaneOffset", 0.0),
        }
        if target.tag == "RelativeTargetLane":
            action["relative_to"] = self.entity(target)
        return {"lane_change": action}

    def _lane_offset(self, element: Element) -> _Plain:
        target = element.one("LaneOffsetTarget").choice()
        dynamics = element.one("LaneOffsetActionDynamics")
        action: _Plain = {
            "offset": target.number("value"),
            "shape": dynamics.one_of("dynamicsShape", _SHAPES),
        }
        if target.tag == "RelativeTargetLaneOffset":
            action["relative_to"] = self.entity(target)
        if element.flag("continuous", False):
            if "relative_to" in action:
                raise element.error("continuous: found true of a relative one; supported is false")
            action["continuous"] = True
        if dynamics.number("maxLateralAcc", 0.0) > 0.0:
            action["max_acceleration"] = dynamics.number("maxLateralAcc")
        return {"lane_offset": action}

    def _keep_aside(self, element: Element) -> _Plain:
        action: _Plain = {
            "to": self.entity(element),
            "freespace": element.flag("freespace"),
            "continuous": element.flag("continuous"),
        }
        sides = {"any": "", "leftToReferencedEntity": "left", "rightToReferencedEntity": "right"}
        element.one_of("coordinateSystem", _ROAD, "entity")
        side = element.one_of("displacement", sides, "any")
        action["left"] = side == "left" if side else None
        if element.has("distance"):
            action["distance"] = element.amount("distance")
        limits = element.find("DynamicConstraints")
        for name in ("maxAcceleration", "maxDeceleration", "maxSpeed"):
            value = limits.number(name, 0.0) if limits is not None else 0.0
            if value > 0.0:
                # A vehicle gets aside by steering: no faster than its tyres and its place allow.
                key = "max_speed" if name == "maxSpeed" else "max_acceleration"
                action[key] = min(value, action.get(key, _MOST_ASIDE))
        return {"keep_aside": action}

    def _follow(self, element: Element) -> _Plain:
        return {"trajectory": self._lines.follow(element)}

    def _assign_route(self, element: Element) -> _Plain:
        if self._walks():
            points = self._places.route(element).each("Waypoint")
            return self._straight_to([point.one("Position") for point in points])
        way = self._places.way(element)
        return {"route": _route(way[0], roads_of(self._places.network, way))}

    def _acquire(self, element: Element) -> _Plain:
        if self._walks():
            return self._straight_to([element.one("Position")])
        spot = self._places.find(element.one("Position"))
        return {"route": _route(Stretch(spot.road, spot.lane, spot.s), [])}

    def _walks(self) -> bool:
        return any(name in self._objects.values() for name in self.actors)

    def _synchronize(self, element: Element) -> _Plain:
        action: _Plain = {
            "master": self.entity(element, "masterEntityRef"),
            "master_place": self._place(element.one("TargetPositionMaster")),
            "place": self._place(element.one("TargetPosition")),
            "tolerance": element.amount("targetTolerance", 0.0),
            "master_tolerance": element.amount("targetToleranceMaster", 0.0),
        }
        final = element.find("FinalSpeed")
        if final is not None:
            kind = final.choice()
            action["relative"] = kind.tag == "RelativeSpeedToMaster"
            if action["relative"]:
                kind.one_of("speedTargetValueType", {"delta": ""}, "delta")
                action["final_speed"] = kind.number("value")
            else:
                action["final_speed"] = _speed_in(kind, "value")
            for state in kind.children():
                steady = {"TargetDistanceSteadyState": ("distance", "steady_distance"),
                          "TargetTimeSteadyState": ("time", "steady_time")}  # fmt: skip
                if state.tag not in steady:
                    raise state.error(f"not supported; supported are {', '.join(steady)}")
                name, key = steady[state.tag]
                action[key] = state.amount(name)
        return {"synchronize": action}

    def _change(self, element: Element) -> _Plain:
        name = _value_name(element)
        if name not in self.values:
            raise element.error(
                f"found '{name}'; allowed are {', '.join(self.values) or 'none'}, parameters and "
                "variables of the file that its own storyboard changes"
            )
        kind = element.choice()
        if kind.tag in ("SetAction", "ParameterSetAction", "VariableSetAction"):
            return {"change": {"of": name, "value": as_value(kind.text("value"))}}
        rule = kind.one("Rule").choice()
        ways = {"AddValue": "add", "MultiplyByValue": "multiply"}
        if rule.tag not in ways:
            raise rule.error(f"not supported; supported are {', '.join(ways)}")
        return {"change": {"of": name, "value": rule.number("value"), "how": ways[rule.tag]}}

    # Conditions --------------------------------------------------------------------------

    def _condition(self, element: Element) -> _Plain:
        condition: _Plain = {"name": element.label()}
        condition["edge"] = element.one_of("conditionEdge", _EDGES, "none")
        condition["delay"] = element.amount("delay", 0.0)
        below = [child for child in element.children() if child.tag.startswith("By")]
        if len(below) != 1:
            raise element.error("allowed is one of ByEntityCondition and ByValueCondition")
        if below[0].tag == "ByValueCondition":
            return {**condition, **self._by_value(below[0].choice())}
        entities = below[0].one("TriggeringEntities")
        condition["vehicles"] = [self.entity(found) for found in entities.each("EntityRef")]
        every = entities.one_of("triggeringEntitiesRule", {"any": "", "all": "1"})
        condition["every"] = bool(every)
        kind = below[0].one("EntityCondition").choice()
        makers = {
            "AccelerationCondition": self._acceleration,
            "AngleCondition": self._angle,
            "CollisionCondition": self._collision,
            "DistanceCondition": self._distance,
            "EndOfRoadCondition": self._end_of_road,
            "OffroadCondition": self._off_road,
            "ReachPositionCondition": self._reach,
            "RelativeAngleCondition": self._angle,
            "RelativeClearanceCondition": self._clearance,
            "RelativeDistanceCondition": self._relative_distance,
            "RelativeSpeedCondition": self._relative_speed,
            "SpeedCondition": self._speed_of,
            "StandStillCondition": self._stand_still,
            "TimeHeadwayCondition": self._headway,
            "TimeToCollisionCondition": self._time_to_collision,
            "TraveledDistanceCondition": self._travelled,
        }
        if kind.tag not in makers:
            raise kind.error(f"not supported; supported are {', '.join(makers)}")
        return {**condition, **makers[kind.tag](kind)}

    def _by_value(self, kind: Element) -> _Plain:
        if kind.tag == "SimulationTimeCondition":
            return {"time": _compared(kind)}
        if kind.tag == "StoryboardElementStateCondition":
            of = kind.one_of("storyboardElementType", _ELEMENTS)
            name = kind.label("storyboardElementRef")
            self._asked.append((kind, of, name))
            return {
                "state": {
                    "type": of,
                    "element": name,
                    "state": kind.one_of("state", _STATES),
                }
            }
        if kind.tag == "ParameterCondition":
            name = _value_name(kind)
            if name in self.values:
                return self._value(kind, name)
            return {"constant": self._parameter(kind)}
        if kind.tag == "VariableCondition":
            return self._value(kind, _value_name(kind))
        raise kind.error(
            "not supported; supported are SimulationTimeCondition, "
            "StoryboardElementStateCondition, ParameterCondition, VariableCondition"
        )

    def _value(self, kind: Element, name: str) -> _Plain:
        if name not in self.values:
            raise kind.error(f"found '{name}'; allowed are {', '.join(self.values) or 'none'}")
        rule, value = kind.one_of("rule", RULES), as_value(kind.text("value"))
        if isinstance(value, str) and rule not in ("equalTo", "notEqualTo"):
            raise kind.error(f"rule: found {rule} of a text; allowed is equalTo")
        return {"value": {"of": name, "rule": rule, "value": value}}

    def _parameter(self, kind: Element) -> bool:
        """Parameters do not change during a run: the condition holds always or never."""
        if not kind.has("parameterRef"):
            raise kind.error("missing attribute parameterRef")
        name = kind.raw("parameterRef").removeprefix("$")
        if name not in kind.parameters:
            self._findings.note(kind, f"never holds: there is no parameter '{name}'")
            return False
        found, value = kind.parameters[name], kind.text("value")
        rule = kind.one_of("rule", RULES)
        try:
            pair: tuple[Any, Any] = (float(found), float(value))
        except ValueError:
            pair = (found, value)
            if rule not in ("equalTo", "notEqualTo"):
                raise kind.error(f"rule: found {rule} of texts; allowed is equalTo") from None
        return compare(rule, *pair)

    def _acceleration(self, kind: Element) -> _Plain:
        _require_longitudinal(kind)
        return {"acceleration": _compared(kind)}

    def _speed_of(self, kind: Element) -> _Plain:
        _require_longitudinal(kind)
        return {"speed": _compared(kind)}

    def _angle(self, kind: Element) -> _Plain:
        if kind.text("angleType") != "heading":
            raise kind.error(
                f"angleType: found '{kind.text('angleType')}'; supported is heading: everything "
                "stands upright on the road"
            )
        relative = kind.tag == "RelativeAngleCondition"
        systems = {"entity" if relative else "world": "", "road": "1", "lane": "1"}
        system = kind.one_of("coordinateSystem", systems, "entity" if relative else "world")
        angle: _Plain = {
            "angle": kind.number("angle"),
            "tolerance": kind.amount("angleTolerance"),
            "along_road": bool(system),
        }
        if relative:
            angle["to"] = self.entity(kind)
        return {"angle": angle}

    def _relative_speed(self, kind: Element) -> _Plain:
        _require_longitudinal(kind)
        return {"relative_speed": {**_compared(kind), "to": self.entity(kind)}}

    def _stand_still(self, kind: Element) -> _Plain:
        return {"stand_still": kind.amount("duration")}

    def _collision(self, kind: Element) -> _Plain:
        target = kind.choice()
        if target.tag == "EntityRef":
            return {"collision": [self.entity(target)]}
        if target.tag != "ByType":
            raise target.error("not supported; supported are EntityRef and ByType")
        kinds = {"vehicle": "Vehicle", "pedestrian": "Pedestrian", "miscellaneous": "MiscObject"}
        wanted = target.one_of("type", kinds)
        return {"collision": [name for name, tag in self.tags.items() if tag == wanted]}

    def _end_of_road(self, kind: Element) -> _Plain:
        return {"end_of_road": kind.amount("duration")}

    def _off_road(self, kind: Element) -> _Plain:
        return {"off_road": kind.amount("duration")}

    def _travelled(self, kind: Element) -> _Plain:
        return {"travelled": kind.amount("value")}

    def _reach(self, kind: Element) -> _Plain:
        place = self._place(kind.one("Position"))
        return {"reach": {"place": place, "tolerance": kind.amount("tolerance")}}

    def _headway(self, kind: Element) -> _Plain:
        return {"headway": {**self._distance_to(kind), "to": self.entity(kind)}}

    def _clearance(self, kind: Element) -> _Plain:
        ranges = []
        for found in kind.each("RelativeLaneRange"):
            low = found.whole("from", -_MOST_LANES)
            ranges.append([low, found.whole("to", _MOST_LANES)])
        return {
            "clearance": {
                "forward": kind.amount("distanceForward", 0.0),
                "backward": kind.amount("distanceBackward", 0.0),
                "freespace": kind.flag("freeSpace"),
                "opposite": kind.flag("oppositeLanes"),
                "lanes": ranges,
                "others": [self.entity(found) for found in kind.each("EntityRef")],
            }
        }

    def _relative_distance(self, kind: Element) -> _Plain:
        measures = {
            "longitudinal": "longitudinal", "lateral": "lateral",
            "euclidianDistance": "euclidian", "cartesianDistance": "euclidian",
        }  # fmt: skip
        measure = kind.one_of("relativeDistanceType", measures)
        found = {**self._distance_to(kind), "to": self.entity(kind), "measure": measure}
        return {"distance": found}

    def _distance(self, kind: Element) -> _Plain:
        place = self._place(kind.one("Position"))
        return {"distance": {**self._distance_to(kind), "place": place}}

    def _time_to_collision(self, kind: Element) -> _Plain:
        target = kind.one("TimeToCollisionConditionTarget").choice()
        found = self._distance_to(kind)
        if target.tag == "Position":
            found["place"] = self._place(target)
        else:
            found["to"] = self.entity(target)
        return {"time_to_collision": found}

    def _distance_to(self, kind: Element) -> _Plain:
        """What the conditions on distances have in common."""
        words = {"longitudinal": "longitudinal", "lateral": "lateral"}
        words |= {"euclidianDistance": "euclidian", "cartesianDistance": "euclidian"}
        along = kind.flag("alongRoute", False)
        systems = {word: word for word in ("entity", "lane", "road")}
        system = kind.one_of("coordinateSystem", systems, "road" if along else "entity")
        # Without a word the way is that of the vehicle's route; so it is with it.
        routings = {"undefined": "", "assignedRoute": "", "shortest": "1"}
        shortest = bool(kind.one_of("routingAlgorithm", routings, "undefined"))
        # Without any of these a distance is that between the two points.
        default = "longitudinal" if along or kind.has("coordinateSystem") else "euclidianDistance"
        return {
            **_compared(kind),
            "freespace": kind.flag("freespace"),
            "along_road": system != "entity",
            **({"shortest": True} if shortest else {}),
            "measure": kind.one_of("relativeDistanceType", words, default),
        }

    def _place(self, position: Element) -> _Plain:
        """A point; a point relative to an entity moves with it."""
        place = self._lines.where(position)
        if "to" not in place:
            del place["heading"]
        return place


def is_constant(trigger: list[list[_Plain]]) -> bool:
    """Whether a trigger can never fire."""
    return all(any(c.get("constant") is False for c in group) for group in trigger)


#: Coordinate systems of actions that keep a distance: it is that of the road with all of them.
_ROAD: Final = {word: word for word in ("entity", "lane", "road")}


def _speed_in(element: Element, name: str) -> float:
    """A speed; below 0 it is one of the reverse gear, as far as the vehicle has that.

    :raises ConfigurationError: it is too large
    """
    value = element.number(name)
    if not abs(value) <= MAX_SPEED:
        raise element.error(
            f"{name}: found {value:g} m/s; supported is {-MAX_SPEED:g} to {MAX_SPEED:g} m/s"
        )
    return value


def _route(first: Stretch, roads: list[int]) -> _Plain:
    return {"road": first.road, "lane": first.lane, "s": first.s, "roads": roads}


def _compared(kind: Element) -> _Plain:
    return {"rule": kind.one_of("rule", RULES), "value": kind.number("value")}


def _limits(element: Element, *names: str) -> _Plain:
    """The DynamicConstraints of an action, or the defaults."""
    limits, found = element.find("DynamicConstraints"), {}
    for name in names:
        default = _LIMITS[f"max_{name}"]
        value = limits.number(f"max{name.capitalize()}", default) if limits else default
        found[f"max_{name}"] = value if value > 0.0 else default
    return found


def _dynamics(element: Element) -> _Plain:
    return {
        "shape": element.one_of("dynamicsShape", _SHAPES),
        "dimension": element.one_of("dynamicsDimension", _DIMENSIONS, "time"),
        # Files write a rate downwards with a sign.
        "value": abs(element.number("value", 0.0)),
    }


def _triggering(actors: Element) -> _Plain:
    return {"triggering": True} if actors.flag("selectTriggeringEntities", False) else {}


def _require_longitudinal(kind: Element) -> None:
    if kind.has("direction") and kind.text("direction") != "longitudinal":
        raise kind.error(f"direction: found '{kind.text('direction')}'; supported is longitudinal")


def changed_values(root: Element) -> dict[str, float | str]:
    """Parameters and variables that actions of a file change, with their values at the start.

    :raises ConfigurationError: a declaration of a variable is wrong
    """
    known = dict(root.parameters)
    declarations = root.find("VariableDeclarations")
    variables = {}
    for declaration in declarations.each("VariableDeclaration") if declarations else ():
        variables[declaration.raw("name")] = declaration.text("value")
    # Conditions may ask for any variable, and for parameters that nothing changes.
    found = {name: as_value(text) for name, text in variables.items()}
    waiting = [root]
    while waiting:
        element = waiting.pop()
        waiting += element.children()
        if element.tag == "ParameterAction" and _value_name(element) in known:
            found[_value_name(element)] = as_value(known[_value_name(element)])
    return found


def as_value(text: str) -> float | str:
    """A value of a parameter or variable: a number, or else a text; true is 1."""
    try:
        value = float({"true": "1", "false": "0"}.get(text, text))
    except ValueError:
        return text
    return value if isfinite(value) else text


def _value_name(element: Element) -> str:
    """The parameter or variable that an action or condition names."""
    name = "variableRef" if element.tag.startswith("Variable") else "parameterRef"
    return element.raw(name).removeprefix("$")
