# SPDX-License-Identifier: Apache-2.0
"""A DCP master: takes any set of slaves through their states and steps them together.

Example::

    with Master(resolution=Fraction(1, 100)) as master:
        plant = master.add_slave("plant.dcpx", port=8080)
        master.configure({"plant": {"mass": 1500.0}})
        master.initialise()
        master.run()
        for _ in range(100):
            plant.set_inputs({"force": 10.0})
            master.do_step()
            print(plant.output("speed"))
        master.stop()
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from fractions import Fraction
from pathlib import Path
from types import TracebackType
from typing import Any

from ros2_cosim.dcp.data_path import Missing, OutputPdu
from ros2_cosim.dcp.dcpx import read_description
from ros2_cosim.dcp.description import SlaveDescription
from ros2_cosim.dcp.enums import (
    ErrorCode,
    LogMode,
    OpMode,
    PduType,
    State,
    TransportProtocol,
)
from ros2_cosim.dcp.errors import DcpError, DcpPeerLostError, DcpTimeoutError, WiringError
from ros2_cosim.dcp.master_io import MasterIO
from ros2_cosim.dcp.master_plan import (
    choose_port,
    data_settings,
    make_groups,
    parameter_settings,
    prepare_data_path,
    tunable_names,
    tunable_settings,
)
from ros2_cosim.dcp.pdu import encode_address
from ros2_cosim.dcp.remote import Group, LogEntry, RemoteSlave, codec_for
from ros2_cosim.dcp.slave_realtime import TickPlan
from ros2_cosim.dcp.states import ERROR, RUN, STOPPABLE
from ros2_cosim.dcp.values import Value
from ros2_cosim.dcp.wiring import Wire, common_step

_TCP, _UDP = TransportProtocol.TCP_IPv4, TransportProtocol.UDP_IPv4
_STEPS_REFUSALS = frozenset(
    {
        ErrorCode.NOT_SUPPORTED_PDU,
        ErrorCode.PROTOCOL_ERROR_PDU_NOT_ALLOWED_IN_THIS_STATE,
        ErrorCode.INVALID_STEPS,
    }
)


class Master:
    """A master of any number of slaves in one operating mode.

    :param op_mode: operating mode of all slaves
    :param resolution: time resolution in seconds for slaves that do not have their own
    :param timeout_s: longest wait for anything a slave has to do; only ends the run
    :param connect_wait_s: how long a slave that refuses the connection may take to listen
    :param stepping: ``"parallel"`` (all compute, then all send) or ``"sequential"`` (one
        after the other in the order of ``add_slave``, each seeing the newest outputs)
    :param data_synchronisation: step by data PDUs in RUNNING instead of STC_do_step; the
        slaves must be run with the same choice
    :param missing: what to do when outputs do not come over UDP
    :param data_wait_s: how long outputs on UDP may come after the slave has sent them
    :param acceptable_loss: greatest share of lost data PDUs per data_id, None for any
    :param on_log: called with each log entry that slaves send by notification
    :ivar plan: ticks and overruns of a real-time run
    :ivar steps_done: master steps since ``run``
    """

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
    ) -> RemoteSlave:
        """Add a slave; nothing is sent yet.

        :param host, port: its control address, by default that of the description
        :param transport: TCP_IPv4 or UDP_IPv4, by default TCP where the slave offers it
        :param every: in NRT the slave steps in every so many-th master step
        :param steps: resolutions per STC_do_step, by default those of the description
        :param data_port: port on which it shall receive data, by default its control port
            or one of those it offers
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

    # -- the phases --------------------------------------------------------------------------

    def configure(self, parameters: Mapping[str, Mapping[str, Value]] | None = None) -> None:
        """From nothing to CONFIGURED: connect, register, configure, prepare, configure.

        :param parameters: values by slave and parameter name
        :raises WiringError: the wiring or a parameter does not fit; nothing was sent yet
        :raises DcpError: a slave refused a request
        """
        with self._lock:
            self._plan(parameters)
            for slave in self._all():
                if slave.state is None:
                    self._io.open(slave)
                    self._recover(slave)
            for slave in self._all():
                self._register(slave)
            self._io.await_state(self._all(), State.CONFIGURATION)
            self._send_configuration()
            self._start_heartbeat()

    def reset(self, parameters: Mapping[str, Mapping[str, Value]] | None = None) -> None:
        """From STOPPED or the error state back to CONFIGURED, for another run.

        :raises DcpError: a slave cannot be reset
        """
        with self._lock:
            self._plan(parameters)
            chosen = [s for s in self._all() if s.state is not State.CONFIGURATION]
            for slave in chosen:
                self._io.close_data(slave)
                slave.pending.clear()
                self._stc(slave, PduType.STC_reset)
                self._io.await_state([slave], State.CONFIGURATION)
                self._io.poll_state(slave)
            self._send_configuration()

    def initialise(self, loops: int = 1) -> None:
        """Initialization loop: afterwards ``outputs`` hold static data and initial state."""
        with self._lock:
            for _ in range(loops):
                for slave in self._all():
                    self._send_inputs(slave)
                    self._stc(slave, PduType.STC_initialize)
                self._io.await_state(self._all(), State.INITIALIZED)
                self._collect(self._all(), State.CONFIGURED, initial=True)

    def run(self, start_time: int = 0) -> None:
        """From CONFIGURED to RUNNING.

        :param start_time: UNIX time in whole seconds at which real-time slaves start, 0 for
            at once
        """
        with self._lock:
            extra = start_time.to_bytes(8, "little", signed=True)
            for state in (State.SYNCHRONIZED, State.RUNNING):
                for slave in self._all():
                    self._stc(slave, PduType.STC_run, extra)
                self._await_run(state, start_time)
            self.steps_done = 0
            self.plan = TickPlan()
            if self.op_mode is not OpMode.NRT:
                delay = max(0.0, start_time - time.time()) if start_time else 0.0
                self.plan.start(time.monotonic() + delay, self._step)

    def do_step(self, count: int = 1) -> None:
        """``count`` master steps: inputs out, compute, outputs in.

        NRT uses STC_do_step (or data PDUs with ``data_synchronisation``). In SRT and HRT
        each step waits for its tick of the clock, takes what has come and sends the inputs.
        """
        with self._lock:
            self._raise_background()
            for _ in range(count):
                if self._data_sync:
                    self._step_by_data()
                elif self.op_mode is not OpMode.NRT:
                    self._step_by_clock()
                else:
                    self._step_by_request()
                self.steps_done += 1

    def tune(self, values: Mapping[str, Mapping[str, Value]]) -> None:
        """New values of tunable parameters, by slave and name; all of a slave travel in
        one DAT_parameter and take effect with its next step.

        :raises WiringError: a parameter is not tunable
        """
        with self._lock:
            for name, changes in values.items():
                slave = self._slave(name)
                names = tunable_names(slave)
                for parameter in changes:
                    if parameter not in names:
                        known = ", ".join(names) or "none"
                        raise WiringError(
                            f"slave {name!r}: {parameter!r} is not tunable, only {known}"
                        )
                slave.tuned.update(changes)
                known_values = slave.parameters | slave.tuned
                current = [known_values.get(n, slave.description.variable(n).start) for n in names]
                self._io.send_data(slave, slave.param_pdus[0], current)
                self._io.flush(slave)

    def stop(self) -> None:
        """Every slave that can be stopped to STOPPED."""
        with self._lock:
            self.plan.stop()
            chosen = [s for s in self._all() if s.state in STOPPABLE]
            for slave in chosen:
                self._stc(slave, PduType.STC_stop)
            self._io.await_state(chosen, State.STOPPED)

    def deregister(self) -> None:
        """Every slave back to ALIVE."""
        with self._lock:
            places = (State.CONFIGURATION, State.STOPPED, State.ERRORRESOLVED)
            chosen = [s for s in self._all() if s.state in places]
            for slave in chosen:
                self._io.expect_loss(slave, True)
                self._stc(slave, PduType.STC_deregister)
            self._io.wait(chosen, lambda: all(s.state is State.ALIVE for s in chosen), "ALIVE")
            for slave in chosen:
                slave.pending.clear()

    def close(self) -> None:
        """Bring every slave back to ALIVE as far as it still answers, close all sockets."""
        self._closed.set()
        if self._beating is not None:
            self._beating.join()
            self._beating = None
        with self._lock:
            for slave in self._all():
                if slave.state not in (None, State.ALIVE):
                    with suppress(DcpError, DcpPeerLostError, OSError):
                        self._to_alive(slave, min(self._io.timeout_s, 5.0))
            self._io.close()

    def __enter__(self) -> Master:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

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

    # -- inside: configuration ----------------------------------------------------------------

    def _all(self) -> list[RemoteSlave]:
        return list(self._io.slaves.values())

    def _slave(self, name: str) -> RemoteSlave:
        try:
            return self._io.slaves[name]
        except KeyError:
            known = ", ".join(self._io.slaves) or "none"
            raise WiringError(f"there is no slave {name!r}; there are {known}") from None

    def _plan(self, parameters: Mapping[str, Mapping[str, Value]] | None) -> None:
        for name, values in (parameters or {}).items():
            self._slave(name).set_parameters(values)
        if not self._io.slaves:
            raise WiringError("the master has no slaves")
        self._groups = make_groups(self._io.slaves, self._wires)
        if self._data_sync:
            # Data PDUs between slaves would make them step each other: the master passes
            # the values on instead.
            self._groups = make_groups(self._io.slaves, [])
        prepare_data_path(self._groups)
        self._io.route_data()
        self._step = common_step({s.name: (s.resolution, s.steps, s.every) for s in self._all()})

    def _register(self, slave: RemoteSlave) -> None:
        if slave.state is State.CONFIGURATION:
            return
        description = slave.description
        extra = description.uuid_bytes + bytes(
            (self.op_mode, description.major_version, description.minor_version)
        )
        self._io.expect_loss(slave, False)
        self._stc(slave, PduType.STC_register, extra)
        self._io.flush(slave)

    def _send_configuration(self) -> None:
        addresses: dict[str | None, tuple[int, bytes]] = {}
        ports: dict[str, int] = {}
        used: set[tuple[str, int]] = set()
        for slave in self._all():
            ports[slave.name] = choose_port(slave, slave.protocol, used)
            addresses[slave.name] = (
                slave.protocol,
                encode_address(self._ip_of(slave), ports[slave.name]),
            )
        for slave in self._all():
            host, port = self._io.data_address(slave, slave.protocol)
            addresses[None] = (slave.protocol, encode_address(host, port))
            self._configure_slave(slave, addresses)
        self._io.wait(
            self._all(),
            lambda: not any(s.pending for s in self._all()),
            "the answers to the configuration",
        )
        self._all_to(PduType.STC_prepare, State.PREPARED)
        for slave in self._all():
            self._open_inputs(slave, ports[slave.name])
        self._all_to(PduType.STC_configure, State.CONFIGURED)

    def _ip_of(self, slave: RemoteSlave) -> str:
        if slave.control is not None:
            return str(slave.control.sock.getpeername()[0])
        return slave.address[0]

    def _configure_slave(
        self, slave: RemoteSlave, addresses: Mapping[str | None, tuple[int, bytes]]
    ) -> None:
        resolution = slave.resolution
        settings: list[tuple[PduType, Mapping[str, object]]] = [
            (
                PduType.CFG_time_res,
                {"numerator": resolution.numerator, "denominator": resolution.denominator},
            ),
            *parameter_settings(slave),
            *data_settings(slave, self._groups, addresses),
            *tunable_settings(slave, tunable_names(slave), *addresses[slave.name]),
            *((PduType.CFG_logging, fields) for fields in slave.logging),
        ]
        for kind, fields in settings:
            tolerated: frozenset[Any] = frozenset()
            if kind is PduType.CFG_steps and self.op_mode is OpMode.NRT:
                tolerated = _STEPS_REFUSALS
            self._io.request(slave, kind, slave.next_cfg(kind, **fields), tolerated)
        self._io.flush(slave)

    def _open_inputs(self, slave: RemoteSlave, port: int) -> None:
        names = tunable_names(slave)
        slave.param_pdus = []
        if names:
            variables = [slave.description.variable(n) for n in names]
            slave.param_pdus.append(
                OutputPdu(
                    1,
                    codec_for(slave, variables),
                    range(len(names)),
                    kind=PduType.DAT_parameter,
                )
            )
        target: Any = (self._ip_of(slave), port)
        if slave.protocol is _TCP:
            if port == slave.port:
                target = slave.control
            elif slave.sent_pdus or slave.param_pdus:
                self._io.connect_data(slave, *target)
                target = slave.data_link
        for pdu in (*slave.sent_pdus, *slave.param_pdus):
            pdu.targets[:] = [target]

    # -- inside: states -----------------------------------------------------------------------

    def _stc(self, slave: RemoteSlave, kind: PduType, extra: bytes = b"") -> None:
        self._io.request(slave, kind, slave.next_stc(kind, extra))

    def _all_to(self, kind: PduType, state: State) -> None:
        for slave in self._all():
            self._stc(slave, kind)
        self._io.await_state(self._all(), state)

    def _await_run(self, state: State, start_time: int) -> None:
        """SYNCHRONIZED may take until the start time; then the usual patience begins."""
        if start_time and state is State.SYNCHRONIZED and self.op_mode is not OpMode.NRT:
            rest = start_time - time.time()
            while rest > 0 and any(s.state is not state for s in self._all()):
                for slave in self._all():
                    self._io.flush(slave)
                self._io.pump(min(rest, self._io.idle(time.monotonic())))
                rest = start_time - time.time()
        self._io.await_state(self._all(), state)

    def _recover(self, slave: RemoteSlave) -> None:
        """A slave may still be registered by a master that is gone: bring it to ALIVE."""
        if self._io.poll_state(slave) is not State.ALIVE:
            self._to_alive(slave, self._io.timeout_s)

    def _to_alive(self, slave: RemoteSlave, timeout_s: float) -> None:
        """Recovery of the standard's appendix: stop, wait, deregister.

        The slave's notifications may still go to an earlier master, so its state is asked.
        """
        io = self._io
        slave.pending.clear()
        if io.poll_state(slave) in STOPPABLE:
            self._stc(slave, PduType.STC_stop)
        until = time.monotonic() + timeout_s
        rest = (State.STOPPED, State.CONFIGURATION, State.ERRORRESOLVED, State.ALIVE)
        while (state := io.poll_state(slave)) not in rest:
            if time.monotonic() >= until:
                raise DcpTimeoutError(
                    f"slave {slave.name!r} stays in {state.name}; it cannot be deregistered",
                    slave=slave.name,
                )
            io.pump(0.01)
        if slave.state is not State.ALIVE:
            io.expect_loss(slave, True)
            self._stc(slave, PduType.STC_deregister)
            io.wait(
                [slave],
                lambda: not slave.pending or slave.state is State.ALIVE,
                "the answer to STC_deregister",
                timeout_s=timeout_s,
                errors=False,
            )
            slave.state = State.ALIVE
        slave.pending.clear()

    # -- inside: stepping ----------------------------------------------------------------------

    def _send_inputs(self, slave: RemoteSlave) -> None:
        if self._data_sync:
            self._pass_on(slave)
        for pdu in slave.sent_pdus:
            self._io.send_data(slave, pdu, slave.inputs)

    def _step_by_request(self) -> None:
        number = self.steps_done + 1
        active = [s for s in self._io.slaves.values() if number % s.every == 0]
        if self.stepping == "parallel":
            self._step_slaves(active)
        else:
            for slave in active:
                self._step_slaves([slave])

    def _step_slaves(self, slaves: list[RemoteSlave]) -> None:
        for slave in slaves:
            self._send_inputs(slave)
            self._stc(slave, PduType.STC_do_step, slave.steps.to_bytes(4, "little"))
            self._io.flush(slave)
        self._io.await_state(slaves, State.COMPUTED)
        self._collect(slaves, State.RUNNING, initial=False)

    def _collect(self, slaves: Sequence[RemoteSlave], state: State, *, initial: bool) -> None:
        """STC_send_outputs to all; wait for their outputs and for ``state``."""
        for slave in slaves:
            for pdu in slave.init_pdus if initial else slave.run_pdus:
                pdu.pending = None
            self._stc(slave, PduType.STC_send_outputs)
            self._io.flush(slave)
        self._io.await_state(list(slaves), state)
        self._await_outputs(slaves, initial=initial)

    def _await_outputs(self, slaves: Sequence[RemoteSlave], *, initial: bool) -> None:
        expected = [p for s in slaves for p in (s.init_pdus if initial else s.run_pdus)]
        on_udp = any(s.protocol is _UDP for s in slaves)

        def complete() -> bool:
            return all(pdu.pending is not None for pdu in expected)

        if not complete():
            limit = self._data_wait_s if on_udp else None
            try:
                self._io.wait(
                    list(slaves), complete, "its outputs", timeout_s=limit, leaving=not initial
                )
            except DcpTimeoutError:
                if not on_udp or self._missing is Missing.STOP:
                    raise
        for slave in slaves:
            self._take_outputs(slave, slave.init_pdus if initial else slave.run_pdus)

    def _take_outputs(self, slave: RemoteSlave, pdus: Sequence[Any]) -> None:
        for pdu in pdus:
            if pdu.pending is not None:
                pdu.apply(slave.outputs)
                continue
            pdu.watch.counters.held += 1
            if self._missing is Missing.EXTRAPOLATE:
                guess = pdu.extrapolated()
                if guess is not None:
                    pdu.put(guess, slave.outputs)
        self._check_loss(slave)

    def _check_loss(self, slave: RemoteSlave) -> None:
        limit = self._acceptable_loss
        if limit is None:
            return
        for data_id, counters in slave.counters().items():
            if counters.loss_rate > limit:
                raise DcpError(
                    f"slave {slave.name!r}: {counters.loss_rate:.3f} of the PDUs of data_id "
                    f"{data_id} were lost, {limit} are acceptable",
                    slave=slave.name,
                )

    def _pass_on(self, slave: RemoteSlave) -> None:
        """Bring the newest outputs of other slaves to the inputs that are wired to them."""
        for wire in self._wires:
            if wire.target == slave.name:
                value = self._io.slaves[wire.source].output(wire.output)
                slave.set_inputs({wire.input: value})

    def _step_by_data(self) -> None:
        slaves = self._all()
        parallel = self.stepping == "parallel"
        for batch in [slaves] if parallel else [[slave] for slave in slaves]:
            for slave in batch:
                for pdu in slave.run_pdus:
                    pdu.pending = None
                self._send_inputs(slave)
            for slave in batch:
                self._io.flush(slave)
            self._await_outputs(batch, initial=False)

    def _step_by_clock(self) -> None:
        due = self.plan.due
        if due is None:
            raise DcpError("do_step needs run() first")
        slaves = self._all()
        while True:
            now = time.monotonic()
            rest = due - now
            self._io.pump(max(0.0, min(rest, self._io.idle(now))))
            for slave in slaves:
                if slave.state in ERROR:
                    raise self._io.error_of(slave)
                if slave.state is not None and slave.state not in RUN:
                    raise self._io.left(slave)
            if rest <= 0:
                break
        for slave in slaves:
            for pdu in slave.run_pdus:
                pdu.apply(slave.outputs)
            self._check_loss(slave)
            self._send_inputs(slave)
            self._io.flush(slave)
        self.plan.advance(time.monotonic())

    # -- inside: heartbeat ---------------------------------------------------------------------

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
