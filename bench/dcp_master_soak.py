# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""A DCP master against slaves that send it anything: a simulated network with faults.

Each session runs a master through its whole life, with one to three slaves. They are the protocol
side of real slaves, so that sessions reach every phase; a seeded wire between them loses,
repeats, delays, cuts and changes what they send, and adds PDUs that nothing asked for. Time is
simulated: no session waits for a clock. The session checks that

- every call of the master returns or raises an error of this package, never another one;
- no call takes longer in simulated time, or looks more often for PDUs, than its timeouts allow;
- what the master keeps stays within bounds;
- without faults, a session succeeds.

    python bench/dcp_master_soak.py [--sessions 20000] [--seed 1] [--first 0]

A session that fails prints its number; ``--only N`` repeats it alone.
"""

from __future__ import annotations

import argparse
import logging
import random
import time as wall_time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from fractions import Fraction
from functools import cache
from types import SimpleNamespace
from typing import Any, NamedTuple
from unittest import mock

from bench.dcp_engine import Engine, Target
from ros2_cosim.core.kernel.errors import CosimError
from ros2_cosim.dcp.master.heartbeat import HeartbeatThread
from ros2_cosim.dcp.master.master import Master
from ros2_cosim.dcp.master.order import Stepping
from ros2_cosim.dcp.master.remote import MAX_LOG_ENTRIES, RemoteSlave
from ros2_cosim.dcp.slave.declare import describe
from ros2_cosim.dcp.slave.interfaces import Endpoint, SlaveOptions
from ros2_cosim.dcp.slave.slave_model import SlaveModel, StepInfo
from ros2_cosim.dcp.standard.data_path import Missing
from ros2_cosim.dcp.standard.enums import LogMode, OpMode, PduType, State, TransportProtocol
from ros2_cosim.dcp.standard.errors import DcpPeerLostError
from ros2_cosim.dcp.standard.pdu import LAYOUTS
from ros2_cosim.dcp.standard.slave_description import (
    LogCategory,
    LogTemplate,
    SlaveDescription,
)
from ros2_cosim.dcp.standard.states import TRANSIENT
from ros2_cosim.dcp.standard.transport import TcpLink

_TCP, _UDP = TransportProtocol.TCP_IPv4, TransportProtocol.UDP_IPv4
_MASTER_PORT, _FIRST_SLAVE_PORT = 5000, 8001
_TO_MASTER = sorted(int(kind) for kind in PduType if kind >= 0xB0)
_TIMEOUT_S, _RETRY_S = 2.0, 0.1
_MAX_AT_ONCE = 64
_MAX_PUMPS = 20_000
"""Looks for PDUs in one session: more than all its timeouts allow at the pace of repetitions."""
_MAX_TIME_S = 400.0
"""Simulated time of one session: the timeouts of all its calls, one after the other."""


class LoggingTarget(Target):
    """It has something to say."""

    def do_step(self, step: StepInfo) -> None:
        """Copy inputs to outputs, and write a log entry."""
        super().do_step(step)
        self.log(3, "stepped", step.ticks)


@cache
def description_of(heartbeat: Fraction | None) -> SlaveDescription:
    """The description of a slave.

    :param heartbeat: longest time without a sign of life of its master [s], None: any
    """
    return describe(
        LoggingTarget,
        op_modes=(OpMode.NRT, OpMode.SRT),
        resolutions=(Fraction(1, 100),),
        heartbeat=heartbeat,
        log_categories=(LogCategory(1, "steps"),),
        log_templates=(LogTemplate(3, 1, 3, "%string %uint64"),),
    )


class Faults:
    """What the wire does to PDUs on their way to the master, by a seed.

    :param rate: probability of each kind of fault
    """

    def __init__(self, rng: random.Random, rate: float) -> None:
        self._rng = rng
        self._rate = rate

    def passed_on(self, data: bytes) -> list[bytes]:
        """What arrives in place of a PDU."""
        rng = self._rng
        if not self._rate or rng.random() >= self._rate:
            return [data]
        return rng.choice(
            (
                lambda: [],
                lambda: [data, data],
                lambda: [data[: rng.randrange(len(data) + 1)]],
                lambda: [data + rng.randbytes(rng.randrange(1, 9))],
                lambda: [self._flipped(data)],
                lambda: [rng.randbytes(rng.randrange(40))],
                lambda: [self.invented(), data],
                lambda: [data, self.invented()],
                lambda: [data, *(self.invented() for _ in range(rng.randrange(30)))],
            )
        )()

    def _happens(self) -> bool:
        return bool(self._rate) and self._rng.random() < self._rate

    def loses(self) -> bool:
        """Whether a PDU to a slave gets lost."""
        return self._happens()

    def overtakes(self) -> bool:
        """Whether a PDU overtakes all that are under way."""
        return self._happens()

    def delays(self) -> bool:
        """Whether time passes although PDUs are under way."""
        return self._happens()

    def cuts(self) -> bool:
        """Whether a connection ends."""
        return self._happens()

    def _flipped(self, data: bytes) -> bytes:
        if not data:
            return data
        changed = bytearray(data)
        for _ in range(self._rng.randrange(1, 4)):
            changed[self._rng.randrange(len(changed))] ^= 1 << self._rng.randrange(8)
        return bytes(changed)

    def invented(self) -> bytes:
        """A PDU that goes to masters, with random fields that often are believable."""
        rng = self._rng
        layout = LAYOUTS[rng.choice(_TO_MASTER)]
        values: list[Any] = [int(layout.kind)]
        for name in layout.names:
            if name == "sender":
                values.append(rng.choice((1, 1, 1, 2, 0, 255)))
            elif name == "state_id":
                values.append(rng.randrange(22))
            elif name == "log_template_id":
                values.append(rng.choice((3, 254, 255, 0)))
            elif name == "time":
                values.append(rng.randrange(-(2**63), 2**63))
            else:
                values.append(rng.choice((rng.randrange(8), rng.randrange(65536), 65535)))
        data = layout.packer.pack(*values)
        if layout.tail is not None:
            data += rng.randbytes(rng.choice((0, 1, 4, 8, 9, 40, 72)))
        return data


class Peer(Engine):
    """One slave in the network."""

    def __init__(
        self, network: Network, port: int, model: SlaveModel, description: SlaveDescription
    ) -> None:
        super().__init__(model, description, port, network.options)
        self._network = network

    def send(self, peer: Any, data: bytes) -> None:
        """A control PDU to the master."""
        if peer is not None:
            self._network.to_master(self.port, data)

    def send_data(self, target: Endpoint, pdus: list[bytes]) -> None:
        """Data PDUs, to the master or to another slave."""
        for data in pdus:
            self._network.send_data(self.port, target.port, data)

    def now(self) -> float:
        """The simulated time."""
        return self._network.time

    def monotonic(self) -> float:
        """The simulated time."""
        return self._network.time


class Network:
    """Time, the slaves, and what is under way to the master."""

    def __init__(self, faults: Faults, options: SlaveOptions) -> None:
        self.time = 1000.0
        self.faults = faults
        self.options = options
        self.peers: dict[int, Peer] = {}
        self.under_way: deque[tuple[int, bytes]] = deque()
        self.lost_peers: set[int] = set()
        self.pumps = 0
        #: Watches what reaches the slaves: port and PDU.
        self.on_request: Callable[[int, bytes], None] = lambda port, data: None
        #: PDUs that have reached the master.
        self.arrived = 0
        self.most_pumps = _MAX_PUMPS

    def add(self, model: SlaveModel, description: SlaveDescription) -> int:
        """Another slave; its port."""
        port = _FIRST_SLAVE_PORT + len(self.peers)
        self.peers[port] = Peer(self, port, model, description)
        return port

    def to_master(self, port: int, data: bytes) -> None:
        """A slave sends a PDU to the master."""
        for arrived in self.faults.passed_on(data):
            if self.under_way and self.faults.overtakes():
                self.under_way.appendleft((port, arrived))
            else:
                self.under_way.append((port, arrived))

    def to_slave(self, port: int, data: bytes) -> None:
        """The master, or a slave, sends a PDU to a slave."""
        if not self.faults.loses():
            self.on_request(port, data)
            self.peers[port].slave.receive(data, "master")

    def send_data(self, source: int, port: int, data: bytes) -> None:
        """A data PDU of a slave."""
        if port == _MASTER_PORT:
            self.to_master(source, data)
        elif port in self.peers:
            self.to_slave(port, data)

    def wait(self, seconds: float) -> None:
        """Time passes; what becomes due at the slaves happens."""
        self.time += max(seconds, 1e-3)
        for peer in self.peers.values():
            due = peer.slave.deadline()
            if due is not None and due <= self.time:
                peer.slave.on_time()


class Link(TcpLink):
    """The control connection to a slave."""

    def __init__(self, network: Network, port: int) -> None:
        self.alive = True
        self._network = network
        self._port = port
        self._queued: list[bytes] = []

    def post(self, data: bytes) -> None:
        """Queue one PDU."""
        self._queued.append(data)

    def flush(self) -> None:
        """Send what was queued."""
        queued, self._queued = self._queued, []
        for data in queued:
            if self._port in self._network.lost_peers:
                raise DcpPeerLostError("the connection was cut")
            self._network.to_slave(self._port, data)

    def close(self) -> None:
        """Nothing is open."""


class Sockets:
    """Stands for ``MasterSockets``: the same methods, over the simulated network."""

    def __init__(
        self,
        network: Network,
        slaves: Mapping[str, RemoteSlave],
        on_control: Callable[[RemoteSlave, bytes], None],
        on_data: Callable[[bytes, str], None],
    ) -> None:
        self.stranger = ""
        self._network = network
        self._slaves = slaves
        self._on_control = on_control
        self._on_data = on_data
        self._expecting: set[str] = set()

    def open(self, slave: RemoteSlave) -> None:
        """Connect."""
        slave.address = ("127.0.0.1", slave.port)
        if slave.protocol is _TCP:
            slave.control = Link(self._network, slave.port)

    def data_address(self, slave: RemoteSlave, protocol: TransportProtocol) -> tuple[str, int]:
        """Where the master listens."""
        return "127.0.0.1", _MASTER_PORT

    def connect_data(self, slave: RemoteSlave, host: str, port: int) -> None:
        """Data take the control connection."""
        slave.data_link = slave.control

    def expect_loss(self, slave: RemoteSlave, expected: bool) -> None:
        """Set whether the connection may end."""
        (self._expecting.add if expected else self._expecting.discard)(slave.name)

    def close_control(self, slave: RemoteSlave) -> None:
        """Forget the connection."""
        slave.control = slave.data_link = None

    def close_data(self, slave: RemoteSlave) -> None:
        """Forget the data connection."""
        slave.data_link = None

    def close(self) -> None:
        """Nothing is open."""

    def flush(self, slave: RemoteSlave) -> None:
        """Send what was queued, data first."""
        waiting, slave.datagrams = slave.datagrams, []
        for address, data in waiting:
            port = address[1] if isinstance(address, tuple) else slave.port
            if port in self._network.peers:
                self._network.to_slave(port, data)
        if slave.control is not None:
            try:
                slave.control.flush()
            except DcpPeerLostError as error:
                slave.control = None
                if slave.name not in self._expecting:
                    raise DcpPeerLostError(
                        f"slave {slave.name!r} was lost: {error}", slave=slave.name
                    ) from None

    def send_datagram(self, slave: RemoteSlave, data: bytes) -> None:
        """Send a request at once."""
        slave.datagrams.append((slave.address, data))
        self.flush(slave)

    def pump(self, timeout_s: float) -> None:
        """Hand over what has arrived; if nothing has, time passes."""
        network = self._network
        network.pumps += 1
        if network.pumps > network.most_pumps:
            raise AssertionError("the master looks for PDUs without an end")
        if not network.under_way or network.faults.delays():
            network.wait(timeout_s)
        for _ in range(_MAX_AT_ONCE):
            if not network.under_way:  # taking one may make the master look for more
                return
            port, data = network.under_way.popleft()
            network.arrived += 1
            slave = next((s for s in self._slaves.values() if s.port == port), None)
            if slave is None:
                continue
            if data and data[0] >= PduType.DAT_input_output:
                self._on_data(data, "127.0.0.1")
            else:
                self._on_control(slave, data)
                if slave.protocol is _UDP and slave.state not in TRANSIENT:
                    return


@contextmanager
def simulated(network: Network) -> Iterator[None]:
    """Masters that are made meanwhile have sockets, clocks and thread of the simulation."""
    clock = SimpleNamespace(
        monotonic=lambda: network.time, time=lambda: network.time, sleep=network.wait
    )

    def sockets(
        slaves: Any, timeout_s: float, connect_wait_s: float, on_control: Any, on_data: Any,
        look_ns: int,
    ) -> Sockets:  # fmt: skip
        return Sockets(network, slaves, on_control, on_data)

    place = "ros2_cosim.dcp.master"
    with ExitStack() as stack:
        stack.enter_context(mock.patch(f"{place}.requests.MasterSockets", sockets))
        stack.enter_context(mock.patch.object(HeartbeatThread, "start", lambda *a: None))
        for module in ("requests", "setup", "run"):
            stack.enter_context(mock.patch(f"{place}.{module}.time", clock))
        yield


class Session:
    """One life of a master with its slaves.

    :param rng: decides about everything
    """

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        rate = rng.choice((0.0, 0.001, 0.005, 0.02, 0.1, 0.4))
        self.clean = rate == 0.0
        self._by_data = rng.random() < 0.25
        options = SlaveOptions(data_synchronisation=self._by_data)
        self.network = Network(Faults(rng, rate), options)
        self.phase = "configure"

    def run(self) -> str:
        """The whole session; how it ended.

        :raises AssertionError: the master did something that it must not do
        """
        with simulated(self.network):
            master, slaves = self._master()
            try:
                self._live(master, slaves)
                end = "complete"
            except CosimError as error:
                end = f"{type(error).__name__} in {self.phase}"
                if self.clean:
                    raise AssertionError(f"without a fault: {error}") from error
            finally:
                self.phase = "close"
                master.close()
        assert self.network.time - 1000.0 < _MAX_TIME_S, "a call did not end in time"
        for slave in slaves:
            assert len(slave.log) <= MAX_LOG_ENTRIES
            assert len(slave.pending) < 1000
        return end

    def _master(self) -> tuple[Master, list[RemoteSlave]]:
        rng = self._rng
        mode = rng.choice((OpMode.NRT, OpMode.NRT, OpMode.SRT))
        master = Master(
            op_mode=mode,
            timeout_s=_TIMEOUT_S,
            retry_s=_RETRY_S,
            stepping=rng.choice(tuple(Stepping)),
            data_synchronisation=self._by_data,
            missing=rng.choice(tuple(Missing)),
            data_wait_s=0.05,
            acceptable_loss=rng.choice((None, None, 0.2)),
            on_log=lambda entry: None,
        )
        slaves = []
        for number in range(rng.randrange(1, 4)):
            beat = rng.choice((None, Fraction(1), Fraction(60)))
            description = description_of(beat)
            port = self.network.add(LoggingTarget(), description)
            protocol = rng.choice((_TCP, _UDP))
            slaves.append(
                master.add_slave(description, "127.0.0.1", port, name=f"s{number}",
                                 transport=protocol)
            )  # fmt: skip
            master.set_logging(f"s{number}", 3, rng.choice((LogMode.ON_NOTIFICATION, LogMode.NONE)))
        for first, second in zip(slaves, slaves[1:], strict=False):
            master.connect(f"{first.name}.out_f64", f"{second.name}.in_f64")
            if rng.random() < 0.5:
                master.connect(f"{second.name}.out_u8", f"{first.name}.in_u8", delayed=True)
        return master, slaves

    def _live(self, master: Master, slaves: list[RemoteSlave]) -> None:
        rng = self._rng
        for number in range(rng.randrange(1, 3)):
            self.phase = "reset" if number else "configure"
            (master.reset if number else master.configure)()
            self.phase = "initialise"
            master.initialise(rng.randrange(1, 3))
            self.phase = "run"
            master.run()
            for _ in range(rng.randrange(1, 20)):
                self.phase = "do_step"
                self.network.time += rng.choice((0.0, 0.0, 0.2))
                for slave in slaves:
                    if "in_text" in slave.input_names:
                        slave.set_inputs({"in_text": "x" * rng.randrange(10)})
                master.do_step()
                if rng.random() < 0.1:
                    self.phase = "tune"
                    changes: dict[str, Any] = {"gain": rng.random()}
                    if master.op_mode is OpMode.NRT:  # else PDUs of the former size are under way
                        changes["m"] = rng.randrange(1, 5)
                    master.tune({slaves[0].name: changes})
                if rng.random() < 0.1:
                    self.phase = "request_log"
                    master.request_log(slaves[0].name)
                if slaves[0].protocol is _TCP and self.network.faults.cuts():
                    self.network.lost_peers.add(slaves[0].port)
            self.phase = "stop"
            master.request_states()
            master.stop()
        self.phase = "deregister"
        master.deregister()
        if self.clean:  # else a false notification may have come last
            assert all(slave.state is State.ALIVE for slave in slaves)


def session_of(seed: int, number: int) -> Session:
    """A session by its seed and number."""
    return Session(random.Random(seed * 1_000_003 + number))


class Found(NamedTuple):
    """How often sessions ended in each way, and how many PDUs have reached the master."""

    ends: Counter[str]
    pdus: int


def soak(sessions: Iterable[int], seed: int) -> Found:
    """Run sessions.

    :param sessions: their numbers
    :raises SystemExit: one did what it must not; the text says which and what
    """
    logging.getLogger("ros2_cosim.dcp").setLevel(logging.CRITICAL)  # faults are wanted here
    ends: Counter[str] = Counter()
    pdus = 0
    for number in sessions:
        session = session_of(seed, number)
        try:
            ends[session.run()] += 1
        except Exception as error:
            raise SystemExit(
                f"session {number} of seed {seed}, in {session.phase}: "
                f"{type(error).__name__}: {error}"
            ) from error
        pdus += session.network.arrived
    return Found(ends, pdus)


def main() -> None:
    """Run the soak and print how the sessions ended."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sessions", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0, help="number of the first session")
    parser.add_argument("--only", type=int, help="repeat this session alone")
    chosen = parser.parse_args()
    if chosen.only is not None:
        print(session_of(chosen.seed, chosen.only).run())
        return
    began = wall_time.perf_counter()
    found = soak(range(chosen.first, chosen.first + chosen.sessions), chosen.seed)
    for end, count in sorted(found.ends.items()):
        print(f"{count:10d}  {end}")
    print(
        f"{chosen.sessions} sessions, {found.pdus} PDUs to the master in "
        f"{wall_time.perf_counter() - began:.1f} s"
    )


if __name__ == "__main__":
    main()
