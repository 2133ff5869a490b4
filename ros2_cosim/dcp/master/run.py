# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The run of a master: initialization, steps, tuning, stop."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from ros2_cosim.dcp.master.plan import CouplingPlan, resize_data_path, tunable_names
from ros2_cosim.dcp.master.relay import Relays
from ros2_cosim.dcp.master.remote import PendingRequest, RemoteSlave
from ros2_cosim.dcp.master.requests import TRANSITION_CODES, Requests, SlaveEndedError
from ros2_cosim.dcp.standard.data_path import InputPdu, Missing
from ros2_cosim.dcp.standard.data_report import CATEGORY as DATA_CATEGORY
from ros2_cosim.dcp.standard.data_report import tells_data
from ros2_cosim.dcp.standard.enums import OpMode, PduType, State, TransportProtocol
from ros2_cosim.dcp.standard.errors import DcpError, DcpTimeoutError, WiringError
from ros2_cosim.dcp.standard.slave_description import Causality
from ros2_cosim.dcp.standard.states import ENDED, ERROR, RUN, STOPPABLE
from ros2_cosim.dcp.standard.ticks import TickPlan
from ros2_cosim.dcp.standard.values import Value

_UDP = TransportProtocol.UDP_IPv4
_ALL_ENTRIES = 255
_STEPPED = ENDED | {State.RUNNING}


@dataclass(frozen=True)
class MasterRunOptions:
    """Choices about the run; :class:`~ros2_cosim.dcp.master.master.Master` explains them."""

    op_mode: OpMode = OpMode.NRT
    data_synchronisation: bool = False
    missing: Missing = Missing.HOLD
    data_wait_s: float = 0.2
    acceptable_loss: float | None = None


class MasterRun:
    """Steps configured slaves together.

    :ivar plan: ticks and overruns of a real-time run
    :ivar steps_done: master steps since :meth:`start`
    """

    def __init__(self, requests: Requests, options: MasterRunOptions) -> None:
        self.plan = TickPlan()
        self.steps_done = 0
        self._requests = requests
        self._sockets = requests.sockets
        self._options = options
        self._coupling = CouplingPlan([], Relays(), [], Fraction(0))
        #: The last request of a step that has been begun, and not ended.
        self._begun: PendingRequest | None = None

    def use(self, coupling: CouplingPlan) -> None:
        """The slaves are configured by this plan now."""
        self._coupling = coupling

    def _all(self) -> list[RemoteSlave]:
        return list(self._requests.slaves.values())

    def initialise(self, loops: int) -> None:
        """Initialization loop: afterwards ``outputs`` hold static data and initial state."""
        for _ in range(loops):
            self._coupling.relays.hold()
            for batch in self._coupling.initial_batches:
                for slave in batch:
                    self._send_inputs(slave)
                    self._requests.request(slave, PduType.STC_initialize)
                self._requests.await_state(batch, State.INITIALIZED)
                self._collect(batch, State.CONFIGURED, initial=True)

    def start(self, start_time: int) -> None:
        """From CONFIGURED to RUNNING.

        :param start_time: UNIX time in whole seconds at which real-time slaves start, 0 for
            at once
        """
        # The start time belongs to the first STC_run; at the second it has passed.
        for state, start in ((State.SYNCHRONIZED, start_time), (State.RUNNING, 0)):
            for slave in self._all():
                self._requests.request(
                    slave, PduType.STC_run, start.to_bytes(8, "little", signed=True)
                )
            self._await_run(state, start_time)
        self.steps_done = 0
        self.plan.clear()
        if self._options.op_mode is not OpMode.NRT:
            delay = max(0.0, start_time - time.time())
            self.plan.start(time.monotonic() + delay, self._coupling.step)

    def do_step(self, count: int) -> None:
        """``count`` master steps: inputs out, compute, outputs in.

        :raises SlaveEndedError: a slave has ended its run by itself; if in this step it computed
            and sent its outputs, the step counts
        """
        for _ in range(count):
            self._coupling.relays.hold()
            if self._options.data_synchronisation:
                self._step_by_data()
            elif self._options.op_mode is not OpMode.NRT:
                self._step_by_clock()
            else:
                self._step_by_request()
            self._count_step()

    def _count_step(self) -> None:
        self.steps_done += 1
        for slave in self._all():
            if slave.state in ENDED:
                self._requests.await_state([slave], State.STOPPED)
                raise self._requests.left(slave)

    @property
    def can_begin_step(self) -> bool:
        """Whether there is one slave, which makes a step in one exchange."""
        options, slaves = self._options, self._all()
        by_request = options.op_mode is OpMode.NRT and not options.data_synchronisation
        return by_request and len(slaves) == 1 and slaves[0].in_order and slaves[0].every == 1

    def begin_step(self) -> None:
        """Send what a step needs."""
        (slave,) = self._all()
        self._coupling.relays.hold()
        self._begun = self._request_step(slave)
        self._sockets.flush(slave)

    def end_step(self) -> None:
        """Wait for the end of the step that was begun; see :meth:`do_step`."""
        (slave,) = self._all()
        begun, self._begun = self._begun, None
        assert begun is not None
        self._await_step(slave, begun)
        self._count_step()

    def tune(self, slave: RemoteSlave, changes: Mapping[str, Value]) -> None:
        """New values of tunable parameters, which take effect with the slave's next step.

        :raises WiringError: a parameter is not tunable
        """
        names = tunable_names(slave)
        for parameter in changes:
            if parameter not in names:
                known = ", ".join(names) or "none"
                raise WiringError(
                    f"slave {slave.name!r}: {parameter!r} is not tunable, only {known}"
                )
        slave.tuned.update(changes)
        known_values = slave.parameters | slave.tuned
        current = [known_values.get(n, slave.description.variable(n).start) for n in names]
        self._requests.send_data(slave, slave.param_pdus[0], current)
        self._sockets.flush(slave)
        if any(self._is_structural(slave, parameter) for parameter in changes):
            resize_data_path(slave, self._coupling.groups)

    def _is_structural(self, slave: RemoteSlave, parameter: str) -> bool:
        return slave.description.variable(parameter).causality is Causality.STRUCTURAL

    def stop(self) -> None:
        """Bring every slave that can be stopped to STOPPED."""
        self.plan.stop()
        chosen = [s for s in self._all() if s.state in STOPPABLE]
        for slave in chosen:
            self._requests.request(slave, PduType.STC_stop)
        self._requests.await_state(chosen, State.STOPPED)
        for slave in chosen:
            if slave.data_on_udp and tells_data(slave.description):
                self._requests.request_log(slave, DATA_CATEGORY.id, _ALL_ENTRIES)

    # -- inside ------------------------------------------------------------------------------

    def _await_run(self, state: State, start_time: int) -> None:
        """Before a start time (none in NRT) wait without limit; then the timeout begins."""
        by_clock = self._options.op_mode is not OpMode.NRT
        while by_clock and (rest := start_time - time.time()) > 0:
            if all(slave.state is state for slave in self._all()):
                break
            for slave in self._all():
                self._sockets.flush(slave)
            self._sockets.pump(min(rest, self._requests.idle(time.monotonic())))
        self._requests.await_state(self._all(), state)

    def _send_inputs(self, slave: RemoteSlave) -> None:
        self._coupling.relays.pass_on(slave)
        for pdu in slave.sent_pdus:
            self._requests.send_data(slave, pdu, slave.inputs)

    def _step_by_request(self) -> None:
        number = self.steps_done + 1
        for batch in self._coupling.batches:
            active = [slave for slave in batch if number % slave.every == 0]
            if len(active) == 1 and active[0].in_order:
                self._await_step(active[0], self._request_step(active[0]))
            elif active:
                self._step_slaves(active)

    def _request_step(self, slave: RemoteSlave) -> PendingRequest:
        """Queue both requests of a step, for one exchange; returns the second one."""
        requests = self._requests
        self._send_inputs(slave)
        requests.request(slave, PduType.STC_do_step, slave.steps.to_bytes(4, "little"))
        for pdu in slave.run_pdus:
            pdu.pending = None
        return requests.request(
            slave, PduType.STC_send_outputs, tolerated=TRANSITION_CODES, state=State.COMPUTED
        )

    def _await_step(self, slave: RemoteSlave, early: PendingRequest) -> None:
        """Wait for the end of such a step.

        A slave that computes for long answers meanwhile. The second request is too early then: it
        refuses it, and is asked again when it has computed.
        """
        requests = self._requests
        requests.wait(
            [slave],
            lambda: not slave.pending and (early.refused or slave.state in _STEPPED),
            "the end of its step",
        )
        if early.refused:
            requests.await_state([slave], State.COMPUTED)
            self._collect([slave], State.RUNNING, initial=False)
        else:
            self._await_outputs([slave], initial=False)

    def _step_slaves(self, slaves: list[RemoteSlave]) -> None:
        for slave in slaves:
            self._send_inputs(slave)
            self._requests.request(slave, PduType.STC_do_step, slave.steps.to_bytes(4, "little"))
            self._sockets.flush(slave)
        self._requests.await_state(slaves, State.COMPUTED)
        self._collect(slaves, State.RUNNING, initial=False)

    def _collect(self, slaves: Sequence[RemoteSlave], state: State, *, initial: bool) -> None:
        """Send STC_send_outputs to all; wait for their outputs and for ``state``."""
        for slave in slaves:
            for pdu in slave.init_pdus if initial else slave.run_pdus:
                pdu.pending = None
            self._requests.request(slave, PduType.STC_send_outputs)
            self._sockets.flush(slave)
        self._requests.await_state(list(slaves), state, may_end=not initial)
        self._await_outputs(slaves, initial=initial)

    def _await_outputs(self, slaves: Sequence[RemoteSlave], *, initial: bool) -> None:
        expected = [p for s in slaves for p in (s.init_pdus if initial else s.run_pdus)]
        on_udp = any(s.protocol is _UDP for s in slaves)

        def complete() -> bool:
            return all(pdu.pending is not None for pdu in expected)

        if not complete():
            limit = self._options.data_wait_s if on_udp else None
            try:
                self._requests.wait(
                    list(slaves), complete, "its outputs", timeout_s=limit, leaving=not initial
                )
            except SlaveEndedError as ended:
                # What it has sent before may still be under way.
                short = self._options.data_wait_s
                try:
                    self._requests.wait(list(slaves), complete, "its outputs", timeout_s=short)
                except DcpTimeoutError:
                    raise ended from None
            except DcpTimeoutError:
                if not on_udp or self._options.missing is Missing.STOP:
                    raise
        for slave in slaves:
            if initial:
                self._check_initial(slave)
            self._take_outputs(slave, slave.init_pdus if initial else slave.run_pdus)

    def _check_initial(self, slave: RemoteSlave) -> None:
        """No policy can replace outputs that have never come: they would silently be zero."""
        for pdu in slave.init_pdus:
            if pdu.pending is None and pdu.newest is None:
                raise DcpTimeoutError(
                    f"slave {slave.name!r}: the outputs of its initialization (data_id "
                    f"{pdu.data_id}) got lost; there are none before that could be used instead",
                    slave=slave.name,
                )

    def _take_outputs(self, slave: RemoteSlave, pdus: Sequence[InputPdu]) -> None:
        for pdu in pdus:
            if pdu.pending is not None:
                pdu.apply(slave.outputs)
                continue
            guess = pdu.extrapolated() if self._options.missing is Missing.EXTRAPOLATE else None
            pdu.watch.counters.miss(self.steps_done + 1, extrapolated=guess is not None)
            if guess is not None:
                pdu.put(guess, slave.outputs)
        self._check_loss(slave)

    def _check_loss(self, slave: RemoteSlave) -> None:
        limit = self._options.acceptable_loss
        if limit is None:
            return
        for data_id, counters in slave.counters().items():
            if counters.loss_rate > limit:
                raise DcpError(
                    f"slave {slave.name!r}: {counters.loss_rate:.3f} of the PDUs of data_id "
                    f"{data_id} were lost, {limit} are acceptable",
                    slave=slave.name,
                )

    def _step_by_data(self) -> None:
        for batch in self._coupling.batches:
            for slave in batch:
                for pdu in slave.run_pdus:
                    pdu.pending = None
                self._send_inputs(slave)
            for slave in batch:
                self._sockets.flush(slave)
            self._await_outputs(batch, initial=False)

    def _step_by_clock(self) -> None:
        due = self.plan.due
        if due is None:
            raise DcpError("do_step needs run() first")
        slaves = self._all()
        while True:
            now = time.monotonic()
            rest = due - now
            self._sockets.pump(max(0.0, min(rest, self._requests.idle(now))))
            for slave in slaves:
                if slave.state in ERROR:
                    raise self._requests.error_of(slave)
                if slave.state not in RUN | ENDED:
                    raise self._requests.left(slave)
            if rest <= 0:
                break
        for slave in slaves:
            for pdu in slave.run_pdus:
                pdu.apply(slave.outputs)
            self._check_loss(slave)
            self._send_inputs(slave)
            self._sockets.flush(slave)
        self.plan.advance(time.monotonic())
