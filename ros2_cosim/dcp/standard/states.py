# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The state machine of a DCP slave: superstates, transitions, allowed PDUs, as tables.

Where the printed standard contradicts itself the figure is followed: the first STC_run
leads to SYNCHRONIZING, the second from SYNCHRONIZED to RUNNING; STC_do_step is allowed in
all three Run states.
"""

from __future__ import annotations

from dataclasses import dataclass

from ros2_cosim.dcp.standard.enums import OpMode, PduType, State

_S = State

INITIALIZATION = frozenset({_S.CONFIGURED, _S.INITIALIZING, _S.INITIALIZED, _S.SENDING_I})
RUN = frozenset({_S.SYNCHRONIZING, _S.SYNCHRONIZED, _S.RUNNING})
NON_REAL_TIME = frozenset({_S.COMPUTING, _S.COMPUTED, _S.SENDING_D})
STOPPABLE = INITIALIZATION | RUN | NON_REAL_TIME | {_S.PREPARING, _S.PREPARED, _S.CONFIGURING}
NORMAL_OPERATION = STOPPABLE | {_S.CONFIGURATION, _S.STOPPING, _S.STOPPED}
ENDED = frozenset({_S.STOPPING, _S.STOPPED})
ERROR = frozenset({_S.ERRORHANDLING, _S.ERRORRESOLVED})
TRANSIENT = frozenset(
    {
        _S.PREPARING,
        _S.CONFIGURING,
        _S.INITIALIZING,
        _S.SENDING_I,
        _S.SYNCHRONIZING,
        _S.COMPUTING,
        _S.SENDING_D,
        _S.STOPPING,
    }
)
"""States that the slave leaves by itself: here an acknowledged transition is going on."""


@dataclass(frozen=True)
class Transition:
    """One arrow: from any of ``sources`` to ``target``, by a request or by itself (None).

    ``target`` None stands for the Run state that STC_do_step left (history).
    """

    name: str
    sources: frozenset[State]
    target: State | None
    request: PduType | None = None
    modes: frozenset[OpMode] = frozenset(OpMode)


def _of(*states: State) -> frozenset[State]:
    return frozenset(states)


_NRT = frozenset({OpMode.NRT})
_P = PduType

TRANSITIONS: tuple[Transition, ...] = (
    Transition("register", _of(_S.ALIVE), _S.CONFIGURATION, _P.STC_register),
    Transition(
        "deregister",
        _of(_S.CONFIGURATION, _S.STOPPED, _S.ERRORRESOLVED),
        _S.ALIVE,
        _P.STC_deregister,
    ),
    Transition("prepare", _of(_S.CONFIGURATION), _S.PREPARING, _P.STC_prepare),
    Transition("prepared", _of(_S.PREPARING), _S.PREPARED),
    Transition("configure", _of(_S.PREPARED), _S.CONFIGURING, _P.STC_configure),
    Transition("configured", _of(_S.CONFIGURING), _S.CONFIGURED),
    Transition("initialize", _of(_S.CONFIGURED), _S.INITIALIZING, _P.STC_initialize),
    Transition("initialized", _of(_S.INITIALIZING), _S.INITIALIZED),
    Transition("send_outputs_i", _of(_S.INITIALIZED), _S.SENDING_I, _P.STC_send_outputs),
    Transition("send_complete_i", _of(_S.SENDING_I), _S.CONFIGURED),
    Transition("synchronize", _of(_S.CONFIGURED), _S.SYNCHRONIZING, _P.STC_run),
    Transition("synchronized", _of(_S.SYNCHRONIZING), _S.SYNCHRONIZED),
    Transition("run", _of(_S.SYNCHRONIZED), _S.RUNNING, _P.STC_run),
    Transition("do_step", RUN, _S.COMPUTING, _P.STC_do_step, _NRT),
    Transition("step_done", _of(_S.COMPUTING), _S.COMPUTED, None, _NRT),
    Transition("send_outputs_d", _of(_S.COMPUTED), _S.SENDING_D, _P.STC_send_outputs, _NRT),
    Transition("send_complete_d", _of(_S.SENDING_D), None, None, _NRT),
    Transition("stop", STOPPABLE, _S.STOPPING, _P.STC_stop),
    Transition("stop_by_itself", RUN, _S.STOPPING),
    Transition("stopped", _of(_S.STOPPING), _S.STOPPED),
    Transition("reset", _of(_S.STOPPED, _S.ERRORRESOLVED), _S.CONFIGURATION, _P.STC_reset),
    Transition("error", NORMAL_OPERATION, _S.ERRORHANDLING),
    Transition("resolved", _of(_S.ERRORHANDLING), _S.ERRORRESOLVED),
)


def _allowed() -> dict[PduType, frozenset[State]]:
    table: dict[PduType, frozenset[State]] = {}
    for row in TRANSITIONS:
        if row.request is not None:
            table[row.request] = table.get(row.request, frozenset()) | row.sources
    for kind in PduType:
        if kind.name.startswith("CFG_"):
            table[kind] = frozenset({_S.CONFIGURATION})
    table[_P.INF_state] = frozenset(State)
    table[_P.INF_error] = ERROR
    table[_P.INF_log] = frozenset(State) - {_S.ALIVE}
    used = INITIALIZATION | RUN | NON_REAL_TIME
    table[_P.DAT_input_output] = used
    table[_P.DAT_parameter] = used
    return table


ALLOWED: dict[PduType, frozenset[State]] = _allowed()
"""States in which a slave takes a PDU (Table 63 with its confirmed errata); data PDUs:
the states in which they are used. PDUs that never go to a slave are missing."""


OVERTAKEN: frozenset[tuple[State, State]] = frozenset(
    (source, target)
    for row in TRANSITIONS
    if row.request is None
    for source in row.sources & (TRANSIENT | {_S.ERRORHANDLING})
    for target in (RUN if row.target is None else {row.target})
    if target not in TRANSIENT and target is not _S.ERRORHANDLING
)
"""(transient state, state it ends in): over UDP a notification of the first that comes after
that of the second has been overtaken. No slave goes back from the second to the first alone."""


def is_transition(source: State, target: State) -> bool:
    """Whether the machine has an arrow from ``source`` to ``target``."""
    for row in TRANSITIONS:
        if source in row.sources and (
            target in RUN if row.target is None else row.target is target
        ):
            return True
    return False
