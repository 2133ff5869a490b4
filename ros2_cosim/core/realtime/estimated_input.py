# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""An estimator at an input of the fast part, or in a participant between the two parts.

Where the slow part stays silent when it is late (``silent`` of its coupling), the reader finds
an old sample. Here a sample that is too old is replaced by an estimate, made from those that
came in time; late ones that come in afterwards on their own port correct it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any

from ros2_cosim.core.kernel.layers import Layer
from ros2_cosim.core.kernel.model import Model, Port, Ports, Report
from ros2_cosim.core.kernel.participant import ModelContext, Sample, Step
from ros2_cosim.core.kernel.time import NEVER
from ros2_cosim.core.realtime.estimators_of_records import RecordEstimator, Rule

#: A slow part that is further behind than this cannot be compared any more.
_MISSING = 10_000


class EstimatedInput:
    """One input port whose samples may be missing.

    :param port: the input port
    :param rules: how its fields are estimated
    :param max_age_ns: a sample stamped so long before the activation, or longer, is missing
    :param late_port: input port with the late samples, one for each that was missing, in order
    """

    def __init__(
        self, port: str, rules: Sequence[Rule], *, max_age_ns: int, late_port: str | None
    ) -> None:
        self.port = port
        self.late_port = late_port
        self.estimates = 0
        #: Largest absolute error of all numbers, where late samples told it.
        self.largest_error = 0.0
        self._max_age = max_age_ns
        self._estimator = RecordEstimator(rules, [port])
        self._seen = -1
        self._seen_late = -1
        self._known_until = NEVER
        # Missing samples: (time, estimate), in the order of their times.
        self._missing: deque[tuple[int, Any]] = deque(maxlen=_MISSING)

    def read(self, step: Step) -> Sample | None:
        """The sample of this activation, or an estimate in its place, with its number."""
        latest = step.latest
        state = {n: s.value for n, s in latest.items() if s is not None and n != self.port}
        late = latest.get(self.late_port) if self.late_port else None
        if late is not None and late.seq > self._seen_late and self._missing:
            self._seen_late = late.seq
            due, estimate = self._missing.popleft()
            calculated = {self.port: late.value}
            errors = self._estimator.learn(due, {self.port: estimate}, calculated)
            for error in errors.values():
                self.largest_error = max(self.largest_error, abs(error))
            if due > self._known_until:  # a newer one may have overtaken it
                self._known_until = due
                self._estimator.observe(due, calculated)
        sample = latest[self.port]
        if sample is None:
            return None
        if sample.seq > self._seen:
            self._seen = sample.seq
            self._known_until = sample.stamp
            self._estimator.observe(sample.stamp, {self.port: sample.value})
        if step.time - sample.stamp < self._max_age:
            return sample
        estimate = self._estimator.estimate(step.time, state)[self.port]
        self.estimates += 1
        if self.late_port:
            self._missing.append((step.time, estimate))
        return Sample(step.time, sample.seq, estimate)


class EstimatedInputs(Layer):
    """Estimated inputs: the model finds a sample at every activation.

    :param inputs: the ports
    """

    unsaved = ""

    def __init__(self, inputs: Sequence[EstimatedInput]) -> None:
        self.inputs = tuple(inputs)

    def read(self, step: Step) -> Step:
        """Samples, calculated or estimated."""
        latest = dict(step.latest)
        for port in self.inputs:
            latest[port.port] = port.read(step)
        return step._replace(latest=latest)

    def report(self, report: Report) -> Report:
        """Estimates and errors by port."""
        found = {
            port.port: {"estimates": port.estimates, "largest_error": port.largest_error}
            for port in self.inputs
        }
        return report._replace(realtime={**(report.realtime or {}), "inputs": found})


class ErrorHandler(Model):
    """A participant between slow and fast part: sends on what came, or its estimate.

    Its inputs carry the estimators (``estimate`` of an input); each output has the name of the
    input whose samples it sends on.
    """

    def __init__(self, context: ModelContext, parameters: object) -> None:
        self._ports = tuple(context.output_types)

    @classmethod
    def declared_ports(cls, context: ModelContext, parameters: object) -> Ports:
        """Each output has an input of its name and type; there may be further inputs."""
        return Ports(
            inputs=tuple(Port(name, kind) for name, kind in context.output_types.items()),
            outputs=tuple(
                Port(name, kind, schedule="sparse") for name, kind in context.output_types.items()
            ),
            others=cls.other_ports,
        )

    def activate(self, step: Step) -> Mapping[str, Any]:
        """Send on the sample of each port that has one."""
        found = {port: step.latest.get(port) for port in self._ports}
        return {port: sample.value for port, sample in found.items() if sample is not None}
