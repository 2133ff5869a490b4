# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""What faults do to the messages of one port, message by message.

A fault acts on a message when it is first read, or sent, if it is active then. So it depends on the
activations of its participant alone, which are the same in every run shape.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ros2_cosim.core.faults.fields import values_of
from ros2_cosim.core.faults.settings import Act, FaultCondition, FaultSettings
from ros2_cosim.core.kernel.participant import Sample
from ros2_cosim.core.kernel.random_streams import RandomStream


class Moment(NamedTuple):
    """When a message passes: simulated time [ns], and what the inputs hold then."""

    time: int
    latest: Mapping[str, Sample | None]


class Fault:
    """One fault of one port.

    :param name: its name in the scenario
    :param settings: what it does
    :param stream: its random numbers
    """

    def __init__(self, name: str, settings: FaultSettings, stream: RandomStream) -> None:
        self.name = name
        #: On how many messages it has acted.
        self.count = 0
        self._settings = settings
        self._active = settings.active
        self._stream = stream
        self._before: Any = None
        self._kept: Any = None

    @property
    def delay_ns(self) -> int:
        """By how much it delays a message on which it acts [ns]."""
        return self._settings.delay_ns

    def switch(self, active: bool) -> None:
        """Let it act from now on, or not."""
        self._active = active

    def note(self, value: Any) -> None:
        """Take the newest message that passed before it was there; None: there was none."""
        self._before = value

    def passes(self, value: Any, moment: Moment) -> tuple[bool, Any]:
        """Let one message pass.

        :returns: whether the fault acts on it, and the message as it goes on; None: it is lost
        """
        acts = self._acts(value, moment)
        if not acts:
            self._kept = None
            self._before = value
            return False, value
        self.count += 1
        if self._kept is None:
            # What was there before it began; the first message, if nothing was.
            self._kept = value if self._before is None else self._before
        return True, self._settings.changed(value, Act(moment.time, self._kept, self._stream))

    def _acts(self, value: Any, moment: Moment) -> bool:
        settings = self._settings
        if not self._active or moment.time < settings.from_time:
            return False
        if settings.until is not None and moment.time >= settings.until:
            return False
        if settings.when is not None and not _holds(settings.when, value, moment):
            return False
        return settings.probability >= 1.0 or self._stream.bernoulli(settings.probability)


def _holds(condition: FaultCondition, value: Any, moment: Moment) -> bool:
    if condition.port is not None:
        sample = moment.latest.get(condition.port)
        if sample is None:
            return False
        value = sample.value
    numbers = values_of(value, condition.field)
    if condition.above is not None:
        return any(number > condition.above for number in numbers)
    assert condition.below is not None
    return any(number < condition.below for number in numbers)


class FaultyPort:
    """The faults of one port, one after the other.

    :param faults: in the order of the scenario
    :param held: of an input, what it held before
    """

    def __init__(self, faults: Sequence[Fault], held: Sample | None = None) -> None:
        self.faults = tuple(faults)
        self._seen = None if held is None else (held.stamp, held.seq)
        self._current = held
        #: Messages on their way: (when they may arrive [ns], message). None overtakes another.
        self._late: deque[tuple[int, Sample]] = deque()

    def add(self, fault: Fault) -> None:
        """Add a fault behind the others; of an input it knows what has passed these last."""
        last = self._late[-1][1] if self._late else self._current
        if last is not None:
            fault.note(last.value)
        self.faults = (*self.faults, fault)

    def passed(self, value: Any, moment: Moment) -> Any:
        """A message behind all faults; None: it is lost."""
        return self._pass(value, moment)[0]

    def _pass(self, value: Any, moment: Moment) -> tuple[Any, int]:
        delay = 0
        for fault in self.faults:
            acts, value = fault.passes(value, moment)
            if value is None:
                return None, 0
            if acts:
                delay += fault.delay_ns
        return value, delay

    def newest(self, sample: Sample | None, moment: Moment) -> Sample | None:
        """What an input holds, given what it holds without faults."""
        if sample is not None and (sample.stamp, sample.seq) != self._seen:
            self._take(sample, moment)
        self._arrive(moment.time)
        return self._current

    def delivered(self, samples: Sequence[Sample], moment: Moment) -> tuple[Sample, ...]:
        """What is delivered to an activation, given what is without faults."""
        for sample in samples:
            self._take(sample, moment)
        return self._arrive(moment.time)

    def latest_delivered(self) -> Sample | None:
        """The newest of all that have been delivered."""
        return self._current

    def _take(self, sample: Sample, moment: Moment) -> None:
        self._seen = (sample.stamp, sample.seq)
        value, delay = self._pass(sample.value, moment)
        if value is not None:
            self._late.append((moment.time + delay, sample._replace(value=value)))

    def _arrive(self, time: int) -> tuple[Sample, ...]:
        arrived = []
        while self._late and self._late[0][0] <= time:
            self._current = self._late.popleft()[1]
            arrived.append(self._current)
        return tuple(arrived)
