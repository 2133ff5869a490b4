# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""A run that begins anew in its process finds its nodes, and all that they have, where they were.

Fast DDS may hang while anything of that is given up.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from support.patience import until

pytest.importorskip("rclpy")
pytest.importorskip("ros2_cosim.msg", reason="generated messages are not built")

import rclpy
from rcl_interfaces.msg import Log, ParameterEvent
from rclpy.action import ActionClient, CancelResponse, GoalResponse
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.qos import qos_profile_parameter_events
from std_srvs.srv import Trigger
from tf2_msgs.action import LookupTransform

from ros2_cosim.core.kernel.errors import Cancelled
from ros2_cosim.core.messages.catalogue import DEFAULT as CATALOGUE
from ros2_cosim.core.messages.protocol import Horizon
from ros2_cosim.core.sockets.switchboard import Switchboard
from ros2_cosim.ros.node import answers
from ros2_cosim.ros.node.deferred_service import deferred_service as serve_later
from ros2_cosim.ros.node.lasting_node import LastingNode
from ros2_cosim.ros.node.session import Session
from ros2_cosim.ros.node.simulated_log import ROSOUT_QOS
from ros2_cosim.ros.node.writers import ClockWriter, data_qos

TOPIC, KIND = "/numbers", "ros2_cosim/msg/Horizon"
CODEC = CATALOGUE.codec(KIND)


@pytest.fixture
def _nothing_is_given_up(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Until the function that it gives is called nothing of a node may be given up."""

    def forbidden(*arguments: object) -> None:
        raise AssertionError(f"given up: {arguments}")

    for name in ("node", "publisher", "subscription", "service", "client"):
        monkeypatch.setattr(Node, f"destroy_{name}", forbidden)
    return monkeypatch.undo


class Run:
    """What a run has in the middleware: a topic that it writes and reads, and a service."""

    def __init__(self, name: str) -> None:
        self.session = Session("keeper", [])
        node = self.session.node
        self.writer = self.session.port_writer(TOPIC, CODEC, data_qos(), for_onlookers=True)
        self.clock = ClockWriter(node, 0)
        self.heard: list[str] = []
        self.session.outside_reader(
            TOPIC, KIND, data_qos(), lambda data: self.heard.append(CODEC.decode(data)[2].run_id)
        )
        self.further = self.session.add_node("further")
        serve_later(node, Trigger, "/who", self._answer)
        self.client = self.further.create_client(Trigger, "/who")
        self.ticks = 0
        node.create_timer(0.001, self._tick)
        self.name = name

    def _tick(self) -> None:
        self.ticks += 1

    def _answer(self, request: Any, response: Any, send: Callable[[], None]) -> None:
        response.message = self.name
        send()

    def endpoints(self) -> list[int]:
        nodes = (self.session.node, self.further)
        return [
            id(endpoint)
            for node in nodes
            for endpoint in (
                node, *node.publishers, *node.subscriptions, *node.services, *node.clients
            )
        ]  # fmt: skip

    def exchange(self) -> None:
        """Say and hear something, ask and be answered; all of it of this run."""
        until(
            lambda: self.client.service_is_ready() and self.writer.onlookers,
            partial(self.session.wait, 0.01),
        )
        until(lambda: self.session.node.count_subscribers(TOPIC), partial(self.session.wait, 0.01))
        count = 0

        def said() -> bool:
            nonlocal count
            self.writer.send(Horizon(f"{self.name} {count}", 0, 0, ()))
            count += 1
            return bool(self.heard)

        until(said, partial(self.session.wait, 0.01))
        assert {word.partition(" ")[0] for word in self.heard} == {self.name}
        answer = self.client.call_async(Trigger.Request())
        until(answer.done, partial(self.session.wait, 0.01))
        assert answer.result().message == self.name
        until(lambda: self.ticks > 2, partial(self.session.wait, 0.01))


@pytest.mark.usefixtures("ros_domain")
def test_what_a_run_has_in_the_middleware_stays_for_the_next(
    _nothing_is_given_up: Callable[[], None],
) -> None:
    run = Run("first")
    try:
        assert run.session.parameter("word", "default") == "default"
        run.exchange()
        there = run.endpoints()
        for name in ("second", "third"):
            ticks, former = run.ticks, run
            run.session.begins_anew()
            run.session.close()
            run = Run(name)
            assert run.session.parameter("word", "default") == "default"
            run.exchange()
            assert run.endpoints() == there
            assert former.ticks == ticks, "nothing of the former run is called"
            assert len(list(run.session.node.timers)) == 1
    finally:
        _nothing_is_given_up()
        run.session.close()


@pytest.mark.parametrize("has_lane", [False, True])
@pytest.mark.usefixtures("ros_domain")
def test_an_action_stays_for_a_client_that_was_there_before(has_lane: bool) -> None:
    """The second run did not answer, or the process died: the server had been given up."""
    client = executor = None
    with Switchboard("") as board:
        for name in ("first", "second", "third"):
            session = Session("keeper", [])
            if has_lane:
                session.join_lane(board.address)

            def execute(goal: Any, name: str = name) -> Any:
                goal.succeed()
                result = LookupTransform.Result()
                result.error.error_string = name
                return result

            node = session.node
            assert isinstance(node, LastingNode)
            server = node.create_action_server(
                LookupTransform,
                "/look_up",
                execute=execute,
                accept=lambda goal: GoalResponse.ACCEPT,
                cancel=lambda goal: CancelResponse.ACCEPT,
            )
            if client is None:
                kept = server
                own = rclpy.create_node("client")
                executor = SingleThreadedExecutor()
                executor.add_node(own)
                client = ActionClient(own, LookupTransform, "/look_up")

            def meanwhile(session: Session = session, executor: Any = executor) -> None:
                executor.spin_once(timeout_sec=0.01)
                session.wait(0.01)

            until(client.server_is_ready, meanwhile)
            sent = client.send_goal_async(LookupTransform.Goal())
            until(sent.done, meanwhile)
            found = sent.result().get_result_async()
            until(found.done, meanwhile)
            assert found.result().result.error.error_string == name
            assert server is kept
            if name != "third":
                session.begins_anew()
                session.close()
        executor.shutdown()
        client.destroy()
        own.destroy_node()
        session.close()


@pytest.mark.usefixtures("ros_domain")
def test_what_others_of_the_run_know_a_node_by_is_given_up() -> None:
    """Without a lane the end of a node's topics is how the others learn of its end."""
    first = Session("member", [])
    first.reader(TOPIC, KIND, data_qos(), lambda data: None)
    node = first.node
    first.begins_anew()
    first.close()
    with Session("member", []) as second:
        assert second.node is not node


@pytest.mark.usefixtures("ros_domain")
def test_a_signal_between_two_runs_reaches_the_second() -> None:
    first = Session("asked", [])
    first.begins_anew()
    first.close()
    os.kill(os.getpid(), signal.SIGTERM)
    with Session("asked", []) as second, pytest.raises(Cancelled, match="SIGTERM"):
        second.wait(0.0)


@pytest.mark.usefixtures("ros_domain")
def test_a_node_that_is_not_wanted_again_goes_with_the_process() -> None:
    host = Session("host", [])
    member = Session("member", [], host=host)
    gone = []
    member.node.add_on_set_parameters_callback(lambda parameters: None)
    destroy = member.node.destroy_node
    member.node.destroy_node = lambda: (gone.append("member"), destroy())
    for session in (member, host):
        session.begins_anew()
        session.close()
    assert not gone
    Session("host", []).close()
    assert gone == ["member"]


def test_an_answer_is_sent_until_its_client_has_been_found() -> None:
    """rclpy tells by a warning that the middleware has not found the client in its 100 ms."""
    import warnings

    class Service:
        lost = 3
        answers: list[str] = []

        def send_response(self, response: str, header: object) -> None:
            if self.lost:
                self.lost -= 1
                warnings.warn(f"{answers.NOT_FOUND}: of a test", RuntimeWarning, stacklevel=1)
            else:
                self.answers.append(response)

    service = Service()
    answers.answer_until_heard(service)
    service.send_response("answer", "header")
    assert (service.lost, service.answers) == (0, ["answer"])


@pytest.mark.usefixtures("ros_domain")
def test_services_of_a_run_send_their_answers_so() -> None:
    """Those that answer at once and those that answer later, also when they are taken over."""
    for name in ("first", "second"):
        session = Session(name, [])
        at_once = session.node.create_service(Trigger, "/at_once", lambda request, answer: answer)
        serve_later(session.node, Trigger, "/later", lambda request, answer, send: send())
        later = next(s for s in session.node.services if s.srv_name == "/later")
        for service in (at_once, later):
            assert "send_response" in vars(service)
        session.begins_anew()
        session.close()
    Session("third", []).close()


@pytest.mark.usefixtures("ros_domain")
def test_the_clock_and_the_log_of_a_node_show_simulated_time() -> None:
    heard: list[Log] = []
    with Session("shown", [], simulated_time=True) as session:
        session.start_ns = 1_700_000_000_000_000_001
        node = session.node
        assert node.get_parameter("use_sim_time").value is True
        assert node.count_subscribers("/clock") == 0, "the owner sets it"
        times = [-1]
        session.follow(node, lambda: times[-1])
        assert node.get_clock().now().nanoseconds == session.start_ns
        reader = rclpy.create_node("reader")
        executor = SingleThreadedExecutor()
        executor.add_node(reader)
        reader.create_subscription(Log, "/rosout", heard.append, ROSOUT_QOS)
        until(lambda: node.count_subscribers("/rosout"), partial(session.wait, 0.01))
        times.append(5)
        for number in range(3):
            node.get_logger().warning(f"again {number}", once=True)
        times.append(7)
        node.get_logger().get_child("part").info("of a part")
        node.get_logger().debug("too little")
        until(lambda: len(heard) == 2, lambda: executor.spin_once(timeout_sec=0.01))
        executor.shutdown()
        reader.destroy_node()
    told = [(m.stamp.sec, m.stamp.nanosec, m.level, m.name, m.msg, m.function) for m in heard]
    here = "test_the_clock_and_the_log_of_a_node_show_simulated_time"
    assert told == [
        (1_700_000_000, 6, 30, "shown", "again 0", here),
        (1_700_000_000, 8, 20, "shown.part", "of a part", here),
    ]
    assert {message.file for message in heard} == {__file__}


@pytest.mark.usefixtures("ros_domain")
def test_no_other_node_of_its_name_is_told_to_follow_the_clock() -> None:
    """One of rclcpp takes an event with its own name for its own."""
    heard: list[tuple[str, str]] = []

    def hear(event: ParameterEvent) -> None:
        heard.extend((event.node, parameter.name) for parameter in event.new_parameters)

    rclpy.init()
    reader = rclpy.create_node("reader")
    reader.create_subscription(
        ParameterEvent, "/parameter_events", hear, qos_profile_parameter_events
    )
    nodes: list[Node] = []
    for number in range(3):
        nodes.append(LastingNode(f"shown{number}", simulated_time=True))
        until(lambda: nodes[-1].count_subscribers("/parameter_events") > 0)
        nodes[-1].declare_parameter("later", 1)
        nodes.append(Node(f"plain{number}"))
        until(lambda: nodes[-1].count_subscribers("/parameter_events") > 0)
        nodes[-1].declare_parameter("later", 1)
    expected = {(f"/{node.get_name()}", "later") for node in nodes}
    until(lambda: expected <= set(heard), lambda: rclpy.spin_once(reader, timeout_sec=0.01))
    told = {node for node, name in heard if name == "use_sim_time"}
    assert told <= {"/plain0", "/plain1", "/plain2"} and told
    for node in (*nodes, reader):
        node.destroy_node()
    rclpy.shutdown()
