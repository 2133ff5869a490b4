# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""External stepping over VDS1: every command is one tick, and its state is the answer.

The result does not depend on a clock: the same commands give the same states, however long they
take. Against loss, a repeated command (same sequence number) is answered with the same state
again, and the last state is repeated while nothing arrives; the receiver drops duplicates.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from time import monotonic_ns
from typing import Any

from ros2_cosim.core.kernel.time import SECOND
from ros2_cosim.core.realtime.run_state import RunState
from ros2_cosim.core.sockets.reactor import Reactor
from ros2_cosim.vds.controllable import LiveControl
from ros2_cosim.vds.fleet import Fleet, VehicleOutput
from ros2_cosim.vds.sockets import Address, CommandPorts, StateSender
from ros2_cosim.vds.vehicle_plant import VehicleCommand

_REPEAT_NS = 100_000_000


class LockStepMode:
    """Ticks each vehicle of a fleet by the commands on its port.

    A step of its control is one answered command, of any vehicle.

    :param fleet: what is ticked; each vehicle has its own time
    :param ports: where commands come in; read by this class alone
    :param sender: where states go
    :param on_tick: called after each tick with the output of that vehicle
    :ivar control: pause, resume, step and stop, for any thread; its status is that of the
        vehicle that is furthest
    """

    def __init__(
        self,
        fleet: Fleet,
        ports: CommandPorts,
        sender: StateSender,
        *,
        on_tick: Callable[[Mapping[str, VehicleOutput]], None] = lambda outputs: None,
    ) -> None:
        self._fleet = fleet
        self._ports = ports
        self._sender = sender
        self._on_tick = on_tick
        self._reactor = Reactor()
        self._answered = 0
        self._senders: dict[str, Address] = {}
        # Whether a request may have changed that commands are answered.
        self._changed = False
        self.control = LiveControl(
            RunState(),
            fleet.dt_ns,
            self._furthest,
            now=monotonic_ns,
            wake=self._requested,
            fixed_rate="in lock-step the sender of the commands sets the pace",
        )

    def run(self, steps: int | None = None) -> None:
        """Answer commands until ``control.stop()``, or a vehicle has taken ``steps`` ticks."""
        control, reactor = self.control, self._reactor
        self._changed = True
        listening = False
        try:
            while not control.stopping and (steps is None or self._furthest() < steps):
                if self._changed:
                    self._changed = False
                    listening = control.may_step(self._answered)
                    self._listen(listening)
                ready = reactor.turn(monotonic_ns() + _REPEAT_NS if listening else None)
                if listening and not ready:
                    self._sender.send(self._fleet.outputs())
        finally:
            control.end()

    def close(self) -> None:
        """Release what the mode waits with."""
        self._reactor.close()

    def figures(self) -> dict[str, Any]:
        """Figures of the run."""
        status = self.control.status()
        return {"state": status.state, "time_s": status.time / SECOND, "steps": status.steps}

    def _requested(self) -> None:
        self._changed = True
        self._reactor.wake()

    def _furthest(self) -> int:
        return max(output.steps for output in self._fleet.outputs().values())

    def _listen(self, listening: bool) -> None:
        """While the run stands, commands wait in their sockets."""
        for name, opened in self._ports.sockets.items():
            if listening:
                self._reactor.watch(opened, partial(self._answer, name))
            else:
                self._reactor.forget(opened)

    def _answer(self, vehicle: str) -> None:
        # One section from the decision to its grant, as a pause may come at any time.
        with self.control.changed:
            if not self.control.may_step(self._answered):
                self._changed = True
                return  # the commands stay in their sockets
            command = self._next_command(vehicle)
            if command is None:
                return
            self.control.began_step(self._answered)
            self._answered += 1
        self._fleet[vehicle].set_input(command)
        outputs = {vehicle: self._fleet.tick_one(vehicle)}
        self._sender.send(outputs)
        self._on_tick(outputs)

    def _next_command(self, vehicle: str) -> VehicleCommand | None:
        """The next command that makes a tick; a repeated one is answered and makes none."""
        received = self._ports.receive(vehicle)
        if received is None:
            return None
        packet, address = received
        kept = self._ports.filters[vehicle]
        if self._senders.get(vehicle) != address:
            self._senders[vehicle] = address
            kept.forget()
        if packet.seq == kept.last:
            self._sender.send({vehicle: self._fleet[vehicle].output()})
        return packet.command if self._ports.accept(vehicle, packet) else None
