# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Fuzz targets around a run: its link to another host, a page that starts it, CARLA's answers."""

from __future__ import annotations

import json
import os
import socket
import struct
from collections.abc import Iterator
from contextlib import closing, suppress
from typing import Any

import msgpack

from bench.fuzz.dcp_targets import CONFIG
from bench.fuzz.target import Target, expect, joined, pieces
from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.messages.definitions import parse_constants, parse_definition, used_types
from ros2_cosim.lab.web.starter_page import StarterApi
from ros2_cosim.ros.bringup.far_link import (
    Ended,
    FarLine,
    FarLink,
    FarProcess,
    Joined,
    LinkEnd,
    LinkError,
    Part,
    PartFailed,
    greet,
)
from ros2_cosim.ros.bringup.starter_channel import EarlyLeave, Required
from ros2_cosim.world.headless.server_wire import (
    ServerWire,
    Snapshot,
    Stream,
    StreamMessage,
    WireError,
    contact_of,
)
from ros2_cosim.world.headless.snapshot import (
    SENSOR_WORLD,
    STATE_NONE,
    pack_record,
    pack_sensor_header,
    pack_world,
    stream_token,
)

#: Guards against a wait for ever only.
_HANG_S = 100.0
_STATE = (0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 11.0, 12.0, 13.0, 14.0)


def _read_greeting(data: bytes) -> None:
    """What a stranger says at the port where a run waits for another host."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        theirs.sendall(data)
        theirs.shutdown(socket.SHUT_WR)
        greet(ours, "secret", "lab", is_part=False)


def _read_link(data: bytes) -> None:
    """What comes over the pipes of a command; an accepted message comes back unchanged."""
    if data.startswith(b"?"):
        _read_greeting(data[1:])
        return
    reader, writer = os.pipe()
    try:
        link = FarLink(reader, writer)
        os.write(writer, data + b"\n")
        for message in _received(link):
            link.send(message)
            expect(_received(link) == [message], "sent again, a message differs", message)
        link.others()
    finally:
        os.close(reader)
        os.close(writer)


def _received(link: FarLink) -> list[Any]:
    with suppress(LinkEnd):
        return link.receive(0.0)
    return []


def _link_seeds() -> Iterator[bytes]:
    process = FarProcess(
        name="a", executable="x.py", package="", parameters={"k": [1, 2.5, "t"]}, arguments=("-x",),
        is_ros=True, required=True, leaves=False, participant="a", hosts=("a",), namespace="/",
        ros_arguments=(),
    )  # fmt: skip
    part = Part(
        host="lab", scenario="{}", directory="/d", within="", there=None, files={"f": "0" * 64},
        processes=(process,), environment={"ROS_DOMAIN_ID": "7"}, own="192.0.2.7",
        addresses=("192.0.2.1", "192.0.2.7"), most_nodes=3, namespace="/",
    )  # fmt: skip
    for messages in (
        [Joined(version="1"), FarLine(process="a", text="b"), Ended()],
        [part],
        [
            EarlyLeave(participant="a", how="b"),
            Required(participants=("a",)),
            PartFailed(reason="r"),
        ],
    ):
        lines = (b"cosim-far " + message.model_dump_json().encode() for message in messages)
        yield b"Welcome!\n" + b"\n".join(lines)
    yield b"?" + b"0" * 32 + b"\n" + b"1" * 32 + b"\n"


def _read_start(data: bytes) -> None:
    """A request to a page that starts runs: its path, and behind a line end its body."""
    path, _, body = data.partition(b"\n")
    api = StarterApi(CONFIG / "library")
    for method in ("POST", "GET"):
        answer = api.answer(method, path.decode("latin-1"), body)
        expect(answer.status < 500, "an answer", answer)
        if answer.content_type == "application/json":
            json.loads(answer.body)
        if answer.status == 400:
            text = json.loads(answer.body)["error"]
            expect(text.isprintable() and text != "", "an answer", text)


def _start_seeds() -> Iterator[bytes]:
    def request(path: str, document: Any) -> bytes:
        return path.encode() + b"\n" + json.dumps(document).encode()

    values = {"duration": 2.5, "seed": 7}
    yield request("/api/start", {"scenario": "braking.yaml", "values": values, "rate": 2.0})
    yield request("/api/start", {"scenario": "braking", "values": {"seed": True}})
    yield request("/api/stop", {})
    yield b"/api/scenarios?name=braking.yaml\n"


def _read_server(data: bytes) -> None:
    """What a server that is not a CARLA answers to the bridge: answers first, then its streams."""
    first, *rest = [*pieces(data)] or [b""]
    with closing(socket.create_server(("127.0.0.1", 0))) as listener:
        wire = ServerWire("127.0.0.1", listener.getsockname()[1], _HANG_S)
        there, _ = listener.accept()
    refused: WireError | None = None
    with closing(wire), there:
        there.sendall(first)
        there.shutdown(socket.SHUT_WR)
        try:
            wire.actors([24])
        except WireError as error:
            refused = error
    for piece in rest:
        ours, theirs = socket.socketpair()
        with theirs, closing(Stream(ours)) as stream:
            theirs.sendall(struct.pack("<I", len(piece)) + piece)
            try:
                _look(stream.wait())
            except WireError as error:
                refused = error
    if refused is not None:
        raise refused


def _look(message: StreamMessage | None) -> None:
    """Read a message as a snapshot if its head says so, else as a contact."""
    if message is None:
        return
    if message.data[0] != SENSOR_WORLD:
        contact_of(message)
        return
    snapshot = Snapshot(message, {})
    for actor in snapshot.actors():
        expect(snapshot.motion(actor) is not None, "an actor without a motion", actor)


def _server_seeds() -> Iterator[bytes]:
    actor = [24, 0, [1, b"vehicle.a.b", []], [[0.0, 0.0, 1.0], [2.0, 1.0, 1.0], [0.0] * 3], [],
             stream_token(3, 2000)]  # fmt: skip
    answer = msgpack.packb([1, 1, None, [[True, [actor]]]])
    refusal = msgpack.packb([1, 1, None, [[False, [b"no such actor"]]]])
    contact = pack_sensor_header(0, 7, 0.1) + msgpack.packb([actor, [25], [1.0, 2.0, 3.0]])
    snapshot = pack_world(7, 0.1, 1, 0.1, 0.05, STATE_NONE, [pack_record(24, _STATE)])
    yield joined([answer, contact, snapshot])
    yield joined([answer, b"short"])
    yield joined([refusal])


def _read_definition(data: bytes) -> None:
    """A message definition of a package that this machine does not know."""
    text = data.decode("latin-1")
    fields = parse_definition("a/msg/B", text)
    expect({f.type for f in fields if "/" in f.type} == used_types("a/msg/B", text), text)
    for name in parse_constants("a/msg/B", text):
        expect(name.isidentifier(), "a constant", name)


def _definition_seeds() -> Iterator[bytes]:
    yield b"""# comment
uint8 KIND_A=1
string NAME='text'
float64 PI=3.14
std_msgs/Header header
int32 number 7
float64[3] place
string<=10[<=5] names
Other[] others
"""


TARGETS = (
    Target("far_link", _read_link, _link_seeds, (LinkError,)),
    Target("start_page", _read_start, _start_seeds, refusals=(), longest=1024),
    Target("carla_server", _read_server, _server_seeds, (WireError,), longest=1024),
    Target("definition", _read_definition, _definition_seeds, (ConfigurationError,), longest=512),
)
