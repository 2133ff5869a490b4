# SPDX-License-Identifier: Apache-2.0
"""What the clock decides: simulated time, the horizon and the end of the run.

Pure bookkeeping over the participants' reports of progress. Time t is shown only when
every activation before t is complete everywhere; the horizon stays within the run-ahead
window of that time; a requested stop ends the run a fixed latency after the request. The
window never exceeds that latency, so nobody has passed the end before it is known.
"""

from __future__ import annotations

from collections.abc import Iterable

from ros2_cosim.kernel.errors import ConfigurationError
from ros2_cosim.kernel.time import FOREVER, NEVER, format_ns, saturating_add


class Coordinator:
    """Progress of a whole system.

    :param participants: names of the participants that gate the clock; of simultaneous stop
        requests that of the first one in this order counts
    :param duration_ns: the run ends here at the latest
    :param run_ahead_ns: how far a participant may be ahead of the clock; 0 is lockstep: only
        what is due at the time shown may run
    :param stop_latency_ns: a stop requested at t ends the run at t + this
    :raises ConfigurationError: the window is negative or exceeds the stop latency
    """

    def __init__(
        self,
        participants: Iterable[str],
        *,
        duration_ns: int,
        run_ahead_ns: int,
        stop_latency_ns: int,
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
        # The horizon is exclusive: one nanosecond lets run what is due now.
        self.window_ns = max(run_ahead_ns, 1)
        self._duration_ns = duration_ns
        self._stop_latency_ns = stop_latency_ns
        self._position = {name: i for i, name in enumerate(self._bounds)}
        #: (time, position of the participant) of the stop request that counts.
        self._stop = (FOREVER, len(self._position))

    @property
    def time(self) -> int:
        """Every activation before this time is complete, everywhere."""
        return min(min(self._bounds.values()), self.end)

    @property
    def horizon(self) -> int:
        """Activations before this time may run (exclusive)."""
        return min(saturating_add(max(self.time, 0), self.window_ns), self.end)

    @property
    def finished(self) -> bool:
        """Whether every activation before the end is complete."""
        return self.time >= self.end

    @property
    def end_is_final(self) -> bool:
        """Whether no request can change the end any more: everybody may know it.

        A stop requested after ``time`` ends the run at or after the horizon; an earlier one
        has been reported, because each participant reports it with its progress.
        """
        return self.horizon >= self.end

    def bound_of(self, participant: str) -> int:
        """The last reported bound of a participant."""
        return self._bounds[participant]

    def slowest(self) -> str:
        """The participant that holds back the clock."""
        return min(self._bounds, key=lambda name: (self._bounds[name], name))

    def completed(self, participant: str, bound: int) -> None:
        """A participant has no further activation before ``bound``."""
        if bound > self._bounds[participant]:
            self._bounds[participant] = bound

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

        Nobody may have been granted more than ``time``: then nobody has passed this end.
        """
        if time < self.end:
            self.end = time
            self._duration_ns = time
            self.stop_reason = reason
