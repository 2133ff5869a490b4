# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Records that two numbers stand for: on a lane they travel without content.

In lockstep each participant completes each step, and each gets each horizon. Nearly all of these
records hold only two times: encoding and decoding them would take longer than sending them. Readers
get the two numbers (``numbers`` of :meth:`.session.Session.record_reader`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ros2_cosim.core.messages.protocol import Completion, Horizon

#: Gives the two numbers that stand for a record; None: they do not say all.
ShortForm = Callable[[Any], tuple[int, int] | None]


def short_completion(completion: Completion) -> tuple[int, int] | None:
    """Bound and activations, of one without promises that does not ask for the end of the run."""
    if completion.ports or completion.stop_reason:
        return None
    return completion.bound_ns, completion.activations


def short_horizon(horizon: Horizon) -> tuple[int, int] | None:
    """Time and end of the run, while all participants are present and set as declared."""
    if horizon.presences or horizon.changes:
        return None
    return horizon.time_ns, horizon.end_ns
