# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""OSI messages over TCP, as they lie in an ``.osi`` file: each behind its length.

A reader that saves what it receives has a trace file. The run never waits for a reader: of each one
a bounded number of messages waits, and the oldest are dropped.
"""

from __future__ import annotations

import socket
import struct
import threading
from collections import deque
from contextlib import suppress
from typing import Final

from ros2_cosim.core.documents.files import cause_of
from ros2_cosim.core.kernel.address import Address
from ros2_cosim.core.kernel.errors import ConnectionFailedError
from ros2_cosim.core.sockets.peers import ADMISSION

#: So many messages may wait for one reader, and so many readers may be there.
BACKLOG: Final = 256
MOST_READERS: Final = 8
_LENGTH: Final = struct.Struct("<I")


class _Reader:
    """One connection, with its own thread and what waits for it."""

    def __init__(self, link: socket.socket, first: bytes) -> None:
        self._link = link
        self._waiting: deque[bytes] = deque([first] if first else [], maxlen=BACKLOG)
        self._condition = threading.Condition()
        self.is_open = True
        self._thread = threading.Thread(target=self._send, daemon=True)
        self._thread.start()

    def give(self, data: bytes) -> None:
        with self._condition:
            self._waiting.append(data)
            self._condition.notify()

    def _send(self) -> None:
        with suppress(OSError):
            while True:
                with self._condition:
                    while not self._waiting and self.is_open:
                        self._condition.wait()
                    if not self._waiting:
                        return
                    data = self._waiting.popleft()
                self._link.sendall(_LENGTH.pack(len(data)) + data)
        self.is_open = False

    def close(self, patience: float) -> None:
        """Let it take what waits for it, for so long [s]."""
        with self._condition:
            self.is_open = False
            self._condition.notify()
        self._thread.join(patience)
        with suppress(OSError):
            self._link.shutdown(socket.SHUT_RDWR)
        self._link.close()
        self._thread.join()


class OsiStream:
    """A server of messages for processes of the same user; it reads nothing from them.

    :raises ConnectionFailedError: it cannot listen there
    """

    #: How long readers may take what waits for them when the run has ended [s].
    PATIENCE = 1.0

    def __init__(self, address: Address, where: str) -> None:
        try:
            self._server = socket.create_server(address, backlog=MOST_READERS)
        except OSError as error:
            raise ConnectionFailedError(
                f"{where}: cannot listen at {address.host}:{address.port}: {cause_of(error)}"
            ) from None
        self._readers: list[_Reader] = []
        self._first = b""
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._accept, daemon=True)
        self._thread.start()

    @property
    def port(self) -> int:
        """Where it listens."""
        return int(self._server.getsockname()[1])

    def send(self, data: bytes) -> None:
        """Give a message to all readers; the first one has what later ones leave out.

        A reader that comes later gets the first one at once.
        """
        with self._lock:
            self._first = self._first or data
            self._readers = [reader for reader in self._readers if reader.is_open]
            for reader in self._readers:
                reader.give(data)

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                link, _ = self._server.accept()
                with self._lock:
                    self._readers = [reader for reader in self._readers if reader.is_open]
                    if len(self._readers) < MOST_READERS and ADMISSION.admits(link):
                        self._readers.append(_Reader(link, self._first))
                    else:
                        link.close()

    def close(self) -> None:
        """End; a second call does nothing."""
        with suppress(OSError):
            self._server.shutdown(socket.SHUT_RDWR)
        self._server.close()
        self._thread.join()
        with self._lock:
            readers, self._readers = self._readers, []
        for reader in readers:
            reader.close(self.PATIENCE)
