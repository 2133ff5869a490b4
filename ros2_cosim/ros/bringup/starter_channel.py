# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The channel between the starter of a run and its processes: JSON lines over a Unix socket.

The starter (``cosim run``, ``ros2 launch``, a study) listens at an abstract address, which leaves
no file behind however a process ends. Processes find the address in the environment variable
``COSIM_CHANNEL``, or, if the user started them, in the lock file of the output directory. Both
sides talk to processes of the same user only. A process without a channel, because it was started
alone, prints what it would send; a program that does not use the channel is judged by its exit
code.

To the starter go ``hello`` (the first message, with the name of the process), ``ready``,
``progress``, ``over``, ``failed``, ``shares``, ``early_leave`` and ``required``. The starter keeps
the last two and sends them to all: to those that are connected when they come, and to others when
they say ``hello``.
"""

from __future__ import annotations

import json
import os
import secrets
import selectors
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Annotated, Any, Literal

from pydantic import Field, TypeAdapter, ValidationError

from ros2_cosim.core.documents.settings import Section
from ros2_cosim.core.process.turns import TurnReader, TurnWriter
from ros2_cosim.core.run.output_directory import OutputDirectory, read_holder
from ros2_cosim.core.sockets.peers import peer_of
from ros2_cosim.core.sockets.waiting import readable

#: Environment variable with the address.
CHANNEL = "COSIM_CHANNEL"
#: Environment variable of a process that gets signals from its starter alone, and from no terminal:
#: an interrupt from elsewhere is a failure of the run.
SHIELDED = "COSIM_SHIELDED"
#: How the abstract name of its socket begins.
CHANNEL_NAME = "ros2_cosim-channel"
#: A longer line is not a message.
LINE_LIMIT = 65_536
_MOST_CONNECTIONS = 1024
#: How long to wait [s] for an answer of the starter, which has nothing else to do.
_ANSWER_S = 5.0
#: A process that reports its progress does so at least this often [s].
_SIGN_S = 1.0
_CHUNK = 65_536


class ChannelMessage(Section, strict=True):
    """What one side sends: nothing in it is turned into another type."""


class Hello(ChannelMessage):
    """The first message of a process: its name in the plan."""

    kind: Literal["hello"] = "hello"
    process: str


class Ready(ChannelMessage):
    """A server accepts clients."""

    kind: Literal["ready"] = "ready"


class ClockProgress(ChannelMessage):
    """The clock's sign of life: simulated time [ns], and whether the run stands on request."""

    kind: Literal["progress"] = "progress"
    time_ns: int
    resting: bool = False


class Over(ChannelMessage):
    """All participants have stopped in order: from now on the processes of the run end."""

    kind: Literal["over"] = "over"


class Failed(ChannelMessage):
    """The process ends because something failed in it; ``reason`` names the place.

    ``asked``: a signal was what failed it, and no other process of the run has sent that.
    """

    kind: Literal["failed"] = "failed"
    reason: str
    asked: bool = False


class EarlyLeave(ChannelMessage):
    """A participant has ended before its time, and how; the process may go on with others."""

    kind: Literal["early_leave"] = "early_leave"
    participant: str
    how: str


class Required(ChannelMessage):
    """The participants that the system controller has named as required."""

    kind: Literal["required"] = "required"
    participants: tuple[str, ...] = Field(strict=False)


class Shares(ChannelMessage):
    """In the memory stands whose turn it is in the process, and which activation is going on."""

    kind: Literal["shares"] = "shares"
    memory: str
    participants: tuple[str, ...] = Field(strict=False)


AnyMessage = Hello | Ready | ClockProgress | Over | Failed | EarlyLeave | Required | Shares
_MESSAGES: TypeAdapter[AnyMessage] = TypeAdapter(Annotated[AnyMessage, Field(discriminator="kind")])


class ChannelError(Exception):
    """The input is not a message."""


class _Lines:
    """Cuts what arrives into messages."""

    def __init__(self) -> None:
        self._rest = b""

    def take(self, data: bytes) -> Iterator[AnyMessage]:
        """The messages that are complete now.

        :raises ChannelError: a line is none
        """
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            if len(line) > LINE_LIMIT:
                raise ChannelError(f"a line of {len(line)} bytes; allowed are {LINE_LIMIT}")
            try:
                yield _MESSAGES.validate_json(line)
            except ValidationError:
                raise ChannelError(f"found {_shortened(line)}; allowed are messages") from None
        if len(self._rest) > LINE_LIMIT:
            raise ChannelError(f"a line of more than {LINE_LIMIT} bytes")


class _Connection:
    """One process at the starter's end."""

    def __init__(self, link: socket.socket) -> None:
        self.link = link
        self.pid = peer_of(link).process
        self.process = ""
        self.lines = _Lines()

    @property
    def name(self) -> str:
        """The process in messages to the user."""
        return self.process or f"process {self.pid}"


class StarterChannel:
    """The starter's end; use as a context manager.

    A separate thread handles what arrives.

    :param directory: output directory of the run; its lock file gets the address
    """

    def __init__(self, directory: OutputDirectory | None = None) -> None:
        self._directory = directory
        self.address = f"{CHANNEL_NAME}-{os.getpid()}-{secrets.token_hex(8)}"
        self._take: Callable[[str, AnyMessage], None] = lambda process, message: None
        self._refuse: Callable[[str, str], None] = lambda process, text: None
        self._changed = threading.Condition()
        self._early_leaves: dict[str, str] = {}
        self._required: frozenset[str] | None = None
        self._connections: list[_Connection] = []
        #: Whose turn it is, of the processes that several share.
        self._turns: dict[str, TurnReader] = {}
        #: How often it was asked to hear processes out, and has done so.
        self._asked = 0
        self._heard_out = 0

    def __enter__(self) -> StarterChannel:
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._listener.setblocking(False)
        self._listener.bind("\0" + self.address)
        self._listener.listen(_MOST_CONNECTIONS)
        self._waker, self._wakened = socket.socketpair()
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._listener, selectors.EVENT_READ, None)
        self._selector.register(self._wakened, selectors.EVENT_READ, None)
        self._thread = threading.Thread(target=self._serve, name="channel", daemon=True)
        self._thread.start()
        if self._directory is not None:
            self._directory.announce(channel=self.address)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._waker.close()
        self._thread.join()
        for connection in self._connections:
            connection.link.close()
        self._connections.clear()
        self._listener.close()
        self._wakened.close()
        self._selector.close()

    def listen(
        self,
        take: Callable[[str, AnyMessage], None],
        refuse: Callable[[str, str], None],
    ) -> None:
        """Have messages handled; called in the thread of the channel.

        :param take: gets (name of the process, message)
        :param refuse: gets (name of the process, one line) when a process sends anything else
        """
        self._refuse = refuse
        self._take = take

    @property
    def required(self) -> frozenset[str] | None:
        """The participants that are required; None: as the scenario says."""
        with self._changed:
            return self._required

    @property
    def early_leaves(self) -> dict[str, str]:
        """The participants that have ended before their time, and how."""
        with self._changed:
            return dict(self._early_leaves)

    def leave_early(self, participant: str, how: str) -> None:
        """Tell all processes that a participant has ended before its time."""
        with self._changed:
            self._early_leaves[participant] = how
            self._broadcast(EarlyLeave(participant=participant, how=how))

    def turn_in(self, process: str) -> str:
        """The participant of a process that several share whose turn it is, or was at its end."""
        with self._changed:
            turns = self._turns.get(process)
        return "" if turns is None else turns.present

    def going_on_in(self, process: str) -> tuple[str, int] | None:
        """(participant, time [ns]) of the activation in which a process is, or was at its end."""
        with self._changed:
            turns = self._turns.get(process)
        return None if turns is None else turns.going_on

    def hear_out(self) -> None:
        """Wait until everything is handled that processes have sent before this call."""
        with self._changed:
            self._asked += 1
            asked = self._asked
            try:
                self._waker.send(b"x")
            except OSError:
                return  # the channel is closed
            self._changed.wait_for(lambda: self._heard_out >= asked, _ANSWER_S)

    def _serve(self) -> None:
        while True:
            for key, _ in self._selector.select():
                if key.fileobj is self._wakened:
                    if not self._hear_all():
                        return
                elif key.fileobj is self._listener:
                    self._accept()
                elif key.data in self._connections:
                    self._read(key.data)

    def _hear_all(self) -> bool:
        """Handle all that is there; whether the channel stays open."""
        asked = len(self._wakened.recv(_CHUNK))
        while self._accept():
            pass
        for connection in list(self._connections):
            while connection in self._connections and self._read(connection):
                pass
        with self._changed:
            self._heard_out += asked
            self._changed.notify_all()
        return asked > 0

    def _accept(self) -> bool:
        """Take a connection; whether there was one."""
        try:
            link, _ = self._listener.accept()
        except OSError:
            return False
        if peer_of(link).user != os.getuid() or len(self._connections) >= _MOST_CONNECTIONS:
            link.close()
            return True
        link.setblocking(False)
        connection = _Connection(link)
        with self._changed:
            self._connections.append(connection)
        self._selector.register(link, selectors.EVENT_READ, connection)
        return True

    def _read(self, connection: _Connection) -> bool:
        """Handle what a process has sent; whether there was something."""
        try:
            data = connection.link.recv(_CHUNK)
        except BlockingIOError:
            return False
        except OSError:
            data = b""
        if not data:
            self._drop(connection)
            return False
        try:
            for message in connection.lines.take(data):
                self._handle(connection, message)
        except ChannelError as error:
            self._drop(connection)
            self._refuse(connection.name, f"channel of the run: {error}; the connection is closed")
        return True

    def _handle(self, connection: _Connection, message: AnyMessage) -> None:
        with self._changed:
            if isinstance(message, Hello):
                connection.process = message.process
                for participant, how in self._early_leaves.items():
                    self._send(connection, EarlyLeave(participant=participant, how=how))
                if self._required is not None:
                    self._send(connection, Required(participants=tuple(sorted(self._required))))
            elif isinstance(message, EarlyLeave):
                self._early_leaves[message.participant] = message.how
                self._broadcast(message)
            elif isinstance(message, Required):
                self._required = frozenset(message.participants)
                # The sender waits for it: then all others have it.
                self._broadcast(message, last=connection)
            elif isinstance(message, Shares):
                self._take_turns(connection, message)
        self._take(connection.process, message)

    def _take_turns(self, connection: _Connection, message: Shares) -> None:
        try:
            turns = TurnReader(message.memory, connection.pid, message.participants)
        except (OSError, ValueError):
            return  # the process has ended meanwhile, or is none of this machine
        self._turns[connection.process] = turns

    def _broadcast(self, message: AnyMessage, last: _Connection | None = None) -> None:
        for connection in sorted(self._connections, key=lambda each: each is last):
            self._send(connection, message)

    def _send(self, connection: _Connection, message: AnyMessage) -> None:
        try:
            connection.link.sendall(_encoded(message))
        except OSError:
            # It has gone, or has not read for long: then half a message may have been sent, and
            # nothing that follows would be understood.
            try:
                connection.link.shutdown(socket.SHUT_RDWR)
            except OSError:
                return

    def _drop(self, connection: _Connection) -> None:
        self._selector.unregister(connection.link)
        connection.link.close()
        with self._changed:
            self._connections.remove(connection)


class Starter:
    """A process's end: the starter of the run, as the process sees it.

    Safe to use from any thread.

    :param process: name of this process
    :param directory: that of the scenario of the run, where the address may be found
    """

    def __init__(self, process: str, directory: Path | None = None) -> None:
        self._process = process
        self._lock = threading.Lock()
        self._lines = _Lines()
        self._early_leaves: dict[str, str] = {}
        self._required: frozenset[str] | None = None
        self._second = 0
        self._progress_at = time.monotonic()
        given = os.environ.get(CHANNEL)
        #: Whether the user has started the process, and looks at its console.
        self._by_hand = not given
        self._is_shielded = SHIELDED in os.environ
        self._link = _connected(given or _announced(directory))
        if self._link is not None:
            self._send(Hello(process=process))

    @property
    def is_there(self) -> bool:
        """Whether messages reach a starter."""
        return self._link is not None

    @property
    def is_shielded(self) -> bool:
        """Whether a starter is there that alone sends signals."""
        return self.is_there and self._is_shielded

    def ready(self, text: str) -> None:
        """Say that clients are accepted.

        :param text: for the console, where there is no starter
        """
        if not self._send(Ready()):
            print(text, flush=True)

    def progress(self, time_ns: int, resting: bool = False) -> None:
        """Report the simulated time, and whether the run stands because that was requested.

        May be called as often as convenient: what is sent is one message a second, simulated or
        real, which is a sign of life as well.
        """
        now, second = time.monotonic(), time_ns // 1_000_000_000
        if second == self._second and now - self._progress_at < _SIGN_S:
            return
        self._second, self._progress_at = second, now
        if not self._send(ClockProgress(time_ns=time_ns, resting=resting)):
            print(f"time {time_ns / 1e9:.3f} s{' paused' * resting}", flush=True)

    def over(self) -> None:
        """Tell that all have stopped in order, and end now."""
        self._send(Over())

    def failed(self, reason: str, *, asked: bool = False) -> None:
        """Tell why this process fails, in one line that names the place.

        :param asked: see :class:`Failed`
        """
        if not self._send(Failed(reason=_bounded(reason), asked=asked)) or self._by_hand:
            print(reason, file=sys.stderr, flush=True)

    def is_ended_by(self, number: int, process: str) -> bool:
        """Tell that a signal ends a process; whether that is a failure of the run.

        The starter sends SIGTERM to a run that has failed or is over, and nothing else.
        """
        if not self.is_there or (number == signal.SIGINT and not self.is_shielded):
            return False
        name = signal.Signals(number).name
        self.failed(f"process '{process}' was ended by {name}", asked=True)
        return True

    def shares(self, turns: TurnWriter, participants: Sequence[str]) -> None:
        """Tell where it stands whose turn it is, and which activation is going on."""
        self._send(Shares(memory=turns.place, participants=tuple(participants)))

    def leave_early(self, participant: str, how: str) -> None:
        """Tell that a participant has ended before its time."""
        with self._lock:
            self._early_leaves[participant] = how
        self._send(EarlyLeave(participant=participant, how=_bounded(how)))

    def require(self, names: Collection[str]) -> None:
        """Tell which participants are required, instead of what the scenario says.

        Returns when the starter and all other processes have it.
        """
        wanted = frozenset(names)
        if not self._send(Required(participants=tuple(sorted(wanted)))):
            with self._lock:
                self._required = wanted
            return
        deadline = time.monotonic() + _ANSWER_S
        while self.required != wanted and (link := self._link) is not None:
            left = deadline - time.monotonic()
            if left <= 0:
                return
            readable(link, left)

    @property
    def early_leaves(self) -> Mapping[str, str]:
        """The participants that have ended before their time, and how."""
        with self._lock:
            self._receive()
            return dict(self._early_leaves)

    @property
    def required(self) -> frozenset[str] | None:
        """The participants that are required; None: as the scenario says."""
        with self._lock:
            self._receive()
            return self._required

    def _send(self, message: AnyMessage) -> bool:
        with self._lock:
            if self._link is None:
                return False
            try:
                self._link.sendall(_encoded(message))
            except OSError:
                self._close()
                return False
            return True

    def _receive(self) -> None:
        while self._link is not None and readable(self._link, 0.0):
            try:
                data = self._link.recv(_CHUNK)
            except OSError:
                data = b""
            if not data:
                self._close()
                return
            try:
                for message in self._lines.take(data):
                    if isinstance(message, EarlyLeave):
                        self._early_leaves[message.participant] = message.how
                    elif isinstance(message, Required):
                        self._required = frozenset(message.participants)
            except ChannelError as error:
                print(f"{self._process}: channel of the run: {error}", file=sys.stderr, flush=True)
                self._close()

    def _close(self) -> None:
        if self._link is not None:
            self._link.close()
            self._link = None


def _connected(address: str | None) -> socket.socket | None:
    if not address:
        return None
    link = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    # A starter that does not read for so long is treated like one that has gone.
    link.settimeout(_ANSWER_S)
    try:
        link.connect("\0" + address)
        if peer_of(link).user == os.getuid():
            return link
    except (OSError, ValueError):
        pass
    link.close()
    return None


def _announced(directory: Path | None) -> str | None:
    """The address in the lock file of an output directory."""
    facts = read_holder(directory) if directory is not None else None
    address = facts.get("channel") if facts else None
    return address if isinstance(address, str) else None


def _encoded(message: AnyMessage) -> bytes:
    data: dict[str, Any] = message.model_dump()
    return json.dumps(data).encode() + b"\n"


def _bounded(text: str) -> str:
    """A text that fits into a message, whatever its characters."""
    return text[: LINE_LIMIT // 16]


def _shortened(line: bytes) -> str:
    text = line[:60].decode(errors="replace")
    return repr(text + "..." * (len(line) > 60))
