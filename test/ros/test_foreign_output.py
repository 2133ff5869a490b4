# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""What a foreign node publishes is held against what is declared."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

pytest.importorskip("rclpy")

from ros2_cosim.core.kernel.errors import ParticipantError
from ros2_cosim.core.kernel.graph import Latency, OutputPort
from ros2_cosim.core.messages.catalogue import DEFAULT as CATALOGUE
from ros2_cosim.core.messages.foreign import ForeignOutput, HeaderDelay
from ros2_cosim.ros.foreign.foreign_output import CheckedOutput
from ros2_cosim.ros.foreign.foreign_patience import Patience
from ros2_cosim.ros.foreign.foreign_topics import ForeignMessage

FLOAT = "std_msgs/msg/Float64"
CODEC = CATALOGUE.codec(FLOAT)
#: The first message.
FIRST = CODEC.encode(0, 0, CATALOGUE.record(FLOAT)(1.0))
#: Wall time [ns] at which the activation begins.
BEGUN = 1_000

#: Gives what an activation sends when messages with these numbers have come.
Take = Callable[..., Any]
Make = Callable[..., tuple[CheckedOutput, Take]]


@pytest.fixture
def patience() -> Iterator[Patience]:
    made = Patience("relay", 1000.0)
    yield made
    made.close()


@pytest.fixture
def make(patience: Patience) -> Make:
    def output(schedule: str = "every", **settings: Any) -> tuple[CheckedOutput, Take]:
        received: list[ForeignMessage] = []
        port = OutputPort("sum", schedule=schedule, codec=CODEC)
        checked = CheckedOutput(port, ForeignOutput(topic="s", **settings), received, patience)

        def take(
            *numbers: int,
            published_ns: int = BEGUN,
            done: int = 0,
            earliest: int | None = BEGUN,
        ) -> Any:
            for number in numbers:
                data = CODEC.encode(0, 0, CATALOGUE.record(FLOAT)(float(number)))
                received.append(ForeignMessage(data, number, published_ns))
            value = checked.take(0, earliest, done)
            return None if value is None else value.data

        return checked, take

    return output


def test_an_activation_sends_the_one_message_that_came(make: Make) -> None:
    checked, take = make()
    assert [take(1), take(2)] == [1.0, 2.0]
    # Not every middleware counts them.
    assert [take(0), take(0)] == [0.0, 0.0]
    assert checked.has_others  # but one that has counted does so to the end
    checked, take = make()
    assert [take(0), take(0), take(0)] == [0.0] * 3
    assert not checked.has_others
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
    assert take(1, published_ns=BEGUN - 1, earliest=None) == 1.0
    assert take(2, published_ns=BEGUN) == 2.0
    with pytest.raises(ParticipantError, match="was published before this activation began"):
        take(3, published_ns=BEGUN - 1)


@pytest.mark.parametrize(
    ("done", "earliest", "late"),
    [
        (BEGUN + 9, BEGUN, True),
        (1, BEGUN, True),
        # It had come when the node had answered.
        (BEGUN + 10, BEGUN, False),
        # The node has not been asked, or its wall clock may be another one.
        (0, BEGUN, False),
        (BEGUN + 9, None, False),
    ],
)
def test_what_was_published_after_the_answer_came_late(
    make: Make, done: int, earliest: int | None, late: bool
) -> None:
    checked, take = make()
    assert not checked.came_late
    take(1, published_ns=BEGUN + 10, done=done, earliest=earliest)
    assert checked.came_late is late


@pytest.mark.parametrize(
    ("settings", "latched", "sent"),
    [
        ({"expect": "any", "take": "last"}, True, [2.0, None, 3.0]),
        ({"expect": "any", "take": "last"}, False, [None, None, 3.0]),
        # One that the activation itself may send would be one too many.
        ({"expect": "any"}, True, [None, None, 3.0]),
    ],
)
def test_the_last_message_of_a_latched_topic_is_sent_by_the_first_activation(
    make: Make, settings: dict[str, str], latched: bool, sent: list[float | None]
) -> None:
    checked, take = make("sparse", **settings)
    second = CODEC.encode(0, 0, CATALOGUE.record(FLOAT)(2.0))
    early = [ForeignMessage(FIRST, 1, BEGUN - 500), ForeignMessage(second, 2, BEGUN - 400)]
    checked._received.extend(early)
    checked.begin(latched=latched)
    assert [take(), take(), take(3)] == sent
    assert not checked.has_others and not checked.left_out


def test_messages_that_others_follow_in_an_activation_are_counted(make: Make) -> None:
    checked, take = make("sparse", expect="any", take="last")
    assert [take(1, 2, 3), take(4), take(5, 6)] == [3.0, 4.0, 6.0]
    assert checked.left_out == 3
    declared, take = make(expect=2, take="last")
    assert take(1, 2) == 2.0 and not declared.left_out


@pytest.mark.parametrize("schedule", ["every", "once"])
def test_what_came_while_the_node_started_is_dropped_but_of_a_port_that_sends_once(
    make: Make, schedule: str
) -> None:
    kept = schedule == "once"
    checked, take = make(schedule)
    checked.begin()
    checked._received += [
        ForeignMessage(FIRST, number, 0) for number in ((1,) if kept else (1, 2, 3))
    ]
    checked.begin()
    assert take(*(() if kept else (4,))) == (1.0 if kept else 4.0)
    assert not checked.has_others
    checked.refuse_more()
    checked._received.append(ForeignMessage(FIRST, 5, 0))
    with pytest.raises(ParticipantError, match="1 messages came on s .*belong to no activation"):
        checked.refuse_more()


def test_what_is_missing_is_told_until_it_is_there(make: Make) -> None:
    checked, _ = make(expect=2, take="last")
    for number in range(2):
        assert not checked.is_complete()
        assert checked.missing() == f"output 'sum': {number} of 2 messages came on s"
        checked._received.append(ForeignMessage(FIRST, number + 1, BEGUN))
    assert checked.is_complete()


def test_a_message_that_is_none_of_its_type_is_named(make: Make) -> None:
    checked, take = make()
    checked._received.append(ForeignMessage(b"none of it", 1, BEGUN))
    with pytest.raises(ParticipantError, match=r"on s \(port 'sum'\) came: "):
        take()


@pytest.mark.parametrize(
    ("window", "stamps", "said"),
    [
        ("10ns", (105, 115, 125), ""),
        ("10ns", (104,), "104ns; allowed is 105ns to 115ns"),
        ("10ns", (116,), "116ns; allowed is 105ns to 115ns"),
        ("10ns", (105, 126), "126ns; allowed is 115ns to 125ns"),
        ("10ns", (115, 115), ""),
        (
            "30ns",
            (120, 119),
            "119ns; allowed is 115ns to 145ns, and not before the last one (120ns)",
        ),
        ("0ns", (105, 115, 125), ""),
        ("0ns", (106,), "106ns; allowed is 105ns"),
    ],
)
def test_a_stamp_of_the_node_is_within_its_window_and_not_before_the_last_one(
    patience: Patience, window: str, stamps: tuple[int, ...], said: str
) -> None:
    """Activations at 100 ns, 110 ns and so on; the least latency is 5 ns."""
    codec = CATALOGUE.codec("ros2_cosim/msg/ControlCommand")
    record = CATALOGUE.record("ros2_cosim/msg/ControlCommand")(1.0, 0.5, 0.0, -0.25)
    delay = HeaderDelay()
    received: list[ForeignMessage] = []
    checked = CheckedOutput(
        OutputPort("sum", Latency(5, delay), codec=codec),
        ForeignOutput(topic="s", stamp="header", window=window),  # type: ignore[arg-type]
        received,
        patience,
    )

    def take(number: int, stamp: int) -> None:
        received.append(ForeignMessage(codec.encode(stamp, 0, record), number, BEGUN))
        assert checked.take(100 + 10 * number, BEGUN, 0) == record

    *good, last = enumerate(stamps)
    for number, stamp in good if said else [*good, last]:
        take(number, stamp)
        assert delay.delay_ns == stamp - (100 + 10 * number)
    if said:
        with pytest.raises(ParticipantError) as caught:
            take(*last)
        assert str(caught.value).endswith(f"output 'sum': the node stamped its message {said}")
