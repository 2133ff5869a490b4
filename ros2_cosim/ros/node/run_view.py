# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The watchdog's view of a run, published: ``/cosim/status``, diagnostics, warnings.

A few messages per second of wall time, also while the run stands still or is paused; none of
them is on the data path.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import NamedTuple

from ros2_cosim.core.kernel.time import NEVER, format_ns
from ros2_cosim.core.messages.protocol import ParticipantStatus, RunStatus, SystemState
from ros2_cosim.ros.node import topics
from ros2_cosim.ros.node.blocking import BlockingTable
from ros2_cosim.ros.node.diagnostics import DiagnosticsPublisher, ParticipantStanding
from ros2_cosim.ros.node.session import Session
from ros2_cosim.ros.node.writers import data_qos

#: Time between two messages [ns of wall time].
STATUS_NS = 500_000_000
DIAGNOSTICS_NS = 1_000_000_000
#: The process of the view has not run for a while if there was none for so long [ns].
STANDING_NS = 4 * STATUS_NS
#: Rates are measured over so many messages.
_SAMPLES = 6


class RunProgress(NamedTuple):
    """What the clock knows of the run as a whole; simulated times in nanoseconds."""

    system: SystemState
    time: int
    horizon: int
    end: int
    rate: float | None
    resting: bool


class RunView:
    """Publishes how far each participant is.

    :param session: the ROS node
    :param table: how far each participant is
    :param warn_ns: wall time after which silence, or a standstill, is worth a warning
    :param timer: monotonic wall clock [ns]
    :param warn: takes warnings, one line each
    """

    def __init__(
        self,
        session: Session,
        table: BlockingTable,
        *,
        run_id: str,
        warn_ns: int,
        timer: Callable[[], int],
        warn: Callable[[str], None],
    ) -> None:
        self._table = table
        self._warn_ns = warn_ns
        self._timer = timer
        self._print = warn
        self._started = 0
        self._status = session.writer(topics.STATUS, topics.STATUS_TYPE, data_qos())
        self._diagnostics = DiagnosticsPublisher(session.node, run_id, session.start_ns)
        self._status_at = self._diagnosed_at = timer()
        self._warned: set[str] = set()
        self._moved = (NEVER, timer())
        #: (wall time, simulated time, activations of each participant) of the last messages.
        self._samples: deque[tuple[int, int, dict[str, int]]] = deque(maxlen=_SAMPLES)

    def started(self) -> None:
        """Simulated time begins to run."""
        self._started = self._timer()

    def is_due(self) -> bool:
        """Whether it is time for the next message."""
        return self._timer() - self._status_at >= STATUS_NS

    def publish(self, progress: RunProgress) -> None:
        """Publish what is known now."""
        before, now = self._status_at, self._timer()
        self._status_at = now
        counts = {name: place.activations for name, place in self._table.entries.items()}
        self._samples.append((now, max(progress.time, 0), counts))
        status = self.status(progress, now)
        if self._status.onlookers:
            self._status.send(status)
        if now - self._diagnosed_at >= DIAGNOSTICS_NS:
            self._diagnosed_at = now
            self._diagnose(status)
        # Silence does not mean that the others failed while this process itself stood: suspended,
        # or stopped by a signal.
        if now - before < max(self._warn_ns, STANDING_NS):
            self._warn_of_silence(status)
        self._warn_of_standstill(progress, status, now)

    def status(self, progress: RunProgress, now: int) -> RunStatus:
        """The present view."""
        table = self._table
        blocking, why = table.blocking(progress.horizon, now, self._warn_ns)
        silent = set(table.silent(progress.end, now, self._warn_ns))
        before, simulated, counts = self._samples[0] if self._samples else (now, 0, {})
        elapsed = (now - before) / 1e9
        entries = []
        for name, place in table.entries.items():
            needs = table.needs(name, progress.horizon)
            done = place.activations - counts.get(name, 0)
            entries.append(
                ParticipantStatus(
                    participant=name,
                    state=int(place.state or 0),
                    reason=place.reason,
                    present=place.state is not None,
                    bound_ns=place.bound,
                    granted_ns=progress.horizon,
                    activations=place.activations,
                    rate=done / elapsed if elapsed else 0.0,
                    waits_for=tuple(need.source for need in needs),
                    promised_ns=tuple(need.time for need in needs),
                    since_ns=max(place.bound, 0),
                    since_s=(now - place.since) / 1e9,
                    heard_s=(now - place.heard) / 1e9,
                    silent=name in silent,
                )
            )
        return RunStatus(
            run_id=progress.system.run_id,
            state=progress.system.state,
            reason=progress.system.reason,
            time_ns=progress.time,
            horizon_ns=progress.horizon,
            end_ns=progress.end,
            rate=progress.rate or 0.0,
            real_time_factor=(max(progress.time, 0) - simulated) / 1e9 / elapsed
            if elapsed
            else 0.0,
            wall_s=(now - self._started) / 1e9 if self._started else 0.0,
            blocking=blocking,
            why=why,
            participants=tuple(entries),
        )

    def _diagnose(self, status: RunStatus) -> None:
        standings = [
            ParticipantStanding(
                entry.participant,
                self._table.entries[entry.participant].state,
                entry.reason,
                entry.bound_ns,
                ", ".join(entry.waits_for),
                entry.since_s,
                entry.silent,
            )
            for entry in status.participants
        ]
        self._diagnostics.publish(
            status.time_ns,
            status.horizon_ns,
            status.real_time_factor,
            standings,
            f"{status.blocking}: {status.why}" if status.blocking else "",
        )

    def _warn_of_silence(self, status: RunStatus) -> None:
        """Say once which participants have been silent for longer than the soft limit."""
        for entry in status.participants:
            name = entry.participant
            if not entry.silent:
                self._warned.discard(name)
            elif name not in self._warned:
                self._warned.add(name)
                self._print(f"warning: no sign of life of '{name}' for {entry.heard_s:.0f} s")

    def _warn_of_standstill(self, progress: RunProgress, status: RunStatus, now: int) -> None:
        """Say once that there has been no progress for longer than the soft limit."""
        time, since = self._moved
        if progress.time > time or progress.time >= progress.horizon or progress.resting:
            self._moved = (progress.time, now)
            self._warned.discard("")
        elif now - since > self._warn_ns and "" not in self._warned:
            self._warned.add("")
            at = format_ns(max(progress.time, 0))
            cause = f": {status.blocking} {status.why}" if status.blocking else ""
            self._print(f"warning: no progress for {(now - since) / 1e9:.0f} s at {at}{cause}")
