# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Fuzz targets on sockets beside DCP: VDS1, CARLA's two ports, the data port, message bytes."""

from __future__ import annotations

import asyncio
import json
import logging
import socket
import struct
import zlib
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache
from time import monotonic_ns
from typing import Any

import msgpack
from uvicorn import Config
from uvicorn.server import ServerState

from bench.fuzz.dcp_targets import CONFIG
from bench.fuzz.target import Target, expect, joined, pieces
from ros2_cosim.core.kernel.errors import ProtocolError
from ros2_cosim.core.messages import catalogue
from ros2_cosim.core.messages.records import (
    ControlCommand,
    DetectedObject,
    ObjectList,
    Odometry,
    PlatoonStatus,
    V2VMessage,
)
from ros2_cosim.core.realtime.run_state import RunState
from ros2_cosim.core.realtime.wall_clock import MonotonicClock
from ros2_cosim.core.sockets.peers import ADMISSION
from ros2_cosim.core.sockets.reactor import Reactor
from ros2_cosim.vds.controllable import LiveControl
from ros2_cosim.vds.data_port.api import DataPortApi
from ros2_cosim.vds.data_port.http_access import Access
from ros2_cosim.vds.data_port.http_app import HttpApp
from ros2_cosim.vds.data_port.http_connections import HttpConnection, HttpServer
from ros2_cosim.vds.data_port.telemetry import Telemetry
from ros2_cosim.vds.data_port.view import FleetView
from ros2_cosim.vds.fleet_settings import read_settings
from ros2_cosim.vds.vds1 import decode_command, decode_state, encode_command, encode_state
from ros2_cosim.vds.vehicle_plant import VehicleCommand
from ros2_cosim.world.headless.blueprints import LIBRARY
from ros2_cosim.world.headless.dispatch import UnknownMethodError
from ros2_cosim.world.headless.maps import MapLibrary
from ros2_cosim.world.headless.methods import ALL
from ros2_cosim.world.headless.rpc_channel import RpcDecoder, encode_error, encode_response
from ros2_cosim.world.headless.simulation import Simulation
from ros2_cosim.world.headless.streaming import StreamServer
from ros2_cosim.world.vehicle import VEHICLES

logging.getLogger("ros2_cosim.world.headless").setLevel(logging.CRITICAL)  # as for DCP

_FLEET = {"vehicles": {"front": {"x": 30.0, "speed": 10.0}, "rear": {"speed": 12.0}}}


def _read_vds1(data: bytes) -> None:
    """A datagram as it came, and with a right checksum: no mutation finds that."""
    for datagram in (data, data[:-4] + struct.pack("<I", zlib.crc32(data[:-4]))):
        for decode, encode in ((decode_command, encode_command), (decode_state, encode_state)):
            try:
                seq, stamp, content = decode(datagram)
            except ProtocolError as error:
                refusal = error
                continue
            expect(encode(seq, stamp, content) == datagram, "encoded again, a datagram differs")
            return
    raise refusal


def _vds1_seeds() -> Iterator[bytes]:
    yield encode_command(7, 1.5, VehicleCommand(0.1, 0.5, 0.0, 1, True))
    yield encode_state(7, 1.5, read_settings(_FLEET, "fleet").fleet()["rear"].output().state)


@cache
def _maps() -> MapLibrary:
    return MapLibrary([CONFIG / "highway.xodr", CONFIG / "circuit.xodr"])


def _read_rpc(data: bytes) -> None:
    """Requests of one connection, answered as the server does."""
    simulation = Simulation(_maps(), 1, lambda stream, message: None, lambda stream: True)
    for request in RpcDecoder(max_bytes=1 << 16).feed(data):
        try:
            result = ALL.call(simulation, request.method, request.arguments)
        except UnknownMethodError as error:
            encode_error(request.id, str(error))
        else:
            encode_response(request.id, result)


def _rpc_seeds() -> Iterator[bytes]:
    blueprints = list(LIBRARY.values())
    pose = [[100.0, -2.0, 0.0], [0.0, 0.0, 0.0]]
    settings = [True, False, [True, 0.05], True, 0.01, 10, 0.0, True, 3e3, 2e3, True]
    calls: list[tuple[Any, ...]] = [
        ("set_episode_settings", settings),
        *(
            ("spawn_actor", [b.uid, b.id, [[a.id, a.type, a.value] for a in b.attributes]], pose)
            for b in blueprints[:: max(1, len(blueprints) // 6)]
        ),
        ("apply_control_to_vehicle", 104, [0.5, 0.1, 0.0, False, False, False, 1]),
        ("apply_ackermann_control_to_vehicle", 104, [0.1, 0.0, 9.0, 1.0, 0.0]),
        ("set_actor_target_velocity", 104, [5.0, 0.0, 0.0]),
        ("add_actor_impulse", 104, [5.0, 0.0, 0.0]),
        ("get_physics_control", 104),
        ("tick_cue",),
        ("cast_ray", [0.0, 0.0, 9.0], [0.0, 0.0, -9.0]),
        ("apply_batch", [[[6, [104, [1.0, 2.0, 3.0]]]]], True),
        ("load_new_episode", "circuit", True, 31),
    ]
    packed = [
        msgpack.packb([0, n, name, [[False], *more]]) for n, (name, *more) in enumerate(calls)
    ]
    yield b"".join(packed)
    yield from packed
    yield b"".join(msgpack.packb([0, 1, name, [[False]]]) for name in ALL.names())


@cache
def _stream_server() -> tuple[Reactor, StreamServer]:
    reactor = Reactor()
    return reactor, StreamServer(reactor, "127.0.0.1", 0)


_NO_LINGER = struct.pack("ii", 1, 0)
#: Guards against a server that hangs.
_PATIENCE_NS = 100_000_000_000


def _read_stream(data: bytes) -> None:
    """What a client of a sensor stream sends, piece by piece."""
    reactor, server = _stream_server()
    latest = monotonic_ns() + _PATIENCE_NS
    sent = b""
    with socket.create_connection(("127.0.0.1", server.port)) as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _NO_LINGER)  # thousands of them
        for piece in pieces(data):
            try:
                client.sendall(piece)
            except ConnectionError:
                break
            sent += piece
            reactor.serve_ready()
        if len(sent) == 4:
            (number,) = struct.unpack("<I", sent)
            heard = reactor.run_until(lambda: server.wanted(number), latest)
            expect(heard, "a stream is not sent", number)
    gone = reactor.run_until(lambda: not server.subscribers, latest)
    expect(gone and not server.must_wait(), "a client that is gone holds the server")


def _stream_seeds() -> Iterator[bytes]:
    yield joined([b"\x11\0\0\0"])
    yield joined([b"\x11", b"\0\0", b"\0", b"x"])


@cache
def _data_port() -> DataPortApi:
    settings = read_settings(_FLEET, "fleet")
    fleet, clock = settings.fleet(), MonotonicClock()
    kinds = {name: VEHICLES[v.kind] for name, v in settings.vehicles.items()}
    view = FleetView(fleet, kinds.__getitem__)
    control = LiveControl(RunState(), fleet.dt_ns, lambda: 0, now=clock.now)
    return DataPortApi("fuzz", control, view, view, Telemetry(view.vehicles(), clock))


class _Connection(asyncio.Transport):
    """The connection of an HTTP client of this user: an address without a socket."""

    def __init__(self) -> None:
        super().__init__({"socket": self})
        self.answered = bytearray()
        self.closed = False

    def getsockname(self) -> tuple[str, int]:
        """Either end is here."""
        return "127.0.0.1", 1

    getpeername = getsockname

    def setsockopt(self, *option: int) -> None:
        """It has no packets."""

    def write(self, data: Any) -> None:
        """Keep what was answered."""
        self.answered += data

    def is_closing(self) -> bool:
        """Whether the port has closed it."""
        return self.closed

    def close(self) -> None:
        """Nothing more is heard."""
        self.closed = True

    abort = write_eof = close

    def pause_reading(self) -> None:
        """All has been sent at once."""

    resume_reading = pause_reading


class _AtOnce(ThreadPoolExecutor):
    """Answers in the thread that asks."""

    def submit(self, work: Any, /, *given: Any, **named: Any) -> Future[Any]:
        """Do the work."""
        done: Future[Any] = Future()
        done.set_result(work(*given, **named))
        return done


@cache
def _loop() -> asyncio.AbstractEventLoop:
    loop = asyncio.new_event_loop()
    loop.set_default_executor(_AtOnce())
    return loop


async def _serve(config: Config, data: bytes) -> bytes:
    """What is answered to a client that sends something, and no more."""
    state = ServerState()
    connection, protocol = _Connection(), HttpConnection(config, state, {}, _loop())
    protocol.connection_made(connection)
    if data:
        protocol.data_received(data)
    waits = protocol.eof_received()
    while waits and not connection.closed:
        await asyncio.sleep(0)
    protocol.connection_lost(None)
    await asyncio.gather(*state.tasks)
    return bytes(connection.answered)


@cache
def _http() -> Config:
    return HttpServer(HttpApp(_data_port(), Access(None, DataPortApi.is_open, True))).config


def _read_http(data: bytes) -> None:
    """A connection to the data port: each answer must be one of HTTP, with a document."""
    with ADMISSION.widened(True):
        answered = _loop().run_until_complete(_serve(_http(), data))
    at = 0
    while at < len(answered):
        end = answered.find(b"\r\n\r\n", at)
        head = answered[at:end].decode("latin-1")
        expect(head.startswith("HTTP/1.1 "), head)
        expect(not head.split()[1].startswith("5") or " 501 " in head, head)
        size = next(int(v) for k, _, v in (line.partition(":") for line in head.split("\r\n"))
                    if k == "Content-Length")  # fmt: skip
        at = end + 4
        # An answer to HEAD has no body.
        body = b"" if answered.startswith(b"HTTP/1.1 ", at) else answered[at : at + size]
        if "application/json" in head and body:
            json.loads(body)
        at += len(body)


def _http_seeds() -> Iterator[bytes]:
    def request(method: str, path: str, document: Any = None) -> bytes:
        body = b"" if document is None else json.dumps(document).encode()
        head = f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(body)}\r\n"
        return head.encode() + b"Content-Type: application/json\r\n\r\n" + body

    receivers = [{"host": "127.0.0.1", "port": 9}]
    yield request("POST", "/api/io", {"vehicle": "rear", "throttle": 0.5, "steer": 0.1, "gear": 1})
    yield request("POST", "/api/io/targets", {"vehicle": "rear", "targets": receivers})
    yield request("POST", "/api/run", {"action": "step", "count": 7}) + request("GET", "/api/run")
    yield request("POST", "/api/run", {"action": "rate", "rate": 2.5}) + request("DELETE", "/api/x")
    yield request("GET", "/api/state?vehicle=rear&vehicle=front") + request("GET", "/api/health")


_RECORDS: tuple[Any, ...] = (
    Odometry(*[0.5] * 13),
    ControlCommand(1.0, 0.5, 0.0, 0.1),
    ObjectList((DetectedObject(1, 1, 9.0, 1.0, 0.0, 4.5, 1.8, 1.0),)),
    PlatoonStatus(290.0, 0, False, (5.0, 6.0), ()),
    V2VMessage(1, 5, 1.0, 2.0, 3.0, 0.0, 0.0, 4.5, False),
)
_CODECS = tuple(
    catalogue.codec(catalogue.type_name(type(record)), frame_id="map") for record in _RECORDS
)


def _read_message(data: bytes) -> None:
    """A message of any node on the domain; the first byte chooses its type."""
    codec = _CODECS[data[0] % len(_CODECS)] if data else _CODECS[0]
    stamp, seq, record = codec.decode(data[1:])
    again = codec.encode(stamp, seq or 0, record)
    stamp, seq, record = codec.decode(again)
    expect(codec.encode(stamp, seq or 0, record) == again, "encoded again, a message differs")


def _message_seeds() -> Iterator[bytes]:
    for number, (codec, record) in enumerate(zip(_CODECS, _RECORDS, strict=True)):
        yield bytes((number,)) + codec.encode(1_500_000_000, 7, record)


TARGETS = (
    Target("vds1", _read_vds1, _vds1_seeds, (ProtocolError,), longest=256),
    Target(
        "carla_rpc",
        _read_rpc,
        _rpc_seeds,
        (ProtocolError,),
        words=tuple(msgpack.packb(name) for name in ALL.names()),
        longest=8192,
    ),
    Target("carla_stream", _read_stream, _stream_seeds, refusals=(), longest=64),
    Target(
        "data_port",
        _read_http,
        _http_seeds,
        refusals=(),
        words=(b"Transfer-Encoding: chunked\r\n", b"Content-Length: ", b"Origin: ", b"Expect: ",
               b"http://[", b"%00", b"NaN", b"1e999", b"null", b"/api/state?vehicle=", b"OPTIONS "),
    ),
    Target("message", _read_message, _message_seeds, (ProtocolError,), longest=1024),
)  # fmt: skip
