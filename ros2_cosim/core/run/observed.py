# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""What becomes of the messages of a run in one process: they are watched, noted and kept."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from ros2_cosim.core.kernel.sample import Sample
from ros2_cosim.core.messages.sink import Sink

#: After so many messages what is complete is written: it is still in the processor's caches then,
#: and so many tuples do not wake the garbage collector.
_AT_ONCE: Final = 5000
#: Of an output port: its topic, and what makes of a message the one that observers see.
Place = tuple[str, Callable[[bytes], bytes]]


class Observed:
    """An observer of the scheduler.

    :param places: participant -> the place of each of its output ports
    :param watch: (participant, index of the output port) -> takes each message that it sends
    :ivar note: takes participant, index of the port and bytes of each message, if it is there
    :param now: gives the time of the activation that is going on [ns]
    """

    __slots__ = ("_kept", "_now", "_places", "_sink", "_watch", "note")

    def __init__(
        self,
        places: Mapping[str, Sequence[Place]],
        watch: Mapping[tuple[str, int], Callable[[Sample], None]],
        now: Callable[[], int],
    ) -> None:
        self._places = {name: list(ports) for name, ports in places.items()}
        self._watch = dict(watch)
        self.note: Callable[[str, int, bytes], None] | None = None
        self._now = now
        self._sink: Sink | None = None
        self._kept = 0

    def keep(self, sink: Sink | None) -> None:
        """From now on a sink gets the messages; None: they are not kept."""
        self._sink = sink

    def take(self, participant: str, port: int, sample: Sample, data: bytes) -> None:
        """Take one message."""
        if self._watch:
            show = self._watch.get((participant, port))
            if show is not None:
                show(sample)
        if self.note is not None:
            self.note(participant, port, data)
        sink = self._sink
        if sink is not None:
            topic, plain = self._places[participant][port]
            stamp, seq, _ = sample
            sink.write(topic, stamp, seq, plain(data))
            self._kept += 1
            if self._kept >= _AT_ONCE:
                self._kept = 0
                # All that is stamped before has been sent: activations run in order.
                sink.advance(self._now())
