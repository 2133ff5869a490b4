# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Systems for tests of the kernel: random graphs, with engines whose messages travel."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st
from support.activations import activations
from support.behaviours import Plain
from support.engine_network import EngineNetwork, digests

from ros2_cosim.core.kernel.activation import Activation, Count, all_of, any_of
from ros2_cosim.core.kernel.channel import Promise
from ros2_cosim.core.kernel.coordinator import Coordinator
from ros2_cosim.core.kernel.errors import DeadEndError, ZeroDelayLoopError
from ros2_cosim.core.kernel.graph import (
    Connection,
    Graph,
    InputPort,
    Latency,
    OutputPort,
    ParticipantSpec,
)
from ros2_cosim.core.kernel.membership import MembershipView, Presence
from ros2_cosim.core.kernel.model import Model
from ros2_cosim.core.kernel.participant import Sample, Step
from ros2_cosim.core.kernel.sequential import SequentialScheduler
from ros2_cosim.core.kernel.time import FOREVER, NEVER


class Mixer(Plain):
    """Folds everything it reads into a number: any difference in order or value shows."""

    def __init__(
        self, name: str, outputs: dict[str, str], silent_every: int, stop_after: int | None
    ) -> None:
        self.stop_reason: str | None = None
        self._stop_after = stop_after
        self._value = sum(name.encode())
        self._outputs = outputs
        self._silent_every = silent_every
        self._activations = 0

    def activate(self, step: Step) -> dict[str, Any]:
        """Mix time, delivered samples and latched values; stay silent now and then."""
        self._mix(step)
        self._activations += 1
        if self._activations == self._stop_after:
            self.stop_reason = "enough"
        sent: dict[str, Any] = {}
        for port, schedule in self._outputs.items():
            if schedule == "every" or (
                schedule == "sparse" and (self._value + self._activations) % self._silent_every
            ):
                sent[port] = self._value
            elif schedule == "once" and self._activations == 1:
                sent[port] = self._value
        return sent

    def handle_message(self, port: str, step: Step) -> dict[str, Any]:
        """Mix one message; sometimes send on sparse ports."""
        self._mix(step)
        if self._value % self._silent_every:
            return {}
        return {p: self._value for p, schedule in self._outputs.items() if schedule == "sparse"}

    def answer_service(self, name: str, request: Any, step: Step) -> int:
        """Mix the request; the answer depends on all that has been."""
        self._mix(step)
        return self._value + int(request)

    def _mix(self, step: Step) -> None:
        value = self._value * 31 + step.time
        for port in sorted(step.samples):
            for sample in step.samples[port]:
                value = value * 31 + sample.value + sample.stamp + sample.seq
        for port in sorted(step.latest):
            newest = step.latest[port]
            value = value * 31 + (newest.value + newest.stamp if newest else 7)
        self._value = value % 1_000_003


class System:
    """A description from which any number of equal systems can be built."""

    def __init__(self, plan: list[dict[str, Any]], connections: list[Connection]) -> None:
        self.plan = plan
        self.connections = connections

    def build(self) -> tuple[Graph, dict[str, Model]]:
        """Make a fresh graph (fresh latency generators) and fresh behaviours."""
        specs = []
        behaviours: dict[str, Model] = {}
        for entry in self.plan:
            outputs = []
            for index, (port, (minimum, spread, schedule)) in enumerate(entry["outputs"].items()):
                draw = None
                if spread:
                    generator = random.Random(f"{entry['name']}{index}")

                    def draw(
                        g: random.Random = generator, m: int = minimum, s: int = spread
                    ) -> int:
                        return m + g.randrange(s)

                outputs.append(OutputPort(port, Latency(minimum, draw), schedule))
            specs.append(
                ParticipantSpec(
                    entry["name"],
                    entry["period"],
                    entry["offset"],
                    entry["activation"],
                    tuple(
                        InputPort(
                            p,
                            d,
                            handled=p in entry.get("handled", ()),
                            service="add" if p.startswith("asked") else "",
                        )
                        for p, d in entry["inputs"].items()
                    ),
                    tuple(outputs),
                    entry.get("enter", 0),
                    entry.get("leave", FOREVER),
                    entry.get("free", False),
                    entry.get("required", True),
                )
            )
            behaviours[entry["name"]] = Mixer(
                entry["name"],
                {
                    p: schedule
                    for p, (_, _, schedule) in entry["outputs"].items()
                    if not p.startswith("asked")
                },
                entry["silent_every"],
                entry["stop_after"],
            )
        return Graph(specs, self.connections), behaviours


@st.composite
def systems(
    draw: Any, max_participants: int = 12, free: bool = False, handled: bool = True
) -> System:
    """Random systems without zero-delay loops: mixed rates, activations, latencies, fan-in,
    participants that enter late or leave early, messages that are handled, calls.

    :param free: some enter when they happen to come, and some may die
    :param handled: whether there are handled messages and calls
    """
    names = [f"p{i}" for i in range(draw(st.integers(2, max_participants)))]
    plan: list[dict[str, Any]] = []
    for name in names:
        outputs = {}
        for index in range(draw(st.integers(1, 2))):
            minimum = draw(st.sampled_from([0, 0, 1, 3, 10]))
            spread = draw(st.sampled_from([0, 0, 0, 7, 25]))
            schedule = draw(st.sampled_from(["every", "every", "every", "sparse", "once"]))
            outputs[f"out{index}"] = (minimum, spread, schedule)
        plan.append(
            {
                "name": name,
                "outputs": outputs,
                "inputs": {},
                "handled": set(),
                "period": None,
                "offset": 0,
                "activation": None,
                "silent_every": draw(st.integers(2, 4)),
                "stop_after": None,
                "enter": (enter := draw(st.sampled_from([0, 0, 0, 0, 17, 40, 90]))),
                "leave": draw(st.sampled_from([FOREVER, FOREVER, FOREVER, enter + 50, enter + 85])),
                "free": free and enter == 0 and draw(st.integers(0, 2)) == 0,
                "required": not free or draw(st.booleans()),
            }
        )
    connections: list[Connection] = []
    for position, entry in enumerate(plan):
        forward: list[str] = []
        feedback: list[str] = []
        for index in range(draw(st.integers(0, 3))):
            port = f"in{index}"
            writers = draw(
                st.lists(st.integers(0, len(plan) - 1), min_size=1, max_size=2, unique=True)
            )
            for writer in writers:
                source_port = draw(st.sampled_from(sorted(plan[writer]["outputs"])))
                connections.append(
                    Connection(plan[writer]["name"], source_port, entry["name"], port)
                )
            trigger = len(forward) + len(feedback) < 2 and draw(st.booleans())
            # A trigger fed from behind may only join one fed from the front: otherwise the
            # number of messages would double on each turn of the loop.
            if trigger and max(writers) >= position and not forward:
                trigger = False
            if trigger:
                (forward if max(writers) < position else feedback).append(port)
            entry["inputs"][port] = not trigger and draw(st.booleans())
            # One fed from behind could double the number of messages, too.
            if handled and not trigger and max(writers) < position and draw(st.booleans()):
                entry["inputs"][port] = False
                entry["handled"].add(port)
        triggers = forward + feedback
        if feedback:
            entry["activation"] = all_of(triggers)
        elif triggers:
            kind = draw(st.sampled_from(["any", "all", "count", "other"]))
            if kind == "count":
                activation: Activation = Count(triggers[0], draw(st.integers(1, 3)))
            elif kind == "other":
                activation = draw(activations(triggers))
            else:
                activation = any_of(triggers) if kind == "any" else all_of(triggers)
            entry["activation"] = activation
            for port in triggers:
                if port not in activation.ports:
                    entry["inputs"][port] = draw(st.booleans())
        if not triggers or draw(st.integers(0, 3)) == 0:
            entry["period"] = draw(st.sampled_from([5, 10, 10, 20, 25, 40]))
            entry["offset"] = draw(st.sampled_from([0, 0, 3, 10]))
    for index in range(draw(st.integers(0, 2)) if handled else 0):
        _add_call(draw, plan, connections, index)
    system = System(plan, connections)
    while True:
        # Break zero-delay loops by the two ways out that the error names.
        try:
            system.build()
            return system
        except ZeroDelayLoopError as error:
            _break_loop(system, str(error))
        except DeadEndError as error:
            dead = str(error).split(": ", 1)[1].split("; ")[0].split(", ")[0]
            next(e for e in system.plan if e["name"] == dead)["period"] = 20


def _add_call(
    draw: Any, plan: list[dict[str, Any]], connections: list[Connection], index: int
) -> None:
    """Let one participant call a service of another, or its own."""
    caller, server = draw(st.sampled_from(plan)), draw(st.sampled_from(plan))
    call, asked = f"call{index}", f"asked{index}"
    for entry, port in ((caller, call), (server, asked)):
        entry["outputs"][port] = (draw(st.sampled_from([0, 1, 3])), 0, "sparse")
        entry["inputs"][port] = False
        entry["handled"].add(port)
    connections.append(Connection(caller["name"], call, server["name"], asked))
    connections.append(Connection(server["name"], asked, caller["name"], call))


def _break_loop(system: System, message: str) -> None:
    source = message.split(": ", 1)[1].split(" -> ")[0]
    writer, port = source.split(".")
    entry = next(e for e in system.plan if e["name"] == writer)
    _, spread, schedule = entry["outputs"][port]
    entry["outputs"][port] = (4, spread, schedule)


def run_sequential(system: System, until: int) -> dict[str, str]:
    """Trace digests of the sequential reference, by participant."""
    graph, behaviours = system.build()
    scheduler = SequentialScheduler(graph, behaviours)
    scheduler.run(until)
    return digests(scheduler.runtimes)


class Interleaving(EngineNetwork):
    """Engines whose messages and promises travel for a random time."""

    def __init__(self, system: System, until: int, seed: int) -> None:
        graph, behaviours = system.build()
        super().__init__(graph, behaviours, until, seed)
        # Messages and promises travel on separate paths, as on separate topics.
        self._paths: dict[tuple[str, int, bool], list[Sample | Promise]] = {}
        #: Participants that enter late connect at any moment; earlier messages are kept for them.
        self.absent = {n for n, r in self.runtimes.items() if r.spec.is_late}

    def run(self) -> dict[str, str]:
        """Run to the end; digests by participant."""
        names = list(self.engines)
        while True:
            self._random.shuffle(names)
            busy = False
            for name in names:
                busy |= self.turn(name)
            busy |= self._deliver_some()
            if self.absent and (not busy or self._random.random() < 0.02):
                self.connect(self._random.choice(sorted(self.absent)))
                busy = True
            if not busy and not any(self._paths.values()):
                break
        return self.result()

    def connect(self, name: str) -> None:
        """A late participant connects: of the messages kept for it the oldest may be gone."""
        self.absent.discard(name)
        enter = self.runtimes[name].spec.enter_ns
        for index in range(len(self.engines[name].channels)):
            kept = self._paths.get((name, index, False), [])
            useless = [i for i, sample in enumerate(kept) if sample.stamp < enter]
            del kept[: self._random.randint(0, max(useless, default=0))]

    def turn(self, name: str) -> bool:
        """Let a participant that is there run what it may run."""
        return name not in self.absent and super().turn(name)

    def send(self, reader: str, index: int, content: Sample | Promise) -> None:
        """Put a message or a promise on its way."""
        self._paths.setdefault((reader, index, isinstance(content, Promise)), []).append(content)

    def _deliver_some(self) -> bool:
        busy = False
        keys = [key for key, path in self._paths.items() if path and key[0] not in self.absent]
        self._random.shuffle(keys)
        for reader, index, promises in keys:
            path = self._paths[reader, index, promises]
            for _ in range(self._random.randint(0, len(path))):
                busy = True
                self.deliver(reader, index, path.pop(0))
        return busy


class CoordinatedRun(Interleaving):
    """Engines under a coordinator; reports of progress and horizons travel with delay, too.

    :param dies: (participant, round): it is gone from that round on
    """

    def __init__(
        self,
        system: System,
        duration: int,
        seed: int,
        *,
        window: int,
        stop_latency: int,
        dies: tuple[str, int] = ("", 0),
    ) -> None:
        super().__init__(system, duration, seed)
        specs = self.graph.participants
        free = [n for n, spec in specs.items() if spec.free_entry]
        self.coordinator = Coordinator(
            self.engines,
            duration_ns=duration,
            run_ahead_ns=window,
            stop_latency_ns=stop_latency,
            enters={n: specs[n].enter_ns for n in self.absent if n not in free},
            free=free,
        )
        #: Ends that were announced as final, and the latest activation.
        self.final_ends: set[int] = set()
        self.latest = -1
        #: Membership of the participants that the clock let in or lost.
        self.presences: dict[str, Presence] = {}
        self._dies, self._death_round = dies
        self._dead: set[str] = set()
        #: Participants that came too late to take part.
        self.dismissed: set[str] = set()
        self._reports: dict[str, list[tuple[int, int, str | None]]] = {n: [] for n in self.engines}
        self._horizons: dict[str, list[Any]] = {n: [] for n in self.engines}
        self._told = self.horizon()
        self._attendances = {n: MembershipView(self.graph) for n in self.engines}
        self._guards: dict[tuple[str, int], Callable[[int, Sample], None]] = {}
        for name, engine in self.engines.items():
            engine.horizon = NEVER
            for index, c in enumerate(self.runtimes[name].channels):
                channel = engine.channels[index]
                self._attendances[name].watch(c.source, c.source_port, channel)
                guard = self._attendances[name].guard(c.source, None, engine.receive)
                self._guards[name, index] = guard
        self._tell()

    def deliver(self, reader: str, index: int, content: Sample | Promise) -> None:
        """A message of a participant that has left is judged before it is taken."""
        if isinstance(content, Promise):
            super().deliver(reader, index, content)
        else:
            self._guards[reader, index](index, content)

    def run(self) -> dict[str, str]:
        """Run until the coordinator says that the run is over."""
        names = list(self.engines)
        idle_rounds = rounds = 0
        while not self.coordinator.finished:
            rounds += 1
            self._random.shuffle(names)
            busy = False
            for name in names:
                busy |= self.turn(name)
                busy |= self._report(name)
            busy |= self._deliver_some()
            busy |= self.coordinate(names)
            if self.absent and (idle_rounds > 20 or self._random.random() < 0.01):
                self.connect(self._random.choice(sorted(self.absent)))
                busy = True
            if rounds == self._death_round:
                self._die(self._dies)
            # A round may leave everything in transit; a standstill of many is a deadlock.
            idle_rounds = 0 if busy else idle_rounds + 1
            assert idle_rounds < 200, f"stuck at {self.coordinator.time}"
        return digests(self.runtimes)

    def connect(self, name: str) -> None:
        """A late participant comes; the coordinator hears of it."""
        if name in self._dead:
            self.absent.discard(name)
            return
        if (spec := self.runtimes[name].spec).free_entry:
            enter = self.coordinator.free_entry(self._told)
            if enter >= self.coordinator.end or not spec.can_enter(enter):
                self.absent.discard(name)
                self.dismissed.add(name)
                return
            self.coordinator.admit(name, enter)
            self.presences[name] = Presence(name, enter, FOREVER)
        self.coordinator.arrived(name)
        super().connect(name)
        self._tell()

    def on_activation(self, name: str, time: int) -> None:
        """Remember the latest."""
        self.latest = max(self.latest, time)

    def _die(self, name: str) -> None:
        self._dead.add(name)
        self.absent.discard(name)
        enter = self.presences[name].enter_ns if name in self.presences else 0
        self.presences[name] = Presence(name, enter, self.coordinator.time)
        self.coordinator.dropped(name)
        self._tell()

    def turn(self, name: str) -> bool:
        """Let a participant run what it may run, unless it is dead or has not entered."""
        if name in self._dead or self.engines[name].runtime.spec.free_entry:
            return False
        return super().turn(name)

    def horizon(self) -> int:
        """How far participants may run."""
        return self.coordinator.horizon

    def _tell(self) -> None:
        self._told = max(self._told, self.horizon())
        for queue in self._horizons.values():
            queue.append((self._told, tuple(self.presences.values())))

    def _report(self, name: str) -> bool:
        if name in self._dead or name in self.absent or self.runtimes[name].spec.free_entry:
            return False
        runtime = self.runtimes[name]
        report = (self.engines[name].lower_bound(), runtime.stop_time, runtime.stop_reason)
        queue = self._reports[name]
        if (queue[-1] if queue else (self.coordinator.lower_bound_of(name),))[0] == report[0]:
            return False
        queue.append(report)
        return True

    def coordinate(self, names: list[str]) -> bool:
        """Take some of the reports and deliver some of the horizons."""
        coordinator = self.coordinator
        busy = False
        for name in names:
            if self._reports[name] and self._random.random() < 0.5:
                bound, stop_time, stop_reason = self._reports[name].pop(0)
                if stop_reason is not None:
                    coordinator.stop_requested(name, stop_time, stop_reason)
                coordinator.completed(name, bound)
                if coordinator.end_is_final:
                    self.final_ends.add(coordinator.end)
                self._tell()
                busy = True
            if name not in self.absent and self._horizons[name] and self._random.random() < 0.5:
                self._hear(name, *self._horizons[name].pop(0))
                busy = True
        return busy

    def _hear(self, name: str, horizon: int, presences: tuple[Presence, ...]) -> None:
        """A participant receives the horizon and the membership."""
        engine = self.engines[name]
        self._attendances[name].update(presences, horizon)
        for presence in presences:
            if presence.participant == name and engine.runtime.spec.free_entry:
                engine.enter(presence.enter_ns)
        if not engine.runtime.spec.free_entry:
            engine.horizon = max(engine.horizon, horizon)
