# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""A run that begins anew in the same processes.

Every process leaves the lane and comes back with nothing but a reader of the system state, so
nothing of the former run can reach the new one. The clock goes last: it waits until all others have
gone, and only when it is there again, under the new identity of the run, they make their topics.
From then on everything is as at the first start. What onlookers see stays, for the middleware may
hang when a process gives it up and goes on: nodes, their topics and services are the same in each
run (:mod:`~ros2_cosim.ros.node.lasting_node`). Without a lane the topics of the run are in the
middleware; there nodes are given up, and made again.
"""

from __future__ import annotations

from ros2_cosim.core.kernel.errors import DeadlockError
from ros2_cosim.core.messages.protocol import SystemState
from ros2_cosim.ros.node import topics
from ros2_cosim.ros.node.session import Session
from ros2_cosim.ros.node.writers import data_qos

_POLL_S = 0.02


def run_id_of(scenario: str, seed: int, repetition: int) -> str:
    """The identity of a run in its messages."""
    return f"{scenario}-{seed}" + (f"-{repetition}" if repetition else "")


def await_clock(session: Session, run_id: str, limit_s: float) -> None:
    """Wait until the clock has come back.

    :raises DeadlockError: it has not within ``limit_s`` of wall time
    """
    seen: list[str] = []
    session.record_reader(
        topics.SYSTEM_STATE,
        topics.SYSTEM_STATE_TYPE,
        data_qos(latched=True),
        lambda state: _note(seen, state),
    )
    deadline = session.timer() + int(limit_s * 1e9)
    while run_id not in seen:
        session.wait(_POLL_S)
        if session.timer() > deadline:
            raise DeadlockError(f"waited {limit_s:g} s for the clock to begin run {run_id}")


def await_departure(session: Session, limit_s: float) -> None:
    """Wait until all others have given up what they had on ROS.

    :raises DeadlockError: some have not within ``limit_s`` of wall time
    """
    deadline = session.timer() + int(limit_s * 1e9)
    while left := session.writers(topics.PARTICIPANT_STATE):
        session.wait(_POLL_S)
        if session.timer() > deadline:
            raise DeadlockError(f"waited {limit_s:g} s for {left} participants to begin anew")


def _note(seen: list[str], state: SystemState) -> None:
    seen.append(state.run_id)
