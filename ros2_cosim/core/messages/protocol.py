# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Records of the coordination protocol between participants and the clock.

They travel like every other record (one ROS message type each), but carry no sequence
number. Times are simulated nanoseconds, except those whose names hold ``compute``, ``wait`` or
``transport``: these are measured wall time in nanoseconds and never feed a result.
"""

from typing import NamedTuple

from ros2_cosim.core.kernel.errors import ProtocolError
from ros2_cosim.core.kernel.membership import Presence

#: So many messages of one topic are kept for a reader that lags; the run-ahead window keeps
#: the number of messages under way below it.
HISTORY_DEPTH = 2000


class ForeignMessageError(ProtocolError):
    """A message that no process of this run would send; its reader refuses it, and goes on."""


class PortPromise(NamedTuple):
    """State of one output port (ros2_cosim/msg/PortPromise).

    ``count`` messages have been sent so far; nothing more comes before ``time_ns``.
    """

    port: str
    count: int  # type: ignore[assignment]  # hides tuple.count, which has no use here
    time_ns: int


class Completion(NamedTuple):
    """A participant's progress (ros2_cosim/msg/Completion).

    ``activations`` are complete so far, the next one is not before ``bound_ns``. A stop is
    requested for ``stop_ns`` when ``stop_reason`` is not empty.
    """

    participant: str
    activations: int
    bound_ns: int
    stop_ns: int
    stop_reason: str
    ports: tuple[PortPromise, ...]


class RunChange(NamedTuple):
    """What becomes different from ``at_ns`` on, by hand (ros2_cosim/msg/RunChange).

    ``path`` is one of the section ``changes`` of a scenario, ``value`` is JSON.
    """

    at_ns: int
    path: str
    value: str


class Horizon(NamedTuple):
    """How far participants may run (ros2_cosim/msg/Horizon); the run ends at ``end_ns``.

    ``presences`` (ros2_cosim/msg/Presence) are those that the scenario does not fix: of
    participants that entered when they were ready, and of those that left earlier than declared.
    ``changes`` are all that have been made by hand: each comes before a horizon beyond its time.
    """

    run_id: str
    time_ns: int
    end_ns: int
    presences: tuple[Presence, ...] = ()
    changes: tuple[RunChange, ...] = ()


class ParticipantState(NamedTuple):
    """Lifecycle state of one participant (ros2_cosim/msg/ParticipantState).

    ``cannot_reset``: why it cannot be reset in its process; empty: it can. ``resets`` are the times
    [ns] from which on it was as at its start, while the run went on.
    """

    participant: str
    state: int
    reason: str
    cannot_reset: str = ""
    resets: tuple[int, ...] = ()


class SystemState(NamedTuple):
    """State derived from all participants (ros2_cosim/msg/SystemState).

    ``required`` holds the participants that the system controller has named; empty: those of the
    scenario.
    """

    state: int
    reason: str
    run_id: str
    required: tuple[str, ...] = ()


class Heartbeat(NamedTuple):
    """Sign of life of a participant that has not advanced for a while (ros2_cosim/msg/Heartbeat).

    ``waits_for`` names promises as ``writer.port``, or ``horizon``; up to ``promised_ns`` each
    of them reaches so far. Empty: it is about to run.
    """

    participant: str
    activations: int
    bound_ns: int
    waits_for: tuple[str, ...]
    promised_ns: tuple[int, ...]


class ParticipantStatus(NamedTuple):
    """Where one participant stands (ros2_cosim/msg/ParticipantStatus).

    Times ``_ns`` are simulated, ``_s`` and ``rate`` are of the wall clock: ``since_s`` it has not
    advanced, ``heard_s`` ago came its last sign of life.
    """

    participant: str
    state: int
    reason: str
    present: bool
    bound_ns: int
    granted_ns: int
    activations: int
    rate: float
    waits_for: tuple[str, ...]
    promised_ns: tuple[int, ...]
    since_ns: int
    since_s: float
    heard_s: float
    silent: bool


class RunStatus(NamedTuple):
    """The watchdog's view of a run (ros2_cosim/msg/RunStatus).

    ``rate`` is the wanted real-time factor, 0 for as fast as possible; ``blocking`` names the
    participant that holds back the run, ``why`` what it does or waits for.
    """

    run_id: str
    state: int
    reason: str
    time_ns: int
    horizon_ns: int
    end_ns: int
    rate: float
    real_time_factor: float
    wall_s: float
    blocking: str
    why: str
    participants: tuple[ParticipantStatus, ...]


class ParticipantReport(NamedTuple):
    """Report of a participant at the end of a run (ros2_cosim/msg/ParticipantReport).

    ``timing``, ``order`` and ``loss`` count causality violations; ``details_json`` holds
    a JSON object with whatever else the participant reports.
    """

    participant: str
    activations: int
    trace_sha256: str
    compute_ns: int
    wait_ns: int
    transport_ns: int
    timing: int
    order: int
    loss: int
    details_json: str
