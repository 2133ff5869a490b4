# SPDX-License-Identifier: Apache-2.0
"""Records that two numbers stand for: on a lane they travel without content.

In lockstep each participant completes each step, and each gets each horizon. Nearly all of these
records say nothing but two times: to encode and decode them would take longer than to send them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from ros2_cosim.interfaces.protocol import Completion, Horizon
from ros2_cosim.kernel.time import FOREVER


class ShortForm(NamedTuple):
    """``pack`` gives the two numbers, None where they do not say all; ``unpack`` the record."""

    pack: Callable[[Any], tuple[int, int] | None]
    unpack: Callable[[int, int], Any]


def short_completion(participant: str) -> ShortForm:
    """Of a participant without promises, that does not ask for the end of the run."""

    def pack(completion: Completion) -> tuple[int, int] | None:
        if completion.ports or completion.stop_reason:
            return None
        return completion.bound_ns, completion.activations

    def unpack(bound_ns: int, activations: int) -> Completion:
        return Completion(participant, activations, bound_ns, FOREVER, "", ())

    return ShortForm(pack, unpack)


def short_horizon(run_id: str) -> ShortForm:
    """While the presence of all participants is as declared.

    :param run_id: of the run that the lane belongs to
    """

    def pack(horizon: Horizon) -> tuple[int, int] | None:
        return None if horizon.presences else (horizon.time_ns, horizon.end_ns)

    def unpack(time_ns: int, end_ns: int) -> Horizon:
        return Horizon(run_id, time_ns, end_ns)

    return ShortForm(pack, unpack)
