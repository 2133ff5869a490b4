# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The gateway to buses of python-can, and logs that python-can reads again."""

from __future__ import annotations

import json
import socket
from pathlib import Path
from typing import Any

import pytest
from can_bus.test_frames import frames
from hypothesis import given

from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.run.inproc import run_inproc
from ros2_cosim.core.scenario.check import check_scenario
from ros2_cosim.core.scenario.schema import load_scenario
from ros2_cosim.driving.can import gateway
from ros2_cosim.driving.can.frames import BusFrame
from ros2_cosim.driving.can.gateway import frame_of_message, message_of_frame
from ros2_cosim.driving.can.messages import CAN_FRAME

can = pytest.importorskip("can", reason="the extra 'can' is not installed")


@given(frames())
def test_frames_come_back_from_python_can(frame: BusFrame) -> None:
    message = message_of_frame(frame)
    assert frame_of_message(message) == frame


def scenario(tmp_path: Path, interface: str, channel: str, options: Any = None, **bag: Any) -> Any:
    data = {
        "name": "gateway",
        "description": "a counter, a bus and what is outside",
        "duration": "50ms",
        "bag": bag,
        "participants": {
            "counter": {
                "model": "support.can_models:FrameCounter",
                "period": "10ms",
                "parameters": {"id": 0x123, "length": 4},
                "inputs": {"frames": {"from": "can.receive/counter", "handled": True}},
                "outputs": {"frame": {"type": CAN_FRAME, "topic": "/frame"}},
            },
            "outside": {
                "model": "can_gateway",
                "period": "5ms",
                "offset": "5ms",
                "parameters": {
                    "interface": interface,
                    "channel": channel,
                    "options": {"fd": True} if options is None else options,
                },
                "inputs": {"frames": {"from": "can.receive/outside", "handled": True}},
                "outputs": {"frames": {"type": CAN_FRAME, "topic": "/in", "schedule": "sparse"}},
            },
            "can": {
                "model": "can_bus",
                "period": "100ms",
                "dynamic_step": True,
                "parameters": {"controllers": {"counter": {}, "outside": {}}},
                "inputs": {
                    "transmit/counter": {"from": "counter.frame", "handled": True},
                    "transmit/outside": {"from": "outside.frames", "handled": True},
                },
                "outputs": {
                    port: {
                        "type": CAN_FRAME,
                        "topic": f"/{port}",
                        "schedule": "sparse",
                        "latency": "40us",
                    }
                    for port in ("receive/counter", "receive/outside", "frames")
                },
            },
        },
    }
    path = tmp_path / "gateway.json"
    path.write_text(json.dumps(data))
    return load_scenario(path)


def exchange(tmp_path: Path, interface: str, channel: str) -> None:
    """A run whose frames another program on that bus has, and the other way round."""
    with can.Bus(interface=interface, channel=channel, fd=True) as other:
        running = scenario(tmp_path, interface, channel)
        sent = can.Message(arbitration_id=0x55, is_extended_id=False, data=b"hi")

        # What is sent before the gateway has opened its bus does not reach it.
        opened = gateway.CanGateway.attach

        def attach(self: Any, host: Any) -> None:
            opened(self, host)
            other.send(sent)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(gateway.CanGateway, "attach", attach)
            summary = run_inproc(running, tmp_path / "out")
        received = []
        while (message := other.recv(0.2)) is not None:
            received.append(message)
    assert [m.arbitration_id for m in received] == [0x123] * 5
    assert [bytes(m.data)[0] for m in received] == [1, 2, 3, 4, 5]
    # Frames that the model heard from outside: the one, before its next activation.
    assert received[-1].data[1] == 1
    assert summary.figures["outside"] == {"sent": 5, "received": 1}
    assert summary.repeatable is False


def test_frames_go_out_and_come_in_on_a_virtual_bus(tmp_path: Path) -> None:
    exchange(tmp_path, "virtual", f"test {tmp_path}")


def test_frames_go_out_and_come_in_on_socketcan(tmp_path: Path) -> None:
    try:
        socket.socket(socket.AF_CAN, socket.SOCK_RAW, socket.CAN_RAW).close()
        socket.if_nametoindex("vcan0")
    except OSError as error:
        pytest.skip(f"this kernel has no SocketCAN with an interface vcan0: {error}")
    exchange(tmp_path, "socketcan", "vcan0")


def test_options_go_to_the_interface(tmp_path: Path) -> None:
    options = {"receive_own_messages": True}
    running = scenario(tmp_path, "virtual", f"own {tmp_path}", options)
    summary = run_inproc(running, tmp_path / "out", record=False)
    # Each frame comes back, goes over the bus and is out again.
    assert summary.figures["outside"]["received"] >= 4


def test_an_unknown_interface_gets_one_line(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="interface: found 'telepathy'; allowed are "):
        check_scenario(scenario(tmp_path, "telepathy", "x"), "inproc")


@pytest.mark.parametrize("kind", ["asc", "blf", "log"])
def test_logs_have_every_frame_once(kind: str, tmp_path: Path) -> None:
    running = scenario(tmp_path, "virtual", f"log {tmp_path}", exports={"can": {"format": kind}})
    run_inproc(running, tmp_path / "out")
    with can.LogReader(tmp_path / "out" / "can" / f"can.{kind}") as reader:
        found = list(reader)
    assert [frame_of_message(m).data[0] for m in found] == [1, 2, 3, 4, 5]
    times = [m.timestamp - found[0].timestamp for m in found]
    assert times == pytest.approx([0.0, 0.01, 0.02, 0.03, 0.04], abs=2e-5)


def test_a_log_needs_the_frames_of_a_bus(tmp_path: Path) -> None:
    running = scenario(tmp_path, "virtual", "x", exports={"can": {}}, exclude=["/frames"])
    with pytest.raises(ConfigurationError, match=r"bag.exports.can: found a bag without /frames"):
        check_scenario(running, "inproc")
