# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Tiny scenarios for the simulated network, drawn by number, and what each has to give."""

from __future__ import annotations

import random
from bisect import bisect_left
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.kernel.graph import Graph
from ros2_cosim.core.kernel.model import BeginsAnew, Model, Traits
from ros2_cosim.core.kernel.participant import Host, ModelContext, Sample, Step
from ros2_cosim.core.kernel.sequential import SequentialScheduler
from ros2_cosim.core.messages import records
from ros2_cosim.core.realtime.virtual_time import VirtualTime
from ros2_cosim.core.scenario.hosting import hosted
from ros2_cosim.core.scenario.schema import Scenario, make_scenario
from ros2_cosim.core.scenario.system import bare_model, build_graph

MS = 1_000_000
_NUMBERED = "ros2_cosim/msg/ControlCommand"
_REGULAR = "geometry_msgs/msg/AccelStamped"
_RECORDS: dict[str, Callable[[float], Any]] = {
    _NUMBERED: lambda value: records.ControlCommand(value, 0.0, 0.0, 0.0),
    _REGULAR: lambda value: records.Acceleration(value, 0.0, 0.0),
}

#: Wall time that processes take in the simulation: small, so that patience costs few events.
PATIENCE = {"startup_s": 20.0, "watchdog_s": 6.0, "watchdog_warn_s": 3.0}


class Folding(VirtualTime):
    """Folds everything that it reads into a number: any difference in order or value shows.

    With ``asynchronous`` its steps are completed a while after they have begun, by an event of
    the simulated world; in shape ``inproc`` at once.
    """

    def __init__(self, context: ModelContext, parameters: Any) -> None:
        super().__init__(context, parameters)
        self._p = parameters
        self._schedules: Mapping[str, tuple[str, str]] = self._p["ports"]
        self._named = context.name
        #: Times of the activations so far [ns], for onlookers.
        self.times: list[int] = []
        self._forget()
        if self._p["asynchronous"] and context.shape == "ros":
            self.set_step_handler_async(self._begin_step)
        else:
            self.set_step_handler(self._whole_step)

    def attach(self, host: Host) -> None:
        """Tell the onlooker as well."""
        super().attach(host)
        self.node.network.onlooker.begins(self._named, self)

    def _forget(self) -> None:
        self._value = sum(self._named.encode())
        self._count = 0
        self.times.clear()

    def _whole_step(self, step: Step) -> None:
        self._fold(step)

    def _begin_step(self, step: Step) -> None:
        process = self.node.process
        count = self._count

        def complete() -> None:
            # A thread of the process would be gone with it.
            if not process.has_ended and self._count == count:
                self._fold(step)
                self.complete_step()

        process.world.after(process.world.draw(20 * process.world.pace.step), complete)

    def _fold(self, step: Step) -> None:
        value = self._value * 31 + step.time
        for port in sorted(step.samples):
            for sample in step.samples[port]:
                value = value * 31 + int(sample.value[0]) + sample.stamp + sample.seq
        for port in sorted(step.latest):
            newest = step.latest[port]
            value = value * 31 + (int(newest.value[0]) + newest.stamp if newest else 7)
        self._value = value % 1_000_003
        self._count += 1
        self.times.append(step.time)
        if self.node is not None:
            self.node.network.onlooker.activated(self._named, step.time)
        for port, (schedule, type_name) in self._schedules.items():
            if (
                schedule == "every"
                or (schedule == "sparse" and (self._value + self._count) % 3)
                or (schedule == "once" and self._count == 1)
            ):
                self.send(port, _RECORDS[type_name](float(self._value)))
        if self._count == self._p["stop_after"]:
            self.stop("enough")


class ResettableFolding(Folding):
    """Begins anew in place, where the other one is made again."""

    def reset(self) -> None:
        """Forget everything."""
        self._forget()


#: A declared cost lets those of one process share a thread.
_SHARING = Traits(cost_ns=10_000)


class SharingFolding(Folding):
    """One that shares a thread with others of its process."""

    traits = _SHARING


class ResettableSharingFolding(ResettableFolding):
    """The same, beginning anew in place."""

    traits = _SHARING


@dataclass
class Reference:
    """What the sequential scheduler makes of a system.

    :ivar digests: participant -> trace
    :ivar messages: (participant, port) -> [(stamp, number, bytes as observers see them)]
    :ivar sent_at: (participant, port) -> times of the activations that sent these [ns]
    :ivar times: participant -> times of its activations [ns]
    """

    end: int
    reason: str | None
    digests: dict[str, str] = field(default_factory=dict)
    messages: dict[tuple[str, str], list[tuple[int, int, bytes]]] = field(default_factory=dict)
    sent_at: dict[tuple[str, str], list[int]] = field(default_factory=dict)
    times: dict[str, list[int]] = field(default_factory=dict)

    def activated_before(self, name: str, time: int) -> int:
        """How many activations a participant has before a time [ns]."""
        return bisect_left(self.times[name], time)

    def sent_before(self, name: str, port: str, time: int) -> int:
        """How many messages a port has sent by activations before a time [ns]."""
        return bisect_left(self.sent_at[name, port], time)


@dataclass(eq=False)
class System:
    """One scenario, with what follows from it and is worth keeping."""

    number: int
    scenario: Scenario
    _references: dict[Any, Reference] = field(default_factory=dict)
    _drawn: bool = False

    def __post_init__(self) -> None:
        self._fixed = build_graph(self.scenario)
        self._drawn = any(
            port.latency.draw is not None
            for spec in self._fixed.participants.values()
            for port in spec.outputs
        )

    def graph(self) -> Graph:
        """The graph, with latencies that begin anew."""
        return build_graph(self.scenario) if self._drawn else self._fixed

    def model(self, name: str) -> Model:
        """The model of a participant, for shape ``ros``."""
        return bare_model(self.scenario, name, "ros")

    @property
    def late(self) -> frozenset[str]:
        """Participants that may come when the run has begun."""
        specs = self._fixed.participants
        return frozenset(name for name, spec in specs.items() if spec.is_late)

    @property
    def connected(self) -> list[tuple[str, str]]:
        """Pairs of processes that exchange messages."""
        place = {name: p.process or name for name, p in self.scenario.participants.items()}
        pairs = {(place[c.source], place[c.target]) for c in self._fixed.connections}
        return sorted((one, other) for one, other in pairs if one != other)

    def inside(self, process: str) -> list[str]:
        """The participants of a process."""
        names = self.scenario.participants
        return hosted(self.scenario).get(process) or [n for n in names if n == process]

    @property
    def can_reset(self) -> bool:
        """Whether a run of it may begin anew."""
        specs = self._fixed.participants.values()
        return not any(s.is_late or s.leave_ns < 2**62 for s in specs)

    def reference(self, end: int | None = None, entered: Mapping[str, int] = {}) -> Reference:
        """What has to come out.

        :param end: where the run was ended from outside [ns]; None: it was not
        :param entered: when participants with free entry came in [ns]
        """
        key = end, tuple(sorted(entered.items()))
        if key not in self._references:
            self._references[key] = self._compute(end, entered)
        return self._references[key]

    def _compute(self, end: int | None, entered: Mapping[str, int]) -> Reference:
        scenario = self.scenario
        graph = build_graph(scenario)
        if entered:
            data = scenario.model_dump(by_alias=True)
            for name, time in entered.items():
                data["participants"][name]["enter"] = time
            # The codecs are those of the run, whose readers are the same.
            entering = build_graph(Scenario.model_validate(data))
            graph = entering
        models = {name: bare_model(scenario, name, "inproc") for name in graph.order}
        found = Reference(0, None)
        for name, spec in graph.participants.items():
            for port in spec.outputs:
                found.messages[name, port.name] = []
                found.sent_at[name, port.name] = []

        def observe(name: str, port: int, sample: Sample, data: bytes) -> None:
            output = graph.participants[name].outputs[port]
            plain = output.codec.plain(data)  # type: ignore[attr-defined]
            found.messages[name, output.name].append((sample.stamp, sample.seq, plain))
            found.sent_at[name, output.name].append(scheduler.now)

        scheduler = SequentialScheduler(
            graph, models, stop_latency_ns=scenario.stop_latency, observer=observe
        )
        found.end = scheduler.run(scenario.duration if end is None else end)
        # A stop that would come after the end of the run anyway is not its reason.
        found.reason = scheduler.stop_reason if found.end < scenario.duration else None
        for name, runtime in scheduler.runtimes.items():
            found.digests[name] = runtime.trace.hexdigest()
            found.times[name] = models[name].times  # type: ignore[attr-defined]
        return found


def begins(model: Model) -> bool:
    """Whether a model can take part in another run of its process."""
    return model.begins_anew is not BeginsAnew.CANNOT


@cache
def system(number: int) -> System:
    """The system of a number."""
    attempt = 0
    while True:
        dice = random.Random(f"system {number} {attempt}")
        attempt += 1
        try:
            return System(number, make_scenario(_draw(dice, number), "drawn"))
        except ConfigurationError:
            continue  # a loop without delay, or participants that wait for each other


def _draw(dice: random.Random, number: int) -> dict[str, Any]:
    names = ["a", "b", "c", "d"][: dice.choice((2, 2, 3, 3, 4))]
    window = dice.choice((0, 0, 5, 20, 60))
    duration = dice.choice((40, 60, 90))
    participants: dict[str, Any] = {}
    kinds = dice.choice(("plain", "plain", "late", "free"))
    outputs: dict[str, list[str]] = {}
    for name in names:
        outputs[name] = [f"out{i}" for i in range(dice.choice((1, 1, 2)))]
    for position, name in enumerate(names):
        ports: dict[str, tuple[str, str]] = {}
        settings: dict[str, Any] = {"inputs": {}, "outputs": {}}
        for port in outputs[name]:
            latency: Any = dice.choice(("0ms", "0ms", "0ms", "1ms", "10ms", "uniform"))
            if latency == "uniform":
                latency = {"uniform": ["1ms", "9ms"]}
            schedule = dice.choice(("every", "every", "every", "sparse", "once"))
            # Loss of messages without a number is found where their stamps are regular only.
            regular = schedule == "every" and isinstance(latency, str) and dice.random() < 0.4
            ports[port] = schedule, _REGULAR if regular else _NUMBERED
            settings["outputs"][port] = {
                "type": ports[port][1],
                "topic": f"/{name}/{port}",
                "schedule": schedule,
                "latency": latency,
            }
        triggers = []
        for index in range(dice.choice((0, 1, 1, 2))):
            writer = dice.choice(names)
            port = f"in{index}"
            delayed = writer == name or dice.random() < 0.3
            settings["inputs"][port] = {
                "from": f"{writer}.{dice.choice(outputs[writer])}",
                "delayed": delayed,
            }
            if not delayed and names.index(writer) < position and dice.random() < 0.5:
                triggers.append(port)
        if triggers:
            count = dice.choice((1, 1, 2))
            kind = dice.choice(("any", "all", "every"))
            if kind == "every" or len(triggers) == 1:
                settings["activation"] = {"every": {triggers[0]: count}}
            else:
                settings["activation"] = {kind: triggers}
        if not triggers or dice.random() < 0.2:
            settings["period"] = dice.choice(("5ms", "10ms", "10ms", "20ms"))
            settings["offset"] = dice.choice(("0ms", "0ms", "3ms"))
        if kinds != "plain" and position and dice.random() < 0.5:
            if kinds == "free":
                settings["mode"] = "autonomous"
            else:
                settings["enter"] = dice.choice(("17ms", "30ms"))
                if dice.random() < 0.4:
                    settings["leave"] = dice.choice(("35ms", "45ms"))
        if kinds == "late" and dice.random() < 0.25 and "leave" not in settings:
            settings["leave"] = dice.choice(("15ms", "33ms"))
        if dice.random() < 0.25:
            settings["required"] = False
        settings["parameters"] = {
            "ports": ports,
            "asynchronous": dice.random() < 0.2,
            "resets": dice.random() < 0.5,
            "stop_after": dice.choice((None, None, None, 4)),
        }
        kind = ResettableFolding if settings["parameters"]["resets"] else Folding
        settings["model"] = f"simulation.systems:{kind.__name__}"
        participants[name] = settings
    sharing = random.Random(f"sharing {number}")
    if len(names) > 2 and sharing.random() < 0.3:
        for name in sharing.sample(names, sharing.randrange(2, len(names))):
            participants[name]["process"] = "shared"
            parameters = participants[name]["parameters"]
            if not parameters["asynchronous"]:
                kind = ResettableSharingFolding if parameters["resets"] else SharingFolding
                participants[name]["model"] = f"simulation.systems:{kind.__name__}"
    return {
        "name": f"system{number}",
        "seed": number,
        "duration": f"{duration}ms",
        "run_ahead": f"{window}ms",
        "stop_latency": f"{max(window, dice.choice((5, 20)))}ms",
        "clock_step": f"{max(min(window // 2, dice.choice((5, 50))), 1)}ms",
        **PATIENCE,
        "participants": participants,
    }
