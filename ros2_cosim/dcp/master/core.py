# SPDX-License-Identifier: Apache-2.0
"""A master's slaves and wires, requests to them, and the heartbeat."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from fractions import Fraction
from pathlib import Path

from ros2_cosim.dcp.description.model import SlaveDescription
from ros2_cosim.dcp.description.read import read_description
from ros2_cosim.dcp.master.io import MasterIO
from ros2_cosim.dcp.master.remote import Group, LogEntry, RemoteSlave
from ros2_cosim.dcp.master.wiring import Wire
from ros2_cosim.dcp.wire.data_path import Missing
from ros2_cosim.dcp.wire.enums import (
    LogMode,
    OpMode,
    PduType,
    State,
    TransportProtocol,
)
from ros2_cosim.dcp.wire.errors import DcpError, DcpPeerLostError, WiringError
from ros2_cosim.dcp.wire.ticks import TickPlan

_TCP, _UDP = TransportProtocol.TCP_IPv4, TransportProtocol.UDP_IPv4


class MasterCore:
    """What all phases of a master share; see ``Master`` for the parameters."""

    def __init__(
        self,
        *,
        op_mode: OpMode = OpMode.NRT,
        resolution: Fraction | None = None,
        timeout_s: float = 30.0,
        retry_s: float = 0.1,
        connect_wait_s: float = 0.0,
        stepping: str = "parallel",
        data_synchronisation: bool = False,
        missing: Missing = Missing.HOLD,
        data_wait_s: float = 0.2,
        acceptable_loss: float | None = None,
        on_log: Callable[[LogEntry], None] | None = None,
    ) -> None:
        if stepping not in ("parallel", "sequential"):
            raise WiringError(f"stepping is parallel or sequential, not {stepping!r}")
        self.op_mode = op_mode
        self.stepping = stepping
        self.plan = TickPlan()
        self.steps_done = 0
        self._resolution = resolution
        self._data_sync = data_synchronisation
        self._missing = missing
        self._data_wait_s = data_wait_s
        self._acceptable_loss = acceptable_loss
        self._on_log = on_log
        self._io = MasterIO(timeout_s, retry_s, connect_wait_s)
        self._wires: list[Wire] = []
        self._relayed: list[Wire] = []
        self._groups: list[Group] = []
        self._step: Fraction = Fraction(0)
        self._lock = threading.RLock()
        self._beating: threading.Thread | None = None
        self._closed = threading.Event()
        self._background: Exception | None = None

    @property
    def slaves(self) -> Mapping[str, RemoteSlave]:
        """The slaves by name."""
        return self._io.slaves

    @property
    def step_size(self) -> Fraction:
        """Length of one master step in seconds (known after ``configure``)."""
        return self._step

    # -- building ----------------------------------------------------------------------------

    def add_slave(
        self,
        description: SlaveDescription | str | Path,
        host: str | None = None,
        port: int | None = None,
        *,
        name: str | None = None,
        transport: TransportProtocol | None = None,
        resolution: Fraction | None = None,
        every: int = 1,
        steps: int | None = None,
        data_port: int | None = None,
        max_pdu_size: int | None = None,
        exact_types: bool = False,
    ) -> RemoteSlave:
        """Add a slave; nothing is sent yet.

        :param host, port: its control address, by default that of the description
        :param transport: TCP_IPv4 or UDP_IPv4, by default TCP where the slave offers it
        :param every: in NRT the slave steps in every so many-th master step
        :param steps: resolutions per STC_do_step, by default those of the description
        :param data_port: port on which it shall receive data, by default its control port
            or one of those it offers
        :param max_pdu_size: greatest data PDU in bytes, if that is less than its description
            says (slaves made with DCPLib send at most 905 bytes)
        :param exact_types: the slave drops data of another type than its input has, also those
            that can be converted (so do slaves made with DCPLib); the master then passes such
            values on itself
        :raises DescriptionError: the description is not valid
        :raises WiringError: mode, transport, address or name do not fit
        """
        if not isinstance(description, SlaveDescription):
            description = read_description(description)
        name = name or description.name
        if transport is None:
            transport = _TCP if description.tcp is not None else _UDP
        offer = description.transport(transport)
        if name in self.slaves:
            raise WiringError(f"two slaves are named {name!r}")
        if offer is None:
            raise WiringError(f"slave {name!r} does not offer {transport.name}")
        if self.op_mode not in description.op_modes:
            offered = ", ".join(sorted(m.name for m in description.op_modes))
            raise WiringError(f"slave {name!r} offers {offered}, not {self.op_mode.name}")
        port = offer.port if port is None else port
        if not port:
            raise WiringError(f"slave {name!r}: its description names no control port; give one")
        if len(self.slaves) >= 255:
            raise WiringError("a master has at most 255 slaves")
        if every < 1:
            raise WiringError(f"slave {name!r}: every is {every}; it starts at 1")
        slave = RemoteSlave(
            name,
            description,
            len(self.slaves) + 1,
            host or offer.host or "127.0.0.1",
            port,
            transport,
            resolution=resolution or self._resolution,
            every=every,
            steps=steps,
            data_port=data_port,
        )
        slave.max_pdu_size = min(max_pdu_size or offer.max_pdu_size, offer.max_pdu_size)
        slave.exact_types = exact_types
        slave.on_log = self._on_log
        self._io.slaves[name] = slave
        return slave

    def connect(self, source: str, target: str) -> None:
        """Wire an output to an input: ``connect("plant.speed", "controller.speed")``.

        Everything is checked in :meth:`configure`, when all slaves are known.
        """
        ends = [end.split(".", 1) for end in (source, target)]
        if any(len(end) != 2 for end in ends):
            raise WiringError(f"{source} -> {target}: write slave.variable on both sides")
        self._wires.append(Wire(*ends[0], *ends[1]))

    # -- information -------------------------------------------------------------------------

    def request_states(self) -> dict[str, State]:
        """State of every slave, asked now (INF_state)."""
        with self._lock:
            return {s.name: self._io.poll_state(s) for s in self._all()}

    def request_log(self, slave: str, category: int = 0, most: int = 255) -> list[LogEntry]:
        """Log entries that a slave has stored (INF_log); it forgets them."""
        with self._lock:
            remote = self._slave(slave)
            before = len(remote.log)
            extra = bytes((category, most))
            self._io.request(remote, PduType.INF_log, remote.next_inf(PduType.INF_log, extra))
            self._io.wait([remote], lambda: not remote.pending, "RSP_log_ack")
            return remote.log[before:]

    def set_logging(self, slave: str, level: int, mode: LogMode, category: int = 0) -> None:
        """Have :meth:`configure` switch logging of a category (0 = all) and level on."""
        fields = {"log_category": category, "log_level": level, "log_mode": mode}
        self._slave(slave).logging.append(fields)

    # -- inside ------------------------------------------------------------------------------

    def _all(self) -> list[RemoteSlave]:
        return list(self._io.slaves.values())

    def _slave(self, name: str) -> RemoteSlave:
        try:
            return self._io.slaves[name]
        except KeyError:
            known = ", ".join(self._io.slaves) or "none"
            raise WiringError(f"there is no slave {name!r}; there are {known}") from None

    def _stc(self, slave: RemoteSlave, kind: PduType, extra: bytes = b"") -> None:
        self._io.request(slave, kind, slave.next_stc(kind, extra))

    def _all_to(self, kind: PduType, state: State) -> None:
        for slave in self._all():
            self._stc(slave, kind)
        self._io.await_state(self._all(), state)

    def _start_heartbeat(self) -> None:
        """While nobody is inside a method of the master, a thread keeps slaves informed."""
        intervals = [s.description.heartbeat for s in self._all() if s.description.heartbeat]
        if not intervals or self._beating is not None:
            return
        pause = float(min(intervals)) / 6

        def beat() -> None:
            while not self._closed.wait(pause):
                if not self._lock.acquire(timeout=pause):
                    continue
                try:
                    self._io.idle(time.monotonic())
                    self._io.pump(0.0)
                except (DcpError, DcpPeerLostError) as error:
                    self._background = error
                    return
                finally:
                    self._lock.release()

        self._beating = threading.Thread(target=beat, name="dcp-heartbeat", daemon=True)
        self._beating.start()

    def _raise_background(self) -> None:
        """An error that the heartbeat thread met is raised by the next step."""
        error, self._background = self._background, None
        if error is not None:
            raise error
