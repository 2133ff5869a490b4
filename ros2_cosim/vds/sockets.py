# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The sockets of a VDS1 server: commands in, states out to any number of receivers.

Vehicle i of a fleet has command port P + i, and its states go to port Q + i of each receiver:
VDS1 has no vehicle in its packets.
"""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import NamedTuple

from ros2_cosim.core.documents.files import cause_of
from ros2_cosim.core.kernel.errors import ConfigurationError, ConnectionFailedError, ProtocolError
from ros2_cosim.core.realtime.wall_clock import WallClock
from ros2_cosim.core.sockets.endpoints import open_udp
from ros2_cosim.core.sockets.peers import Senders
from ros2_cosim.core.sockets.reactor import Reactor
from ros2_cosim.vds.fleet import VehicleOutput
from ros2_cosim.vds.vds1 import (
    CommandPacket,
    SequenceFilter,
    decode_command,
    encode_state,
    to_timestamp,
)

Address = tuple[str, int]
#: Larger than any packet, so that longer datagrams are recognised as malformed.
_READ_SIZE = 512
#: A port that is flooded gives way to the others after so many datagrams.
_MAX_READS = 64


class PortCounts(NamedTuple):
    """Datagrams on one command port: accepted, stale by their number, not valid."""

    accepted: int
    stale: int
    malformed: int


def open_port(host: str, port: int) -> socket.socket:
    """A bound UDP socket that does not block; port 0 takes a free one.

    :raises ConnectionFailedError: the address cannot be used
    """
    try:
        return open_udp(host, port)
    except OSError as error:
        raise ConnectionFailedError(
            f"UDP {host}:{port} cannot be opened: {cause_of(error)}"
        ) from None


def read_address(text: str, port: int, option: str) -> Address:
    """Read ``HOST`` or ``HOST:PORT`` and look the host up.

    :raises ConfigurationError: it is neither, or the host is not known
    """
    host, colon, number = text.partition(":")
    try:
        found = int(number) if colon else port
        if not 0 < found < 65536:
            raise ValueError
        address = socket.getaddrinfo(host, found, socket.AF_INET, socket.SOCK_DGRAM)[0][4]
    except (ValueError, OSError, UnicodeError):
        raise ConfigurationError(
            f"{option}: found {text!r}; allowed is a known host, or host:port"
        ) from None
    return str(address[0]), int(address[1])


class CommandPorts:
    """One UDP socket per vehicle, with counts of its datagrams.

    :param vehicles: names; their order numbers the ports
    :param host: address to listen at
    :param port: of the first vehicle; 0: any free one for each
    :raises ConnectionFailedError: a port cannot be opened
    """

    def __init__(self, vehicles: Iterable[str], host: str, port: int) -> None:
        self.sockets: dict[str, socket.socket] = {}
        self.filters: dict[str, SequenceFilter] = {}
        self._accepted: dict[str, int] = {}
        self._malformed: dict[str, int] = {}
        self._senders = Senders()
        try:
            for index, name in enumerate(vehicles):
                self.sockets[name] = open_port(host, port + index if port else 0)
                self.filters[name] = SequenceFilter()
                self._accepted[name] = self._malformed[name] = 0
        except ConnectionFailedError:
            self.close()
            raise

    @property
    def ports(self) -> dict[str, int]:
        """Where each vehicle listens."""
        return {name: opened.getsockname()[1] for name, opened in self.sockets.items()}

    def receive(self, vehicle: str) -> tuple[CommandPacket, Address] | None:
        """The next valid command on a port, with any sequence number; None: there is none."""
        while True:
            try:
                data, address = self.sockets[vehicle].recvfrom(_READ_SIZE)
            except (BlockingIOError, ConnectionRefusedError):
                return None
            if not self._senders.admits(address):
                continue
            try:
                return decode_command(data), address
            except ProtocolError:
                self._malformed[vehicle] += 1

    def accept(self, vehicle: str, packet: CommandPacket) -> bool:
        """Whether a command is newer than all before it."""
        fresh = self.filters[vehicle].accept(packet.seq)
        self._accepted[vehicle] += fresh
        return fresh

    def counts(self) -> dict[str, PortCounts]:
        """Datagrams so far."""
        return {
            name: PortCounts(self._accepted[name], kept.dropped, self._malformed[name])
            for name, kept in self.filters.items()
        }

    def close(self) -> None:
        """Close all ports."""
        for opened in self.sockets.values():
            opened.close()


class CommandReceiver:
    """Reads command ports in its own thread and passes on new commands.

    After ``silence_ns`` without a command, a sender may start with any sequence number.

    :param ports: where to read
    :param sink: called with vehicle and command, in that thread
    :param clock: to measure silence
    :param silence_ns: silence [ns] after which any sequence number is new
    """

    def __init__(
        self,
        ports: CommandPorts,
        sink: Callable[[str, CommandPacket], None],
        clock: WallClock,
        silence_ns: int,
    ) -> None:
        self._ports = ports
        self._sink = sink
        self._clock = clock
        self._silence = silence_ns
        self._heard = dict.fromkeys(ports.sockets, clock.now())
        self._reactor = Reactor()
        for name, opened in ports.sockets.items():
            self._reactor.watch(opened, partial(self._read, name))
        self._thread = threading.Thread(target=self._reactor.run, name="vds-commands", daemon=True)

    def start(self) -> None:
        """Begin to read."""
        self._thread.start()

    def close(self) -> None:
        """End the thread; the ports stay open."""
        self._reactor.stop()
        if self._thread.is_alive():
            self._thread.join()
        self._reactor.close()

    def _read(self, vehicle: str) -> None:
        for _ in range(_MAX_READS):
            received = self._ports.receive(vehicle)
            if received is None:
                return
            packet = received[0]
            now = self._clock.now()
            if now - self._heard[vehicle] >= self._silence:
                self._ports.filters[vehicle].forget()
            if self._ports.accept(vehicle, packet):
                self._heard[vehicle] = now
                self._sink(vehicle, packet)


class StateSender:
    """Sends states to any number of receivers.

    :param vehicles: names; their order numbers the ports
    :param receivers: address of the first vehicle's states at each receiver
    """

    def __init__(self, vehicles: Iterable[str], receivers: Sequence[Address]) -> None:
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.setblocking(False)
        self._addresses = {
            name: [(host, port + index) for host, port in receivers]
            for index, name in enumerate(vehicles)
        }
        #: Datagrams that the network took, and those that it refused.
        self.sent = self.failed = 0

    def send(self, outputs: Mapping[str, VehicleOutput]) -> None:
        """Send the measured states, with the number and the simulated time of their ticks."""
        for vehicle, output in outputs.items():
            data = encode_state(output.steps, to_timestamp(output.time), output.measured)
            for address in self._addresses[vehicle]:
                try:
                    self._socket.sendto(data, address)
                    self.sent += 1
                except (OSError, OverflowError):
                    self.failed += 1

    def close(self) -> None:
        """Close the socket."""
        self._socket.close()
