# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The service for everything, asked by a real client."""

from __future__ import annotations

import pytest

pytest.importorskip("rclpy", reason="needs rclpy, which make setup installs")

from ros2_cosim.core.kernel.lifecycle import State
from ros2_cosim.core.realtime.run_control import Command, Request, RunControl
from ros2_cosim.ros.node.control_services import CONTROL, ControlServices, as_message
from ros2_cosim.ros.node.session import Session

STEP_NS = 10


def test_a_step_that_is_asked_for_again_under_its_number_is_made_once(ros_domain: int) -> None:
    from ros2_cosim.srv import ControlRun

    control = RunControl(step_ns=STEP_NS, paused=True)
    done = 0
    with Session("control_services_test") as session:
        ControlServices(
            session, control, time=lambda: done, state=lambda: State.PAUSED, timer=lambda: 0
        )
        client = session.node.create_client(ControlRun, CONTROL)
        while not client.service_is_ready():
            session.wait(0.05)

        def ask(*numbers: int) -> list[tuple[bool, str, int]]:
            nonlocal done
            step = Request(Command.STEP)
            answers = [client.call_async(as_message(step, number)) for number in numbers]
            while not all(answer.done() for answer in answers):
                session.wait(0.05)
                control.granted = done = max(control.granted, control.limit)
                control.update(done, 0)
            return [(a.result().success, a.result().message, a.result().time_ns) for a in answers]

        assert ask(5, 5, 5) == [(True, "paused at 10ns", 10)] * 3
        assert ask(5) == [(True, "paused at 10ns", 10)]
        assert ask(6) == [(True, "paused at 20ns", 20)]
