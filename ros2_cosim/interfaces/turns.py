# SPDX-License-Identifier: Apache-2.0
"""Whose turn it is in a process of several participants, readable when the process has died.

Two bytes of shared memory without a file: to write them takes no system call, and the kernel keeps
them for the reader whatever becomes of the writer.
"""

from __future__ import annotations

import mmap
import os
import re
import struct
from collections.abc import Sequence

_TURN = struct.Struct("=H")
_SIZE = mmap.PAGESIZE
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
        os.ftruncate(self._descriptor, _SIZE)
        self._memory = mmap.mmap(self._descriptor, _SIZE)

    def __enter__(self) -> TurnWriter:
        return self

    def __exit__(self, *_: object) -> None:
        self._memory.close()
        os.close(self._descriptor)

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
            self._memory = mmap.mmap(descriptor, _SIZE, access=mmap.ACCESS_READ)
        finally:
            os.close(descriptor)

    @property
    def present(self) -> str:
        """The participant whose turn it is, or was the last; empty: none's."""
        (number,) = _TURN.unpack_from(self._memory, 0)
        return self._names[number - 1] if 0 < number <= len(self._names) else ""
