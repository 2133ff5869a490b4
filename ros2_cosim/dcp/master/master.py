# Copyright 2026 ros2_cosim contributors
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
from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from types import TracebackType
from typing import Any

from ros2_cosim.core.sockets.brief_waits import DIALOGUE_NS
from ros2_cosim.dcp.master.heartbeat import HeartbeatThread
from ros2_cosim.dcp.master.log import LogEntry
from ros2_cosim.dcp.master.order import Stepping
from ros2_cosim.dcp.master.plan import CouplingPlan, make_plan
from ros2_cosim.dcp.master.remote import RemoteSlave, SlaveUse
from ros2_cosim.dcp.master.requests import Requests
from ros2_cosim.dcp.master.run import MasterRun, MasterRunOptions
from ros2_cosim.dcp.master.setup import Setup
from ros2_cosim.dcp.master.wiring import Wire
from ros2_cosim.dcp.standard.data_path import Missing
from ros2_cosim.dcp.standard.data_report import data_figures
from ros2_cosim.dcp.standard.enums import LogMode, OpMode, State, TransportProtocol
from ros2_cosim.dcp.standard.errors import WiringError
from ros2_cosim.dcp.standard.read_description import read_description
from ros2_cosim.dcp.standard.slave_description import SlaveDescription
from ros2_cosim.dcp.standard.ticks import TickPlan
from ros2_cosim.dcp.standard.values import Value

_TCP, _UDP = TransportProtocol.TCP_IPv4, TransportProtocol.UDP_IPv4
_MAX_SLAVES = 255
_BEATS = 6
"""Beats per heartbeat interval; the shortest interval of all slaves counts."""


class Master:
    """A master of any number of slaves in one operating mode.

    It is made of :class:`Requests` (and their sockets), :class:`Setup`, :class:`MasterRun` and a
    :class:`HeartbeatThread`. Every method holds the lock that keeps the thread out.

    :param op_mode: operating mode of all slaves
    :param resolution: time resolution in seconds for slaves that do not have their own
    :param timeout_s: longest wait for anything a slave has to do; only ends the run
    :param retry_s: over UDP, a request without an answer is sent again after this time
    :param connect_wait_s: for this time [s] a refused connection is tried again
    :param stepping: which slaves step at the same time, see :class:`Stepping`, or its name; in SRT
        and HRT their clocks decide
    :param data_synchronisation: step by data PDUs in RUNNING instead of STC_do_step; the
        slaves must be run with the same choice
    :param missing: policy for outputs that do not arrive over UDP
    :param data_wait_s: longest wait for outputs on UDP after the slave has sent them [s]
    :param acceptable_loss: greatest share of lost data PDUs per data_id, None for any
    :param look_ns: how long it looks for messages before it sleeps; 0 for slaves that threads of
        this process serve: looking keeps the interpreter from them
    :param on_log: called with each log entry that slaves send by notification
    """

    def __init__(
        self,
        *,
        op_mode: OpMode = OpMode.NRT,
        resolution: Fraction | None = None,
        timeout_s: float = 30.0,
        retry_s: float = 0.1,
        connect_wait_s: float = 0.0,
        stepping: Stepping | str = Stepping.PARALLEL,
        data_synchronisation: bool = False,
        missing: Missing = Missing.HOLD,
        data_wait_s: float = 0.2,
        acceptable_loss: float | None = None,
        look_ns: int = DIALOGUE_NS,
        on_log: Callable[[LogEntry], None] | None = None,
    ) -> None:
        try:
            self._stepping = Stepping(stepping)
        except ValueError:
            allowed = ", ".join(choice.value for choice in Stepping)
            raise WiringError(f"stepping: found {stepping!r}; allowed are {allowed}") from None
        self.op_mode = op_mode
        self._slaves: dict[str, RemoteSlave] = {}
        self._wires: list[Wire] = []
        self._resolution = resolution
        self._by_data = data_synchronisation
        self._missing = missing
        self._on_log = on_log
        self._requests = Requests(self._slaves, timeout_s, retry_s, connect_wait_s, look_ns)
        self._setup = Setup(self._requests, op_mode)
        self._run = MasterRun(
            self._requests,
            MasterRunOptions(op_mode, data_synchronisation, missing, data_wait_s, acceptable_loss),
        )
        self._step = Fraction(0)
        self._closed = False
        self._lock = threading.RLock()
        self._heartbeat = HeartbeatThread(self._lock, self._requests.beat)

    @property
    def slaves(self) -> Mapping[str, RemoteSlave]:
        """The slaves by name."""
        return self._slaves

    @property
    def step_size(self) -> Fraction:
        """Length of one master step in seconds (known after ``configure``)."""
        return self._step

    @property
    def plan(self) -> TickPlan:
        """Ticks and overruns of a real-time run."""
        return self._run.plan

    @property
    def steps_done(self) -> int:
        """Master steps since ``run``."""
        return self._run.steps_done

    def note(
        self,
        sleeps: Callable[[], None] | None,
        woke: Callable[[], None] | None,
        sent: Callable[[str], None] | None,
    ) -> None:
        """Have noted, in the thread that steps, what the exchange with the slaves consists of.

        :param sleeps, woke: called when a wait for slaves begins, and when it is over
        :param sent: called with the name of a slave when something leaves for it; None: it records
            no more
        """
        self._requests.sockets.note(sleeps, woke, sent)

    # -- building ----------------------------------------------------------------------------

    def add_slave(
        self,
        description: SlaveDescription | str | Path,
        host: str | None = None,
        port: int | None = None,
        *,
        name: str | None = None,
        transport: TransportProtocol | None = None,
        use: SlaveUse | None = None,
    ) -> RemoteSlave:
        """Add a slave, without sending to it yet.

        :param description: or the path of its .dcpx or .dcp file
        :param host, port: its control address, by default that of the description
        :param transport: TCP_IPv4 or UDP_IPv4, by default TCP where the slave offers it
        :param use: step sizes, data port and limits
        :raises DescriptionError: the description is not valid
        :raises WiringError: mode, transport, address or name do not fit
        """
        if not isinstance(description, SlaveDescription):
            description = read_description(description)
        use = use or SlaveUse()
        name = name or description.name
        if transport is None:
            transport = _TCP if description.tcp is not None else _UDP
        offer = description.transport(transport)
        if name in self._slaves:
            raise WiringError(f"two slaves are named {name!r}")
        if offer is None:
            raise WiringError(f"slave {name!r} does not offer {transport.name}")
        if self.op_mode not in description.op_modes:
            offered = ", ".join(sorted(m.name for m in description.op_modes))
            raise WiringError(f"slave {name!r} offers {offered}, not {self.op_mode.name}")
        port = offer.port if port is None else port
        if not port:
            raise WiringError(f"slave {name!r}: its description names no control port; give one")
        if len(self._slaves) >= _MAX_SLAVES:
            raise WiringError(f"a master has at most {_MAX_SLAVES} slaves")
        if use.every < 1:
            raise WiringError(f"slave {name!r}: every is {use.every}; it starts at 1")
        slave = RemoteSlave(
            name,
            description,
            len(self._slaves) + 1,
            host or offer.host or "127.0.0.1",
            port,
            transport,
            use if use.resolution else replace(use, resolution=self._resolution),
        )
        slave.on_log = self._on_log
        self._slaves[name] = slave
        return slave

    def connect(self, source: str, target: str, *, delayed: bool = False) -> None:
        """Wire an output to an input: ``connect("plant.speed", "controller.speed")``.

        A ``delayed`` input reads what the output was before the step, as all do with parallel
        stepping. Everything is checked in :meth:`configure`, when all slaves are known.
        """
        source_slave, source_dot, output = source.partition(".")
        target_slave, target_dot, input_name = target.partition(".")
        if not (source_dot and target_dot):
            raise WiringError(f"{source} -> {target}: write slave.variable on both sides")
        self._wires.append(Wire(source_slave, output, target_slave, input_name, delayed))

    def set_logging(self, slave: str, level: int, mode: LogMode, category: int = 0) -> None:
        """Have :meth:`configure` switch logging of a category (0 = all) and level on."""
        fields = {"log_category": category, "log_level": level, "log_mode": mode}
        self._slave(slave).logging.append(fields)

    # -- phases ------------------------------------------------------------------------------

    def configure(self, parameters: Mapping[str, Mapping[str, Value]] | None = None) -> None:
        """Connect, register, configure and prepare all slaves; then they are CONFIGURED.

        :param parameters: values by slave and parameter name
        :raises WiringError: the wiring or a parameter does not fit; the master has sent no request
            yet
        :raises DcpError: a slave refused a request
        """
        with self._lock:
            self._setup.configure(self._planned(parameters))
            intervals = [s.description.heartbeat for s in self._slaves.values()]
            shortest = min((i for i in intervals if i is not None), default=None)
            if shortest is not None:
                self._heartbeat.start(float(shortest) / _BEATS)

    def reset(self, parameters: Mapping[str, Mapping[str, Value]] | None = None) -> None:
        """From STOPPED or the error state back to CONFIGURED, for another run.

        :raises DcpError: a slave cannot be reset
        """
        with self._lock:
            self._setup.reset(self._planned(parameters))

    def initialise(self, loops: int = 1) -> None:
        """Initialization loop: afterwards ``outputs`` hold static data and initial state."""
        with self._lock:
            self._run.initialise(loops)

    def run(self, start_time: int = 0) -> None:
        """From CONFIGURED to RUNNING.

        :param start_time: UNIX time in whole seconds at which real-time slaves start, 0 for
            at once
        """
        with self._lock:
            self._run.start(start_time)

    def do_step(self, count: int = 1) -> None:
        """``count`` master steps: inputs out, compute, outputs in.

        NRT uses STC_do_step (or data PDUs with ``data_synchronisation``). In SRT and HRT
        each step waits for its tick of the clock, takes what has come and sends the inputs.
        """
        with self._lock:
            self._heartbeat.raise_error()
            self._run.do_step(count)

    @property
    def can_begin_step(self) -> bool:
        """Whether steps can be begun and ended apart: of one slave, in one exchange each."""
        return self._run.can_begin_step

    def begin_step(self) -> None:
        """Send the inputs and the requests of one step; :meth:`end_step` waits for its outputs.

        Nothing but that may be called before.
        """
        with self._lock:
            self._heartbeat.raise_error()
            self._run.begin_step()

    def end_step(self) -> None:
        """The rest of the step that :meth:`begin_step` has begun."""
        with self._lock:
            self._heartbeat.raise_error()
            self._run.end_step()

    def tune(self, values: Mapping[str, Mapping[str, Value]]) -> None:
        """New values of tunable parameters, by slave and name; all of a slave travel in
        one DAT_parameter and take effect with its next step. A structural parameter resizes
        the arrays that hang on it; the inputs keep their values as far as they fit.

        :raises WiringError: a parameter is not tunable
        """
        with self._lock:
            for name, changes in values.items():
                self._run.tune(self._slave(name), changes)

    def stop(self) -> None:
        """Bring every slave that can be stopped to STOPPED."""
        with self._lock:
            self._run.stop()

    def deregister(self) -> None:
        """Bring every slave back to ALIVE."""
        with self._lock:
            self._setup.deregister()

    def close(self) -> None:
        """Bring every slave that still answers back to ALIVE; close all sockets. Once is enough."""
        self._heartbeat.stop()
        with self._lock:
            if self._closed:
                return
            self._closed = True
            self._setup.abandon()
            self._requests.sockets.close()

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
        """Request the state of every slave (INF_state)."""
        with self._lock:
            return {s.name: self._requests.poll_state(s) for s in self._slaves.values()}

    def request_log(self, slave: str, category: int = 0, most: int = 255) -> list[LogEntry]:
        """Request the stored log entries of a slave (INF_log); the slave deletes them."""
        with self._lock:
            return self._requests.request_log(self._slave(slave), category, most)

    def data_figures(self) -> dict[str, dict[str, Any]]:
        """What became of the data PDUs of each slave on UDP (of its inputs: known after
        ``stop``), for the summary of a run.
        """
        return {
            slave.name: data_figures(
                self._missing,
                (slave.counters().values(), self._step),
                (slave.input_counters(), slave.resolution),
            )
            for slave in self._slaves.values()
            if slave.data_on_udp
        }

    # -- inside ------------------------------------------------------------------------------

    def _planned(self, parameters: Mapping[str, Mapping[str, Value]] | None) -> CouplingPlan:
        for name, values in (parameters or {}).items():
            self._slave(name).set_parameters(values)
        clocked = self.op_mode is not OpMode.NRT and not self._by_data
        stepping = Stepping.PARALLEL if clocked else self._stepping
        plan = make_plan(self._slaves, self._wires, stepping, by_data=self._by_data)
        self._requests.route_data()
        self._run.use(plan)
        self._step = plan.step
        return plan

    def _slave(self, name: str) -> RemoteSlave:
        try:
            return self._slaves[name]
        except KeyError:
            known = ", ".join(self._slaves) or "none"
            raise WiringError(f"there is no slave {name!r}; there are {known}") from None
