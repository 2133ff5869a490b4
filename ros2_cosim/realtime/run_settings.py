# SPDX-License-Identifier: Apache-2.0
"""How a run goes against the wall clock: what ``--rate``, ``--hard`` and ``--arrivals`` ask for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from ros2_cosim.realtime.pacing import Pacer


class RealtimeRun(NamedTuple):
    """The wall clock of a run, or an arrival record in its place.

    ``pacer`` is None for a run as fast as possible. ``arrivals`` is the record of an earlier
    run (participant -> time of an exchange [ns] -> completed computations), None: no replay.
    """

    pacer: Pacer | None = None
    arrivals: Mapping[str, Mapping[int, int]] | None = None


AS_FAST_AS_POSSIBLE = RealtimeRun()
