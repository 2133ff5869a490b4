# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""From the messages of a V2V channel to frames on the air."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

from ros2_cosim.core.kernel.exactmath import total
from ros2_cosim.core.kernel.participant import ModelContext, Step
from ros2_cosim.core.kernel.random_streams import RandomStream
from ros2_cosim.driving.v2v.contention import BEST_EFFORT, VOICE
from ros2_cosim.driving.v2v.events import EventMessage
from ros2_cosim.driving.v2v.radio import OVERHEAD, RadioSettings, SharedChannel, air_time


class Air:
    """The radio channel below the links.

    :ivar lengths: of the frames of the last period, by sender [ns]
    """

    def __init__(
        self, context: ModelContext, radio: RadioSettings, links: Sequence[tuple[str, str]]
    ) -> None:
        assert context.period_ns is not None
        self._links = tuple(links)
        senders = tuple(dict.fromkeys(sender for sender, _ in links))
        stream = partial(RandomStream, context.run_seed, context.name)
        self.channel = SharedChannel(radio, senders, context.period_ns, stream)
        self._usual_bytes = radio.frame_bytes
        self._overhead = OVERHEAD + radio.security
        self._draws = [stream(f"radio/{sender}/{receiver}") for sender, receiver in links]
        self.lengths: dict[str, int] = {}
        self._busy_sum = 0.0
        self._periods = 0

    def begin(
        self,
        step: Step,
        vehicles: Sequence[str],
        sizes: Mapping[str, int | None],
        events: Sequence[EventMessage],
    ) -> None:
        """Let all that have a beacon or another message send it.

        :param sizes: sender -> bytes of its CAM, None: it is a beacon of the usual size
        """
        places = {}
        for name in vehicles:
            sample = step.latest.get(f"odometry/{name}")
            if sample is not None:
                places[name] = (sample.value.x, sample.value.y)
        self.lengths = {
            sender: air_time(self._usual_bytes if size is None else size + self._overhead)
            for sender, size in sizes.items()
        }
        more = [
            (
                e.sender,
                air_time(len(e.data) + self._overhead),
                VOICE if e.is_urgent else BEST_EFFORT,
            )
            for e in events
        ]
        self.channel.begin(places, self.lengths, more)
        busy = self.channel.busy.values()
        self._busy_sum += total(busy) / len(busy) if busy else 0.0
        self._periods += 1

    def carries(self, index: int, number: int | None = None) -> bool:
        """Whether a frame of this period gets through to the receiver of a link.

        :param number: of the event; None: the beacon
        """
        return self._draws[index].bernoulli(self.channel.reception(*self._links[index], number))

    @property
    def mean_busy(self) -> float:
        """Channel busy ratio, the mean of all vehicles that send and of all periods [1]."""
        return self._busy_sum / self._periods if self._periods else 0.0
