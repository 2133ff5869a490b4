# SPDX-License-Identifier: Apache-2.0
"""External stepping over VDS1: every command is one tick, and its state is the answer.

No clock takes part in the result: the same commands give the same states, however long they
take. Against loss, a command that comes again (same sequence number) is answered with the same
state again, and the last state is repeated while nothing comes; the receiver drops what it has.
"""

from __future__ import annotations

import selectors
import threading
from collections.abc import Callable, Mapping
from typing import Any

from ros2_cosim.kernel.errors import ConfigurationError
from ros2_cosim.kernel.time import SECOND
from ros2_cosim.vds.controllable import ENDED, PAUSED, RUNNING, RunStatus, checked_steps
from ros2_cosim.vds.ports import Address, CommandPorts, StateSender
from ros2_cosim.vds.session import Fleet, Output

_REPEAT_S = 0.1


class LockStep:
    """Ticks each vehicle of a fleet by the commands on its port; it is ``Controllable``.

    :param fleet: what is ticked; each vehicle has a time of its own
    :param ports: where commands come in; read by this class alone
    :param sender: where states go
    :param on_tick: called after each tick with the output of that vehicle
    """

    def __init__(
        self,
        fleet: Fleet,
        ports: CommandPorts,
        sender: StateSender,
        *,
        on_tick: Callable[[Mapping[str, Output]], None] = lambda outputs: None,
    ) -> None:
        self._fleet = fleet
        self._ports = ports
        self._sender = sender
        self._on_tick = on_tick
        self._condition = threading.Condition()
        self._paused = False
        self._granted = 0
        self._stopping = False
        self._ended = False
        self._senders: dict[str, Address] = {}

    def pause(self) -> None:
        """Answer no command from now on."""
        with self._condition:
            self._paused = True
            self._granted = 0

    def resume(self) -> None:
        """Answer again, the commands first that came meanwhile."""
        with self._condition:
            self._paused = False
            self._condition.notify_all()

    def step(self, count: int = 1) -> None:
        """Pause if running, and answer so many commands."""
        checked_steps(count)
        with self._condition:
            self._paused = True
            self._granted += count
            self._condition.notify_all()

    def set_rate(self, rate: float | None) -> None:
        """Refuse: whoever sends the commands sets the pace.

        :raises ConfigurationError: always
        """
        raise ConfigurationError("rate: in lock-step the sender of the commands sets the pace")

    def status(self) -> RunStatus:
        """Where the vehicle is that is furthest."""
        with self._condition:
            state = ENDED if self._ended else PAUSED if self._paused else RUNNING
        steps = max(output.steps for output in self._fleet.outputs().values())
        return RunStatus(state, steps * self._fleet.dt_ns, steps, None, may_change_rate=False)

    def stop(self) -> None:
        """End the run."""
        with self._condition:
            self._stopping = True
            self._condition.notify_all()

    def run(self, steps: int | None = None) -> None:
        """Answer commands until told to stop, or until a vehicle has taken so many ticks."""
        try:
            with selectors.DefaultSelector() as selector:
                for name, opened in self._ports.sockets.items():
                    selector.register(opened, selectors.EVENT_READ, name)
                self._serve(selector, steps)
        finally:
            with self._condition:
                self._ended = True

    def figures(self) -> dict[str, Any]:
        """What the run says of itself."""
        status = self.status()
        return {"state": status.state, "time_s": status.time / SECOND, "steps": status.steps}

    def _serve(self, selector: selectors.BaseSelector, steps: int | None) -> None:
        while steps is None or self.status().steps < steps:
            with self._condition:
                if self._stopping:
                    return
                if not self._may_step():
                    self._condition.wait(_REPEAT_S)
                    continue
            ready = selector.select(_REPEAT_S)
            if not ready:
                self._sender.send(self._fleet.outputs())
            for key, _ in ready:
                self._answer(key.data)

    def _may_step(self) -> bool:
        return not self._paused or self._granted > 0

    def _answer(self, vehicle: str) -> None:
        with self._condition:
            # A pause may have been asked for since commands were waited for: they stay there.
            if not self._may_step():
                return
        received = self._ports.receive(vehicle)
        if received is None:
            return
        packet, address = received
        kept = self._ports.filters[vehicle]
        if self._senders.get(vehicle) != address:
            self._senders[vehicle] = address
            kept.forget()
        if packet.seq == kept.last:
            self._sender.send({vehicle: self._fleet[vehicle].output()})
        if not self._ports.accept(vehicle, packet):
            return
        with self._condition:
            if self._paused and self._granted > 0:
                self._granted -= 1
        self._fleet[vehicle].set_input(packet.command)
        outputs = {vehicle: self._fleet.tick_one(vehicle)}
        self._sender.send(outputs)
        self._on_tick(outputs)
