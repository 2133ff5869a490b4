# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""A DCP slave that knows nothing of this project: sockets and struct, as a vendor may write it.

It takes a ``geometry_msgs/msg/Twist`` in CDR and gives a ``geometry_msgs/msg/Wrench``: twice the
linear and minus the angular part. NRT over TCP, one master. Started as a program, it prints its
port.
"""

from __future__ import annotations

import socket
import struct
import sys
import threading

_CDR = struct.Struct("<4x6d")
_HEAD = b"\x00\x01\x00\x00"  # CDR, little endian
#: Request -> the states that it leads through.
_STATES = {0x01: [1], 0x03: [2, 3], 0x04: [4, 5], 0x05: [6, 7], 0x07: [12, 13], 0x09: [15, 16]}
_REGISTER, _DEREGISTER, _RUN, _SEND, _INF_STATE, _TARGET, _DATA = 1, 2, 6, 8, 0x80, 0x25, 0xF0


class Slave:
    """Its state, and where its data go."""

    def __init__(self) -> None:
        self.state = self.receiver = self.sent = 0
        self.twist = (0.0,) * 6
        self.target: tuple[int, tuple[str, int]] | None = None
        self.out: socket.socket | None = None
        self.done = threading.Event()

    def serve(self, link: socket.socket) -> None:
        """Read PDUs behind their lengths from one connection."""
        stream = link.makefile("rb")
        while len(head := stream.read(4)) == 4:
            pdu = stream.read(int.from_bytes(head, "little"))
            if pdu[0] == _DATA:
                (size,) = struct.unpack_from("<I", pdu, 5)
                assert size == _CDR.size, size
                self.twist = _CDR.unpack_from(pdu, 9)
            else:
                self.answer(link, pdu)

    def answer(self, link: socket.socket, pdu: bytes) -> None:
        """Acknowledge a request, and go where it leads."""
        kind, number = pdu[0], pdu[1:3]
        if kind == _REGISTER:
            self.receiver = pdu[3]
        me = bytes([self.receiver])
        if kind == _INF_STATE:
            _send(link, b"\xb2" + number + me + bytes([self.state]))
            return
        _send(link, b"\xb0" + number + me)
        if kind == _TARGET:
            data_id, port = struct.unpack_from("<HxH", pdu, 4)
            host = socket.inet_ntoa(pdu[9:13][::-1])
            self.target = data_id, (host, port)
        states = list(_STATES.get(kind, ()))
        if kind == _RUN:
            states = [9, 10] if self.state == 5 else [11]
        if kind == _SEND:
            self.notify(link, me, 8 if self.state == 7 else 14)
            self.give()
            states = [5 if self.state == 8 else 11]
        if kind == _DEREGISTER:
            states = [0]
        for state in states:
            self.notify(link, me, state)
        if kind == _DEREGISTER:
            self.done.set()

    def notify(self, link: socket.socket, me: bytes, state: int) -> None:
        """Say that the state has changed."""
        self.state = state
        _send(link, b"\xe0" + me + bytes([state]))

    def give(self) -> None:
        """Send the output."""
        assert self.target is not None
        data_id, address = self.target
        if self.out is None:
            self.out = socket.create_connection(address)
        x, y, z, *turn = self.twist
        wrench = _HEAD + struct.pack("<6d", 2 * x, 2 * y, 2 * z, *(-t for t in turn))
        head = struct.pack("<BHHI", _DATA, self.sent, data_id, len(wrench))
        self.sent += 1
        _send(self.out, head + wrench)


def _send(link: socket.socket, pdu: bytes) -> None:
    link.sendall(len(pdu).to_bytes(4, "little") + pdu)


def main() -> None:
    """Serve until the master leaves."""
    slave = Slave()
    with socket.create_server(("127.0.0.1", 0)) as server:
        print(server.getsockname()[1], flush=True)

        def accept() -> None:
            while True:
                link, _ = server.accept()
                threading.Thread(target=slave.serve, args=(link,), daemon=True).start()

        threading.Thread(target=accept, daemon=True).start()
        sys.exit(0 if slave.done.wait(60.0) else 1)


if __name__ == "__main__":
    main()
