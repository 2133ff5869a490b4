# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""A foreign lifecycle node is active before the run, and as it was found after it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any, Literal

import pytest

rclpy = pytest.importorskip("rclpy")

from lifecycle_msgs.msg import State  # noqa: E402
from lifecycle_msgs.srv import ChangeState, GetState  # noqa: E402
from rclpy.node import Node  # noqa: E402
from support.patience import until  # noqa: E402
from support.served_nodes import served  # noqa: E402

from ros2_cosim.core.kernel.errors import ParticipantError  # noqa: E402
from ros2_cosim.ros.foreign.foreign_lifecycle import ForeignLifecycle  # noqa: E402
from ros2_cosim.ros.foreign.foreign_patience import Patience  # noqa: E402
from ros2_cosim.ros.foreign.foreign_topics import ForeignTopics  # noqa: E402

NAMES = {1: "unconfigured", 2: "inactive", 3: "active", 4: "finalized", 10: "configuring"}
#: Number of a transition -> its name, and the state after it.
TRANSITIONS = {
    1: ("configure", 2),
    2: ("cleanup", 1),
    3: ("activate", 3),
    4: ("deactivate", 2),
}


class Bench:
    """A lifecycle node in the states that a test says, and what brings it up."""

    def __init__(
        self, opened: ExitStack, mode: Literal["manage", "own"], states: list[int]
    ) -> None:
        self.asked: list[str] = []
        self.missing: list[str] = []
        self.begun = 0
        self.refuses = ""
        #: The node is in the last one for good.
        self._states = states
        self.patience = Patience("relay", 1000.0)
        opened.callback(self.patience.close)
        begin = self.patience.begin

        def count(waits_for: Callable[[], str]) -> None:
            self.begun += 1
            begin(waits_for)

        self.patience.begin = count  # type: ignore[method-assign]
        topics = ForeignTopics(
            "relay", "/mine", {}, {}, lambda name: {},
            barrier=False, clock=False, check=self.patience.check,
        )  # fmt: skip
        opened.callback(topics.close)
        node = Node("mine")
        opened.callback(node.destroy_node)
        node.create_service(GetState, "/mine/get_state", self._tell)
        node.create_service(ChangeState, "/mine/change_state", self._change)
        opened.enter_context(served(node))
        #: How long it was left alone between two questions [s].
        self.rests: list[float] = []

        def wait(condition: Callable[[], bool], seconds: float) -> None:
            self.rests += [] if condition.__name__ == "done" else [seconds]
            topics.wait_until(condition, seconds)

        self.life = ForeignLifecycle(topics.node, "/mine", mode, self.patience, wait)
        topics.wait_until(lambda: self.life.found)

    def _tell(self, request: Any, answer: Any) -> Any:
        state = self._states[0]
        if len(self._states) > 1:
            del self._states[0]
        self.missing.append(self.patience._missing())
        answer.current_state = State(id=state, label=NAMES[state])
        return answer

    def _change(self, request: Any, answer: Any) -> Any:
        name, state = TRANSITIONS[request.transition.id]
        self.asked.append(name)
        self.missing.append(self.patience._missing())
        answer.success = name != self.refuses
        self._states = [state if answer.success else 4]
        return answer


Make = Callable[..., Bench]


@pytest.fixture
def make(ros_domain: int) -> Iterator[Make]:
    rclpy.init()
    with ExitStack() as opened:
        opened.callback(rclpy.try_shutdown)
        yield lambda mode, *states: Bench(opened, mode, list(states))


@pytest.mark.parametrize(
    ("mode", "states", "rests", "up", "down"),
    [
        ("manage", (1,), 0, ["configure", "activate"], ["deactivate", "cleanup"]),
        ("manage", (10, 2), 1, ["activate"], ["deactivate", "cleanup"]),
        ("manage", (3,), 0, [], ["deactivate", "cleanup"]),
        # Another program does that.
        ("own", (1, 2, 3), 2, [], []),
    ],
)
def test_the_node_is_brought_up_and_down_unless_another_program_does_that(
    make: Make, mode: str, states: tuple[int, ...], rests: int, up: list[str], down: list[str]
) -> None:
    bench = make(mode, *states)
    bench.life.bring_down()  # it has not been brought up
    assert (bench.asked, bench.missing) == ([], [])
    bench.life.bring_up()
    assert (bench.asked, bench.life.state, bench.rests) == (up, "active", [0.1] * rests)
    # For each transition it has the whole time.
    assert bench.begun == 1 + len(up)
    bench.life.bring_down()
    assert bench.asked == up + down
    if down:
        assert bench.life.state == "unconfigured"


@pytest.mark.parametrize("kind", [GetState, ChangeState])
def test_a_node_that_has_one_of_the_two_services_is_no_lifecycle_node(
    ros_domain: int, kind: Any
) -> None:
    rclpy.init()
    with ExitStack() as opened:
        opened.callback(rclpy.try_shutdown)
        node = Node("mine")
        opened.callback(node.destroy_node)
        patience = Patience("relay", 1000.0)
        opened.callback(patience.close)
        life = ForeignLifecycle(node, "/mine", "manage", patience, lambda condition, seconds: None)
        names = {GetState: "/mine/get_state", ChangeState: "/mine/change_state"}
        node.create_service(kind, names.pop(kind), lambda request, answer: answer)
        until(lambda: life._get.service_is_ready() or life._change.service_is_ready())
        assert not life.found
        ((other, name),) = names.items()
        node.create_service(other, name, lambda request, answer: answer)
        until(lambda: life.found)


OTHER = "; another program has to activate it (lifecycle: own)"


@pytest.mark.parametrize(
    ("mode", "states", "told"),
    [
        (
            "manage",
            (2,),
            [
                "in a state that it has not reported yet",
                "inactive; it has been asked to activate",
                "inactive",
            ],
        ),
        (
            "own",
            (1, 3),
            [f"in a state that it has not reported yet{OTHER}", f"unconfigured{OTHER}"],
        ),
    ],
)
def test_what_it_is_in_and_asked_to_do_is_told_while_it_is_waited_for(
    make: Make, mode: str, states: tuple[int, ...], told: list[str]
) -> None:
    bench = make(mode, *states)
    bench.life.bring_up()
    assert bench.missing == [f"the lifecycle node /mine is {text}" for text in told]


@pytest.mark.parametrize(
    ("state", "said"),
    [
        (1, ", which was unconfigured, refused to configure; it is finalized now"),
        (4, " has been shut down"),
    ],
)
def test_a_node_that_refuses_or_has_been_shut_down_ends_the_run(
    make: Make, state: int, said: str
) -> None:
    bench = make("manage", state)
    bench.refuses = "configure"
    with pytest.raises(ParticipantError) as caught:
        bench.life.bring_up()
    assert str(caught.value).endswith(f": the lifecycle node /mine{said}")
