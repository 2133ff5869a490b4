# SPDX-License-Identifier: Apache-2.0
"""What writers of a run on a lane publish for onlookers in DDS."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest
from support import patience

pytest.importorskip("rclpy")
pytest.importorskip("ros2_cosim.msg", reason="generated messages are not built")

from rclpy.qos import DurabilityPolicy

from ros2_cosim.interfaces.catalogue import DEFAULT as CATALOGUE
from ros2_cosim.interfaces.protocol import Completion, Horizon
from ros2_cosim.interfaces.wiring import Wiring
from ros2_cosim.kernel.errors import ConfigurationError
from ros2_cosim.kernel.membership import Presence
from ros2_cosim.ros import topics
from ros2_cosim.ros.outputs import OutputTopics
from ros2_cosim.ros.session import Session
from ros2_cosim.ros.short_forms import short_completion, short_horizon
from ros2_cosim.ros.writers import Writer, data_qos, message_class
from ros2_cosim.scenario.schema import make_scenario
from ros2_cosim.scenario.system import build_graph

RUN = "this run"
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


@pytest.mark.parametrize("takes_all", [False, True])
def test_a_flush_tells_whether_the_lane_has_given_everything(
    sessions: tuple[Session, Session], takes_all: bool
) -> None:
    lane = LaneEnd(takes_all=takes_all)
    assert Writer(sessions[0].node, "/a", CODEC, data_qos(), lane=lane).flush() is takes_all


def test_a_message_type_that_is_not_installed_is_named() -> None:
    for name in ("no_such_msgs/msg/Float64", "std_msgs/msg/NoSuchFloat"):
        with pytest.raises(ConfigurationError, match=f"message type {name} cannot be used"):
            message_class(name)
