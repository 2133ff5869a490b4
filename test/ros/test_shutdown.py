# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""A ROS context that is shut down while timers of its nodes are busy: no error, no traceback."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator

import pytest

rclpy = pytest.importorskip("rclpy")
pytest.importorskip("ros2_cosim.msg", reason="generated messages are not built")

from rclpy._rclpy_pybind11 import RCLError  # noqa: E402
from rclpy.context import Context  # noqa: E402
from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor  # noqa: E402
from rclpy.experimental import EventsExecutor  # noqa: E402
from rclpy.node import Node  # noqa: E402
from rclpy.parameter import Parameter  # noqa: E402
from rclpy.publisher import Publisher  # noqa: E402
from std_msgs.msg import String  # noqa: E402
from visualization_msgs.msg import MarkerArray  # noqa: E402

from ros2_cosim.core.messages import catalogue  # noqa: E402
from ros2_cosim.core.messages.records import Odometry  # noqa: E402
from ros2_cosim.ros.node.session import wall_timer  # noqa: E402
from ros2_cosim.ros.node.visualisation import SCENE_TOPIC, Visualisation  # noqa: E402
from ros2_cosim.ros.node.writers import message_class  # noqa: E402

#: One shutdown in four hits a busy timer of 2 kHz.
ROUNDS = 40
PERIOD_S = 0.0005
ODOMETRY = catalogue.type_name(Odometry)
POSE = Odometry(20.0, 0, 0, 0, 0, 0, 1.0, 10.0, *[0.0] * 5)


@pytest.fixture
def contexts(ros_domain: int) -> Iterator[Callable[[], Context]]:
    """Makes contexts that are shut down at the end of the test at the latest."""
    made: list[Context] = []

    def make() -> Context:
        context = Context()
        rclpy.init(context=context)
        made.append(context)
        return context

    yield make
    for context in made:
        context.try_shutdown()


def spin_until_shut_down(
    node: Node, executor: type, delay_s: float, begun: Callable[[], object]
) -> None:
    """Serve a node while another thread shuts its context down, as rclpy's signal thread does.

    :param delay_s: so long after ``begun``, which is looked for every millisecond
    """

    def shut_down() -> None:
        while not begun():
            time.sleep(0.001)
        time.sleep(delay_s)
        node.context.try_shutdown()

    executing = executor(context=node.context)
    executing.add_node(node)
    other = threading.Thread(target=shut_down)
    other.start()
    try:
        while node.context.ok():
            executing.spin_once(timeout_sec=0.5)
    except ExternalShutdownException:
        pass
    except RCLError:
        # The executor itself has lost the race: it had seen a valid context a moment before.
        if node.context.ok():
            raise
    finally:
        other.join()
        executing.shutdown(timeout_sec=0.5)
        node.destroy_node()


@pytest.mark.parametrize("executor", [EventsExecutor, SingleThreadedExecutor])
def test_a_busy_timer_survives_the_end_of_its_context(
    contexts: Callable[[], Context], executor: type, capfd: pytest.CaptureFixture[str]
) -> None:
    calls = []
    for number in range(ROUNDS):
        node = Node("busy", context=contexts(), start_parameter_services=False)
        publisher = node.create_publisher(String, "words", 10)

        def work(number: int = number, node: Node = node, publisher: Publisher = publisher) -> None:
            calls.append(number)
            for _ in range(20):
                publisher.publish(String(data="word"))
            node.get_node_names()

        wall_timer(node, PERIOD_S, work)
        spin_until_shut_down(
            node, executor, 0.02 + 0.001 * (number % 10), lambda number=number: number in calls
        )
    assert "Traceback" not in capfd.readouterr().err


def test_the_visualisation_survives_the_end_of_its_context(
    contexts: Callable[[], Context], capfd: pytest.CaptureFixture[str]
) -> None:
    codec = catalogue.codec(ODOMETRY, frame_id="map")
    for number in range(ROUNDS):
        node = Node(
            "visualisation",
            context=contexts(),
            parameter_overrides=[Parameter("rate", value=1.0 / PERIOD_S)],
        )
        Visualisation(node, lambda path: pytest.fail("no road was given"))
        drawn: list[bytes] = []
        node.create_subscription(MarkerArray, SCENE_TOPIC, drawn.append, 10, raw=True)
        leader = node.create_publisher(message_class(ODOMETRY), "/leader/odometry", 10)
        wall_timer(
            node, PERIOD_S / 2, lambda leader=leader: leader.publish(codec.encode(0, 0, POSE))
        )
        spin_until_shut_down(
            node, EventsExecutor, 0.05 + 0.001 * (number % 10), lambda drawn=drawn: drawn
        )
    assert "Traceback" not in capfd.readouterr().err


def test_an_error_of_a_timer_is_not_hidden(contexts: Callable[[], Context]) -> None:
    node = Node("wrong", context=contexts(), start_parameter_services=False)

    def fail() -> None:
        raise ArithmeticError("own fault")

    wall_timer(node, PERIOD_S, fail)
    with pytest.raises(ArithmeticError, match="own fault"):
        spin_until_shut_down(node, EventsExecutor, 0.5, lambda: True)
