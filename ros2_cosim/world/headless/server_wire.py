# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The client's end of the wire: what the bridge says to a server in every step, without threads.

The ``carla`` client passes each message through its own threads: one sends, another receives,
and a third one has to be woken to take it over. In a step there are two messages only, the call
and the snapshot. They are written and read here, by the thread that needs them: the calls have the
bytes that the client would send, on their own connection, and so have the streams.

A stream is read as far as its bytes have arrived. A server writes what happens in a tick before it
begins with the next one, so that on one host a client that has read the snapshot of a tick finds
everything of all ticks before it.
"""

from __future__ import annotations

import select
import socket
import struct
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from typing import Any, NamedTuple

import msgpack

from ros2_cosim.core.documents.files import cause_of
from ros2_cosim.core.documents.one_line import one_line
from ros2_cosim.core.kernel.exactmath import float32
from ros2_cosim.core.scene.simulator import Body, Motion, Pose
from ros2_cosim.world.headless.outsiders import OUTSIDE_CHANGES, OutsideChange
from ros2_cosim.world.headless.rpc_channel import REQUEST, RESPONSE
from ros2_cosim.world.headless.rpc_channel import CallRefused as CallRefused
from ros2_cosim.world.headless.rpc_channel import WireError as WireError
from ros2_cosim.world.headless.snapshot import (
    EPISODE_HEADER,
    LENGTH,
    LIGHT_RECORD,
    RECORD,
    RECORD_BYTES,
    SENSOR_HEADER,
    TOKEN,
)

LOOK_PERIOD_S = 0.2
"""A wait for a message returns after this time without one, so that its reader can look around."""
#: Answers to calls that nothing waits for are read after so many calls: some kilobytes.
_CALLS_PER_LOOK = 64
#: A server that is still there answers at the end of a run within this time [s].
_ANSWER_S = 10.0
_READ_SIZE = 256 * 1024
#: A longer message of a stream is invalid: a snapshot of 500,000 actors is shorter [bytes].
_LONGEST_MESSAGE = 64 * 1024 * 1024
_SET_CONTROL, _SET_POSE, _SET_VELOCITY = 2, 6, 8  # commands of a batch, by their number
_SET_PHYSICS = 14
_ADDRESSES = {1: (socket.AF_INET, 4), 2: (socket.AF_INET6, 16)}  # others: that of the server
_FRAME_AT = 8
_RECORDS_AT = SENSOR_HEADER.size + EPISODE_HEADER.size
_FRAME = struct.Struct("<Q")
_TIMEOUT = struct.Struct("@ll")

Command = list[Any]
"""A command of a batch, as it travels."""


@contextmanager
def _reading(what: str) -> Iterator[None]:
    """Surrounds what reads bytes of a server, which may be another one than it says.

    :raises WireError: they are not of CARLA's protocol
    """
    try:
        yield
    except (
        ArithmeticError, LookupError, TypeError, ValueError, msgpack.UnpackException, struct.error
    ):  # fmt: skip
        raise WireError(f"{what}: found bytes that are not of CARLA's protocol") from None


def control_command(actor: int, throttle: float, steer: float, brake: float) -> Command:
    """Set a vehicle's controls: automatic gear, backwards below zero, no hand brake."""
    pedals = abs(throttle), steer, brake
    return [[_SET_CONTROL, [actor, [*pedals, False, throttle < 0.0, False, 0]]]]


def pose_command(actor: int, pose: Pose) -> Command:
    """Put an actor somewhere."""
    x, y, z, pitch, yaw, roll = pose
    return [[_SET_POSE, [actor, [[x, y, z], [pitch, yaw, roll]]]]]


def velocity_command(actor: int, velocity: tuple[float, float, float]) -> Command:
    """Give an actor a velocity [m/s, world frame]."""
    return [[_SET_VELOCITY, [actor, [*velocity]]]]


def hold_command(actor: int) -> Command:
    """Switch the physics of an actor off."""
    return [[_SET_PHYSICS, [actor, False]]]


class StreamMessage(NamedTuple):
    """A message of a stream: the frame that it belongs to, and all of its bytes."""

    frame: int
    data: bytes


class FoundActor(NamedTuple):
    """An actor that is there: its blueprint, its box, and where its stream is, if it has one."""

    id: int
    blueprint: str
    body: Body
    token: bytes


class Stream:
    """One stream of a server.

    :param sock: a connected socket, which the stream owns from now on
    """

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock
        self._rest = b""
        # One system call for a read, where a timeout of Python's sockets takes two.
        sock.settimeout(None)
        microseconds = _TIMEOUT.pack(0, int(LOOK_PERIOD_S * 1e6))
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, microseconds)

    def fileno(self) -> int:
        """Number of the socket, for polling."""
        return self._sock.fileno()

    def wait(self) -> StreamMessage | None:
        """The next message; None if none has come within ``LOOK_PERIOD_S``.

        :raises WireError: the stream has ended, or what it brings is not a message
        """
        return self._next(0)

    def arrived(self) -> StreamMessage | None:
        """The next message, if it is there.

        :raises WireError: the stream has ended, or what it brings is not a message
        """
        return self._next(socket.MSG_DONTWAIT)

    def _next(self, flags: int) -> StreamMessage | None:
        while True:
            data = self._rest
            if len(data) >= LENGTH.size:
                end = LENGTH.size + LENGTH.unpack_from(data)[0]
                if end > _LONGEST_MESSAGE:
                    raise WireError(f"a stream announced a message of {end} bytes")
                if len(data) >= end:
                    self._rest = data[end:]
                    message = data[LENGTH.size : end]
                    if len(message) < SENSOR_HEADER.size:
                        raise WireError(f"a stream brought {len(message)} bytes without a head")
                    return StreamMessage(_FRAME.unpack_from(message, _FRAME_AT)[0], message)
            try:
                more = self._sock.recv(_READ_SIZE, flags)
            except BlockingIOError:
                return None
            except OSError as error:
                raise WireError(cause_of(error)) from None
            if not more:
                raise WireError("a stream has ended")
            self._rest = data + more if data else more

    def close(self) -> None:
        """Leave the stream."""
        self._sock.close()


class ServerWire:
    """A connection for calls, and streams.

    :param timeout_s: longest wait for a connection, and for the answer to a call
    :raises WireError: nothing answers there
    """

    def __init__(self, host: str, port: int, timeout_s: float) -> None:
        self._host = host
        self._timeout_s = timeout_s
        self._calls = self._connect(host, port)
        self._calls.settimeout(None)
        self._calls.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._single = msgpack.Packer(use_single_float=True)  # as the client sends commands
        self._double = msgpack.Packer()
        self._unpacker = msgpack.Unpacker(raw=True)  # texts of CARLA may be in any encoding
        self._number = 0

    def _connect(self, host: str, port: int) -> socket.socket:
        try:
            return socket.create_connection((host, port), self._timeout_s)
        except OSError as error:
            raise WireError(f"no connection to {host}:{port}: {cause_of(error)}") from None

    def post(self, method: str, *arguments: Any) -> None:
        """Make a call that nothing waits for.

        :raises WireError: the server has gone
        """
        number = self._send(self._single, method, arguments, forget=True)
        if number % _CALLS_PER_LOOK == 0:
            with suppress(BlockingIOError), _reading("answers to calls"):
                self._take(socket.MSG_DONTWAIT)
                for _ in self._unpacker:
                    pass

    def call(self, method: str, *arguments: Any) -> Any:
        """Make a call and wait for the value that it gives.

        :param method: one that gives a value
        :raises WireError: the server has refused it, or has gone; or it does not answer in time
        """
        number = self._send(self._double, method, arguments, forget=False)
        deadline = time.monotonic() + self._timeout_s
        try:
            while True:
                with _reading(f"answer to {method}"):
                    for answer in self._unpacker:
                        if answer[:2] == [RESPONSE, number]:
                            return _result(method, answer)
                self._calls.settimeout(max(0.001, deadline - time.monotonic()))
                self._take(0)
        except TimeoutError:
            raise WireError(f"time-out: no answer to {method}") from None
        finally:
            self._calls.settimeout(None)  # with a timeout, reading what is there takes two calls

    def _send(
        self, packer: msgpack.Packer, method: str, arguments: tuple[Any, ...], *, forget: bool
    ) -> int:
        self._number = number = (self._number + 1) & 0xFFFF_FFFF
        try:
            self._calls.sendall(packer.pack([REQUEST, number, method, [[forget], *arguments]]))
        except OSError as error:
            raise WireError(cause_of(error)) from None
        return number

    def _take(self, flags: int) -> None:
        try:
            data = self._calls.recv(_READ_SIZE, flags)
        except (BlockingIOError, TimeoutError):
            raise
        except OSError as error:
            raise WireError(cause_of(error)) from None
        if not data:
            raise WireError("the connection was closed")
        with _reading("answers to calls"):
            self._unpacker.feed(data)

    def actors(self, numbers: Sequence[int]) -> list[FoundActor]:
        """Those of these actors that are there."""
        there = self.call("get_actors_by_id", list(numbers))
        found = []
        with _reading("actors"):
            for number, _, (_, kind, _), (centre, extent, *_), _, token in there:
                body = Body(_vector(centre), _vector(extent))
                known = token if isinstance(token, bytes) else b""
                found.append(FoundActor(int(number), _text(kind), body, known))
        return found

    def world_stream(self) -> Stream:
        """The stream of the snapshots of the running episode."""
        info = self.call("get_episode_info")
        with _reading("stream of the world"):
            _, (token,) = info
            number, *_ = TOKEN.unpack(token)
        return self._stream(number)

    def sensor_stream(self, actor: int) -> Stream:
        """The stream of a sensor.

        :raises WireError: there is no such actor, or it has no stream
        """
        found = self.actors([actor])
        token = found[0].token if found else b""
        if len(token) != TOKEN.size:
            raise WireError(f"actor {actor} has no stream")
        return self._stream(TOKEN.unpack(token)[0])

    def _stream(self, number: int) -> Stream:
        # As the client does: the server tells where the stream is, and may now expect a reader.
        told = self.call("get_sensor_token", number)
        with _reading(f"place of stream {number}"):
            (token,) = told
            number, port, _, kind, packed = TOKEN.unpack(token)
        family, size = _ADDRESSES.get(kind, (None, 0))
        host = self._host if family is None else socket.inet_ntop(family, packed[:size])
        sock = self._connect(host, port)
        try:
            sock.sendall(LENGTH.pack(number))
        except OSError as error:
            sock.close()
            raise WireError(cause_of(error)) from None
        return Stream(sock)

    def close(self) -> None:
        """Close the connection; streams stay open."""
        self._calls.close()


def outside_changes(host: str, port: int) -> list[OutsideChange]:
    """What other programs have changed in the headless server of a run; none, if it has gone."""
    try:
        with closing(ServerWire(host, port, _ANSWER_S)) as wire:
            found = wire.call(OUTSIDE_CHANGES)
    except (CallRefused, WireError):
        return []
    return [
        OutsideChange(frame, method.decode(), calls, by.decode())
        for frame, method, calls, by in found
    ]


def _result(method: str, answer: list[Any]) -> Any:
    """The value of a successful answer."""
    error, result = answer[2:]
    if error is not None:
        raise CallRefused(f"{method}: {one_line(_text(error))}")
    succeeded, value = result[0]
    if not succeeded:
        raise CallRefused(f"{method}: {one_line(_text(value[0]))}")
    return value


def _text(value: Any) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


class Streams:
    """Streams that have something seldom: one system call tells which of them have."""

    def __init__(self) -> None:
        self._poll = select.poll()
        self._streams: dict[int, Stream] = {}

    def add(self, stream: Stream) -> None:
        """Look at a stream, too."""
        self._poll.register(stream, select.POLLIN)
        self._streams[stream.fileno()] = stream

    def remove(self, stream: Stream) -> None:
        """Leave a stream."""
        del self._streams[stream.fileno()]
        self._poll.unregister(stream)
        stream.close()

    def arrived(self) -> Iterator[tuple[Stream, StreamMessage]]:
        """Everything that is there, in the order of each stream.

        :raises WireError: one of them has ended
        """
        for number, _ in self._poll.poll(0):
            stream = self._streams[number]
            while (message := stream.arrived()) is not None:
                yield stream, message

    def close(self) -> None:
        """Leave all of them."""
        for stream in self._streams.values():
            self._poll.unregister(stream)
            stream.close()
        self._streams.clear()


class Snapshot:
    """All actors at one moment; each is read when it is requested.

    :param places: where actors were found in the snapshot before; their order seldom changes
    :ivar frame: number of the tick
    :raises WireError: it is not a snapshot of this version
    """

    def __init__(self, message: StreamMessage, places: dict[int, int]) -> None:
        self.frame, self._data = message
        self._places = places
        size = len(self._data) - _RECORDS_AT
        if size < 0 or size % RECORD_BYTES:
            raise WireError(
                f"a snapshot of {len(self._data)} bytes; allowed are {_RECORDS_AT} and "
                f"{RECORD_BYTES} for each actor"
            )

    def actors(self) -> list[int]:
        """All actors, in the order of the server."""
        data = self._data
        return [
            LENGTH.unpack_from(data, at)[0] for at in range(_RECORDS_AT, len(data), RECORD_BYTES)
        ]

    def motion(self, actor: int) -> Motion | None:
        """State of an actor, None if it is not there."""
        at = self._place(actor)
        if at == 0:
            return None
        n = RECORD.unpack_from(self._data, at)[2:]
        return Motion(Pose(*n[:6]), n[6:9], n[9:12], n[12:])

    def light(self, actor: int) -> tuple[str, int] | None:
        """Signal of the map, and state, of an actor that is a traffic light; None: not there."""
        at = self._place(actor)
        if at == 0:
            return None
        *_, signal, _, _, _, _, _, _, state = LIGHT_RECORD.unpack_from(self._data, at)
        return signal.rstrip(b"\0").decode("utf-8", "replace"), state

    def _place(self, actor: int) -> int:
        """Where the record of an actor begins, 0 if it is not there."""
        data, at = self._data, self._places.get(actor, 0)
        if at + RECORD_BYTES > len(data) or at == 0 or LENGTH.unpack_from(data, at)[0] != actor:
            self._places.clear()
            for number, found in enumerate(self.actors()):
                self._places[found] = _RECORDS_AT + number * RECORD_BYTES
            at = self._places.get(actor, 0)
        return at


def contact_of(message: StreamMessage) -> tuple[int, tuple[float, float, float]]:
    """The other actor of a contact, 0 for scenery; and the impulse [N s, world frame].

    :raises WireError: it is not a contact
    """
    with _reading("a contact"):
        _, other, impulse = msgpack.unpackb(message.data[SENSOR_HEADER.size :], raw=True)
        return int(other[0]), _vector(impulse)


def _vector(numbers: Sequence[float]) -> tuple[float, float, float]:
    """As a client keeps it, however it travels."""
    x, y, z = map(float32, numbers)
    return x, y, z
