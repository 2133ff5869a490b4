# SPDX-License-Identifier: Apache-2.0
"""Deadlines of participants in a paced run, and what happens when one is missed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ros2_cosim.kernel.errors import ParticipantError
from ros2_cosim.kernel.model import Model, Report, Wrapper
from ros2_cosim.kernel.participant import Step
from ros2_cosim.kernel.time import format_ns
from ros2_cosim.realtime.histogram import Histogram
from ros2_cosim.realtime.pacing import Pacer

#: Overruns that the record names one by one; all are counted.
LISTED = 1000


class Watched(Wrapper):
    """A participant whose activations have a deadline on the wall clock.

    The activation at t should begin when t is due and has to be complete ``deadline_ns`` of
    simulated time (divided by the rate: of wall time) later. What is missed is recorded. With
    the policy ``slip`` all later deadlines move by the time that was lost (where this process
    does the pacing); ``stop`` ends the run; ``record`` goes on and catches up. (``skip`` and
    ``estimate`` change what is sent: :mod:`ros2_cosim.realtime.coupled_participant`.)

    :param inner: the model
    :param name: the participant
    """

    def __init__(
        self, inner: Model, name: str, *, policy: str, deadline_ns: int, pacer: Pacer
    ) -> None:
        super().__init__(inner)
        self._activate = inner.activate
        self._name = name
        self._policy = policy
        self._deadline = deadline_ns
        self._pacer = pacer
        self._jitter = Histogram()
        self._lateness = Histogram()
        self._overruns: list[tuple[int, int]] = []
        self.missed = 0

    def activate(self, step: Step) -> Mapping[str, Any]:
        """Run the activation and look at the clock.

        :raises ParticipantError: the deadline is missed, and the policy is ``stop``
        """
        pacer = self._pacer
        self._jitter.add(pacer.began(step.time))
        outputs = self._activate(step)
        late = pacer.clock.now() - pacer.due(step.time) - pacer.wall(self._deadline)
        if late > 0:
            self._missed(step.time, late)
        return outputs

    def report(self) -> Report:
        """That of the model, with deadline, jitter and overruns."""
        report = self._inner.report()
        deadline = {
            "policy": self._policy,
            "deadline_s": self._deadline / 1e9,
            "overruns": self.missed,
            "jitter": self._jitter.plain(),
            "lateness": self._lateness.plain(),
            "listed": [[time / 1e9, late / 1e9] for time, late in self._overruns],
        }
        return report._replace(realtime={**(report.realtime or {}), "deadline": deadline})

    def _missed(self, time: int, late: int) -> None:
        self.missed += 1
        self._lateness.add(late)
        if len(self._overruns) < LISTED:
            self._overruns.append((time, late))
        if self._policy == "stop":
            raise ParticipantError(
                f"participant '{self._name}' missed the deadline of its activation at "
                f"{format_ns(time)} by {format_ns(late)} of wall time; its overrun policy is stop"
            )
        if self._policy == "slip" and not self._pacer.floating:
            self._pacer.slip(late)
