# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Every interleaving of small systems: engines, promises, completions and the clock's horizon.

A participant takes one message, runs what it may run and reports, as the loop of its node does;
so does the clock. Each queue between two of them keeps its order, and nothing else is fixed. All
orders are explored, depth first. What a participant does is a function of what it has taken, so
each of its states is computed once and has a number; a state of the whole is a tuple of numbers.

Orders that differ only in which of two parts takes its message first are one: neither sees the
other. So in each state it is enough to let some of the parts go on (a stubborn set), see
:meth:`Explorer._moving`. Every part still gets its messages in every order that is possible, and
therefore into every state that it can reach; that is why only states of single parts, and the end
of the whole, are judged. No run repeats a state, for each step takes a message: nothing is put off
for ever.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from types import SimpleNamespace
from typing import Any, NamedTuple

from support.behaviours import Plain

from ros2_cosim.core.kernel import lookahead
from ros2_cosim.core.kernel.activation import Count
from ros2_cosim.core.kernel.channel import Promise
from ros2_cosim.core.kernel.coordinator import Coordinator
from ros2_cosim.core.kernel.engine import Engine
from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.kernel.graph import (
    Connection,
    Graph,
    InputPort,
    Latency,
    OutputPort,
    ParticipantSpec,
)
from ros2_cosim.core.kernel.membership import Membership
from ros2_cosim.core.kernel.participant import Sample, Step
from ros2_cosim.core.kernel.runtime import ParticipantRuntime
from ros2_cosim.core.kernel.sequential import SequentialScheduler
from ros2_cosim.core.kernel.time import FOREVER
from ros2_cosim.core.messages.catalogue import DEFAULT as CATALOGUE
from ros2_cosim.core.messages.protocol import Completion, Horizon, PortPromise
from ros2_cosim.core.realtime.run_control import RunControl
from ros2_cosim.ros.node.progress import ProgressTopics
from ros2_cosim.ros.node.time_topics import TimeTopics
from ros2_cosim.ros.node.writers import Writer

PERIOD = 10
NAMES = ("a", "b", "c")


class Shape(NamedTuple):
    """One participant of a small system.

    :ivar source: the participant that it reads; None: none
    :ivar kind: how: ``latched``, ``delayed`` or ``trigger``
    """

    source: str | None
    kind: str
    latency: int
    schedule: str


class Fold(Plain):
    """Folds what it reads into a number; ``sparse`` ports stay silent now and then."""

    def __init__(self, name: str, schedule: str, stop_after: int) -> None:
        self._value = ord(name)
        self._schedule = schedule
        self._stop_after = stop_after
        self._count = 0
        self.times: list[int] = []
        self.stop_reason: str | None = None

    def activate(self, step: Step) -> dict[str, Any]:
        """Fold."""
        value = self._value * 31 + step.time
        for port in step.latest:
            for sample in (*step.samples.get(port, ()), step.latest[port]):
                value = value * 31 + (sample.value + sample.stamp if sample else 7)
        self._value = value % 1_000_003
        self._count += 1
        self.times.append(step.time)
        if self._count == self._stop_after:
            self.stop_reason = "enough"
        silent = self._schedule == "sparse" and self._value % 2
        return {} if silent else {"out": self._value}


class SmallSystem(NamedTuple):
    """A system of up to three participants.

    :ivar end: of the run; two or three activations of each participant
    :ivar window: how far participants may be ahead of the clock
    :ivar stops: whether the first participant ends the run at its second activation
    """

    shapes: tuple[Shape, ...]
    end: int
    window: int
    stops: bool

    def graph(self) -> Graph:
        """The graph.

        :raises ConfigurationError: it has a loop without delay, or can never run
        """
        specs, connections = [], []
        for name, shape in zip(NAMES, self.shapes):  # noqa: B905
            inputs: tuple[InputPort, ...] = ()
            if shape.source is not None:
                inputs = (InputPort("in", shape.kind == "delayed"),)
                connections.append(Connection(shape.source, "out", name, "in"))
            triggered = shape.kind == "trigger"
            specs.append(
                ParticipantSpec(
                    name,
                    None if triggered else PERIOD,
                    activation=Count("in", 1) if triggered else None,
                    inputs=inputs,
                    outputs=(OutputPort("out", Latency(shape.latency), shape.schedule),),
                )
            )
        return Graph(specs, connections)

    def models(self) -> dict[str, Fold]:
        """Fresh models."""
        return {
            name: Fold(name, shape.schedule, 2 if self.stops and name == "a" else 0)
            for name, shape in zip(NAMES, self.shapes)  # noqa: B905
        }

    @property
    def has_silence(self) -> bool:
        """Whether a participant does not send at each activation."""
        return any(shape.schedule == "sparse" for shape in self.shapes)

    @property
    def stop_latency(self) -> int:
        """From a request to the end of the run."""
        return max(self.window, 5)


def small_systems(size: int, every: int = 1) -> Iterator[SmallSystem]:
    """All systems of so many participants, the senseless ones left out.

    Each participant reads any one of them, itself too, in each way, or none; with and without
    latency and silence, in lockstep and ahead of the clock, with and without a stop. Those without
    silence come first.

    :param every: only each so many-th of these, counted before the senseless ones are left out
    """
    names = NAMES[:size]
    inputs = []
    for name in names:
        reads: list[tuple[str | None, str]] = [(None, "")]
        reads += [(source, "delayed") for source in names]
        others = [source for source in names if source != name]
        reads += [(source, kind) for source in others for kind in ("latched", "trigger")]
        inputs.append([(*read, latency) for read in reads for latency in (0, 4)])
    schedules = itertools.product(("every", "sparse"), repeat=size)
    choices = itertools.product(schedules, (0, 15), (False, True), itertools.product(*inputs))
    for schedule, window, stops, chosen in itertools.islice(choices, 0, None, every):
        shapes = tuple(Shape(*read, silent) for read, silent in zip(chosen, schedule, strict=True))
        system = SmallSystem(shapes, 2 * PERIOD + 1, window, stops)
        try:
            system.graph()
        except ConfigurationError:
            continue
        yield system


class _Stub:
    """A session, its node and its publishers: they keep what is sent.

    :param decode: makes of bytes what is kept
    """

    def __init__(self, decode: Callable[[bytes], Any] = lambda data: data) -> None:
        self.sent: list[Any] = []
        self.node = self
        self.start_ns = 0
        self._decode = decode

    def writer(
        self, topic: str, type_name: str, qos: Any, short: Any = None, silence: int = 0
    ) -> Writer:
        """Make a writer whose records are kept."""
        codec = CATALOGUE.codec(type_name)
        node: Any = _Stub(lambda data: codec.decode(data)[2])
        node.sent = self.sent
        return Writer(node, topic, codec, qos)

    def get_namespace(self) -> str:
        """The root."""
        return "/"

    def create_publisher(self, *_: Any, event_callbacks: Any, **__: Any) -> Any:
        """Itself is the publisher, which has a subscription."""
        if event_callbacks is not None:
            event_callbacks.matched(SimpleNamespace(current_count=1))
        return self

    def get_subscription_count(self) -> int:
        """One: what is sent is kept."""
        return 1

    def aim(self, target: int) -> None:
        """Everything leaves at once."""

    def follow(self, node: Any, time_of: Callable[[], int]) -> None:
        """The node has no clock."""

    def publish(self, data: bytes) -> None:
        """Keep a message."""
        self.sent.append(self._decode(data))

    def taken(self) -> list[Any]:
        """What was sent since the last call."""
        sent = list(self.sent)
        self.sent.clear()
        return sent


class _Participant:
    """What the loop of ``ParticipantNode`` does with engine and progress."""

    def __init__(self, system: SmallSystem, graph: Graph, name: str) -> None:
        self.name = name
        self.model = system.models()[name]
        self.runtime = ParticipantRuntime(graph, name, self.model)
        self.engine = Engine(graph, self.runtime)
        self.end = FOREVER
        self._stub = _Stub()
        self._explicit = lookahead.needs_promises(graph, name, "out")
        session: Any = self._stub
        quantum = 0 if self._explicit else PERIOD
        self._progress = ProgressTopics(session, name, lambda: 0, quantum_ns=quantum)

    def take(self, item: Any) -> list[Any]:
        """Take one message; what is sent because of it, in this order."""
        engine = self.engine
        if isinstance(item, Sample):
            engine.receive(0, item)
        elif isinstance(item, Completion):
            for promise in item.ports:
                engine.channels[0].promised(Promise(promise.count, promise.time_ns))
        elif isinstance(item, Horizon):
            engine.horizon = max(engine.horizon, item.time_ns)
            self.end = item.end_ns
        sent: list[Any] = []
        for outputs in () if self.is_complete else engine.advance():
            sent += [sample for _, sample, _ in outputs]
        bound = engine.lower_bound()
        if self._progress.is_news(bound, engine.horizon) or (
            self.is_complete and self._progress.is_progress(bound)
        ):
            self._progress.report(self._completion(bound))
        return sent + self._stub.taken()

    def _completion(self, bound: int) -> Completion:
        runtime = self.runtime
        stopping = runtime.stop_reason is not None
        ports: tuple[PortPromise, ...] = ()
        if self._explicit:
            ports = tuple(PortPromise(n, p.count, p.time) for n, p in self.engine.promises())
        stop = runtime.stop_time if stopping else FOREVER
        reason = runtime.stop_reason or ""
        return Completion(self.name, runtime.trace.activations, bound, stop, reason, ports)

    @property
    def is_complete(self) -> bool:
        """Whether every activation before the end has run."""
        engine = self.engine
        return engine.lower_bound() >= self.end and engine.horizon >= self.end

    @property
    def key(self) -> Any:
        """All that its further course depends on."""
        channels = tuple(
            (channel.received, channel.promise, channel._explicit)
            for channel in self.engine.channels
        )
        trace = self.runtime.trace.hexdigest()
        return trace, self.engine.horizon, self.end, channels, self._progress._reached


class _Clock:
    """What the loop of ``ClockNode`` does with coordinator and time topics."""

    def __init__(self, system: SmallSystem, graph: Graph) -> None:
        self.coordinator = Coordinator(
            graph.order,
            duration_ns=system.end,
            run_ahead_ns=system.window,
            stop_latency_ns=system.stop_latency,
        )
        #: Participant -> activations that it has reported complete.
        self.told = dict.fromkeys(graph.order, 0)
        self._stub = _Stub()
        session: Any = self._stub
        self.time = TimeTopics(
            session,
            self.coordinator,
            RunControl(step_ns=PERIOD),
            Membership(graph, self.coordinator),
            run_id="",
            timer=lambda: 0,
        )

    def take(self, item: Any) -> list[Any]:
        """Take one completion, None at the start; what is published because of it."""
        if item is not None:
            self.told[item.participant] = item.activations
            if item.stop_reason:
                self.coordinator.stop_requested(item.participant, item.stop_ns, item.stop_reason)
            self.coordinator.completed(item.participant, item.bound_ns)
        self.time.publish_clock()
        self.time.move_horizon()
        return self._stub.taken()

    @property
    def key(self) -> Any:
        """All that its further course depends on."""
        coordinator = self.coordinator
        bounds = tuple(coordinator._bounds.values())
        told = tuple(self.told.values())
        time = self.time
        return told, bounds, coordinator.end, coordinator._stop, time.horizon, time._shown


class _State(NamedTuple):
    """A state of one part, computed once.

    :ivar taken: the messages that lead there, in one of the possible orders
    :ivar facts: what is judged: of a participant (times of its activations, whether it is
        complete, its trace), of the clock (time shown, activations reported by then, whether it
        has finished)
    """

    taken: tuple[Any, ...]
    facts: Any


class _Part:
    """All states of one part that have been reached, by number."""

    def __init__(self, make: Callable[[], Any], facts: Callable[[Any], Any]) -> None:
        self._make = make
        self._facts = facts
        self._numbers: dict[Any, int] = {}
        self.states: list[_State] = []
        self._steps: dict[tuple[int, int], tuple[int, list[Any]]] = {}

    @property
    def reached(self) -> Collection[Any]:
        """What tells the states apart."""
        return self._numbers.keys()

    def begin(self) -> tuple[int, list[Any]]:
        """The first state, and what is sent there."""
        part = self._make()
        sent = part.take(None)
        return self._number(part, (None,)), sent

    def step(self, state: int, item: int, content: Any) -> tuple[int, list[Any]]:
        """The state after a message, and what is sent because of it."""
        found = self._steps.get((state, item))
        if found is None:
            part = self._make()
            taken = self.states[state].taken
            for former in taken:
                part.take(former)
            sent = part.take(content)
            found = self._steps[state, item] = self._number(part, (*taken, content)), sent
        return found

    def _number(self, part: Any, taken: tuple[Any, ...]) -> int:
        number = self._numbers.setdefault(part.key, len(self.states))
        if number == len(self.states):
            self.states.append(_State(taken, self._facts(part)))
        return number


class Explored(NamedTuple):
    """What was explored: states of the whole, steps between them, different ends."""

    states: int
    steps: int


class Explorer:
    """Explores all interleavings of one system.

    :param system: what is explored
    """

    def __init__(self, system: SmallSystem) -> None:
        self._graph = graph = system.graph()
        self._names = tuple(graph.order)
        self._parts = [
            _Part(
                lambda name=name: _Participant(system, graph, name),
                lambda part: (
                    tuple(part.model.times),
                    part.is_complete,
                    part.runtime.trace.hexdigest(),
                ),
            )
            for name in self._names
        ]
        self._parts.append(
            _Part(
                lambda: _Clock(system, graph),
                lambda part: (part.time._shown, dict(part.told), part.coordinator.finished),
            )
        )
        self._expected = _sequential(system)
        #: Where the messages of a part go: kind -> queues; and who reads a queue.
        self._readers: list[int] = []
        self._writers: list[int] = []
        self._routes: list[dict[type, list[int]]] = [{} for _ in self._parts]
        clock = len(self._names)
        for place, name in enumerate(self._names):
            self._route(place, Completion, clock)
            self._route(clock, Horizon, place)
            for connection in graph.outgoing(name):
                reader = self._names.index(connection.target)
                self._route(place, Sample, reader)
                if lookahead.needs_promises(graph, name, "out"):
                    self._route(place, Completion, reader)
        self._items: dict[Any, int] = {}
        self._contents: list[Any] = []
        #: Part -> (queue, part that writes it) of the queues that it reads.
        self._inputs: list[list[tuple[int, int]]] = [[] for _ in self._parts]
        for queue, (writer, reader) in enumerate(zip(self._writers, self._readers, strict=True)):
            self._inputs[reader].append((queue, writer))

    def _route(self, writer: int, kind: type, reader: int) -> None:
        self._routes[writer].setdefault(kind, []).append(len(self._readers))
        self._readers.append(reader)
        self._writers.append(writer)

    def explore(self, most_states: int = 10_000_000, *, reduced: bool = True) -> Explored:
        """Visit every state, or enough of them.

        :param reduced: leave out orders that no part can tell from others
        :raises AssertionError: one breaks a rule; the message says which
        """
        locals_, queues = [], [()] * len(self._readers)
        for place, part in enumerate(self._parts):
            number, sent = part.begin()
            locals_.append(number)
            queues = self._send(place, queues, sent)
        first = (*locals_, *queues)
        seen = {first}
        pending = [first]
        steps = 0
        count = len(self._parts)
        while pending:
            state = pending.pop()
            moving = self._moving(state[count:]) if reduced else range(count)
            ready = [
                (queue, reader)
                for reader in moving
                for queue, _ in self._inputs[reader]
                if state[count + queue]
            ]
            for queue, reader in ready:
                steps += 1
                item, *waiting = state[count + queue]
                number, sent = self._parts[reader].step(state[reader], item, self._contents[item])
                following = list(state)
                following[reader] = number
                following[count + queue] = tuple(waiting)
                if sent:
                    following[count:] = self._send(reader, following[count:], sent)
                new = tuple(following)
                if new not in seen:
                    seen.add(new)
                    assert len(seen) <= most_states, "too many states"
                    pending.append(new)
            if not ready:
                self._check_end(state)
        self._check_clock()
        return Explored(len(seen), steps)

    @property
    def reached(self) -> list[Collection[Any]]:
        """All states of each part that have been reached."""
        return [part.reached for part in self._parts]

    def _moving(self, queues: Sequence[Any]) -> Collection[int]:
        """Parts that it is enough to let go on in a state: the fewest messages, of those sets.

        One that may still get a message in a queue that is empty now could take it before those
        that are there. So the part that writes it goes on as well; what others do, which write
        behind messages that are there, does not matter to these.
        """
        best: tuple[int, Collection[int]] = (0, ())
        for first in range(len(self._parts)):
            moving, pending = {first}, [first]
            waiting = 0
            while pending:
                for queue, writer in self._inputs[pending.pop()]:
                    if queues[queue]:
                        waiting += 1
                    elif writer not in moving:
                        moving.add(writer)
                        pending.append(writer)
            if waiting and (not best[0] or waiting < best[0]):
                best = waiting, moving
        return best[1]

    def _send(self, writer: int, queues: list[Any], sent: list[Any]) -> list[Any]:
        queues = list(queues)
        for content in sent:
            for queue in self._routes[writer].get(type(content), ()):
                item = self._items.setdefault(content, len(self._contents))
                if item == len(self._contents):
                    self._contents.append(content)
                queues[queue] = (*queues[queue], item)
        return queues

    def _facts(self, state: Any) -> list[Any]:
        return [
            part.states[number].facts
            for part, number in zip(self._parts, state)  # noqa: B905
        ]

    def _check_clock(self) -> None:
        """In no state the clock shows a time before all activations before it were reported."""
        for state in self._parts[-1].states:
            shown, told, _ = state.facts
            for name in self._names:
                due = sum(time < shown for time in self._expected[name][0])
                assert told[name] >= due, f"/clock shows {shown}, {name} has reported {told[name]}"

    def _check_end(self, state: Any) -> None:
        """Nothing is under way: the run is over, with the trace of the reference."""
        *participants, (shown, _, finished) = self._facts(state)
        assert finished, f"nothing goes on, and /clock shows {shown}"
        for name, (times, complete, trace) in zip(self._names, participants):  # noqa: B905
            assert complete, f"nothing goes on, and {name} has run {times}"
            assert trace == self._expected[name][1], f"wrong trace of {name}: {times}"


def _sequential(system: SmallSystem) -> Mapping[str, tuple[list[int], str]]:
    """Participant -> times of its activations, trace."""
    models = system.models()
    scheduler = SequentialScheduler(system.graph(), models, stop_latency_ns=system.stop_latency)
    scheduler.run(system.end)
    return {
        name: (models[name].times, runtime.trace.hexdigest())
        for name, runtime in scheduler.runtimes.items()
    }


__all__ = ["Explored", "Explorer", "SmallSystem", "small_systems"]
