# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""OSI's ground truth while a run is under way: on a topic, and over TCP."""

from __future__ import annotations

import socket
import struct
import threading
from pathlib import Path
from typing import Any

import pytest

from ros2_cosim.core.documents.installed import share_file
from ros2_cosim.core.kernel.address import Address
from ros2_cosim.core.kernel.errors import ConfigurationError, ConnectionFailedError
from ros2_cosim.core.messages.catalogue import DEFAULT
from ros2_cosim.core.record.bag_reader import read_bag
from ros2_cosim.core.run.inproc import run_inproc
from ros2_cosim.core.scenario.check import check_scenario
from ros2_cosim.core.scenario.schema import Scenario, load_scenario

pytest.importorskip("osi3", reason="the extra 'osi' is not installed")

from osi3.osi_groundtruth_pb2 import GroundTruth
from osi3.osi_sensorview_pb2 import SensorView

from ros2_cosim.driving.osi import messages
from ros2_cosim.driving.osi.stream import BACKLOG, MOST_READERS, OsiStream

INPUTS = ", ".join(
    f"{kind}/{name}: world.{kind}/{name}"
    for name in ("leader", "follower1", "follower2")
    for kind in ("odometry", "acceleration")
)
OSI = (
    "participants.osi={model: osi_ground_truth, period: 100ms, parameters: {host: leader}, "
    f"inputs: {{{INPUTS}, static_objects: world.static_objects}}, outputs: {{ground_truth: "
    "{type: std_msgs/msg/UInt8MultiArray, topic: /osi/ground_truth}}}"
)


def platoon(*changes: str) -> Scenario:
    return load_scenario(share_file("config/platoon.yaml"), ["duration=1s", OSI, *changes])


def test_the_topic_has_what_the_trace_has(tmp_path: Path) -> None:
    wanted = "bag.exports.osi={period: 100ms, host: leader}"
    run_inproc(platoon(wanted), tmp_path)
    codec = DEFAULT.codec("std_msgs/msg/UInt8MultiArray")
    topic = [
        bytes(codec.decode(m.data)[2].data)
        for m in read_bag(tmp_path / "bag")
        if m.topic == "/osi/ground_truth"
    ]
    (path,) = (tmp_path / "osi").glob("*_gt_*.osi")
    assert topic == frames_of(path.read_bytes())
    assert len(topic) == 10 and GroundTruth.FromString(topic[0]).lane


@pytest.mark.parametrize(("lanes", "has"), [("none", (False, False)), ("every", (True, True))])
def test_host_and_lanes_are_as_wanted(tmp_path: Path, lanes: str, has: tuple[bool, bool]) -> None:
    """Of the topic, and of all channels of the trace."""
    wishes = (
        f"participants.osi.parameters={{host: follower2, lanes: {lanes}}}",
        f"bag.exports.osi={{period: 100ms, host: follower1, lanes: {lanes}}}",
    )
    run_inproc(platoon("duration=150ms", *wishes), tmp_path)
    codec = DEFAULT.codec("std_msgs/msg/UInt8MultiArray")
    topic = [
        GroundTruth.FromString(bytes(codec.decode(m.data)[2].data))
        for m in read_bag(tmp_path / "bag")
        if m.topic == "/osi/ground_truth"
    ]
    (path,) = (tmp_path / "osi").glob("*_gt_*.osi")
    trace = [GroundTruth.FromString(data) for data in frames_of(path.read_bytes())]
    assert tuple(bool(truth.lane) for truth in topic) == has
    assert tuple(bool(truth.lane) for truth in trace) == has
    assert {truth.host_vehicle_id.value for truth in topic} == {3}
    assert {truth.host_vehicle_id.value for truth in trace} == {2}
    (path,) = (tmp_path / "osi").glob("*_sv_*sensor1.osi")
    views = [SensorView.FromString(data) for data in frames_of(path.read_bytes())]
    assert {bool(view.global_ground_truth.lane) for view in views} == set(has)


def frames_of(data: bytes) -> list[bytes]:
    found, at = [], 0
    while at < len(data):
        (length,) = struct.unpack_from("<I", data, at)
        found.append(data[at + 4 : at + 4 + length])
        at += 4 + length
    return found


def received(link: socket.socket) -> list[bytes]:
    data = bytearray()
    while part := link.recv(65536):
        data += part
    return frames_of(bytes(data))


@pytest.fixture
def stream() -> Any:
    made = OsiStream(Address("127.0.0.1", 0), "here")
    yield made
    made.close()


def connected(stream: OsiStream) -> socket.socket:
    return socket.create_connection(("127.0.0.1", stream.port), timeout=20)


def test_readers_get_the_first_message_and_all_that_follow(stream: OsiStream) -> None:
    stream.send(b"lanes")
    with connected(stream) as link:
        link.settimeout(20)
        assert link.recv(9, socket.MSG_WAITALL) == b"\x05\x00\x00\x00lanes"
        for number in range(20):
            stream.send(b"%d" % number)
        stream.close()
        assert received(link) == [b"%d" % number for number in range(20)]


def test_a_reader_that_does_not_read_loses_messages_and_keeps_nothing_waiting(
    stream: OsiStream,
) -> None:
    stream.PATIENCE = 0.0  # type: ignore[misc]
    stream.send(b"first")
    with connected(stream) as link:
        assert link.recv(9, socket.MSG_WAITALL)[4:] == b"first"
        message = bytes(1_000_000)
        for number in range(2 * BACKLOG):
            stream.send(number.to_bytes(4, "little") + message[4:])
        assert [len(reader._waiting) for reader in stream._readers] == [BACKLOG]
        stream.close()


def test_there_are_so_many_readers_at_most(stream: OsiStream) -> None:
    stream.send(b"x")
    links = [connected(stream) for _ in range(MOST_READERS)]
    for link in links:
        assert link.recv(5, socket.MSG_WAITALL)[4:] == b"x"
    with connected(stream) as late:
        assert late.recv(5) == b""
    for link in links:
        link.close()


def test_an_address_in_use_is_named(stream: OsiStream) -> None:
    with pytest.raises(ConnectionFailedError, match=rf"osi: cannot listen at .*:{stream.port}"):
        OsiStream(Address("127.0.0.1", stream.port), "osi")


def test_a_run_is_streamed(tmp_path: Path) -> None:
    """The port is known when the participant is made: a run at a port that was free just now."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    found: list[bytes] = []

    def read() -> None:
        while True:
            try:
                with socket.create_connection(("127.0.0.1", port), timeout=20) as link:
                    found.extend(received(link))
                    return
            except ConnectionRefusedError:
                continue

    reader = threading.Thread(target=read)
    reader.start()
    run_inproc(platoon(f"participants.osi.parameters.listen='{port}'"), tmp_path)
    reader.join()
    truths = [GroundTruth.FromString(data) for data in found]
    assert truths[0].lane and truths[0].host_vehicle_id.value == 1
    assert messages.time_of(truths[-1].timestamp) == 900_000_000


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ("participants.osi.parameters.host=nobody", "osi.parameters.host: found vehicle 'nobody'"),
        ("participants.osi.parameters.listen=here", "listen: found 'here'; allowed is"),
    ],
)
def test_wrong_settings_are_named(change: str, said: str) -> None:
    with pytest.raises(ConfigurationError, match=said):
        check_scenario(platoon(change))
