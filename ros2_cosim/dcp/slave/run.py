# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The run of a slave: what makes it compute, and how it ends.

Requests drive it in NRT (STC_do_step, STC_send_outputs), ticks of the clock in SRT and HRT, and
data PDUs with ``SlaveOptions.data_synchronisation``.
"""

from __future__ import annotations

from ros2_cosim.dcp.slave.configuration import Configuration
from ros2_cosim.dcp.slave.data_exchange import DataExchange
from ros2_cosim.dcp.slave.interfaces import SlaveContext
from ros2_cosim.dcp.slave.slave_model import SlaveModel
from ros2_cosim.dcp.slave.state_machine import StateMachine
from ros2_cosim.dcp.standard.enums import ErrorCode, OpMode, State
from ros2_cosim.dcp.standard.states import RUN
from ros2_cosim.dcp.standard.ticks import TickPlan


class SlaveRun:
    """The superstates Run and Non-real-time, and STOPPING.

    :ivar mode: operating mode of the registration
    """

    def __init__(
        self,
        context: SlaveContext,
        configuration: Configuration,
        data: DataExchange,
        machine: StateMachine,
        plan: TickPlan,
    ) -> None:
        self.mode = OpMode.NRT
        self._model = context.model
        own = type(context.model)
        self._prepares_sending = own.before_sending is not SlaveModel.before_sending
        self._transport = context.transport
        self._host = context.host
        self._by_data = context.options.data_synchronisation
        self._configuration = configuration
        self._data = data
        self._machine = machine
        self._plan = plan
        self._returns_to = State.RUNNING
        self._first_steps: int | None = None

    def prepare(self) -> None:
        """At STC_prepare: forget an earlier run."""
        self._first_steps = None
        self._plan.clear()

    def leave(self) -> None:
        """Leave the configured states: no data PDUs."""
        self._transport.close_data()
        self._data.clear()

    # -- starting ----------------------------------------------------------------------------

    def start(self, start_time: int) -> None:
        """STC_run, the first (to SYNCHRONIZING) or the second (to RUNNING).

        :param start_time: UNIX time in seconds of the first tick, 0 for now
        """
        machine = self._machine
        first = machine.state is State.CONFIGURED
        machine.enter(State.SYNCHRONIZING if first else State.RUNNING)
        if self.mode is OpMode.NRT:
            if first:
                machine.enter(State.SYNCHRONIZED)
            return
        assert self._configuration.resolution is not None
        delay = max(0.0, start_time - self._host.now()) if start_time else 0.0
        if first or delay:
            self._plan.start(self._host.monotonic() + delay, self._configuration.resolution)
        if first and not delay:
            machine.guard(self.synchronized)

    def synchronized(self) -> None:
        """Enter SYNCHRONIZED if the model says that its transient is over."""
        if self._machine.state is State.SYNCHRONIZING and self._model.synchronized():
            self._machine.enter(State.SYNCHRONIZED)

    # -- driven by requests ------------------------------------------------------------------

    def repeats(self, steps: int) -> bool:
        """Whether STC_do_step asks for as many steps as the first one of the run."""
        if self._first_steps is None:
            self._first_steps = steps
        return steps == self._first_steps

    def do_step(self, steps: int) -> None:
        """STC_do_step: COMPUTING, then COMPUTED."""
        machine = self._machine
        self._returns_to = machine.state
        machine.enter(State.COMPUTING)
        if self._data.step(steps, on_request=True):
            machine.enter(State.COMPUTED)

    def send_outputs(self) -> None:
        """STC_send_outputs, in the initialization and in the run."""
        machine, data = self._machine, self._data
        initial = machine.state is State.INITIALIZED
        machine.enter(State.SENDING_I if initial else State.SENDING_D)
        if self._prepares_sending and not machine.call(self._model.before_sending):
            return
        if initial:
            if data.send_initial():
                machine.enter(State.CONFIGURED)
        elif data.send_step():
            machine.enter(self._returns_to)
            self._stop_if_wanted()

    # -- driven by data PDUs -----------------------------------------------------------------

    def data_arrived(self) -> None:
        """With data synchronisation: step as soon as all inputs are new, and answer."""
        machine, data = self._machine, self._data
        if not self._by_data or machine.state is not State.RUNNING or machine.busy:
            return
        if data.due_inputs():
            return
        if data.step(1, on_request=False) and machine.state is State.RUNNING:
            data.send_step()
            self._stop_if_wanted()

    # -- driven by the clock -----------------------------------------------------------------

    def deadline(self) -> float | None:
        """Monotonic time of the next tick, None for none."""
        due = self._plan.due
        return due if due is not None and not self._machine.busy and self._clocked() else None

    def _clocked(self) -> bool:
        """Whether the clock drives the slave; data synchronisation only lets it start."""
        if self._by_data:
            return self._machine.state is State.SYNCHRONIZING
        return self._machine.state in RUN

    def on_time(self, now: float) -> None:
        """Compute the tick that is due, if one is."""
        due = self.deadline()
        if due is None or now < due:
            return
        if not self._machine.guard(self.synchronized):
            return
        if self._by_data:
            self._plan.advance(now)
            return
        if not self._data.step(1, on_request=False) or not self._data.send_tick():
            return
        late = self._plan.advance(self._host.monotonic())
        if late and self.mode is OpMode.HRT:
            self._machine.fail(ErrorCode.PROTOCOL_ERROR_GENERIC, "a tick missed its deadline")
            return
        self._stop_if_wanted()

    # -- stopping ----------------------------------------------------------------------------

    def stop(self) -> None:
        """STOPPING, then STOPPED as soon as no callback is running."""
        self._machine.enter(State.STOPPING)
        self._machine.when_idle(self._finish)

    def _finish(self) -> None:
        machine = self._machine
        configured, machine.configured = machine.configured, False
        self._data.report()
        if not configured or machine.call(self._model.stop):
            self._transport.close_data()
            machine.enter(State.STOPPED)

    def _stop_if_wanted(self) -> None:
        if self._model.stop_requested and self._machine.state in RUN:
            self.stop()
