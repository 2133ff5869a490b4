# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The other side of VDS1: sends commands to a vehicle simulator and receives its states."""

from __future__ import annotations

from time import monotonic_ns

from ros2_cosim.core.documents.files import cause_of
from ros2_cosim.core.kernel.errors import ConnectionFailedError, ProtocolError
from ros2_cosim.core.sockets.peers import Senders
from ros2_cosim.core.sockets.reactor import Reactor
from ros2_cosim.vds.sockets import Address, open_port
from ros2_cosim.vds.vds1 import SequenceFilter, StatePacket, decode_state, encode_command
from ros2_cosim.vds.vehicle_plant import VehicleCommand

_READ_SIZE = 512
_REPEAT_NS = 50_000_000


class VdsClient:
    """One vehicle of a VDS1 server.

    :param server: where commands go (address, not a name)
    :param host: address at which states are received
    :param port: port there; 0: any free one
    :raises ConnectionFailedError: the port cannot be opened
    """

    def __init__(self, server: Address, host: str = "127.0.0.1", port: int = 0) -> None:
        self._server = server
        self._socket = open_port(host, port)
        self._reactor = Reactor()
        self._senders = Senders()
        self._reactor.watch(self._socket, lambda: None)  # a wait ends; _next reads
        self._filter = SequenceFilter()
        self._seq = 0
        #: Valid and new states; packets that were invalid, or from another sender.
        self.received = self.refused = 0
        #: States that are missing between those that arrived.
        self.lost = 0

    @property
    def port(self) -> int:
        """Where states are received."""
        return int(self._socket.getsockname()[1])

    @property
    def stale(self) -> int:
        """States that came late or twice."""
        return self._filter.dropped

    def send(self, command: VehicleCommand, timestamp: float) -> bytes:
        """Send a command with the next sequence number; returns the datagram.

        :raises ConfigurationError: the command cannot be sent
        """
        data = encode_command(self._seq, timestamp, command)
        self._seq += 1
        self._put(data)
        return data

    def poll(self) -> StatePacket | None:
        """The newest state that has arrived since the last call; None: none has."""
        newest = None
        while (packet := self._next()) is not None:
            newest = packet
        return newest

    def wait(self, timeout_s: float) -> StatePacket:
        """Wait for the next state.

        :raises ConnectionFailedError: none arrives in time
        """
        return self._await(timeout_s, None)

    def exchange(self, command: VehicleCommand, timestamp: float, timeout_s: float) -> StatePacket:
        """Send a command and wait for the state that answers it, repeating the command.

        :raises ConnectionFailedError: no answer arrives in time
        """
        return self._await(timeout_s, self.send(command, timestamp))

    def close(self) -> None:
        """Close the socket."""
        self._reactor.close()
        self._socket.close()

    def _await(self, timeout_s: float, repeated: bytes | None) -> StatePacket:
        begun = monotonic_ns()
        until = begun + int(timeout_s * 1e9)
        again = begun + _REPEAT_NS
        while True:
            packet = self._next()
            if packet is not None:
                return packet
            now = monotonic_ns()
            if now >= until:
                host, port = self._server
                raise ConnectionFailedError(
                    f"vehicle simulator at {host}:{port}: no state on port {self.port} within "
                    f"{timeout_s:g} s of wall time"
                )
            if repeated is not None and now >= again:
                self._put(repeated)
                again = now + _REPEAT_NS
            self._reactor.turn(until if repeated is None else min(until, again))

    def _next(self) -> StatePacket | None:
        """The next valid, new state of the server that has arrived."""
        while True:
            try:
                data, address = self._socket.recvfrom(_READ_SIZE)
            except (BlockingIOError, ConnectionRefusedError):
                return None
            if address[0] != self._server[0] or not self._senders.admits(address):
                self.refused += 1
                continue
            try:
                packet = decode_state(data)
            except ProtocolError:
                self.refused += 1
                continue
            last = self._filter.last
            if self._filter.accept(packet.seq):
                if last is not None:
                    self.lost += (packet.seq - last) % 2**32 - 1
                self.received += 1
                return packet

    def _put(self, data: bytes) -> None:
        try:
            self._socket.sendto(data, self._server)
        except BlockingIOError:
            pass  # a full buffer drops datagrams as the network does
        except OSError as error:
            host, port = self._server
            raise ConnectionFailedError(
                f"vehicle simulator at {host}:{port}: {cause_of(error)}"
            ) from None
