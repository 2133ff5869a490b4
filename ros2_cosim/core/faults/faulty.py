# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Faults at the ports of a model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ros2_cosim.core.documents.settings import Section
from ros2_cosim.core.faults.manipulators import Fault, FaultyPort, Moment
from ros2_cosim.core.kernel.layers import Layer
from ros2_cosim.core.kernel.model import Report
from ros2_cosim.core.kernel.participant import Past, Step
from ros2_cosim.core.kernel.saved_state import SavedAttributes

#: What the name of a fault has before it in the figures of a participant.
FAULT_FIGURE = "fault."


class Faults(Layer):
    """Changes what arrives and what is sent.

    :param inputs: input port -> its faults
    :param outputs: output port -> its faults
    """

    def __init__(self, inputs: Mapping[str, FaultyPort], outputs: Mapping[str, FaultyPort]) -> None:
        self._inputs = dict(inputs)
        self._outputs = dict(outputs)
        self._moment = Moment(0, {})

    def switch(self, fault: str, active: bool) -> None:
        """Let a fault act from now on, or not."""
        for ports in (self._inputs, self._outputs):
            for port in ports.values():
                for each in port.faults:
                    if each.name == fault:
                        each.switch(active)

    def add(self, fault: Fault, port: str, side: str, past: Past) -> None:
        """Add a fault behind those of its port, as if it had been there from the start.

        :param side: ``input`` or ``output``
        :param past: what the participant has exchanged so far, in which the fault did not act
        """
        ports = self._inputs if side == "input" else self._outputs
        if port not in ports:
            ports[port] = FaultyPort((), past.latest.get(port) if side == "input" else None)
        if side == "output":
            fault.note(past.sent.get(port))
        ports[port].add(fault)

    def at_once(self, port: str, record: Any) -> Any:
        """What becomes of a message that the model sends within an activation; None: it is lost."""
        return self.sent(self._moment.time, {port: record}).get(port)

    def save_state(self) -> Any:
        """The states of the faults."""
        return _STATE.save(self)

    def restore_state(self, state: Any) -> None:
        """Go back to a state that ``save_state`` gave."""
        _STATE.restore(self, state)

    def report(self, report: Report) -> Report:
        """How many messages each fault has acted on."""
        counts = {
            f"{FAULT_FIGURE}{fault.name}": fault.count
            for ports in (self._inputs, self._outputs)
            for port in ports.values()
            for fault in port.faults
        }
        return report._replace(figures={**(report.figures or {}), **counts})

    def read(self, step: Step) -> Step:
        """The inputs as they arrive."""
        self._moment = moment = Moment(step.time, step.latest)
        samples, latest = dict(step.samples), dict(step.latest)
        for name, port in self._inputs.items():
            if name in samples:
                samples[name] = port.delivered(samples[name], moment)
                latest[name] = port.latest_delivered()
            else:
                latest[name] = port.newest(latest[name], moment)
        return Step(step.time, samples, latest)

    def sent(self, time: int, values: Mapping[str, Any]) -> Mapping[str, Any]:
        """What passes of the outputs."""
        passed = dict(values)
        for name, port in self._outputs.items():
            value = passed.get(name)
            if value is not None:
                value = port.passed(value, self._moment)
                if value is None:
                    del passed[name]
                else:
                    passed[name] = value
        return passed


#: The moment is that of the activation that is going on.
_STATE = SavedAttributes(parts=(Fault, FaultyPort), constants=(Moment, Section))
