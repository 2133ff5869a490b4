# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""What writers of a run on a lane publish for onlookers in DDS."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from typing import Any

import pytest
from support import patience

pytest.importorskip("rclpy")
pytest.importorskip("ros2_cosim.msg", reason="generated messages are not built")

from rclpy.qos import DurabilityPolicy

from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.kernel.membership import Presence
from ros2_cosim.core.messages.catalogue import DEFAULT as CATALOGUE
from ros2_cosim.core.messages.protocol import Completion, Horizon
from ros2_cosim.core.messages.raw import CarrierCodec
from ros2_cosim.core.messages.wiring import Wiring, edge_topic
from ros2_cosim.core.process.seal import SealCheck, Sealer
from ros2_cosim.core.scenario.schema import make_scenario
from ros2_cosim.core.scenario.system import build_graph
from ros2_cosim.ros.node import topics
from ros2_cosim.ros.node.outputs import OutputTopics
from ros2_cosim.ros.node.session import Session
from ros2_cosim.ros.node.short_forms import short_completion, short_horizon
from ros2_cosim.ros.node.writers import Writer, data_qos, message_class

RUN = "this run"
FLOAT = "std_msgs/msg/Float64"
CODEC = CATALOGUE.codec(topics.HORIZON_TYPE)


class LaneEnd:
    """The writing end of a topic on a lane: keeps what is sent."""

    readers = 1

    def __init__(self, *, takes_all: bool = True) -> None:
        self.sent: list[tuple[bytes, int, int]] = []
        self._takes_all = takes_all

    @property
    def reader_nodes(self) -> list[str]:
        return ["/reader"]

    def send(self, data: bytes, stamp: int = 0, seq: int = 0, value: Any = None) -> None:
        self.sent.append((data, stamp, seq))

    def flush(self) -> bool:
        return self._takes_all


@pytest.fixture
def sessions(ros_domain: int) -> Iterator[tuple[Session, Session]]:
    with ExitStack() as stack:
        clock = stack.enter_context(Session("clock", []))
        yield clock, stack.enter_context(Session("onlooker", [], host=clock))


def until(sessions: tuple[Session, ...], condition: Callable[[], bool]) -> None:
    patience.until(condition, lambda: [session.wait(0.01) for session in sessions])


def test_a_later_onlooker_gets_the_newest_horizon_and_all_that_follow(
    sessions: tuple[Session, Session],
) -> None:
    clock, onlooker = sessions
    lane = LaneEnd()
    qos = data_qos(latched=True)
    writer = Writer(
        clock.node, topics.HORIZON, CODEC, qos, lane=lane, short=short_horizon
    )  # fmt: skip
    horizons = [Horizon(RUN, time_ns, 1000) for time_ns in range(5)]
    for horizon in horizons[:3]:
        writer.send(horizon)
    assert lane.sent == [(b"", time_ns, 1000) for time_ns in range(3)]

    got: list[Horizon] = []
    onlooker.outside_reader(
        topics.HORIZON, topics.HORIZON_TYPE, qos, lambda data: got.append(CODEC.decode(data)[2])
    )
    until(sessions, lambda: bool(got))
    assert got == horizons[2:3]
    for horizon in horizons[3:]:
        writer.send(horizon)
    until(sessions, lambda: len(got) == 3)
    assert got == horizons[2:]


def test_later_readers_get_what_a_latched_output_sent(sessions: tuple[Session, Session]) -> None:
    clock, onlooker = sessions
    kind = "std_msgs/msg/Float64"
    ports = {
        name: {"type": kind, "topic": f"/{name}", "latched": kept}
        for name, kept in {"kept": True, "passing": False}.items()
    }
    source = {"model": "support.gate_models:Source", "period": "10ms", "outputs": ports}
    data = {"name": "latched", "duration": "1s", "participants": {"source": source}}
    graph = build_graph(make_scenario(data, "test"))
    wiring = Wiring.of(graph, lambda name, port: f"/{port}")
    OutputTopics(clock, wiring, "source", lambda: 0)

    def kept(topic: str) -> list[bool]:
        found = onlooker.node.get_publishers_info_by_topic(topic)
        return [each.qos_profile.durability == DurabilityPolicy.TRANSIENT_LOCAL for each in found]

    until(sessions, lambda: bool(kept("/kept") and kept("/passing")))
    assert (kept("/kept"), kept("/passing")) == ([True], [False])


def test_a_horizon_with_presences_is_kept_as_well(sessions: tuple[Session, Session]) -> None:
    clock, onlooker = sessions
    qos = data_qos(latched=True)
    writer = Writer(
        clock.node, topics.HORIZON, CODEC, qos, lane=LaneEnd(), short=short_horizon
    )  # fmt: skip
    writer.send(Horizon(RUN, 1, 1000))
    newest = Horizon(RUN, 2, 1000, (Presence("late", 2, 1000),))
    writer.send(newest)
    got: list[Horizon] = []
    onlooker.outside_reader(
        topics.HORIZON, topics.HORIZON_TYPE, qos, lambda data: got.append(CODEC.decode(data)[2])
    )
    until(sessions, lambda: bool(got))
    assert got == [newest]


def test_an_onlooker_gets_whole_records_of_which_the_lane_has_two_numbers(
    sessions: tuple[Session, Session],
) -> None:
    clock, onlooker = sessions
    codec = CATALOGUE.codec(topics.COMPLETION_TYPE)
    lane = LaneEnd()
    writer = Writer(clock.node, "/a", codec, data_qos(), lane=lane, short=short_completion)
    completions = [Completion("a", number, 10 * number, 99, "", ()) for number in range(3)]
    got: list[Completion] = []
    writer.send(completions[0])
    onlooker.outside_reader(
        "/a", topics.COMPLETION_TYPE, data_qos(), lambda data: got.append(codec.decode(data)[2])
    )
    until(sessions, lambda: writer.onlookers == 1)
    # The middleware has told its own thread of the onlooker before.
    until(sessions, lambda: writer._publisher.is_wanted)
    for completion in completions[1:]:
        writer.send(completion)
    until(sessions, lambda: len(got) == 2)
    assert got == completions[1:]
    assert lane.sent == [(b"", 0, 0), (b"", 10, 1), (b"", 20, 2)]
    for subscription in list(onlooker.node.subscriptions):
        onlooker.node.destroy_subscription(subscription)
    until(sessions, lambda: not writer._publisher.is_wanted)


@pytest.mark.parametrize("takes_all", [False, True])
def test_a_flush_tells_whether_the_lane_has_given_everything(
    sessions: tuple[Session, Session], takes_all: bool
) -> None:
    lane = LaneEnd(takes_all=takes_all)
    writer = Writer(sessions[0].node, "/a", CODEC, data_qos(), lane=lane)
    assert writer.flush() is takes_all
    assert (writer.readers, writer.reader_nodes()) == (1, ["/reader"])


@pytest.mark.parametrize("takes_all", [False, True])
def test_a_flush_tells_whether_the_middleware_has_given_everything(
    sessions: tuple[Session, Session], monkeypatch: pytest.MonkeyPatch, takes_all: bool
) -> None:
    limits: list[int] = []

    def confirmed(limit: Any) -> bool:
        limits.append(limit.nanoseconds)
        return takes_all

    for lane in (None, LaneEnd()):
        writer = Writer(sessions[0].node, "/a", CODEC, data_qos(), lane=lane)
        monkeypatch.setattr(writer._publisher._publisher, "wait_for_all_acked", confirmed)
        assert writer.flush() is takes_all
    assert limits == [2_000_000_000] * 2


@pytest.mark.parametrize("kind", ["run", "lane", "onlookers"])
def test_what_has_no_header_is_published_in_a_carrier_and_as_it_is(
    sessions: tuple[Session, Session], monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    """Of a run without a lane always, else if there is somebody who reads it."""
    clock, onlooker = sessions
    codec = CATALOGUE.wire_codec(FLOAT)
    assert isinstance(codec, CarrierCodec)
    lane = LaneEnd() if kind == "lane" else None
    writer = Writer(
        clock.node, "/a", codec, data_qos(), lane=lane, for_onlookers=kind == "onlookers"
    )
    publishers = [writer._publisher, writer._plain_publisher]
    assert None not in publishers
    assert [publisher.is_wanted for publisher in publishers if publisher] == [kind == "run"] * 2
    flushed: list[tuple[bool, int]] = []

    def note(limit: Any, carrier: bool) -> bool:
        flushed.append((carrier, limit.nanoseconds))
        return True

    for publisher, carrier in zip(publishers, (True, False), strict=True):
        assert publisher is not None
        confirmed = partial(note, carrier=carrier)
        monkeypatch.setattr(publisher._publisher, "wait_for_all_acked", confirmed)
    writer.flush_onlookers(9)
    assert flushed == []
    carried: list[Any] = []
    plain: list[bytes] = []
    onlooker.outside_reader("/a", FLOAT, data_qos(), plain.append)
    until(sessions, lambda: publishers[1].is_wanted and publishers[1].readers == 1)
    writer.flush_onlookers(9)
    assert flushed == ([] if kind == "run" else [(False, 9)])
    onlooker.outside_reader(
        edge_topic("/a", codec),
        codec.type_name,
        data_qos(),
        lambda data: carried.append(codec.decode(data)),
    )
    until(sessions, lambda: publishers[0].is_wanted and writer.onlookers == 1)
    record = CATALOGUE.record(FLOAT)(2.5)
    writer.send(record, 20, 3)
    until(sessions, lambda: bool(carried and plain))
    assert carried == [(20, 3, record)]
    assert codec.inner.decode(plain[0])[2] == record
    assert writer.plain(codec.encode(20, 3, record))[: len(plain[0])] == plain[0]
    if lane is not None:
        assert lane.sent == [(codec.encode(20, 3, record), 20, 3)]
    writer.send(record)
    until(sessions, lambda: len(carried) == 2)
    assert carried[1] == (0, 0, record)


def test_an_onlooker_that_is_there_already_gets_the_first_message(
    sessions: tuple[Session, Session],
) -> None:
    clock, onlooker = sessions
    got: list[bytes] = []
    onlooker.outside_reader("/a", topics.HORIZON_TYPE, data_qos(), got.append)
    writer = Writer(clock.node, "/a", CODEC, data_qos(), lane=LaneEnd())
    writer.send(Horizon(RUN, 1, 1000))
    until(sessions, lambda: len(got) == 1)


def test_a_reader_of_another_type_is_not_served(sessions: tuple[Session, Session]) -> None:
    clock, onlooker = sessions
    writer = Writer(clock.node, "/a", CODEC, data_qos())
    onlooker.outside_reader("/a", topics.HORIZON_TYPE, data_qos(), lambda data: None)
    until(sessions, lambda: writer.reader_nodes() == ["/onlooker"])
    (reader,) = clock.node.get_subscriptions_info_by_topic("/a")
    assert writer._serves(reader) is True
    reader.topic_type = FLOAT
    assert writer._serves(reader) is False


@pytest.mark.parametrize("topic", ["/a", topics.HORIZON])
def test_what_is_published_is_sealed_and_what_is_on_the_lane_is_not(
    sessions: tuple[Session, Session], topic: str
) -> None:
    clock, onlooker = sessions
    lane = LaneEnd()
    qos = data_qos(latched=True)
    writer = Writer(clock.node, topic, CODEC, qos, Sealer("secret", topic), lane)
    data = CODEC.encode(0, 0, Horizon(RUN, 1, 1000))
    got: list[bytes] = []
    onlooker.outside_reader(topic, topics.HORIZON_TYPE, qos, got.append)
    writer.send_bytes(data)
    until(sessions, lambda: bool(got))
    assert SealCheck("secret", topic).fault(got[0]) is None
    assert got[0][: len(data)] == data and len(got[0]) > len(data)
    assert lane.sent == [(data, 0, 0)]


def test_a_message_type_that_is_not_installed_is_named() -> None:
    for name in ("no_such_msgs/msg/Float64", "std_msgs/msg/NoSuchFloat"):
        with pytest.raises(ConfigurationError, match=f"message type {name} cannot be used"):
            message_class(name)
