# SPDX-License-Identifier: Apache-2.0
"""The adapter of a foreign node, with a node in the same process: what it waits for and sees."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

rclpy = pytest.importorskip("rclpy")

from rclpy.node import Node  # noqa: E402
from rclpy.parameter import Parameter  # noqa: E402
from rclpy.publisher import Publisher  # noqa: E402
from rclpy.qos import QoSProfile, ReliabilityPolicy  # noqa: E402
from support.served_nodes import served  # noqa: E402

from ros2_cosim.interfaces.catalogue import DEFAULT as CATALOGUE  # noqa: E402
from ros2_cosim.interfaces.foreign import ForeignSettings  # noqa: E402
from ros2_cosim.kernel.activation import Count  # noqa: E402
from ros2_cosim.kernel.errors import ParticipantError  # noqa: E402
from ros2_cosim.kernel.graph import (  # noqa: E402
    Connection,
    Graph,
    InputPort,
    OutputPort,
    ParticipantSpec,
)
from ros2_cosim.kernel.participant import ModelContext, Sample, Step  # noqa: E402
from ros2_cosim.ros import foreign_node  # noqa: E402
from ros2_cosim.ros.foreign_model import ForeignNode  # noqa: E402
from ros2_cosim.ros.foreign_node import ForeignNodeAdapter  # noqa: E402
from ros2_cosim.ros.foreign_topics import (  # noqa: E402
    ForeignMessage,
    ForeignTopics,
    ForeignWriting,
)
from ros2_cosim.ros.writers import data_qos, message_class  # noqa: E402

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


def node_settings(*, ports: bool = True, **more: Any) -> tuple[ModelContext, ForeignSettings]:
    """Of a participant ``relay`` whose node ``/mine`` has been started elsewhere."""
    number, total = OutputPort("number", codec=CODEC), OutputPort("sum", codec=CODEC)
    relay = ParticipantSpec(
        "relay",
        activation=Count("number", 1) if ports else None,
        period_ns=None if ports else 10,
        inputs=(InputPort("number"),) if ports else (),
        outputs=(total,) if ports else (),
    )
    graph = Graph(
        [ParticipantSpec("source", 10, outputs=(number,)), relay],
        [Connection("source", "number", "relay", "number")] if ports else [],
    )
    tied = {"inputs": {"number": "n"}, "outputs": {"sum": "s"}} if ports else {}
    settings = ForeignSettings(attach=True, node_name="/mine", **(tied | more))
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


def step(time_ns: int, value: float) -> Step:
    sample = Sample(time_ns, 0, CATALOGUE.record(FLOAT)(value))
    return Step(time_ns, {"number": (sample,)}, {"number": sample})


def test_a_node_that_answers_nothing_is_named_with_the_service(adapt: Adapt, mine: Node) -> None:
    adapter = adapt()
    adapter._topics.wait_until(lambda: not adapter._topics.missing())
    adapter.patience_s = 0.2
    with pytest.raises(ParticipantError, match="Missing: an answer of /mine/get_parameters;"):
        adapter.connect()


def test_a_stranger_that_comes_after_the_last_activation_is_seen(
    opened: ExitStack, adapt: Adapt, mine: Node
) -> None:
    opened.enter_context(served(mine))
    adapter = adapt()
    adapter.connect()
    assert adapter.activate(step(10, 1.5))["sum"].data == 1.5
    assert adapter.not_repeatable() is None
    mine.create_publisher(message_class(FLOAT), READ, data_qos())
    adapter._topics.wait_until(lambda: bool(adapter._topics.strangers()))
    adapter.finish()
    assert adapter.not_repeatable() == (
        0,
        f"more than one program publishes on {READ}, in whatever order",
    )


def test_a_message_after_the_last_activation_is_refused_at_the_end(
    opened: ExitStack, mine: Node
) -> None:
    opened.enter_context(served(mine))
    model = ForeignNode(*node_settings())
    opened.callback(model.close)
    assert model.activate(step(10, 1.5))["sum"].data == 1.5
    model.finish()
    (publisher,) = (found for found in mine.publishers if found.topic_name == WRITTEN)
    publisher.publish(message_class(FLOAT)(data=2.0))
    with pytest.raises(ParticipantError, match="1 messages came on s .*belong to no activation"):
        model.finish()


def test_the_clock_of_a_node_shows_the_time_of_the_activation(
    opened: ExitStack, adapt: Adapt
) -> None:
    simulated = Parameter("use_sim_time", value=True)
    remapped = ["--ros-args", "-r", "/clock:=/gate/relay/clock"]
    node = made(opened, parameter_overrides=[simulated], cli_args=remapped)
    opened.enter_context(served(node))
    adapter = adapt(use_sim_time=True)
    adapter.connect()
    for time_ns in (10, 5_000_000_000):
        assert adapter.activate(step(time_ns, 1.5))["sum"].data == 1.5
        assert node.get_clock().now().nanoseconds == time_ns


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


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({}, "publish barrier publish barrier barrier"),
        ({"ordered": False}, "publish publish barrier barrier barrier"),
        ({"acknowledge": True}, "publish wait barrier publish wait barrier barrier"),
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
    topics = ForeignTopics(
        "relay", "/mine", {"number": FLOAT}, {"sum": ForeignWriting(FLOAT)}, lambda name: {},
        barrier=False, clock=True, check=lambda: None,
    )  # fmt: skip
    opened.callback(topics.close)
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
