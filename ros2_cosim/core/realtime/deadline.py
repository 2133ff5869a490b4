# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Deadlines of participants in a paced run, and what happens when one is missed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ros2_cosim.core.kernel.errors import ParticipantError
from ros2_cosim.core.kernel.layers import Layer
from ros2_cosim.core.kernel.model import Report
from ros2_cosim.core.kernel.participant import Step
from ros2_cosim.core.kernel.time import format_ns
from ros2_cosim.core.realtime.histogram import Histogram
from ros2_cosim.core.realtime.pacing import Pacer

#: Overruns that the record names one by one; all are counted.
LISTED = 1000


class Deadline(Layer):
    """The deadline of the activations of a participant on the wall clock.

    The activation at t should begin when t is due and has to be complete ``deadline_ns`` of
    simulated time (divided by the rate: of wall time) later. Missed deadlines are recorded. With
    the policy ``slip`` all later deadlines move by the time that was lost (where this process
    does the pacing); ``stop`` ends the run; ``record`` goes on and catches up. (``skip`` and
    ``estimate`` change what is sent: :mod:`ros2_cosim.core.realtime.coupled_participant`.)

    :param name: the participant
    """

    keeps_records = True
    unsaved = ""

    def __init__(self, name: str, *, policy: str, deadline_ns: int, pacer: Pacer) -> None:
        self._name = name
        self._policy = policy
        self._deadline = deadline_ns
        self._pacer = pacer
        self._jitter = Histogram()
        self._lateness = Histogram()
        self._overruns: list[tuple[int, int]] = []
        self.missed = 0

    def read(self, step: Step) -> Step:
        """Note when the activation begins."""
        self._jitter.add(self._pacer.began(step.time))
        return step

    def sent(self, time: int, values: Mapping[str, Any]) -> Mapping[str, Any]:
        """Look at the clock.

        :raises ParticipantError: the deadline is missed, and the policy is ``stop``
        """
        pacer = self._pacer
        late = pacer.clock.now() - pacer.due(time) - pacer.wall(self._deadline)
        if late > 0:
            self._missed(time, late)
        return values

    def report(self, report: Report) -> Report:
        """Deadline, jitter and overruns."""
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
