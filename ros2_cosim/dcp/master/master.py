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

import time
from collections.abc import Mapping, Sequence
from typing import Any

from ros2_cosim.dcp.description.data_report import CATEGORY as DATA_CATEGORY
from ros2_cosim.dcp.description.data_report import data_figures, tells_data
from ros2_cosim.dcp.description.model import Causality
from ros2_cosim.dcp.master.plan import resize_data_path, tunable_names
from ros2_cosim.dcp.master.remote import RemoteSlave
from ros2_cosim.dcp.master.setup import MasterSetup
from ros2_cosim.dcp.wire.data_path import Missing
from ros2_cosim.dcp.wire.enums import (
    OpMode,
    PduType,
    State,
    TransportProtocol,
)
from ros2_cosim.dcp.wire.errors import DcpError, DcpTimeoutError, WiringError
from ros2_cosim.dcp.wire.states import ERROR, RUN, STOPPABLE
from ros2_cosim.dcp.wire.ticks import TickPlan
from ros2_cosim.dcp.wire.values import Value

_UDP = TransportProtocol.UDP_IPv4


class Master(MasterSetup):
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
            # The start time belongs to the first STC_run; at the second it has passed.
            for state, start in ((State.SYNCHRONIZED, start_time), (State.RUNNING, 0)):
                for slave in self._all():
                    self._stc(slave, PduType.STC_run, start.to_bytes(8, "little", signed=True))
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
        one DAT_parameter and take effect with its next step. A structural parameter resizes
        the arrays that hang on it; the inputs keep their values as far as they fit.

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
                if any(self._is_structural(slave, parameter) for parameter in changes):
                    resize_data_path(slave, self._groups)

    def _is_structural(self, slave: RemoteSlave, parameter: str) -> bool:
        return slave.description.variable(parameter).causality is Causality.STRUCTURAL

    def stop(self) -> None:
        """Every slave that can be stopped to STOPPED."""
        with self._lock:
            self.plan.stop()
            chosen = [s for s in self._all() if s.state in STOPPABLE]
            for slave in chosen:
                self._stc(slave, PduType.STC_stop)
            self._io.await_state(chosen, State.STOPPED)
            for slave in chosen:
                if slave.protocol is _UDP and tells_data(slave.description):
                    self.request_log(slave.name, DATA_CATEGORY.id)

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
            for slave in self._all()
            if slave.protocol is _UDP
        }

    # -- inside ------------------------------------------------------------------------------

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

    def _send_inputs(self, slave: RemoteSlave) -> None:
        if self._relayed:
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
            guess = pdu.extrapolated() if self._missing is Missing.EXTRAPOLATE else None
            pdu.watch.counters.miss(self.steps_done + 1, extrapolated=guess is not None)
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
        """Bring the newest outputs of other slaves to the inputs that the master feeds."""
        for wire in self._relayed:
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
