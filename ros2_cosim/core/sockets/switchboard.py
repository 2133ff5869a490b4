# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Connections between processes of one run on one host: those that share a topic get one.

The starter of a run has the *switchboard*. Each caller tells it which topics it writes and reads;
any two of which one writes what the other reads get the two ends of a socket pair, once. What they
say there the switchboard does not hear. A pair has no name: no other program can find it, and it
disappears when its processes have ended, however they end. Each caller also gets its end of the
board of the run (:mod:`~ros2_cosim.core.sockets.board`).

The switchboard itself listens at an abstract address, which leaves no file either. Such an address
has no permissions, so both sides look at the user at the other end, and a caller shows the secret
of the run first: another program of the same user does not get in by mistake.
"""

from __future__ import annotations

import json
import os
import secrets
import selectors
import socket
import struct
import threading
from collections import deque
from collections.abc import Iterable, Iterator
from types import TracebackType
from typing import Any

from ros2_cosim.core.sockets.board import Board, BoardEnd
from ros2_cosim.core.sockets.peers import peer_of
from ros2_cosim.core.sockets.reactor import Waker
from ros2_cosim.core.sockets.waiting import writable

#: Environment variable with the address of the switchboard.
LANE = "COSIM_LANE"
#: How the abstract name of its socket begins.
LANE_NAME = "ros2_cosim-lane"
#: A message to the switchboard is one packet; it has to fit into the buffer of a socket.
PACKET_LIMIT = 65_536
#: So many topics, of at most 256 characters each in DDS, fit into one packet.
_TOPICS_LIMIT = 200
_MOST_CALLERS = 4096
#: How long a process waits [s] for a switchboard that does not answer.
_PATIENCE_S = 5.0
_HERE = b"x"
#: Number of a caller on the board.
_NUMBER = struct.Struct("<I")
_BOARD_FILES = 4


class Refused(Exception):
    """The input of a caller is not a message, or not of this run."""


class _Caller:
    """One process, or one of several participants in it, at the end of the switchboard."""

    def __init__(self, link: socket.socket) -> None:
        self.link = link
        self.is_known = False
        self.number = -1
        self.writes: set[str] = set()
        self.reads: set[str] = set()
        self.connected: set[_Caller] = set()
        #: Ends of pairs that it has not been given yet.
        self.ends: deque[socket.socket] = deque()


class Switchboard:
    """Connects the processes of a run; use as a context manager.

    It works in its own thread.

    :param secret: what a caller has to show
    """

    def __init__(self, secret: str) -> None:
        self.address = f"{LANE_NAME}-{os.getpid()}-{secrets.token_hex(8)}"
        self._secret = secret
        self._callers: set[_Caller] = set()
        self._writers: dict[str, set[_Caller]] = {}
        self._readers: dict[str, set[_Caller]] = {}
        self._closing = False
        #: Callers so far that have shown the secret.
        self._known = 0

    def __enter__(self) -> Switchboard:
        self._board = Board()
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._listener.setblocking(False)
        self._listener.bind("\0" + self.address)
        self._listener.listen(_MOST_CALLERS)
        self._waker = Waker()
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._listener, selectors.EVENT_READ, None)
        self._selector.register(self._waker, selectors.EVENT_READ, None)
        self._thread = threading.Thread(target=self._serve, name="switchboard", daemon=True)
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._closing = True
        self._waker.wake()
        self._thread.join()
        for caller in list(self._callers):
            self._drop(caller)
        self._listener.close()
        self._waker.close()
        self._selector.close()
        self._board.close()

    def _serve(self) -> None:
        while not self._closing:
            for key, events in self._selector.select():
                if key.fileobj is self._listener:
                    self._accept()
                elif isinstance(key.data, _Caller) and key.data in self._callers:
                    if events & selectors.EVENT_READ:
                        self._hear(key.data)
                    if events & selectors.EVENT_WRITE and key.data in self._callers:
                        self._hand_out(key.data)

    def _accept(self) -> None:
        try:
            link, _ = self._listener.accept()
        except OSError:
            return
        if peer_of(link).user != os.getuid() or len(self._callers) >= _MOST_CALLERS:
            link.close()
            return
        link.setblocking(False)
        caller = _Caller(link)
        self._callers.add(caller)
        self._selector.register(link, selectors.EVENT_READ, caller)

    def _hear(self, caller: _Caller) -> None:
        try:
            data = caller.link.recv(PACKET_LIMIT)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        try:
            if not data:
                raise Refused
            writes, reads = self._understood(caller, data)
        except Refused:
            self._drop(caller)
            return
        for topic in writes - caller.writes:
            self._writers.setdefault(topic, set()).add(caller)
            for other in list(self._readers.get(topic, ())):
                self._connect(caller, other)
        for topic in reads - caller.reads:
            self._readers.setdefault(topic, set()).add(caller)
            for other in list(self._writers.get(topic, ())):
                self._connect(caller, other)
        caller.writes |= writes
        caller.reads |= reads

    def _understood(self, caller: _Caller, data: bytes) -> tuple[set[str], set[str]]:
        """The topics that a caller writes and reads.

        :raises Refused: it says something else, or does not know the secret
        """
        try:
            message: Any = json.loads(data)
            secret, writes, reads = message["secret"], message["writes"], message["reads"]
        except (ValueError, KeyError, TypeError, RecursionError):
            raise Refused from None
        if not caller.is_known:
            shown = secret.encode(errors="replace") if isinstance(secret, str) else b""
            if not secrets.compare_digest(shown, self._secret.encode()):
                raise Refused
        for names in (writes, reads):
            if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
                raise Refused
        if not caller.is_known:
            caller.is_known = True
            self._give_board(caller)
        return set(writes), set(reads)

    def _give_board(self, caller: _Caller) -> None:
        """Give a caller its end of the board.

        :raises Refused: that is not possible
        """
        taken = {other.number for other in self._callers}
        caller.number = self._board.ends
        # In turns: others may still look at what one wrote that has gone.
        for _ in range(self._board.ends):
            number = self._known % self._board.ends
            self._known += 1
            if number not in taken:
                caller.number = number
                break
        try:
            told = _NUMBER.pack(caller.number)
            socket.send_fds(caller.link, [told], self._board.files)
        except OSError:
            raise Refused from None

    def _connect(self, one: _Caller, other: _Caller) -> None:
        if one is other or other in one.connected or not {one, other} <= self._callers:
            return
        try:
            ends = socket.socketpair()
        except OSError:  # too many are open here; the caller learns that it has no connections
            self._drop(one)
            return
        one.connected.add(other)
        other.connected.add(one)
        for caller, end in zip((one, other), ends, strict=True):
            caller.ends.append(end)
            self._hand_out(caller)

    def _hand_out(self, caller: _Caller) -> None:
        """Give a caller its ends, as far as it takes them."""
        try:
            while caller.ends:
                socket.send_fds(caller.link, [_HERE], [caller.ends[0].fileno()])
                caller.ends.popleft().close()
        except BlockingIOError:
            pass
        except OSError:
            self._drop(caller)
            return
        waiting = selectors.EVENT_WRITE if caller.ends else 0
        self._selector.modify(caller.link, selectors.EVENT_READ | waiting, caller)

    def _drop(self, caller: _Caller) -> None:
        if caller not in self._callers:
            return
        self._callers.remove(caller)
        self._selector.unregister(caller.link)
        caller.link.close()
        for end in caller.ends:
            end.close()
        for other in caller.connected:
            other.connected.discard(caller)
        for known, topics in ((self._writers, caller.writes), (self._readers, caller.reads)):
            for topic in topics:
                known[topic].discard(caller)
                if not known[topic]:
                    del known[topic]


class CallerEnd:
    """A caller's end.

    :param address: of the switchboard
    :param secret: of the run
    :raises OSError: it cannot be reached
    """

    def __init__(self, address: str, secret: str) -> None:
        self._secret = secret
        self._link = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._link.settimeout(_PATIENCE_S)
        try:
            self._link.connect("\0" + address)
            if peer_of(self._link).user != os.getuid():
                raise PermissionError("it is of another user")
            self._link.send(self._message([], []))
            #: Of the run.
            self.board = self._get_board()
            self._link.setblocking(False)
        except BaseException:
            self._link.close()
            raise

    def _get_board(self) -> BoardEnd:
        """Wait for the end of the board.

        :raises OSError: it does not come
        """
        number, files, _, _ = socket.recv_fds(
            self._link, _NUMBER.size, _BOARD_FILES, socket.MSG_CMSG_CLOEXEC
        )
        if len(number) != _NUMBER.size or len(files) != _BOARD_FILES:
            for file in files:
                os.close(file)
            raise ConnectionError("the switchboard of the run has refused this process")
        return BoardEnd(_NUMBER.unpack(number)[0], files)

    def fileno(self) -> int:
        """Readable when there are connections, or the switchboard has gone."""
        return self._link.fileno()

    def tell(self, writes: Iterable[str], reads: Iterable[str]) -> None:
        """Tell which further topics this end writes and reads.

        :raises OSError: the switchboard has gone
        """
        topics = [(name, True) for name in writes] + [(name, False) for name in reads]
        for begin in range(0, len(topics), _TOPICS_LIMIT):
            part = topics[begin : begin + _TOPICS_LIMIT]
            written = [name for name, is_written in part if is_written]
            self._send(
                self._message(written, [name for name, is_written in part if not is_written])
            )

    def _message(self, writes: list[str], reads: list[str]) -> bytes:
        return json.dumps({"secret": self._secret, "writes": writes, "reads": reads}).encode()

    def _send(self, packet: bytes) -> None:
        while True:
            try:
                self._link.send(packet)
                return
            except BlockingIOError:
                if not writable(self._link, _PATIENCE_S):
                    raise TimeoutError("the switchboard of the run does not answer") from None

    def connections(self) -> Iterator[socket.socket]:
        """The connections that have come since the last call, each to one other caller.

        :raises ConnectionError: the switchboard has gone
        """
        while True:
            try:
                data, files, _, _ = socket.recv_fds(
                    self._link, len(_HERE), 1, socket.MSG_CMSG_CLOEXEC
                )
            except BlockingIOError:
                return
            if not data:
                raise ConnectionError("the switchboard of the run has gone")
            if not files:  # the kernel has dropped it
                raise ConnectionError("too many files are open for a further connection")
            for descriptor in files:
                yield socket.socket(fileno=descriptor)

    def close(self) -> None:
        """Get no further connections; those that there are stay, and so does the board."""
        self._link.close()
