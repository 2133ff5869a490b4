# SPDX-License-Identifier: Apache-2.0
"""The state of the whole system, derived from the states of its required participants.

The rules, in the order in which they are asked:

1. somebody is ABORTING: ABORTING, for an abort reaches everybody, whoever is missing;
2. a required participant is not available: INVALID (also with nobody required);
   somebody has an ERROR: ERROR;
3. somebody is STOPPING, or has stopped already while others have not begun to: STOPPING;
4. somebody is PAUSED: PAUSED;
5. otherwise the earliest state of all, which is their common one if they agree.

The earliest state is what makes the system lazy: it stays in its old state until the last
participant has reached the new one.
"""

from __future__ import annotations

from collections.abc import Iterable

from ros2_cosim.kernel.lifecycle import State


def system_state(required: Iterable[State | None]) -> State:
    """Derive the state of the system.

    :param required: the state of each required participant, None for one that nobody has seen
    """
    states = list(required)
    if State.ABORTING in states:
        return State.ABORTING
    known = {state for state in states if state is not None}
    if None in states or not known or State.INVALID in known:
        return State.INVALID
    if State.ERROR in known:
        return State.ERROR
    earliest, latest = min(known), max(known)
    if earliest <= State.STOPPING <= latest:
        return State.STOPPING
    return State.PAUSED if State.PAUSED in known else earliest
