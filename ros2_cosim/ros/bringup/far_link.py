# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The connection between a run and its part on another host: lines over pipes or TCP.

Each message is one line of JSON behind a mark: whatever a shell or a library prints into the same
pipe is told from messages by it. Over TCP, where the other side could be anything, each message is
sealed with a keyed hash over its number, under a key that both sides make of the secret of the run
and of a random number from each. The content is not hidden.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import socket
import threading
import time
from collections import deque
from typing import Annotated, Any, Literal

from pydantic import Field, TypeAdapter, ValidationError

from ros2_cosim.core.documents.files import cause_of
from ros2_cosim.core.documents.one_line import printable
from ros2_cosim.core.kernel.errors import CosimError
from ros2_cosim.core.sockets.waiting import readable, writable
from ros2_cosim.ros.bringup.starter_channel import ChannelMessage, EarlyLeave, Required

#: A longer line is not a message. The scenario of a run with thousands of participants is one
#: [bytes].
LINE_LIMIT = 64 << 20
#: Before the other side has shown that it knows the secret [bytes].
_GREETING_LIMIT = 4096
#: Interval of the signs of life of each side [s].
SIGN_S = 2.0
#: A side that is silent for so long has gone: its machine is off, or the network is [s].
SILENCE_S = 30.0
#: How long a greeting may take in all, however its bytes drip [s].
_GREETING_S = 10.0
_CHUNK = 65_536
_MARK = b"cosim-far "
_HASH_BYTES = 16
_NONCE_BYTES = 16


class Joined(ChannelMessage):
    """From the part, first: the version of this package there."""

    kind: Literal["joined"] = "joined"
    version: str


class FarProcess(ChannelMessage):
    """A process to be started; see :class:`ros2_cosim.ros.bringup.plan.Process`."""

    name: str
    executable: str
    package: str
    parameters: dict[str, Any]
    arguments: tuple[str, ...] = Field(strict=False)
    is_ros: bool
    required: bool
    leaves: bool
    participant: str
    hosts: tuple[str, ...] = Field(strict=False)
    namespace: str
    ros_arguments: tuple[str, ...] = Field(strict=False)


class Part(ChannelMessage):
    """To the part, first: what it has to do.

    ``directory`` is where the files of the scenario are on the host of the run, ``within`` the same
    relative to the files of this package, empty if it is not among them, and ``there`` the
    directory that the user has named. ``files`` are those that the scenario names, with their
    hashes. The ``addresses`` are those of all hosts, and ``own`` is that of this one.
    """

    kind: Literal["part"] = "part"
    host: str
    scenario: str
    directory: str
    within: str
    there: str | None
    files: dict[str, str]
    processes: tuple[FarProcess, ...] = Field(strict=False)
    environment: dict[str, str]
    own: str
    addresses: tuple[str, ...] = Field(strict=False)
    most_nodes: int
    namespace: str


class FarLine(ChannelMessage):
    """A process printed a line."""

    kind: Literal["line"] = "line"
    process: str
    text: str


class PartFailed(ChannelMessage):
    """The part cannot go on."""

    kind: Literal["part_failed"] = "part_failed"
    reason: str


class EndPart(ChannelMessage):
    """To the part: end in order."""

    kind: Literal["end"] = "end"


class Ended(ChannelMessage):
    """From the part, last: nothing of it runs any more."""

    kind: Literal["ended"] = "ended"


class Alive(ChannelMessage):
    """A sign of life."""

    kind: Literal["alive"] = "alive"


FarMessage = Joined | Part | FarLine | EarlyLeave | Required | PartFailed | EndPart | Ended | Alive
_MESSAGES: TypeAdapter[FarMessage] = TypeAdapter(Annotated[FarMessage, Field(discriminator="kind")])


class LinkError(CosimError):
    """The input is not from the other side of this run, or has ended."""


class LinkEnd(LinkError):
    """The other side has closed the connection."""


class FarLink:
    """One side of the connection; sending is safe from any thread, receiving is for one.

    :param reader: open file from which the other side is read
    :param writer: open file to which this side writes, from now on without blocking; this object
        closes neither
    :param seals: of what is sent, and what is received; None: the pipe is trusted
    """

    def __init__(self, reader: int, writer: int, seals: tuple[_Seal, _Seal] | None = None) -> None:
        os.set_blocking(writer, False)
        self._reader = reader
        self._writer = writer
        self._seals = seals
        self._lock = threading.Lock()
        self._rest = b""
        self._others: deque[str] = deque()
        self._sent_at = self._heard_at = time.monotonic()

    def send(self, message: FarMessage) -> None:
        """Send a message; waits while the other side takes nothing, as long as it may be silent.

        :raises LinkEnd: the other side has gone
        """
        body = message.model_dump_json().encode()
        with self._lock:
            if self._seals is not None:
                body = self._seals[0].sealed(body)
            rest = memoryview(_MARK + body + b"\n")
            try:
                while rest:
                    rest = rest[self._write(rest) :]
            except OSError as error:
                raise LinkEnd(f"the connection broke: {cause_of(error)}") from None
            self._sent_at = time.monotonic()

    def _write(self, data: memoryview) -> int:
        """Write what fits now, or when something fits; gives how much."""
        try:
            return os.write(self._writer, data)
        except BlockingIOError:
            if not writable(self._writer, SILENCE_S):
                raise LinkEnd(f"nothing was taken there for {SILENCE_S:g} s") from None
            return 0

    def receive(self, timeout: float) -> list[FarMessage]:
        """The messages that are there, or come within ``timeout`` [s].

        Signs of life are sent and taken here: call it again and again.

        :raises LinkEnd: the other side has gone
        :raises LinkError: it is silent, or says something else
        """
        if time.monotonic() - self._sent_at > SIGN_S:
            self.send(Alive())
        if not readable(self._reader, timeout):
            silence = time.monotonic() - self._heard_at
            if silence > SILENCE_S:
                raise LinkError(f"no sign of life for {silence:.0f} s")
            return []
        try:
            data = os.read(self._reader, _CHUNK)
        except BlockingIOError:
            return []
        except OSError as error:
            raise LinkEnd(f"the connection broke: {cause_of(error)}") from None
        if not data:
            raise LinkEnd("the connection was closed")
        self._heard_at = time.monotonic()
        *lines, self._rest = (self._rest + data).split(b"\n")
        if len(self._rest) > LINE_LIMIT:
            raise LinkError(f"found a line of more than {LINE_LIMIT} bytes")
        found = (self._read(line) for line in lines)
        return [message for message in found if message is not None]

    def others(self) -> list[str]:
        """Lines since the last call that are not messages."""
        found = list(self._others)
        self._others.clear()
        return found

    def _read(self, line: bytes) -> FarMessage | None:
        before, mark, body = line.partition(_MARK)
        if not mark:
            if self._seals is not None:
                raise LinkError("found a line without a seal")
            self._others.append(line.decode(errors="replace").rstrip())
            return None
        if before:  # without an end of line behind it
            self._others.append(before.decode(errors="replace"))
        if self._seals is not None:
            body = self._seals[1].opened(body)
        try:
            message = _MESSAGES.validate_json(body)
        except ValidationError as error:
            raise LinkError(
                f"found no message of this version: {printable(error.errors()[0]['msg'])}"
            ) from None
        return None if isinstance(message, Alive) else message


class _Seal:
    """Seals the messages of one direction, each with its number."""

    def __init__(self, key: bytes, direction: bytes) -> None:
        self._begun = hashlib.blake2b(direction, key=key, digest_size=_HASH_BYTES)
        self._number = 0

    def sealed(self, body: bytes) -> bytes:
        return self._hash(body) + b" " + body

    def opened(self, sealed: bytes) -> bytes:
        told, _, body = sealed.partition(b" ")
        if not secrets.compare_digest(told, self._hash(body)):
            raise LinkError("found a message with a wrong seal")
        return body

    def _hash(self, body: bytes) -> bytes:
        self._number += 1
        hashed = self._begun.copy()
        hashed.update(self._number.to_bytes(8, "big") + body)
        return hashed.hexdigest().encode()


def greet(link: socket.socket, secret: str, host: str, *, is_part: bool) -> FarLink:
    """The two sides of a TCP connection show each other that they know the secret of the run.

    :param host: the name of the host whose part it is, the same on both sides
    :param is_part: whether this side is the part
    :raises LinkError: the other side does not know it, or it is of another host
    """
    own = secrets.token_hex(_NONCE_BYTES).encode()
    deadline = time.monotonic() + _GREETING_S
    link.settimeout(_GREETING_S)
    try:
        link.sendall(own + b"\n")
        other = _line(link, deadline)
        if len(other) != len(own) or other == own:
            raise LinkError("found no greeting of a part of a run")
        nonces = own + other if is_part else other + own
        key = hashlib.blake2b(secret.encode() + b"\0" + nonces, digest_size=32).digest()
        # Before anything else is read: what follows from the other side is bounded by this proof.
        link.sendall(_proof(key, host, is_part=is_part) + b"\n")
        if not secrets.compare_digest(
            _line(link, deadline), _proof(key, host, is_part=not is_part)
        ):
            raise LinkError(
                f"the other side has another secret, or is not the host '{host}' of this run"
            )
    except OSError as error:
        raise LinkError(f"no greeting: {cause_of(error)}") from None
    link.settimeout(None)
    seals = _Seal(key, b"run"), _Seal(key, b"part")
    return FarLink(link.fileno(), link.fileno(), seals[::-1] if is_part else seals)


def _proof(key: bytes, host: str, *, is_part: bool) -> bytes:
    side = b"part " if is_part else b"run "
    return (
        hashlib.blake2b(side + host.encode(), key=key, digest_size=_HASH_BYTES).hexdigest().encode()
    )


def _line(link: socket.socket, deadline: float) -> bytes:
    """One line, byte by byte: nothing behind it may be taken.

    :param deadline: monotonic time by which it must be there [s]
    """
    found = b""
    while not found.endswith(b"\n"):
        left = deadline - time.monotonic()
        if left <= 0.0:
            raise TimeoutError("timed out")
        link.settimeout(left)
        byte = link.recv(1)
        if not byte or len(found) > _GREETING_LIMIT:
            raise LinkError("found no greeting of a part of a run")
        found += byte
    return found[:-1]
