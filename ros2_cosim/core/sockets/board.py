# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The board of a run on one host: how far each process has come, in memory that all of them share.

Each process has some *cells*, which it alone writes; to write or read one takes no system call. A
cell has two numbers, the newest message of its writer, and the time that its writer has reached.
One process, the clock, *aims*: it waits until all have reached a time. Each of the others
answers an aim once. The kernel counts the answers, and only the last one rings for the clock. An
aim rings for all others with one system call.

The count decides only which processes wake up, and when: what the clock does follows from the
messages. If a process ends before it has answered, nothing rings, and the clock looks when its
wait is over.

The numbers of a cell are written one by one, the second first. What rings comes after them: a
process that wakes up sees what was written before.
"""

from __future__ import annotations

import mmap
import os
import resource
from typing import Final

#: What has not been written: the least number.
NOTHING: Final = -(2**63)
#: So many ends have cells, as many each; what does not find room is sent. Only what is written
#: takes memory.
ENDS: Final = 1024
_CELLS: Final = 680
_CELL: Final = 3
#: The numbers of the head, and of each end, and their bytes.
_REGION: Final = _CELLS * _CELL + 8
_BYTES: Final = 8 * _REGION


class Board:
    """The starter's end, which creates it.

    :raises OSError: there is no memory, or too many files are open
    """

    def __init__(self) -> None:
        memory = os.memfd_create("ros2_cosim board")
        flags = os.EFD_CLOEXEC | os.EFD_NONBLOCK
        #: Memory; what rings for all; what rings for the clock; what counts the answers.
        self.files = [
            memory,
            os.eventfd(0, flags),
            os.eventfd(0, flags),
            os.eventfd(0, flags | os.EFD_SEMAPHORE),
        ]
        # The limit of the size of a file (ulimit -f) holds for memory, too.
        limit, _ = resource.getrlimit(resource.RLIMIT_FSIZE)
        room = ENDS if limit == resource.RLIM_INFINITY else limit // _BYTES - 1
        #: From this number on ends have no cells.
        self.ends = max(0, min(room, ENDS))
        os.ftruncate(memory, (1 + self.ends) * _BYTES)

    def close(self) -> None:
        """Close it here; it stays for those that have it."""
        for file in self.files:
            os.close(file)


class BoardCell:
    """A cell of this process.

    :ivar number: its place among the cells of the process
    :ivar reached: no news comes from its writer for a time before this one
    """

    def __init__(self, memory: memoryview, at: int, number: int) -> None:
        self._memory = memory
        self._at = at
        self.number = number
        self.write(NOTHING, NOTHING)
        self.reach(NOTHING)

    def write(self, first: int, second: int) -> None:
        """Set the message."""
        self._memory[self._at + 1] = second
        self._memory[self._at] = first

    def reach(self, time: int) -> None:
        """Set the time that its writer has reached; the largest number: it has come to its end."""
        self.reached = time
        self._memory[self._at + 2] = time


class CellView:
    """A cell of another process.

    :ivar first, second: the message at the last look; NOTHING: there was none
    """

    def __init__(self, memory: memoryview, at: int) -> None:
        self._memory = memory
        self._at = at
        self.first: int = NOTHING
        self.second: int = NOTHING

    def has_changed(self) -> bool:
        """Look, and tell whether there is another message."""
        first: int = self._memory[self._at]
        second: int = self._memory[self._at + 1]
        if first == self.first and second == self.second:
            return False
        self.first, self.second = first, second
        return True

    @property
    def reached(self) -> int:
        """The time that its writer has reached by now."""
        time: int = self._memory[self._at + 2]
        return time


class BoardEnd:
    """The end of one process, or of one of several participants in it.

    :param number: of this end, from 0 on; without cells if there is no room for them
    :param files: those of :class:`Board`
    :raises OSError: there is no memory for it
    """

    def __init__(self, number: int, files: list[int]) -> None:
        self.number = number
        self._files = list(files)
        memory, self.bell, self.done, self._count = files
        self._map = mmap.mmap(memory, 0)  # all of it
        self._memory = memoryview(self._map).cast("q")
        self._cells = 0 if _place(1 + number, 0) <= len(self._memory) else _CELLS

    def cell(self) -> BoardCell | None:
        """A further cell of this end; None: there is no room for it."""
        if self._cells == _CELLS:
            return None
        self._cells += 1
        number = self._cells - 1
        return BoardCell(self._memory, _place(self.number, number), number)

    def view(self, number: int, cell: int) -> CellView:
        """A cell of another end."""
        return CellView(self._memory, _place(number, cell))

    @property
    def aim(self) -> int:
        """Number of the last aim; 0: there was none."""
        number: int = self._memory[0]
        return number

    @property
    def target(self) -> int:
        """The time that all should reach."""
        time: int = self._memory[1]
        return time

    def aim_at(self, target: int, others: int) -> None:
        """Have this process told when so many others have answered; ring for all."""
        try:
            while True:  # of an aim that was not reached
                os.eventfd_read(self._count)
        except BlockingIOError:
            pass
        if others > 1:
            os.eventfd_write(self._count, others - 1)
        self._memory[1] = target
        self._memory[0] = self.aim + 1
        os.eventfd_write(self.bell, 1)

    def answer(self) -> bool:
        """Say that this process has come as far as the target; whether it is the last one."""
        try:
            os.eventfd_read(self._count)
        except BlockingIOError:
            os.eventfd_write(self.done, 1)
            return True
        return False

    def close(self) -> None:
        """Give it up, and all cells and views."""
        self._memory.release()
        self._map.close()
        while self._files:
            os.close(self._files.pop())


def _place(end: int, cell: int) -> int:
    """Where a cell of an end begins."""
    return (1 + end) * _REGION + cell * _CELL
