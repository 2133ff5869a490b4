# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Recorded traffic with its own ports and times, played to the engine; C and J on sockets, too.

On sockets the ports of the recording may be taken and its times have passed, so the tests of
``test_dcp_vectors`` put in others. The engine has no sockets and a clock set by hand: nothing
has to be changed for it.
"""

from __future__ import annotations

import socket
import struct
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path

import pytest
from support.dcp_engine import Bench
from support.dcp_models import SINE_UUID, running

from ros2_cosim.dcp.slave.declare import describe
from ros2_cosim.dcp.slave.interfaces import Endpoint
from ros2_cosim.dcp.slave.slave_model import Input, Output, SlaveModel, StepInfo
from ros2_cosim.dcp.standard.enums import OpMode
from ros2_cosim.dcp.standard.slave_description import (
    LogCategory,
    LogTemplate,
    SlaveDescription,
)

FOLDER = Path(__file__).parent / "vectors"
LINE = tuple[str, bytes]


def lines(name: str) -> Iterator[LINE]:
    """(sender and receiver, bytes) of each line; frames of TCP keep their length."""
    for line in (FOLDER / f"{name}.txt").read_text().splitlines():
        if line and not line.startswith("#"):
            way, _, rest = line.partition(" ")
            yield way, rest.encode() if way == "@" else bytes.fromhex(rest.replace("|", ""))


class Played(SlaveModel):
    """A sine slave whose outputs are those of the recording, one after the other."""

    y = Output("float64", value_reference=1, start=0.0)
    a = Input("float64", value_reference=2, start=10.0)

    def __init__(self, values: list[str]) -> None:
        self.values = deque(struct.unpack("<d", bytes.fromhex(v))[0] for v in values)

    def initialise(self) -> None:
        self.y = self.values.popleft()

    def do_step(self, step: StepInfo) -> None:
        if self.values:
            self.y = self.values.popleft()
        self.log(1, float(step.time), step.ticks, self.a, self.y)


def sine() -> SlaveDescription:
    return describe(
        Played,
        uuid=SINE_UUID,
        op_modes=(OpMode.SRT,),
        resolutions=(Fraction(1, 100),),
        log_categories=(LogCategory(1, "all"),),
        log_templates=(LogTemplate(1, 1, 3, "%float64 %uint64 %float64 %float64"),),
    )


SIN_10 = "52 4f f3 f5 9e 68 e1 bf"


@pytest.mark.parametrize(
    ("name", "values"),
    [
        (
            "A-clock",
            [SIN_10, "d1 97 a9 8a 05 90 e0 bf", "c8 1e a8 e6 ec b0 dd 3f"]
            + ["28 c5 2e cf 35 10 e4 3f"],
        ),
        ("EF", [SIN_10, SIN_10, "eb 93 2e 76 eb ff ef bf"]),
    ],
)
def test_a_recording_with_its_times(name: str, values: list[str]) -> None:
    target = Endpoint(0, "127.0.0.1", 8080)
    bench = Bench(Played(values), sine())
    for way, data in lines(name):
        if way == "@":
            bench.time = float(data)
            bench.slave.on_time()
        elif way == "M->S":
            bench.slave.receive(data, "master")
        elif way == "S->M":
            assert bench.sent.pop(0).hex(" ") == data.hex(" ")
        else:
            assert bench.data.pop(0) == (target, data)
    assert (bench.sent, bench.data) == ([], [])


PAIR = {
    1: ((("x", 1), ("v", 2)), (("f", 3),)),
    2: ((("f", 5),), (("x", 3), ("v", 4))),
}


def pair_description(number: int) -> SlaveDescription:
    outputs, inputs = PAIR[number]
    model = type(
        f"Pair{number}",
        (SlaveModel,),
        {name: Output("float64", value_reference=vr) for name, vr in outputs}
        | {f"in_{name}": Input("float64", value_reference=vr) for name, vr in inputs},
    )
    return describe(
        model,
        uuid=f"5f0b5f2e-4c1d-4c0e-9a51-0242ac13000{number}",
        op_modes=(OpMode.SRT,),
        resolutions=(Fraction(1, 10),),
    )


class Constant(SlaveModel):
    """Sends the values of the recording."""

    def __init__(self, payload: bytes) -> None:
        self.payload = struct.unpack(f"<{len(payload) // 8}d", payload)

    def initialise(self) -> None:
        self.outputs[:] = self.payload


def pair_payloads() -> dict[int, bytes]:
    return {int(way[3]): data[5:] for way, data in lines("C") if data[0] == 0xF0}


def test_two_slaves_with_data_between_them() -> None:
    """C on the engine: ports, addresses and every byte as recorded."""
    benches = {n: Bench(Constant(p), pair_description(n)) for n, p in pair_payloads().items()}
    for bench in benches.values():
        bench.slave.configuration.control_ports = {}
    listening = {60001: benches[1], 60002: benches[2]}
    for way, data in lines("C"):
        source, target = map(int, way.split(">"))
        if source == 8080:
            benches[target - 8080].slave.receive(data, "master")
        elif target == 8080:
            assert benches[source - 8080].sent.pop(0).hex(" ") == data.hex(" ")
        else:
            receiver = listening[target]
            assert Endpoint(0, "127.0.0.1", target) in receiver.open
            endpoint, sent = benches[source - 8080].data.pop(0)
            assert (endpoint, sent.hex(" ")) == (
                Endpoint(0, "127.0.0.1", target),
                data.hex(" "),
            )
            receiver.slave.receive(sent, None)
    for number, bench in benches.items():
        assert (bench.sent, bench.data) == ([], [])
        bench.slave._data.take_inputs()
        other = pair_payloads()[3 - number]
        assert struct.pack(f"<{len(other) // 8}d", *bench.slave.model.inputs) == other


@contextmanager
def udp() -> Iterator[socket.socket]:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.bind(("127.0.0.1", 0))
        sock.settimeout(30)
        yield sock


def with_port(data: bytes, port: int) -> bytes:
    return data[:7] + port.to_bytes(2, "little") + data[9:]


def test_two_slaves_with_data_between_them_on_sockets() -> None:
    """C between two slaves; what one sends to the other passes the test and is compared."""
    models = {n: Constant(p) for n, p in pair_payloads().items()}
    with (
        running(models[1], pair_description(1), once=False) as first,
        running(models[2], pair_description(2), once=False) as second,
        udp() as master,
        udp() as to_first,
        udp() as to_second,
    ):
        ports = {8081: first.port, 8082: second.port, 60001: first.port, 60002: second.port}
        passing = {60001: to_first, 60002: to_second}
        for way, data in lines("C"):
            source, target = map(int, way.split(">"))
            if source == 8080:
                if data[0] in (0x25, 0x26):
                    named = int.from_bytes(data[7:9], "little")
                    relay = passing[named].getsockname()[1]
                    data = with_port(data, relay if data[0] == 0x25 else ports[named])
                master.sendto(data, ("127.0.0.1", ports[target]))
            elif target == 8080:
                found, address = master.recvfrom(100)
                assert (found.hex(" "), address[1]) == (data.hex(" "), ports[source])
            else:
                found, address = passing[target].recvfrom(100)
                assert (found.hex(" "), address[1]) == (data.hex(" "), ports[source])
                passing[target].sendto(found, ("127.0.0.1", ports[target]))


class Stream:
    """A TCP connection that is compared with the recording, frame by frame."""

    def __init__(self, sock: socket.socket) -> None:
        self.sock = sock
        sock.settimeout(30)

    def take(self, expected: bytes) -> None:
        found = b""
        while len(found) < len(expected):
            part = self.sock.recv(len(expected) - len(found))
            assert part, "the connection has been closed"
            found += part
        assert found.hex(" ") == expected.hex(" ")


def test_frames_over_tcp() -> None:
    """J: what goes over the two connections, lengths included."""
    with (
        running(Played([SIN_10]), sine(), once=False) as slave,
        socket.create_server(("127.0.0.1", 0)) as receiver,
        socket.create_connection(("127.0.0.1", slave.port)) as opened,
    ):
        receiver.settimeout(30)
        control, data_stream = Stream(opened), None
        for way, frame in lines("J"):
            if way == "m>9080":
                if frame[4] in (0x25, 0x26):
                    port = receiver.getsockname()[1] if frame[4] == 0x25 else slave.port
                    frame = frame[:4] + with_port(frame[4:], port)
                opened.sendall(frame)
            elif way == "9080>m":
                control.take(frame)
            else:
                data_stream = Stream(receiver.accept()[0])
                data_stream.take(frame)
        assert data_stream is not None
        data_stream.sock.close()


def test_frames_over_tcp_with_their_ports() -> None:
    """J on the engine: the addresses as recorded (lengths are the matter of the sockets)."""
    bench = Bench(Played([SIN_10]), sine())
    own = Endpoint(4, "127.0.0.1", 9082)
    for way, frame in lines("J"):
        assert int.from_bytes(frame[:4], "little") == len(frame) - 4
        data = frame[4:]
        if way == "m>9080":
            bench.slave.receive(data, "master")
            bench.slave.on_time()
        elif way == "9080>m":
            assert bench.sent.pop(0).hex(" ") == data.hex(" ")
        else:
            assert bench.data.pop(0) == (own, data)
    assert bench.sent == []
