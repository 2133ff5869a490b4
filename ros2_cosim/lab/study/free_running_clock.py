# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The clock of a run without synchronisation: it gives the start, and gathers the results.

Between these two it has no influence: there is no horizon, and no participant waits for another.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from ros2_cosim.core.kernel.errors import Cancelled, DeadlockError, ParticipantError
from ros2_cosim.core.kernel.lifecycle import State
from ros2_cosim.core.messages.cdr import CdrCodec
from ros2_cosim.core.messages.protocol import (
    Horizon,
    ParticipantReport,
    ParticipantState,
    SystemState,
)
from ros2_cosim.lab.study.free_running_node import START
from ros2_cosim.ros.node import topics
from ros2_cosim.ros.node.session import Session
from ros2_cosim.ros.node.writers import data_qos

#: Time 0 lies so far ahead that all participants receive it beforehand.
_LEAD_NS = 300_000_000
_POLL_S = 0.05


class FreeRunningClock:
    """Starts all participants at one time on the monotonic clock and waits until they are done.

    :param session: the ROS node
    :param participants: names of all participants
    :param run_id: names this run in every message
    :param factor: wanted real-time factor
    :param end_ns: the run ends at this simulated time
    :param startup_s: wall seconds that connecting may take
    :param watchdog_s: wall seconds that reporting may take
    :param timer: the monotonic clock that all processes share [ns]
    :param on_progress: called again and again with the planned time [ns]
    """

    def __init__(
        self,
        session: Session,
        participants: Iterable[str],
        *,
        run_id: str,
        factor: float,
        end_ns: int,
        startup_s: float,
        watchdog_s: float,
        timer: Callable[[], int],
        on_progress: Callable[[int], None],
    ) -> None:
        self._session = session
        self._run_id = run_id
        self._factor = factor
        self._end = end_ns
        self._startup_ns = int(startup_s * 1e9)
        self._watchdog_ns = int(watchdog_s * 1e9)
        self._timer = timer
        self._states: dict[str, ParticipantState | None] = dict.fromkeys(participants)
        self._failure: ParticipantState | None = None
        self._on_progress = on_progress
        self.reports: dict[str, ParticipantReport] = {}
        self.start_ns = 0
        #: Whether the participants came to their last activations, however late.
        self.complete = False
        latched = data_qos(latched=True)
        self._start = session.writer(START, topics.HORIZON_TYPE, latched)
        self._system = session.writer(topics.SYSTEM_STATE, topics.SYSTEM_STATE_TYPE, latched)
        session.record_reader(
            topics.PARTICIPANT_STATE, topics.PARTICIPANT_STATE_TYPE, latched, self._on_state
        )
        session.record_reader(topics.REPORT, topics.REPORT_TYPE, latched, self._on_report)

    def watch(self, topic: str, codec: CdrCodec, receive: Callable[[int, object], None]) -> None:
        """Call ``receive`` with stamp [ns] and record of each message of a topic."""

        def on_message(data: bytes) -> None:
            stamp, _, record = codec.decode(data)
            receive(stamp, record)

        self._session.reader(topic, codec.type_name, data_qos(), on_message)

    def run(self) -> None:
        """Run from the first connection until all reports are here.

        :raises ParticipantError: a participant reported an error
        :raises DeadlockError: a participant does not connect, or does not report
        :raises Cancelled: the process was asked to end
        """
        try:
            self._enter(State.COMMUNICATION_INITIALISING, "waiting for the participants")
            if not self._wait_for(lambda: self._all_in(State.READY_TO_RUN), self._startup_ns):
                raise DeadlockError(f"{self._lagging(State.READY_TO_RUN)} did not become ready")
            self.start_ns = self._timer() + _LEAD_NS
            self._start.send(Horizon(self._run_id, self.start_ns, self._end))
            self._enter(State.RUNNING, "all participants are ready")
            # A run that needs as long again as was planned, and then some, never catches up.
            planned = round(self._end / self._factor)
            patience = 2 * planned + self._end // 2 + self._watchdog_ns
            self.complete = self._wait_for(lambda: self._all_in(State.STOPPING), patience)
            self._enter(State.STOPPING, "the end of the run, or of patience")
            if not self._wait_for(lambda: self.reports.keys() >= self._states.keys(),
                                  self._watchdog_ns):  # fmt: skip
                silent = sorted(self._states.keys() - self.reports.keys())
                raise DeadlockError(f"{', '.join(silent)} did not report")
        except BaseException as error:
            self._enter(State.ABORTING, str(error) or type(error).__name__)
            if not isinstance(error, Cancelled):
                self._system.flush()
            raise

    def finish(self) -> None:
        """The results are on disk: all participants may end."""
        self._enter(State.SHUT_DOWN, "the run is complete")
        self._system.flush()

    def _wait_for(self, condition: Callable[[], bool], patience_ns: int) -> bool:
        since = self._timer()
        while not condition():
            self._session.wait(_POLL_S)
            if self._failure is not None:
                raise ParticipantError(f"{self._failure.participant}: {self._failure.reason}")
            self._report_time()
            if self._timer() - since > patience_ns:
                return False
        return True

    def _report_time(self) -> None:
        """Report the planned time: progress and sign of life."""
        shown = 0
        if self.start_ns:
            shown = min(self._end, int((self._timer() - self.start_ns) * self._factor))
        self._on_progress(max(0, shown))

    def _all_in(self, state: State) -> bool:
        return all(s is not None and s.state >= state for s in self._states.values())

    def _lagging(self, state: State) -> str:
        return ", ".join(n for n, s in self._states.items() if s is None or s.state < state)

    def _enter(self, state: State, reason: str) -> None:
        self._system.send(SystemState(int(state), reason, self._run_id))

    def _on_state(self, state: ParticipantState) -> None:
        if state.participant in self._states:
            self._states[state.participant] = state
            if state.state == State.ERROR and self._failure is None:
                self._failure = state

    def _on_report(self, report: ParticipantReport) -> None:
        self.reports[report.participant] = report
