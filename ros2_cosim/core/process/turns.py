# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Whose turn it is in a process of several participants, readable when the process has died.

And which activation is going on, in any process. Some bytes of shared memory without a file: to
write them takes no system call, and the kernel keeps them for the reader whatever becomes of the
writer.
"""

from __future__ import annotations

import mmap
import os
import re
import struct
from collections.abc import Iterable, Sequence
from typing import Any

_TURN = struct.Struct("=H")
#: Behind the turn: for each participant the time of its activation that is going on [ns].
_TIME = struct.Struct("=q")
_NONE = -1
#: The memory as another process finds it.
_PLACE = re.compile(r"/proc/(\d{1,10})/fd/\d{1,7}", re.ASCII)


class TurnWriter:
    """The process's end; use as a context manager.

    :param names: its participants
    :raises OSError: there is no memory for it
    """

    def __init__(self, names: Sequence[str]) -> None:
        self._numbers = {name: number for number, name in enumerate(names, 1)}
        self._descriptor = os.memfd_create("ros2_cosim turns")
        size = _TIME.size * (1 + len(self._numbers))
        os.ftruncate(self._descriptor, size)
        self._memory = mmap.mmap(self._descriptor, size)
        self._times = memoryview(self._memory).cast("q")
        for number in self._numbers.values():
            self._times[number] = _NONE

    def __enter__(self) -> TurnWriter:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._descriptor)  # the memory goes with those that write to it

    def follow(self, runtimes: Iterable[Any]) -> None:
        """Have participants note their activations here, in what they call ``moment``."""
        for runtime in runtimes:
            number = self._numbers[runtime.name]
            runtime.moment = self._times[number : number + 1]

    @property
    def going_on(self) -> tuple[str, int] | None:
        """(participant, time [ns]) of the activation that is going on; None: of none."""
        return _going_on(self._memory, tuple(self._numbers))

    @property
    def place(self) -> str:
        """Where another process of the same user finds the memory, as long as this one lives."""
        return f"/proc/{os.getpid()}/fd/{self._descriptor}"

    def note(self, name: str) -> None:
        """It is the turn of a participant; empty: of none."""
        _TURN.pack_into(self._memory, 0, self._numbers.get(name, 0))


class TurnReader:
    """The starter's end.

    :param place: of the memory
    :param process: id of the process that wrote it there
    :param names: the participants, in the order of the writer
    :raises OSError: there is no such memory
    """

    def __init__(self, place: str, process: int, names: Sequence[str]) -> None:
        found = _PLACE.fullmatch(place)
        if found is None or int(found[1]) != process:
            raise OSError(f"found '{place}'; allowed is open memory of process {process}")
        self._names = tuple(names)
        descriptor = os.open(place, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        try:
            size = _TIME.size * (1 + len(self._names))
            self._memory = mmap.mmap(descriptor, size, access=mmap.ACCESS_READ)
        finally:
            os.close(descriptor)

    @property
    def present(self) -> str:
        """The participant whose turn it is, or was the last; empty: none's."""
        (number,) = _TURN.unpack_from(self._memory, 0)
        return self._names[number - 1] if 0 < number <= len(self._names) else ""

    @property
    def going_on(self) -> tuple[str, int] | None:
        """(participant, time [ns]) of the activation that was going on; None: of none, or several.

        Of several, each in its own thread, nothing tells which one ended the process.
        """
        return _going_on(self._memory, self._names)


def _going_on(memory: mmap.mmap, names: Sequence[str]) -> tuple[str, int] | None:
    times = (time for (time,) in _TIME.iter_unpack(memory[_TIME.size :]))
    found = [each for each in zip(names, times, strict=True) if each[1] != _NONE]
    return found[0] if len(found) == 1 else None
