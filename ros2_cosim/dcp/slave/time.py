# SPDX-License-Identifier: Apache-2.0
"""What a slave does by the clock: watching the heartbeat, the ticks of real-time modes."""

from __future__ import annotations

from ros2_cosim.dcp.slave.data import SlaveData
from ros2_cosim.dcp.wire.enums import ErrorCode, OpMode, Scope, State
from ros2_cosim.dcp.wire.states import NORMAL_OPERATION, RUN


class SlaveTime(SlaveData):
    """Time on top of the data path: ask :meth:`deadline`, then call :meth:`on_time`."""

    def _beat(self) -> None:
        interval = self.description.heartbeat
        if interval is not None and self.state is not State.ALIVE:
            self._heartbeat_until = self._io.monotonic() + float(interval)

    def deadline(self) -> float | None:
        """Monotonic time at which ``on_time`` must be called, None for never."""
        times = [self._heartbeat_until] if self._heartbeat_until is not None else []
        if not self._busy and self.plan.due is not None and self._clocked():
            times.append(self.plan.due)
        return min(times) if times else None

    def _clocked(self) -> bool:
        """Whether the clock drives the slave; data-PDU synchronisation only lets it start."""
        if self.options.data_synchronisation:
            return self.state is State.SYNCHRONIZING
        return self.state in RUN

    def on_time(self) -> None:
        """Do what is due: notice a missing heartbeat, compute the next tick."""
        now = self._io.monotonic()
        if self._heartbeat_until is not None and now >= self._heartbeat_until:
            self._heartbeat_until = None
            if self.state in NORMAL_OPERATION:
                self.fail(ErrorCode.PROTOCOL_ERROR_HEARTBEAT_MISSED, "no heartbeat in time")
                return
        due = self.plan.due
        if due is None or now < due or self._busy or not self._clocked():
            return
        if self.state is State.SYNCHRONIZING:
            self._become_synchronized()
        if self.options.data_synchronisation:
            self.plan.advance(now)
            return
        if not self._step_model(1):
            return
        ticks = self._ticks
        chosen = [
            p for p in self._outputs if p.scope != Scope.INITIALIZATION and ticks % p.steps == 0
        ]
        if not self._transmit(chosen):
            return
        late = self.plan.advance(self._io.monotonic())
        if late and self.mode is OpMode.HRT:
            self.fail(ErrorCode.PROTOCOL_ERROR_GENERIC, "a tick missed its deadline")
            return
        self._check_own_stop()

    def _become_synchronized(self) -> None:
        if self.state is State.SYNCHRONIZING and self.model.synchronized():
            self._enter(State.SYNCHRONIZED)
