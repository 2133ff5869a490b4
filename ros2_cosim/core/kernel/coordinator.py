# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""What the clock decides: simulated time, the horizon and the end of the run.

Pure bookkeeping over the participants' reports of progress. Time t is shown only when
every activation before t is complete everywhere; the horizon stays within the run-ahead
window of that time; a requested stop ends the run a fixed latency after the request. The
window never exceeds that latency, so no participant has passed the end before it is known.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.kernel.time import FOREVER, NEVER, format_ns, saturating_add


class Coordinator:
    """Progress of a whole system.

    :param participants: names of the participants that gate the clock; of simultaneous stop
        requests that of the first one in this order counts
    :param duration_ns: the run ends here at the latest
    :param run_ahead_ns: how far a participant may be ahead of the clock; 0 is lockstep: only
        what is due at the time shown may run
    :param stop_latency_ns: a stop requested at t ends the run at t + this
    :param enters: participants that enter later -> when [ns]; the horizon does not pass that
        time before :meth:`arrived` is called for the participant
    :param free: participants that enter when :meth:`admit` lets them, and gate nothing before
    :param entry_step_ns: these enter at multiples of this only; readers that know that count on
        more silence than the horizon alone would promise
    :raises ConfigurationError: the window is negative or exceeds the stop latency
    """

    def __init__(
        self,
        participants: Iterable[str],
        *,
        duration_ns: int,
        run_ahead_ns: int,
        stop_latency_ns: int,
        enters: Mapping[str, int] | None = None,
        free: Collection[str] = (),
        entry_step_ns: int = 1,
    ) -> None:
        if stop_latency_ns <= 0:
            raise ConfigurationError(
                f"stop_latency is {format_ns(stop_latency_ns)}; it must be above zero"
            )
        if not 0 <= run_ahead_ns <= stop_latency_ns:
            raise ConfigurationError(
                f"run_ahead is {format_ns(run_ahead_ns)}; it must not be negative and at most "
                f"stop_latency ({format_ns(stop_latency_ns)}), or a participant could pass the "
                "end of the run before it is known"
            )
        self.end = duration_ns
        self.stop_reason = f"end of the run at {format_ns(duration_ns)}"
        self._bounds = dict.fromkeys(participants, NEVER)
        self._awaited = dict(enters or {})
        self._bounds.update(self._awaited)
        self._bounds.update(dict.fromkeys(free, FOREVER))
        #: The smallest lower bound (None: not known), and how many participants have it.
        self._least: int | None = None
        self._at_least = 0
        # The horizon is exclusive: one nanosecond lets run what is due now.
        self.window_ns = max(run_ahead_ns, 1)
        self._entry_step_ns = entry_step_ns
        self._duration_ns = duration_ns
        self._stop_latency_ns = stop_latency_ns
        self._position = {name: i for i, name in enumerate(self._bounds)}
        #: (time, position of the participant) of the stop request that counts.
        self._stop = (FOREVER, len(self._position))

    @property
    def time(self) -> int:
        """Every activation before this time is complete, everywhere."""
        if self._least is None:
            bounds = self._bounds.values()
            self._least = min(bounds)
            self._at_least = list(bounds).count(self._least)
        return min(self._least, self.end)

    @property
    def horizon(self) -> int:
        """Activations before this time may run (exclusive)."""
        return min(saturating_add(max(self.time, 0), self.window_ns), self.stops_at)

    @property
    def stops_at(self) -> int:
        """The horizon cannot pass this now: the end, or the entry of a missing participant."""
        return min([self.end, *self._awaited.values()]) if self._awaited else self.end

    @property
    def finished(self) -> bool:
        """Whether every activation before the end is complete."""
        return self.time >= self.end

    @property
    def end_is_final(self) -> bool:
        """Whether no request can change the end any more: every participant may know it.

        A stop requested after ``time`` ends the run at or after the horizon; an earlier one
        has been reported, because each participant reports it with its progress.
        """
        return self.horizon >= self.end

    def lower_bound_of(self, participant: str) -> int:
        """The last reported lower bound of a participant."""
        return self._bounds[participant]

    def slowest(self) -> str:
        """The participant that holds back the clock."""
        least = min(self._bounds.values()) if self._least is None else self._least
        return min([name for name, bound in self._bounds.items() if bound == least])

    def awaited(self) -> list[str]:
        """Participants that should enter now and are not there: the horizon stands for them."""
        time = self.time
        return sorted(n for n, enter in self._awaited.items() if enter <= min(time, self.end - 1))

    def arrived(self, participant: str) -> None:
        """A participant that enters later is there: the horizon need not stop at its entry."""
        self._awaited.pop(participant, None)

    def free_entry(self, allowed_ns: int) -> int:
        """Entry of a participant that comes now: the first step that none may have reached.

        :param allowed_ns: the largest horizon that was published
        """
        return entry_step(max(allowed_ns, self.time, 0), self._entry_step_ns)

    def admit(self, participant: str, enter_ns: int) -> None:
        """A participant with free entry takes part from that time on."""
        self._bounds[participant] = enter_ns
        self._least = None

    def dropped(self, participant: str) -> None:
        """A participant is gone for good; what it asked for before still counts."""
        self._awaited.pop(participant, None)
        self._bounds[participant] = FOREVER
        self._least = None

    def completed(self, participant: str, bound: int) -> bool:
        """A participant has no further activation before ``bound``.

        :returns: whether time may have moved: no other participant holds it at the same bound
        """
        before = self._bounds[participant]
        if bound > before:
            self._bounds[participant] = bound
            if before == self._least:
                self._at_least -= 1
                if not self._at_least:
                    self._least = None
        return self._least is None

    def stop_requested(self, participant: str, time: int, reason: str) -> None:
        """A participant asked at ``time`` to end the run; the earliest request counts.

        Which one that is does not depend on the order in which requests arrive.
        """
        request = (time, self._position[participant])
        if request < self._stop:
            self._stop = request
            end = saturating_add(time, self._stop_latency_ns)
            if end < self._duration_ns:
                self.end = end
                self.stop_reason = f"{participant}: {reason}"

    def stop_at(self, time: int, reason: str) -> None:
        """End the run at ``time`` [ns], unless it ends earlier.

        No participant may have been granted more than ``time``: then none has passed this end.
        """
        if time < self.end:
            self.end = time
            self._duration_ns = time
            self.stop_reason = reason


def entry_step(time: int, step_ns: int) -> int:
    """The first multiple of a step [ns] at or after a time [ns]."""
    return -(-time // step_ns) * step_ns
