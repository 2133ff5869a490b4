# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""A UDP relay in front of a DCP slave that loses or delays chosen data PDUs of its master."""

from __future__ import annotations

import select
import socket
import threading
from collections.abc import Collection, Iterator
from contextlib import contextmanager

_DATA = 0xF0
_LISTEN = (0x26, 0x29)
"""CFG_source and CFG_param network information."""


class LosingRelay:
    """Passes everything on but data PDUs whose place among all data PDUs is in ``lose``.

    Those in ``delay`` let the datagram that follows overtake them.
    """

    def __init__(self, slave_port: int, lose: Collection[int], delay: Collection[int]) -> None:
        self._slave = ("127.0.0.1", slave_port)
        self._lose = lose
        self._delay = delay
        self._seen = 0
        self._ending = False
        self._near, self._far = self._socket(), self._socket()
        self.port = int(self._near.getsockname()[1])
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    @staticmethod
    def _socket() -> socket.socket:
        sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        sock.bind(("127.0.0.1", 0))
        return sock

    def _run(self) -> None:
        master = None
        waiting: list[bytes] = []
        while not self._ending:
            ready, _, _ = select.select([self._near, self._far], [], [], 0.05)
            for sock in ready:
                data, address = sock.recvfrom(65536)
                if sock is self._far:
                    if master is not None:
                        self._near.sendto(data, master)
                    continue
                master = address
                if data[0] == _DATA:
                    self._seen += 1
                    if self._seen in self._lose:
                        continue
                    if self._seen in self._delay:
                        waiting.append(data)
                        continue
                elif data[0] in _LISTEN:  # where the slave listens, not the relay
                    port = self._slave[1].to_bytes(2, "little")
                    data = data[:7] + port + data[9:]
                for sent in (data, *waiting):
                    self._far.sendto(sent, self._slave)
                waiting.clear()

    def close(self) -> None:
        self._ending = True
        self._thread.join()
        self._near.close()
        self._far.close()


@contextmanager
def losing_relay(
    slave_port: int, lose: Collection[int], delay: Collection[int] = ()
) -> Iterator[LosingRelay]:
    """A relay that ends with the block."""
    relay = LosingRelay(slave_port, lose, delay)
    try:
        yield relay
    finally:
        relay.close()
