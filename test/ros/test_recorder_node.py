# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""How fast the recorder wants to know how far the run may go, and who waits for it."""

from __future__ import annotations

import time

import pytest
from runs.cosim_process import PLATOON
from support.patience import until

pytest.importorskip("rclpy", reason="needs rclpy, which make setup installs")

from ros2_cosim.core.kernel.graph import Graph, OutputPort, ParticipantSpec
from ros2_cosim.core.messages.catalogue import DEFAULT as CATALOGUE
from ros2_cosim.core.messages.wiring import Wiring
from ros2_cosim.core.record.results import NoBag
from ros2_cosim.core.scenario.schema import load_scenario
from ros2_cosim.core.sockets.switchboard import CallerEnd, Switchboard
from ros2_cosim.ros.node import topics
from ros2_cosim.ros.node.lane import SocketLane
from ros2_cosim.ros.node.recorder_node import RecorderNode
from ros2_cosim.ros.node.session import Session
from ros2_cosim.ros.programs import carla_slave
from ros2_cosim.ros.programs._start import Started

SECRET = "0" * 32


@pytest.mark.parametrize("sends", [True, False])
def test_only_a_recorder_with_nothing_to_record_lets_the_horizon_wait(
    ros_domain: int, sends: bool
) -> None:
    port = OutputPort("out", codec=CATALOGUE.codec("ros2_cosim/msg/ControlCommand"))
    graph = Graph([ParticipantSpec("a", 10, outputs=(port,) * sends)], [])
    wiring = Wiring.of(graph, lambda participant, port: f"/{participant}/{port}")
    with Switchboard(SECRET) as board, Session("recorder", []) as session:
        session._secret = SECRET
        session.join_lane(board.address)
        RecorderNode(session, wiring, sink=NoBag(), quantum_ns=1, timer=time.monotonic_ns)
        clock = SocketLane(CallerEnd(board.address, SECRET), "/clock")
        horizon = clock.writer(topics.HORIZON, latched=True)
        until(lambda: horizon.peers, lambda: (session.wait(0.01), clock.spin_once(0.01)))
        assert list(horizon.peers.values()) == [not sends]
        clock.close()


def test_a_slave_that_is_asked_to_end_waits_for_no_reader_of_its_report(
    ros_domain: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Recorder and clock have gone with the run; time stands, so no patience of its own ends it."""
    scenario = load_scenario(PLATOON)
    looks = []

    def asked_to_end() -> bool:
        looks.append(len(looks))
        return len(looks) >= 3

    with Switchboard(SECRET) as board, Session("world_slave", []) as session:
        session._secret = SECRET
        session.join_lane(board.address)
        monkeypatch.setattr(session, "timer", lambda: 0)
        started = Started(session, scenario, None, None, None, None)  # type: ignore[arg-type]
        carla_slave._reporter(started, "world", asked_to_end)(1, 2, 1)
    assert len(looks) == 4  # a look before each of two waits, one that ends them, one at the end
