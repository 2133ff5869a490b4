# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The adapter of a foreign node, with a node in the same process: what it waits for and sees."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from itertools import groupby
from math import inf
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

rclpy = pytest.importorskip("rclpy")

from rcl_interfaces.srv import GetParameters  # noqa: E402
from rclpy.duration import Duration  # noqa: E402
from rclpy.node import Node  # noqa: E402
from rclpy.parameter import Parameter  # noqa: E402
from rclpy.publisher import Publisher  # noqa: E402
from rclpy.qos import QoSProfile, ReliabilityPolicy  # noqa: E402
from support.patience import until  # noqa: E402
from support.served_nodes import served  # noqa: E402

from ros2_cosim.core.kernel.activation import any_of  # noqa: E402
from ros2_cosim.core.kernel.errors import ConfigurationError, ParticipantError  # noqa: E402
from ros2_cosim.core.kernel.graph import (  # noqa: E402
    Connection,
    Graph,
    InputPort,
    OutputPort,
    ParticipantSpec,
)
from ros2_cosim.core.kernel.participant import ModelContext, Sample, Step  # noqa: E402
from ros2_cosim.core.messages.catalogue import DEFAULT as CATALOGUE  # noqa: E402
from ros2_cosim.core.messages.foreign import ForeignSettings  # noqa: E402
from ros2_cosim.ros.foreign import foreign_node, foreign_topics  # noqa: E402
from ros2_cosim.ros.foreign.foreign_model import ForeignNode  # noqa: E402
from ros2_cosim.ros.foreign.foreign_node import ForeignNodeAdapter, connected_node  # noqa: E402
from ros2_cosim.ros.foreign.foreign_topics import (  # noqa: E402
    ForeignMessage,
    ForeignTopics,
    ForeignWriting,
    _is_same,
)
from ros2_cosim.ros.node.writers import data_qos, message_class  # noqa: E402

FLOAT = "std_msgs/msg/Float64"
CODEC = CATALOGUE.codec(FLOAT)
READ, WRITTEN = "/gate/relay/in/number", "/gate/relay/out/sum"

Adapt = Callable[..., ForeignNodeAdapter]


@pytest.fixture
def opened(ros_domain: int, monkeypatch: pytest.MonkeyPatch) -> Iterator[ExitStack]:
    monkeypatch.setattr(foreign_node, "_DISCOVERY_S", 0.0)
    rclpy.init()
    with ExitStack() as stack:
        stack.callback(rclpy.try_shutdown)
        yield stack


def node_settings(
    *,
    ports: bool = True,
    triggers: tuple[str, ...] = ("number",),
    latched: tuple[str, ...] = (),
    expect: int = 1,
    period_ns: int | None = None,
    offset_ns: int = 0,
    **more: Any,
) -> tuple[ModelContext, ForeignSettings]:
    """Of a participant ``relay`` whose node ``/mine`` has been started elsewhere."""
    number, total = OutputPort("number", codec=CODEC), OutputPort("sum", codec=CODEC)
    inputs = (*triggers, *latched) if ports else ()
    relay = ParticipantSpec(
        "relay",
        activation=any_of(triggers) if ports else None,
        period_ns=period_ns if ports else 10,
        offset_ns=offset_ns,
        inputs=tuple(map(InputPort, inputs)),
        outputs=(total,) if ports else (),
    )
    graph = Graph(
        [ParticipantSpec("source", 10, outputs=(number,)), relay],
        [Connection("source", "number", "relay", port) for port in inputs],
    )
    take = "only" if expect == 1 else "last"
    tied = {
        "inputs": {port: port[0] for port in inputs},
        "outputs": {"sum": {"topic": "s", "expect": expect, "take": take}},
    }
    given = (tied if ports else {}) | more
    settings = ForeignSettings(**{"attach": True, "node_name": "/mine", **given})
    return ModelContext("relay", {}, {}, 0, Path(), graph=graph, watchdog_s=360.0), settings


@pytest.fixture
def adapt(opened: ExitStack) -> Adapt:
    """Makes the adapter of such a node."""

    def make(**given: Any) -> ForeignNodeAdapter:
        context, settings = node_settings(**given)
        assert context.graph is not None
        adapter = ForeignNodeAdapter(context, context.graph, settings, patience_s=240.0)
        opened.callback(adapter.close)
        return adapter

    return make


def made(opened: ExitStack, reads: QoSProfile | None = None, **settings: Any) -> Node:
    """A node ``/mine`` that answers each number, as soon as its callbacks run."""
    node = Node("mine", **settings)
    opened.callback(node.destroy_node)
    publisher = node.create_publisher(message_class(FLOAT), WRITTEN, data_qos())
    node.create_subscription(message_class(FLOAT), READ, publisher.publish, reads or data_qos())
    return node


@pytest.fixture
def mine(opened: ExitStack) -> Node:
    return made(opened)


def sample(stamp: int, seq: int = 0, value: float = 1.5) -> Sample:
    return Sample(stamp, seq, CATALOGUE.record(FLOAT)(value))


def step(time_ns: int, value: float) -> Step:
    given = sample(time_ns, value=value)
    return Step(time_ns, {"number": (given,)}, {"number": given})


def test_a_node_that_answers_nothing_is_named_with_the_service(adapt: Adapt, mine: Node) -> None:
    adapter = adapt()
    adapter._topics.wait_until(lambda: not adapter._topics.missing())
    adapter.patience_s = 0.2
    with pytest.raises(ParticipantError, match="Missing: an answer of /mine/get_parameters;"):
        adapter.connect()


@pytest.mark.parametrize(
    ("given", "hears_itself", "looks"),
    [
        # After each sample, and, behind the last one, for what the callbacks published.
        ({}, False, [1] * 5 + [2]),
        ({}, True, [1] * 2 * 6 + [1, 0]),
        # An executor takes one message of each topic at a time: three of the one that has most.
        ({"ordered": False}, False, [1, 4]),
        ({"ordered": False}, True, [1, 3, 1, 0]),
        ({"ordered": False, "barrier": "none"}, True, []),
    ],
)
def test_samples_are_handed_over_in_order_with_the_barriers_that_it_takes(
    opened: ExitStack,
    adapt: Adapt,
    mine: Node,
    monkeypatch: pytest.MonkeyPatch,
    given: dict[str, Any],
    hears_itself: bool,
    looks: list[int],
) -> None:
    for port in ("other", "x"):
        topic = f"/gate/relay/in/{port}"
        mine.create_subscription(message_class(FLOAT), topic, lambda message: None, data_qos())
    opened.enter_context(served(mine))
    adapter = adapt(triggers=("number", "other"), latched=("x",), expect=3, **given)
    adapter.connect()
    adapter._hears_itself = hears_itself
    topics = adapter._topics
    barrier, publish = topics.barrier, topics.publish
    handed: list[str] = []
    passed: list[int] = []

    def pass_barrier(more: int, *, last: bool) -> None:
        passed.append(more + last)
        barrier(more, last=last)

    def hand(port: str, data: bytes, **more: Any) -> None:
        handed.append(port)
        publish(port, data, **more)

    wait_until = topics.wait_until
    rests: list[float] = []

    def rest(condition: Callable[[], bool], seconds: float = inf) -> None:
        rests.extend([seconds] if seconds < inf else [])
        wait_until(condition, seconds)

    monkeypatch.setattr(topics, "wait_until", rest)
    monkeypatch.setattr(topics, "barrier", pass_barrier)
    monkeypatch.setattr(topics, "publish", hand)
    number, other = (sample(1), sample(3), sample(5)), (sample(2), sample(3))
    before = time.perf_counter_ns()
    adapter.activate(Step(5, {"number": number, "other": other}, {"x": sample(4)}))
    assert 0 < adapter.transport_ns <= time.perf_counter_ns() - before
    assert handed == ["x", "number", "other", "number", "other", "number"]
    assert passed == looks
    passed.clear()
    # What the node publishes when it has answered is here with the answer to the next one.
    adapter.finish()
    assert (passed, rests) == (([1, 0], []) if looks else ([], [0.1]))
    assert (topics.asked_ns > 0) is bool(looks)
    assert adapter.not_repeatable() is None
    passed.clear()
    rests.clear()
    # One that has ended does not answer.
    ended: Any = SimpleNamespace(ended=lambda: "ended with exit code 0", close=lambda: None)
    adapter._process = ended
    adapter.finish()
    assert (passed, rests) == ([], [0.1])


def test_latched_inputs_are_handed_over_when_they_are_new_the_oldest_first(adapt: Adapt) -> None:
    adapter = adapt(latched=("x", "y", "z"))

    def fresh(x: Sample | None, y: Sample | None) -> list[str]:
        latest = {"number": sample(9), "x": x, "y": y, "z": None}
        return [handed.port for handed in adapter._fresh(Step(9, {}, latest))]

    assert fresh(sample(5), sample(3)) == ["y", "x"]
    assert fresh(sample(5), sample(3)) == []
    assert fresh(sample(5), sample(4)) == ["y"]
    assert fresh(sample(5, 1), sample(4)) == ["x"]
    assert fresh(sample(6), sample(6)) == ["x", "y"]


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ({"offset_ns": 50, "period_ns": 20}, 30),
        ({"offset_ns": 5, "period_ns": 20}, 0),
        ({"offset_ns": 50, "period_ns": 20, "clock_start": 7}, 7),
        # Without a period nothing is due before its first input.
        ({}, None),
        ({"offset_ns": 50, "period_ns": 20, "use_sim_time": False}, None),
    ],
)
def test_before_the_first_activation_the_clock_shows_a_period_less(
    adapt: Adapt, given: dict[str, Any], shown: int | None
) -> None:
    assert adapt(**{"use_sim_time": True} | given)._first_clock == shown


def test_all_processes_of_a_node_that_was_started_here_are_watched(adapt: Adapt) -> None:
    adapter = adapt()
    assert adapter._pids() == []  # an attached one is known when it is connected
    started: Any = SimpleNamespace(pid=os.getsid(0), close=lambda: None)
    adapter._process = started
    assert os.getpid() in adapter._pids()


def test_writers_of_different_types_are_refused() -> None:
    types = (FLOAT, "ros2_cosim/msg/ControlCommand")
    writers = [
        ParticipantSpec(name, 10, outputs=(OutputPort("out", codec=CATALOGUE.codec(type_name)),))
        for name, type_name in zip("ab", types, strict=True)
    ]
    relay = ParticipantSpec("relay", activation=any_of(["in"]), inputs=(InputPort("in"),))
    both = Graph([*writers, relay], [Connection(name, "out", "relay", "in") for name in ("a", "b")])
    with pytest.raises(ConfigurationError) as caught:
        foreign_node.input_codec(both, "relay", "in")
    assert str(caught.value) == (
        "participants.relay.inputs.in: its writers send ros2_cosim/msg/ControlCommand, "
        "std_msgs/msg/Float64; a topic of a foreign node has one type"
    )
    one = Graph([writers[1], relay], [Connection("b", "out", "relay", "in")])
    assert foreign_node.input_codec(one, "relay", "in") is writers[1].outputs[0].codec


def test_what_makes_a_run_differ_is_told_the_surest_first(adapt: Adapt) -> None:
    adapter = adapt()
    watched = SimpleNamespace(sees=False, since=4, several_since=lambda: watched.since)
    adapter._watch = watched  # type: ignore[assignment]
    adapter._called = ["/plan"]
    adapter._others = 3, "s"
    adapter._reads_anew = 2
    adapter._acts = 5, "has a timer"
    adapter._late = 6, "sum"
    told = []
    for name, none in (("_called", []), ("_others", None), ("_reads_anew", None), ("since", None),
                       ("_acts", None), ("_late", None), ("sees", True)):  # fmt: skip
        told.append(adapter.not_repeatable())
        setattr(adapter if name[0] == "_" else watched, name, none)
    assert adapter.not_repeatable() is None
    times, texts = zip(*filter(None, told), strict=True)
    assert times == (0, 3, 2, 4, 5, 6, 0)
    said = [
        "is a client of /plan",
        "on s,",
        "subscriptions of its inputs",
        "in several threads",
        "has a timer",
        "'sum'",
        "watched",
    ]
    assert [words in text for words, text in zip(said, texts, strict=True)] == [True] * 7
    # Threads that are accepted count as little as what they may do.
    accepting = adapt(threads="accept")
    watched.since = 4
    accepting._watch = watched  # type: ignore[assignment]
    assert accepting.not_repeatable() is None


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ("twice", "2 publishers write to s; allowed is one"),
        ("best_effort", "the node reads n without reliable delivery"),
        ("undeclared", "the node also reads /further, which is not an input"),
        ("unfit", "input 'number': the node's quality of service does not fit: "),
    ],
)
def test_a_node_that_reads_or_writes_otherwise_is_refused_at_the_start(
    opened: ExitStack, mine: Node, kind: str, said: str
) -> None:
    qos = data_qos()
    if kind == "best_effort":
        qos.reliability = ReliabilityPolicy.BEST_EFFORT
    elif kind == "unfit":
        qos.deadline = Duration(seconds=1)
    if kind == "twice":
        mine.create_publisher(message_class(FLOAT), WRITTEN, data_qos())
    else:
        topic = "/further" if kind == "undeclared" else READ
        mine.create_subscription(message_class(FLOAT), topic, lambda message: None, qos)
    opened.enter_context(served(mine))
    before = signal.getsignal(signal.SIGTERM)
    with pytest.raises(ParticipantError, match=said):
        connected_node(*node_settings())
    # It has given up what it had.
    assert signal.getsignal(signal.SIGTERM) is before


@pytest.mark.parametrize(("given", "seconds"), [({}, 240.0), ({"patience_s": 5.0}, 5.0)])
def test_a_silent_node_is_waited_for_less_long_than_the_clock_waits(
    opened: ExitStack, mine: Node, given: dict[str, Any], seconds: float
) -> None:
    opened.enter_context(served(mine))
    adapter = connected_node(*node_settings(**given))
    opened.callback(adapter.close)
    assert adapter.patience_s == seconds
    assert adapter.activate(step(10, 1.5))["sum"].data == 1.5


def test_a_subscription_that_the_node_makes_anew_may_miss_messages(
    opened: ExitStack, adapt: Adapt, mine: Node
) -> None:
    opened.enter_context(served(mine))
    adapter = adapt()
    adapter.connect()
    assert adapter.activate(step(10, 1.5))["sum"].data == 1.5
    assert adapter.not_repeatable() is None
    before = adapter._topics.readers()
    assert len(before) == 1
    mine.create_subscription(message_class(FLOAT), READ, lambda message: None, data_qos())
    adapter._topics.wait_until(lambda: adapter._topics.readers() != before)
    adapter.activate(step(20, 1.5))
    found = adapter.not_repeatable()
    assert found is not None and found[0] == 20
    assert "has made or given up subscriptions of its inputs" in found[1]
    adapter.finish()


@pytest.mark.parametrize(("later", "since"), [((), 0), ((20, 30), 20)])
def test_a_stranger_that_comes_is_seen_also_after_the_last_activation(
    opened: ExitStack, adapt: Adapt, mine: Node, later: tuple[int, ...], since: int
) -> None:
    opened.enter_context(served(mine))
    adapter = adapt()
    adapter.connect()
    assert adapter.activate(step(10, 1.5))["sum"].data == 1.5
    assert adapter.not_repeatable() is None
    mine.create_publisher(message_class(FLOAT), READ, data_qos())
    adapter._topics.wait_until(lambda: bool(adapter._topics.strangers()))
    for time_ns in later:
        adapter.activate(step(time_ns, 1.5))
    adapter.finish()
    assert adapter.not_repeatable() == (
        since,
        f"more than one program publishes on {READ}, in whatever order",
    )


def test_a_message_after_the_last_activation_is_refused_at_the_end(
    opened: ExitStack, mine: Node
) -> None:
    opened.enter_context(served(mine))
    model = ForeignNode(*node_settings())
    opened.callback(model.close)
    for value in (1.5, 2.5):
        assert model.activate(step(10, value))["sum"].data == value
        report = model.report()
        assert report.not_repeatable is None and report.transport_ns > 0
        model.finish()
        model.reset()
        assert model.report().transport_ns == 0
    (publisher,) = (found for found in mine.publishers if found.topic_name == WRITTEN)
    publisher.publish(message_class(FLOAT)(data=2.0))
    with pytest.raises(ParticipantError, match="1 messages came on s .*belong to no activation"):
        model.finish()


@pytest.mark.parametrize(
    ("given", "library", "watched", "looks"),
    [
        # Two looks: timers that the new time makes due have run, too.
        ({}, "none", ["begin", "end"], [2]),
        # A thread of its own sets the clock, which is asked for until it is: what runs then does
        # not count.
        ({}, "librclcpp.so", ["begin", "pause", "resume", "end"], [1, 2]),
        ({"barrier": "none"}, "none", ["begin", "end"], []),
    ],
)
def test_the_clock_of_a_node_shows_the_time_of_the_activation(
    opened: ExitStack,
    adapt: Adapt,
    monkeypatch: pytest.MonkeyPatch,
    given: dict[str, Any],
    library: str,
    watched: list[str],
    looks: list[int],
) -> None:
    monkeypatch.setattr(foreign_node, "has_loaded", lambda pids, name: name == library)
    simulated = Parameter("use_sim_time", value=True)
    remapped = ["--ros-args", "-r", "/clock:=/gate/relay/clock"]
    node = made(opened, parameter_overrides=[simulated], cli_args=remapped)
    opened.enter_context(served(node))
    adapter = adapt(use_sim_time=True, clock_start=7, **given)
    adapter.connect()
    until(lambda: node.get_clock().now().nanoseconds == 7)
    calls: list[str] = []
    passed: list[int] = []
    watch: Any = SimpleNamespace(looks=False, end=lambda _, counts: calls.append("end"))
    for name in ("begin", "pause", "resume"):
        setattr(watch, name, partial(calls.append, name))
    adapter._watch = watch
    barrier = adapter._topics.barrier

    def pass_barrier(more: int, *, last: bool) -> None:
        passed.append(more + last)
        barrier(more, last=last)

    monkeypatch.setattr(adapter._topics, "barrier", pass_barrier)
    for time_ns in (10, 5_000_000_000):
        assert adapter.activate(step(time_ns, 1.5))["sum"].data == 1.5
        shown = node.get_clock().now().nanoseconds
        assert shown == time_ns or (not looks and shown < time_ns)
        assert (calls, [number for number, _ in groupby(passed)]) == (watched, looks)
        calls.clear()
        passed.clear()
    if adapter._probe is not None:
        # It may refuse to say what it shows.
        monkeypatch.setattr(adapter._probe, "wait_for", lambda *asked: False)
        adapter.activate(step(5_000_000_001, 1.5))
        assert adapter._probe is None and passed == [2, 2]


@pytest.mark.parametrize(("name", "space"), [("/mine", {}), ("/cars/mine", {"__ns": "/cars"})])
def test_the_names_of_a_node_lead_to_its_adapter(
    adapt: Adapt, name: str, space: dict[str, str]
) -> None:
    assert adapt(node_name=name)._remappings() == {
        "n": "/gate/relay/in/number",
        "s": "/gate/relay/out/sum",
        "/clock": "/gate/relay/clock",
        "__node": "mine",
        **space,
    }


def test_of_a_node_without_topics_the_threads_cannot_be_seen(
    opened: ExitStack, adapt: Adapt, mine: Node
) -> None:
    opened.enter_context(served(mine))
    adapter = adapt(ports=False)
    adapter.connect()
    assert adapter.activate(Step(10, {}, {})) == {}
    assert adapter.not_repeatable() == (
        0,
        "the threads of the node /mine cannot be watched from this machine",
    )


def test_what_a_node_published_before_it_answered_is_in_order(
    opened: ExitStack, adapt: Adapt, mine: Node
) -> None:
    opened.enter_context(served(mine))
    adapter = adapt()
    adapter._appear()
    received = adapter._topics.received["sum"]
    received += [ForeignMessage(b"", number, 0) for number in (3, 1, 2)]
    adapter._topics.greet()
    assert [message.number for message in received] == [1, 2, 3]
    # It belongs to no activation.
    adapter.connect()
    assert received == []


def gate(
    opened: ExitStack,
    check: Callable[[], None] = lambda: None,
    clock: bool = True,
    writing: ForeignWriting | None = None,
    **shared: str,
) -> ForeignTopics:
    """One input, one output, and the output port of the same topic as an input port, if any."""
    outputs = {"sum": writing or ForeignWriting(FLOAT)}
    topics = ForeignTopics(
        "relay", "/mine", {"number": FLOAT}, outputs, lambda name: shared,
        barrier=False, clock=clock, check=check,
    )  # fmt: skip
    opened.callback(topics.close)
    return topics


@pytest.mark.parametrize(
    ("size", "acknowledge", "asked"), [(32_768, False, 0), (32_769, False, 3), (9, True, 3)]
)
def test_a_large_message_is_waited_for_until_the_middleware_confirms_it(
    opened: ExitStack, monkeypatch: pytest.MonkeyPatch, size: int, acknowledge: bool, asked: int
) -> None:
    """A small request could overtake it."""
    checks: list[None] = []
    limits: list[int] = []
    topics = gate(opened, lambda: checks.append(None))

    def confirmed(limit: Any) -> bool:
        limits.append(limit.nanoseconds)
        return len(limits) == 3

    monkeypatch.setattr(topics._writers["number"], "publish", lambda data: None)
    monkeypatch.setattr(topics._writers["number"], "wait_for_all_acked", confirmed)
    topics.publish("number", bytes(size), acknowledge=acknowledge)
    assert limits == [100_000_000] * asked
    assert len(checks) == max(0, asked - 1)


@pytest.mark.parametrize("shared", [False, True])
def test_what_the_adapter_has_published_itself_is_left_out(opened: ExitStack, shared: bool) -> None:
    topics = gate(opened, **({"sum": "number"} if shared else {}))
    mine = bytes(12)
    topics.publish("number", mine, acknowledge=False)
    receive = topics._receiver("sum")

    def found(data: bytes, number: int | None) -> list[ForeignMessage]:
        topics.received["sum"].clear()
        receive(data, {"publication_sequence_number": number, "source_timestamp": 7})
        return topics.received["sum"]

    other = bytes([0] * 11 + [1])
    assert found(other, 1) == [ForeignMessage(other, 1, 7)]
    assert found(mine, 2) == [ForeignMessage(mine, 2, 7)]
    assert found(mine, 1) == ([] if shared else [ForeignMessage(mine, 1, 7)])
    # It is heard once.
    assert found(mine, 1) == [ForeignMessage(mine, 1, 7)]
    # Not every middleware counts.
    assert found(mine, None) == [ForeignMessage(mine, 0, 7)]


@pytest.mark.parametrize(
    ("heard", "published", "same"),
    [
        (b"HEADbody", b"headbody", True),
        (b"HEADbody...", b"headbody", True),
        (b"HEADbody....", b"headbody", False),
        (b"HEADbod", b"headbody", False),
        (b"HEADbodi", b"headbody", False),
        (b"HEADbody", None, False),
    ],
)
def test_a_message_is_known_without_its_head_and_what_fills_it_up(
    heard: bytes, published: bytes | None, same: bool
) -> None:
    assert _is_same(heard, published) is same


def test_what_of_the_node_has_not_been_found_is_named(opened: ExitStack) -> None:
    topics = gate(opened)
    parts = ["a subscription of /gate/relay/in/number", "a subscription of /gate/relay/clock",
             "a publisher of /gate/relay/out/sum"]  # fmt: skip
    assert topics.missing() == parts
    node = made(opened)
    topics.wait_until(lambda: topics.missing() == parts[1:2])
    node.create_subscription(
        message_class("rosgraph_msgs/msg/Clock"), "/gate/relay/clock", lambda message: None, 1
    )
    topics.wait_until(lambda: topics.missing() == [])
    topics.close()
    until(lambda: "relay_gate" not in node.get_node_names())
    # On a topic that both read and write each side finds itself, too.
    both = gate(opened, clock=False, sum="number")
    topic = "/gate/relay/in/number"
    both.wait_until(lambda: both.node.count_subscribers(topic) == 2)
    assert both.output_topic("sum") == topic
    assert (both.publishers("sum"), both.strangers(), both.missing()) == (
        0,
        "",
        [f"a publisher of {topic}"],
    )
    node.create_publisher(message_class(FLOAT), topic, data_qos())
    both.wait_until(lambda: both.publishers("sum") == 1)
    assert (both.strangers(), both.missing()) == ("", [])


def test_what_the_node_reads_and_calls_beside_its_ports_is_named(
    opened: ExitStack, mine: Node
) -> None:
    topics = gate(opened)
    for name in ("/further", "/allowed", "/look/_action/feedback", "/parameter_events", WRITTEN):
        mine.create_subscription(message_class(FLOAT) if name != "/parameter_events" else
                                 message_class("rcl_interfaces/msg/ParameterEvent"),
                                 name, lambda message: None, 1)  # fmt: skip
    for name in ("/plan", "/allowed", "/look/_action/send_goal", "/look/_action/get_result"):
        mine.create_client(GetParameters, name)
    # Its own service: no other node answers.
    mine.create_client(GetParameters, "/mine/get_parameters")
    topics.wait_until(lambda: topics.undeclared([]) == ["/allowed", "/further"])
    topics.wait_until(lambda: topics.called([]) == ["/allowed", "/look", "/plan"])
    assert topics.undeclared(["/allowed"]) == ["/further"]
    assert topics.called(["/allowed", "/look"]) == ["/plan"]
    # It reads what it writes.
    topics.wait_until(topics.hears_itself)


def end(node: str, gid: int = 0, kind: str = FLOAT, **policies: Any) -> SimpleNamespace:
    """What the middleware tells of one end of a topic."""
    qos = data_qos()
    for name, value in policies.items():
        setattr(qos, name, value)
    return SimpleNamespace(
        node_name=node, node_namespace="/", topic_type=kind, qos_profile=qos, endpoint_gid=[gid]
    )


def tell(
    topics: ForeignTopics,
    monkeypatch: pytest.MonkeyPatch,
    readers: dict[str, list[SimpleNamespace]],
    writers: dict[str, list[SimpleNamespace]],
) -> None:
    """Let the middleware tell of these ends, by topic."""
    for kind, ends in (("subscriptions", readers), ("publishers", writers)):
        monkeypatch.setattr(
            topics.node, f"get_{kind}_info_by_topic", lambda topic, ends=ends: ends.get(topic, [])
        )


STRING, BEST_EFFORT = "std_msgs/msg/String", ReliabilityPolicy.BEST_EFFORT
UNFIT = "the node's quality of service does not fit: "


@pytest.mark.parametrize(
    ("reader", "writer", "writing", "said"),
    [
        (end("mine"), end("mine"), {}, []),
        (
            end("mine", kind=STRING),
            end("mine"),
            {},
            [f"input 'number': the node reads {STRING}; a"],
        ),
        (
            end("mine"),
            end("mine", kind=STRING),
            {},
            [f"output 'sum': the node publishes {STRING};"],
        ),
        (
            end("_NODE_NAME_UNKNOWN_", kind=STRING),
            end("_NODE_NAME_UNKNOWN_", reliability=BEST_EFFORT),
            {},
            ["input 'number': the node reads", "output 'sum': the node publishes without reliable"],
        ),
        (end("mine"), end("mine", reliability=BEST_EFFORT), {"best_effort": True}, []),
        # Those of others do not count.
        (end("other", kind=STRING), end("other", kind=STRING), {}, []),
        (end("mine", deadline=Duration(seconds=1)), end("mine"), {}, [f"input 'number': {UNFIT}"]),
        (end("mine"), end("mine"), {"latched": True}, [f"output 'sum': {UNFIT}"]),
    ],
)
def test_what_exchanges_no_messages_with_the_adapter_is_named_with_its_port(
    opened: ExitStack,
    monkeypatch: pytest.MonkeyPatch,
    reader: SimpleNamespace,
    writer: SimpleNamespace,
    writing: dict[str, bool],
    said: list[str],
) -> None:
    topics = gate(opened, writing=ForeignWriting(FLOAT, **writing))
    tell(topics, monkeypatch, {READ: [reader]}, {WRITTEN: [writer]})
    found = topics.misfits()
    assert [text[: len(words)] for text, words in zip(found, said, strict=True)] == said
    assert not any(text.endswith((";", " ", ": ")) for text in found)
    assert topics.best_effort("number") is False
    tell(topics, monkeypatch, {READ: [reader, end("x", reliability=BEST_EFFORT)]}, {})
    assert topics.best_effort("number") is True


def test_the_process_of_the_node_is_that_of_its_end_of_a_topic(
    opened: ExitStack, monkeypatch: pytest.MonkeyPatch
) -> None:
    topics = gate(opened)
    monkeypatch.setattr(foreign_topics, "process_of_endpoint", lambda gid, own: (gid, own))
    listener, gate_end, node_end = (partial(end, name) for name in ("echo", "relay_gate", "mine"))
    readers = {WRITTEN: [listener(1), gate_end(2)], READ: [node_end(3)]}
    writers = {WRITTEN: [node_end(4)], READ: [gate_end(5)]}
    for written, found in (([], (b"\3", b"\2")), (writers[WRITTEN], (b"\4", b"\2"))):
        tell(topics, monkeypatch, readers, {**writers, WRITTEN: written})
        assert topics.process() == found
    tell(topics, monkeypatch, {READ: [node_end(3)]}, writers)
    assert topics.process() == (b"\4", b"\5")
    for ours in ([], [gate_end(2)]):
        tell(topics, monkeypatch, {WRITTEN: ours}, {})
        assert topics.process() is None


@pytest.mark.parametrize(
    ("gids", "seen"),
    [
        ([4], False),
        ([4, 5], True),
        # One of them has been killed; or it is the node of the participant, in this process.
        ([4, 6], False),
        ([4, 7], False),
        # Two nodes of one process.
        ([4, 8], False),
    ],
)
def test_another_program_with_a_node_of_its_name_is_seen(
    opened: ExitStack, monkeypatch: pytest.MonkeyPatch, gids: list[int], seen: bool
) -> None:
    topics = gate(opened)
    pids = {4: 1, 5: 2, 6: None, 7: os.getpid(), 8: 1}
    monkeypatch.setattr(foreign_topics, "process_of_endpoint", lambda gid, own: pids[gid[0]])
    ends = [end("relay_gate", 1), end("other", 5), *(end("mine", gid) for gid in gids)]
    tell(topics, monkeypatch, {}, {"/parameter_events": ends})
    assert topics.has_twin() is seen


def test_of_a_node_that_is_not_known_yet_nothing_is_named(opened: ExitStack) -> None:
    topics = gate(opened)
    assert (topics.undeclared([]), topics.called([]), topics.process()) == ([], [], None)


def test_without_a_barrier_both_sides_get_time_to_find_each_other(
    opened: ExitStack, monkeypatch: pytest.MonkeyPatch
) -> None:
    topics = gate(opened)
    waits: list[tuple[bool, float]] = []
    monkeypatch.setattr(topics, "wait_until", lambda held, limit: waits.append((held(), limit)))
    topics.greet()
    assert waits == [(False, 0.5)]


def test_it_hears_itself_if_it_reads_what_it_writes(opened: ExitStack) -> None:
    assert not gate(opened).hears_itself()
    assert gate(opened, clock=False, sum="number").hears_itself()


def test_a_wait_ends_with_its_condition_or_its_time(opened: ExitStack) -> None:
    checks: list[None] = []
    topics = gate(opened, lambda: checks.append(None))
    topics.wait_until(lambda: False, 0.0)
    topics.wait_until(lambda: True)
    assert checks == []
    topics.wait_until(lambda: len(checks) == 2, 100.0)


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({}, "publish barrier publish barrier"),
        ({"ordered": False}, "publish publish barrier"),
        ({"acknowledge": True}, "publish wait barrier publish wait barrier"),
    ],
)
def test_samples_are_handed_over_as_the_settings_say(
    opened: ExitStack,
    adapt: Adapt,
    mine: Node,
    monkeypatch: pytest.MonkeyPatch,
    settings: dict[str, Any],
    expected: str,
) -> None:
    """With ``acknowledge`` each is waited for; ``ordered`` ones wait for the one before."""
    opened.enter_context(served(mine))
    adapter = adapt(outputs={"sum": {"topic": "s", "expect": 2, "take": "last"}}, **settings)
    adapter.connect()
    done: list[str] = []

    def noted(kind: type, method: str, name: str) -> None:
        real = getattr(kind, method)

        def call(*given: Any, **more: Any) -> Any:
            done.append(name)
            return real(*given, **more)

        monkeypatch.setattr(kind, method, call)

    noted(ForeignTopics, "publish", "publish")
    noted(ForeignTopics, "barrier", "barrier")
    noted(Publisher, "wait_for_all_acked", "wait")
    samples = tuple(Sample(t, t, CATALOGUE.record(FLOAT)(float(t))) for t in (1, 2))
    values = adapter.activate(Step(10, {"number": samples}, {"number": samples[-1]}))
    assert values["sum"].data == 2.0
    assert " ".join(done) == expected


@pytest.mark.parametrize("looks", [0, 1, 2, 9])
def test_a_barrier_is_as_many_calls_as_it_takes_looks_and_all_that_came_is_received(
    opened: ExitStack, adapt: Adapt, mine: Node, monkeypatch: pytest.MonkeyPatch, looks: int
) -> None:
    opened.enter_context(served(mine))
    adapter = adapt(expect="any")
    adapter.connect()
    topics = adapter._topics
    (publisher,) = (found for found in mine.publishers if found.topic_name == WRITTEN)
    parts: list[int] = []
    call = topics._call

    def counted(calls: int) -> list[int]:
        parts.append(calls)
        return call(calls)

    monkeypatch.setattr(topics, "_call", counted)
    for value in (1.0, 2.0):
        publisher.publish(message_class(FLOAT)(data=value))
    topics.barrier(looks)
    # All calls of a part are on their way before the first is answered.
    assert parts == {0: [1], 1: [2], 2: [3], 9: [8, 2]}[looks]
    assert len(topics.received["sum"]) == 2


def test_the_node_has_done_what_it_was_given_when_it_gives_the_answer_before_the_last(
    opened: ExitStack, adapt: Adapt, mine: Node
) -> None:
    opened.enter_context(served(mine))
    adapter = adapt(expect="any")
    adapter.connect()
    topics = adapter._topics
    client: Any = topics._client
    client.call_async(topics._request)  # of a former one the answer does not count
    first, second = topics._call(2)
    began = time.time_ns()
    assert first <= second < began
    assert not any(topics._call(1)[0] < began for _ in range(2))
    topics.barrier(last=True)
    assert began < topics.asked_ns < time.time_ns()


@pytest.mark.parametrize("accepted", [True, False])
def test_a_node_that_reads_without_reliable_delivery_may_be_accepted(
    opened: ExitStack, adapt: Adapt, accepted: bool
) -> None:
    qos = data_qos()
    qos.reliability = ReliabilityPolicy.BEST_EFFORT
    opened.enter_context(served(made(opened, reads=qos)))
    adapter = adapt(inputs={"number": {"topic": "n", "best_effort": accepted}})
    if accepted:
        adapter.connect()
        assert adapter.activate(step(10, 1.5))["sum"].data == 1.5
        return
    with pytest.raises(ParticipantError, match="the node reads n without reliable delivery"):
        adapter.connect()


@pytest.mark.parametrize("topic", ["in/number", "out/sum", "clock"])
def test_another_publisher_of_a_private_topic_is_named(opened: ExitStack, topic: str) -> None:
    topics = gate(opened)
    node = Node("stranger")
    opened.callback(node.destroy_node)
    place = f"/gate/relay/{topic}"
    kind = message_class("rosgraph_msgs/msg/Clock" if topic == "clock" else FLOAT)
    # The node itself publishes what it writes: one more is a stranger.
    for _ in range(2 if topic == "out/sum" else 1):
        assert topics.strangers() == ""
        node.create_publisher(kind, place, data_qos())
    topics.wait_until(lambda: bool(topics.strangers()))
    assert topics.strangers() == place


def test_a_node_that_cannot_be_started_is_an_error(adapt: Adapt) -> None:
    with pytest.raises(ConfigurationError, match="cannot start no-such-program"):
        adapt(attach=False, command=["no-such-program"])
