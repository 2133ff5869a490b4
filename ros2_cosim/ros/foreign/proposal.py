# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The scenario of nodes that have been looked at: their participants, wired by topic and type.

What reads a topic gets it from each node that writes it; what no node writes comes from a stand-in.
"""

from __future__ import annotations

import math
import re
from collections.abc import Container, Mapping, Sequence
from typing import Any, Literal, NamedTuple

from ros2_cosim.core.kernel.time import SECOND, format_ns
from ros2_cosim.core.messages.foreign import BUNDLE_TYPE, full_topic
from ros2_cosim.ros.foreign.graph_view import SeenEnd, SeenNode

Data = dict[str, Any]

#: The participant for what no node writes, and its period; that of nodes that nothing activates.
STAND_IN = "stand_in"
_PERIOD = "100ms"
#: What stands in for messages that few nodes take empty; class estimate.
_SAMPLES: Mapping[str, Data] = {
    "sensor_msgs/msg/LaserScan": {
        "angle_min": -2.35,
        "angle_max": 2.35,
        "angle_increment": 0.00435,
        "range_min": 0.05,
        "range_max": 30.0,
        "ranges": {"repeat": 10.0, "times": 1081},
    },
    "sensor_msgs/msg/Joy": {
        "axes": {"repeat": 0.0, "times": 8},
        "buttons": {"repeat": 0, "times": 12},
    },
}
#: Latency of nodes that hear each other in a circle.
_CIRCLE_LATENCY = "1ms"
_CLOCK = "/clock"
#: A common divisor of periods that is so much smaller than the smallest of them stands for none.
_FINEST = 20


class LookedAt(NamedTuple):
    """What was seen of the process of a node.

    ``timers``: period [ns] of each, and whether it follows simulated time; None: they are not
    known. ``counts``: topic -> messages within ``seconds`` of wall time, in which it was given
    nothing. ``unseen``: why it may consist of more; empty: nothing has shown that.
    """

    nodes: tuple[SeenNode, ...]
    timers: tuple[tuple[int, bool], ...] | None
    counts: Mapping[str, int]
    seconds: float
    unseen: str = ""
    at_rest: bool = False

    @property
    def main(self) -> SeenNode:
        """The node that has most topics."""
        return max(self.nodes, key=lambda node: len(node.reads) + len(node.writes))

    @property
    def reads(self) -> dict[str, SeenEnd]:
        """Topic -> its subscription, the least demanding one, of any of its nodes."""
        ends = sorted({end for node in self.nodes for end in node.reads if end.topic != _CLOCK})
        return {end.topic: end for end in reversed(ends)}

    @property
    def writes(self) -> dict[str, SeenEnd]:
        """Topic -> its publisher, of any of its nodes."""
        ends = sorted({end for node in self.nodes for end in node.writes})
        return {end.topic: end for end in reversed(ends)}

    def services(self, way: Literal["offers", "calls"]) -> dict[str, str]:
        """Services and actions that its nodes offer or call -> type, by name."""
        those = [node.offers if way == "offers" else node.calls for node in self.nodes]
        return dict(sorted(item for found in those for item in found.items()))

    @property
    def period_ns(self) -> int:
        """The period that fits all timers of simulated time; 0: there are none.

        Of timers that are not known, it is that of the topic that was published most often.
        """
        if self.timers is None:
            most = max(self.counts.values(), default=0)
            return round(self.seconds * 1000 / most) * (SECOND // 1000) if most > 1 else 0
        periods = [period for period, follows in self.timers if follows and period]
        common = math.gcd(*periods)
        return common if common * _FINEST >= min(periods, default=0) else min(periods)


class _Placed(NamedTuple):
    """A process that has got its names in the scenario."""

    name: str
    settings: Data
    seen: LookedAt
    #: Topic -> name of the port.
    inputs: Mapping[str, str]
    outputs: Mapping[str, str]

    @property
    def heard(self) -> set[str]:
        """Topics that it hears of itself alone, unless others write them, too."""
        return self.seen.reads.keys() & self.seen.writes.keys()

    @property
    def between(self) -> set[str]:
        """Topics by which one of its nodes talks to another one of them."""
        nodes = [({r.topic for r in n.reads}, {w.topic for w in n.writes}) for n in self.seen.nodes]
        pairs = ((a, b) for a in nodes for b in nodes if a is not b)
        return {topic for (_, writes), (reads, _) in pairs for topic in writes & reads}


def proposed(name: str, looked: Sequence[tuple[Data, LookedAt]]) -> tuple[Data, list[str]]:
    """The scenario of nodes, and notes for its reader.

    :param name: of the scenario
    :param looked: how each process is started (parameters of ``foreign_node``), and what it is
    """
    placed, taken = [], {STAND_IN}
    for settings, seen in looked:
        # Not its own name alone, which the ROS node of the participant would have, too.
        participant = _unique(f"{_word(seen.main.name)}_adapter", taken)
        placed.append(_Placed(participant, settings, seen, _ports(seen.reads), _ports(seen.writes)))
    writers: dict[str, list[_Placed]] = {}
    for each in placed:
        for topic in each.outputs:
            writers.setdefault(topic, []).append(each)
    notes: list[str] = []
    given: dict[str, str] = {}
    participants: Data = {}
    for each in placed:
        sources: dict[str, list[str]] = {}
        for topic, port in each.inputs.items():
            others = [other for other in writers.get(topic, ()) if other is not each]
            kind = each.seen.reads[topic].type_name
            fitting = [o for o in others if o.seen.writes[topic].type_name == kind]
            if fitting:
                sources[port] = [f"{other.name}.{other.outputs[topic]}" for other in fitting]
            elif topic not in each.heard:
                given[topic] = kind
                sources[port] = [f"{STAND_IN}.{_word(topic)}"]
        shared = {topic for topic, those in writers.items() if len(those) > 1}
        participants[each.name] = _participant(each, sources, _in_circle(each, placed), shared)
    exchanged = _exchange(placed, participants)
    for each in placed:
        notes += _notes(each, participants[each.name], exchanged)
    if given:
        participants = {STAND_IN: _stand_in(given, writers), **participants}
        notes.append(
            f"{STAND_IN} sends {', '.join(sorted(given))}, which no node writes: say what its "
            "messages hold, or feed the inputs from elsewhere"
        )
    longest = max((p.seen.period_ns for p in placed), default=0)
    duration = max(10 * SECOND, 10 * longest)
    return {"name": name, "duration": format_ns(duration), "participants": participants}, notes


def _stand_in(given: Mapping[str, str], taken: Container[str]) -> Data:
    """The participant for topics without a writer of the type that their readers want."""
    topics = {topic: f"{topic}/{STAND_IN}" if topic in taken else topic for topic in sorted(given)}
    messages = {_word(topic): dict(_SAMPLES.get(given[topic], {})) for topic in topics}
    return {
        "model": "stand_in",
        "period": _PERIOD,
        "offset": _PERIOD,
        "outputs": {_word(t): {"type": given[t], "topic": topic} for t, topic in topics.items()},
        "parameters": {"messages": messages},
    }


def _participant(
    each: _Placed, sources: Mapping[str, Sequence[str]], in_circle: bool, shared: Container[str]
) -> Data:
    seen = each.seen
    data: Data = {"model": "foreign_node"}
    if seen.period_ns:
        # Before it the node gets the time from which its timers count.
        data |= {
            "period": format_ns(seen.period_ns),
            "offset": format_ns(2 * seen.period_ns),
        }
    elif not sources:
        data["period"] = _PERIOD
    if sources:
        data["activation"] = {"any": list(sources)}
        data["inputs"] = {p: one[0] if len(one) == 1 else one for p, one in sources.items()}
    outputs: dict[str, Data] = {}
    tied: dict[str, Data] = {}
    for topic, port in each.outputs.items():
        end = seen.writes[topic]
        outputs[port] = {"type": end.type_name, "topic": topic}
        tied[port] = {"topic": _source_name(each, topic)}
        if end.latched and seen.counts.get(topic) == 1:
            outputs[port]["schedule"] = "once"
        elif topic not in each.between or seen.timers is not None:
            outputs[port]["schedule"] = "sparse"
            tied[port] |= {"expect": "any", "take": "last"}
        if topic in shared:
            outputs[port]["shared"] = True
        if not end.reliable:
            tied[port]["best_effort"] = True
        if in_circle:
            outputs[port]["latency"] = _CIRCLE_LATENCY
    if outputs:
        data["outputs"] = outputs
    read: Data = {}
    for topic, port in each.inputs.items():
        if port in sources:
            source = _source_name(each, topic)
            reliable = seen.reads[topic].reliable
            read[port] = source if reliable else {"topic": source, "best_effort": True}
    data["parameters"] = _parameters(each, read, tied)
    return data


def _parameters(each: _Placed, read: Data, tied: Data) -> Data:
    settings = dict(each.settings)
    ports = {_source_name(each, topic) for topic in (*each.inputs, *each.outputs)}
    # The name of the node and its namespace are in its full name.
    known = {*ports, "__node", "__name", "__ns"}
    kept = {name: to for name, to in settings.pop("remap", {}).items() if name not in known}
    main = each.seen.main.name
    others = [node.name.rpartition("/")[2] for node in each.seen.nodes if node.name != main]
    kept |= {f"{other}:__node": other for other in others}
    settings["node_name"] = main[1:] if main.count("/") == 1 else main
    if kept:
        settings["remap"] = kept
    settings["use_sim_time"] = True
    if each.seen.at_rest:
        settings["clock_start"] = format_ns(0)
    return settings | ({"inputs": read} if read else {}) | ({"outputs": tied} if tied else {})


def _exchange(placed: Sequence[_Placed], participants: Data) -> set[str]:
    """Put what one node calls and another one offers behind ports; its names."""
    offers = {
        (name, kind): each for each in placed for name, kind in each.seen.services("offers").items()
    }
    done: dict[tuple[str, str], str] = {}
    for each in placed:
        for name, kind in each.seen.services("calls").items():
            server = offers.get((name, kind))
            # A port of the server has one client; other ones are noted.
            if server is None or server is each or (name, kind) in done:
                continue
            done[name, kind] = port = _word(name)
            key = "action" if "/action/" in kind else "service"
            for one, other, way in ((each, server, "calls"), (server, each, "offers")):
                part = participants[one.name]
                part.setdefault("inputs", {})[port] = f"{other.name}.{port}"
                part.setdefault("outputs", {})[port] = {
                    "type": BUNDLE_TYPE,
                    "topic": f"/{one.name}/{port}",
                    "schedule": "sparse",
                    "latency": _CIRCLE_LATENCY,
                }
                part.setdefault("activation", {"any": []})["any"].append(port)
                part["parameters"].setdefault(way, {})[port] = {
                    key: _source_name(one, name),
                    "type": kind,
                }
            # One of the two has to begin.
            participants[each.name].setdefault("period", _PERIOD)
            participants[each.name].setdefault("offset", _PERIOD)
    return {name for name, _ in done}


def _notes(each: _Placed, part: Data, exchanged: Container[str]) -> list[str]:
    notes = []
    seen = each.seen
    calls = [name for name in seen.services("calls") if name not in exchanged]
    if calls:
        notes.append(
            f"{each.name} calls {', '.join(calls)}: the run is not repeatable unless "
            "allow_services names what changes no result"
        )
    if any(not follows for _, follows in seen.timers or ()):
        notes.append(f"{each.name} has a timer of the wall clock, which simulated time cannot lead")
    if seen.timers is None and seen.period_ns:
        notes.append(
            f"{each.name}: its timers are not known; the period is that of its messages, and a "
            "timer of the wall clock does not follow simulated time"
        )
    if seen.timers is None and (inner := sorted(each.between)):
        notes.append(
            f"{each.name}: its nodes talk by {', '.join(inner)}, which needs the same number of "
            "messages in each activation: where that is not 1, say expect: N and take: last"
        )
    if seen.at_rest:
        notes.append(
            f"{each.name} ends when a timer runs before its first message: it was looked at with "
            "its clock at rest, and clock_start keeps its timers from running at the start"
        )
    if "inputs" not in part and not seen.period_ns:
        notes.append(f"{each.name} reads no topic and has no timer: nothing activates it")
    return notes


def _in_circle(one: _Placed, placed: Sequence[_Placed]) -> bool:
    """Whether what a node writes comes back to it through other nodes."""
    reached: set[str] = set()
    topics = set(one.outputs)
    grows = True
    while grows:
        grows = False
        for other in placed:
            if other is not one and other.name not in reached and topics & other.inputs.keys():
                reached.add(other.name)
                topics |= set(other.outputs)
                if other.outputs.keys() & one.inputs.keys():
                    return True
                grows = True
    return False


def _source_name(each: _Placed, topic: str) -> str:
    """The name that the node's source has for a topic, if a remapping gave it that name."""
    node = each.seen.main.name
    renamed: Mapping[str, str] = each.settings.get("remap", {})
    return next((old for old, new in renamed.items() if full_topic(new, node) == topic), topic)


def _ports(topics: Mapping[str, SeenEnd]) -> dict[str, str]:
    taken: set[str] = set()
    return {topic: _unique(_word(topic), taken) for topic in sorted(topics)}


def _unique(word: str, taken: set[str]) -> str:
    name, number = word, 2
    while name in taken:
        name, number = f"{word}_{number}", number + 1
    taken.add(name)
    return name


def _word(name: str) -> str:
    """A ROS name as a word of a scenario."""
    return re.sub(r"\W+", "_", name.strip("/")).lower()
