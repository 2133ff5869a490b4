# SPDX-License-Identifier: Apache-2.0
"""A model whose ports have faults."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ros2_cosim.documents.settings import Section
from ros2_cosim.faults.manipulators import Fault, FaultyPort, Moment
from ros2_cosim.kernel.model import Model, Report, Wrapper
from ros2_cosim.kernel.participant import Host, Past, Step
from ros2_cosim.kernel.saved_state import SavedAttributes


class Faulty(Wrapper):
    """Stands between a model and the messages of its ports.

    :param inner: the model
    :param inputs: input port -> its faults
    :param outputs: output port -> its faults
    """

    def __init__(
        self,
        inner: Model,
        inputs: Mapping[str, FaultyPort],
        outputs: Mapping[str, FaultyPort],
    ) -> None:
        super().__init__(inner)
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

    def passed_at_once(self, port: str, record: Any) -> Any:
        """What becomes of a message that the model sends within an activation; None: it is lost."""
        return self._sent({port: record}).get(port)

    def attach(self, host: Host) -> None:
        """What the model sends at once passes the faults, too."""
        send = host.send

        def send_faulty(port: str, record: Any) -> None:
            assert send is not None
            passed = self.passed_at_once(port, record)
            if passed is not None:
                send(port, passed)

        self._inner.attach(host if send is None else host._replace(send=send_faulty))

    def activate(self, step: Step) -> Mapping[str, Any]:
        """Activate the model with inputs as they arrive; send what passes of its outputs."""
        return self._sent(self._inner.activate(self._read(step)))

    def handle_message(self, port: str, step: Step) -> Mapping[str, Any]:
        """The same for a single message; one that is lost is not handled."""
        seen = self._read(step)
        if port in self._inputs and not seen.samples[port]:
            return {}
        return self._sent(self._inner.handle_message(port, seen))

    def answer_service(self, name: str, request: Any, step: Step) -> Any:
        """Answer a request; its other inputs are as they arrive."""
        return self._inner.answer_service(name, request, self._read(step))

    def save_state(self) -> Any:
        """The state of the model, and those of the faults."""
        return [_STATE.save(self), self._inner.save_state()]

    def restore_state(self, state: Any) -> None:
        """Go back to a state that ``save_state`` gave."""
        own, inner = state
        _STATE.restore(self, own)
        self._inner.restore_state(inner)

    def report(self) -> Report:
        """That of the model, with the number of messages on which each fault has acted."""
        report = self._inner.report()
        counts = {
            f"fault.{fault.name}": fault.count
            for ports in (self._inputs, self._outputs)
            for port in ports.values()
            for fault in port.faults
        }
        return report._replace(figures={**(report.figures or {}), **counts})

    def _read(self, step: Step) -> Step:
        self._moment = moment = Moment(step.time, step.latest)
        samples, latest = dict(step.samples), dict(step.latest)
        for name, port in self._inputs.items():
            if name in samples:
                samples[name] = port.delivered(samples[name], moment)
                latest[name] = port.latest_delivered()
            else:
                latest[name] = port.newest(latest[name], moment)
        return Step(step.time, samples, latest)

    def _sent(self, values: Mapping[str, Any]) -> Mapping[str, Any]:
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
_STATE = SavedAttributes(parts=(Fault, FaultyPort), constants=(Model, Moment, Section))
