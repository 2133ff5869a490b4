# SPDX-License-Identifier: Apache-2.0
"""What a foreign node publishes is held against what is declared."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

pytest.importorskip("rclpy")

from ros2_cosim.interfaces.catalogue import DEFAULT as CATALOGUE
from ros2_cosim.interfaces.foreign import ForeignOutput
from ros2_cosim.kernel.errors import ParticipantError
from ros2_cosim.kernel.graph import OutputPort
from ros2_cosim.ros.foreign_output import CheckedOutput
from ros2_cosim.ros.foreign_patience import Patience
from ros2_cosim.ros.foreign_topics import ForeignMessage

FLOAT = "std_msgs/msg/Float64"
CODEC = CATALOGUE.codec(FLOAT)
#: Wall time [ns] at which the activation begins.
BEGUN = 1_000

#: Gives what an activation sends when messages with these numbers have come.
Take = Callable[..., Any]
Make = Callable[..., tuple[CheckedOutput, Take]]


@pytest.fixture
def make() -> Iterator[Make]:
    patience = Patience("relay", 1000.0)

    def output(schedule: str = "every", **settings: Any) -> tuple[CheckedOutput, Take]:
        received: list[ForeignMessage] = []
        port = OutputPort("sum", schedule=schedule, codec=CODEC)
        checked = CheckedOutput(port, ForeignOutput(topic="s", **settings), received, patience)

        def take(*numbers: int, published_ns: int = BEGUN) -> Any:
            for number in numbers:
                data = CODEC.encode(0, 0, CATALOGUE.record(FLOAT)(float(number)))
                received.append(ForeignMessage(data, number, published_ns))
            value = checked.take(0, BEGUN, 0)
            return None if value is None else value.data

        return checked, take

    yield output
    patience.close()


def test_an_activation_sends_the_one_message_that_came(make: Make) -> None:
    _, take = make()
    assert [take(1), take(2)] == [1.0, 2.0]
    with pytest.raises(ParticipantError, match=r"0 messages came on s \(port 'sum'\); .* are 1$"):
        take()
    with pytest.raises(ParticipantError, match=r"2 messages came on s \(port 'sum'\); .* are 1$"):
        take(3, 4)


def test_a_port_that_sends_once_sends_nothing_later(make: Make) -> None:
    checked, take = make("once")
    assert not checked.is_complete()
    # It may come while the node starts.
    assert take(1, published_ns=BEGUN - 1) == 1.0
    assert checked.is_complete()
    assert take() is None
    with pytest.raises(ParticipantError, match="a second message came on s .*sent once"):
        take(2)


def test_any_number_of_messages_may_be_allowed(make: Make) -> None:
    checked, take = make("sparse", expect="any")
    assert checked.is_complete()
    assert [take(), take(1), take()] == [None, 1.0, None]
    with pytest.raises(ParticipantError, match=r"2 messages .*; expected is at most one$"):
        take(2, 3)


def test_lost_messages_are_seen_by_their_numbers_also_where_two_publish(make: Make) -> None:
    checked, take = make(expect=3, take="last")
    assert take(4, 5, 6) == 6.0
    assert not checked.has_others
    # Another publisher counts for itself.
    assert take(7, 2, 8) == 8.0
    assert checked.has_others
    with pytest.raises(ParticipantError, match="message number 10 after number 8: messages are l"):
        take(10, 11, 12)


def test_what_was_published_before_the_activation_belongs_to_none(make: Make) -> None:
    _, take = make()
    with pytest.raises(ParticipantError, match="was published before this activation began"):
        take(1, published_ns=BEGUN - 1)
