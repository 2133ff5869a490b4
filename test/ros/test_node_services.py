# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Every node of a run answers the tools of ROS, also while the run stands."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from support.isolation import drop_dds_settings
from support.launched_run import Launched, launched
from support.patience import until

rclpy = pytest.importorskip("rclpy")

from rcl_interfaces.msg import Parameter, ParameterValue  # noqa: E402
from rcl_interfaces.srv import (  # noqa: E402
    DescribeParameters,
    GetParameters,
    ListParameters,
    SetParameters,
)
from rclpy.context import Context  # noqa: E402
from rclpy.executors import SingleThreadedExecutor  # noqa: E402
from rclpy.node import Node  # noqa: E402
from rosgraph_msgs.msg import Clock  # noqa: E402

from ros2_cosim.core.process.seal import RUN_SECRET  # noqa: E402
from ros2_cosim.core.sockets.switchboard import LANE  # noqa: E402
from ros2_cosim.ros.bringup.starter_channel import CHANNEL  # noqa: E402

_REPEAT_S = 2.0
_BOOL, _STRING = 1, 4


class Tool:
    """A node that looks at a run from outside."""

    def __init__(self) -> None:
        self.context = Context()
        rclpy.init(context=self.context)
        self.node = Node("tool", context=self.context, start_parameter_services=False)
        self.executor = SingleThreadedExecutor(context=self.context)
        self.executor.add_node(self.node)

    def until(self, condition: Callable[[], Any], what: str) -> None:
        until(condition, partial(self.executor.spin_once, timeout_sec=0.05), lambda: what)

    def ask(self, kind: Any, service: str, request: Any) -> Any:
        client = self.node.create_client(kind, service)
        self.until(client.service_is_ready, service)
        futures: list[Any] = []

        def answered() -> bool:
            # The first answer may get lost while both sides find each other.
            if time.monotonic() > asked_at[0] + _REPEAT_S:
                asked_at[0] = time.monotonic()
                futures.append(client.call_async(request))
            return any(future.done() for future in futures)

        asked_at = [-_REPEAT_S]
        self.until(answered, f"no answer of {service}")
        self.node.destroy_client(client)
        return next(future.result() for future in futures if future.done())

    def close(self) -> None:
        self.executor.shutdown()
        self.node.destroy_node()
        rclpy.shutdown(context=self.context)


@pytest.fixture
def paused(
    ros_domain: int, nothing_left: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Launched]:
    drop_dds_settings(monkeypatch)
    with launched(tmp_path, "car_following", paused="true") as running:
        for name, value in running.request.environment.items():
            if name not in (CHANNEL, RUN_SECRET, LANE):
                monkeypatch.setenv(name, value)  # the transports of the run
        yield running


def test_nodes_of_a_paused_run_answer_the_tools_of_ros(paused: Launched) -> None:
    tool = Tool()
    try:
        planned = [process for process in paused.request.plan if process.is_ros]
        # Those of a shared process have parameters of their own, too.
        nodes = {name for process in planned for name in (process.node, *process.hosts)}
        clocks: list[Clock] = []
        types: dict[str, int] = {}
        for name in sorted(nodes):
            listed = tool.ask(
                ListParameters, f"/{name}/list_parameters", ListParameters.Request()
            ).result.names
            assert "scenario_file" in listed
            values = tool.ask(
                GetParameters,
                f"/{name}/get_parameters",
                GetParameters.Request(names=["use_sim_time"]),
            ).values
            assert values[0].bool_value, name
            described = tool.ask(
                DescribeParameters,
                f"/{name}/describe_parameters",
                DescribeParameters.Request(names=list(listed)),
            ).descriptors
            own = [d for d in described if not d.name.startswith(("use_sim_time", "start_type"))]
            assert all(d.read_only and d.description for d in own), own
            constraints = {d.name: d.additional_constraints for d in own}
            assert constraints["scenario_file"] == "a file"
            assert constraints.get("paused", "true or false") == "true or false"
            types.update({d.name: d.type for d in own})
            other = Parameter(
                name="scenario_file", value=ParameterValue(type=_STRING, string_value="other")
            )
            answer = tool.ask(
                SetParameters,
                f"/{name}/set_parameters",
                SetParameters.Request(parameters=[other]),
            ).results[0]
            assert not answer.successful and "read-only" in answer.reason
        assert (types["paused"], types["bag"], types["scenario_file"]) == (_BOOL, _BOOL, _STRING)
        tool.until(
            lambda: {
                i.node_name for i in tool.node.get_publishers_info_by_topic("/rosout")
            }.issuperset(nodes),
            "publishers of /rosout",
        )
        # A late reader of time is not left without any while the run stands.
        tool.node.create_subscription(Clock, "/clock", clocks.append, 10)
        tool.until(lambda: len(clocks) > 1, "time while the run stands")
        assert {(c.clock.sec, c.clock.nanosec) for c in clocks} == {(0, 0)}
    finally:
        tool.close()
