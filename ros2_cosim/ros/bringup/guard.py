# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""A small process beside a run that ends the run's processes if their starter is killed.

The kernel asks them to end when the starter dies (``end_with_parent``), which a process that is
frozen, or inside a foreign library for long, does not do. Nothing of the starter is left then that
could kill it, so a separate process waits for that.
"""

from __future__ import annotations

import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from types import TracebackType

_PROGRAM = Path(__file__).with_name("_guard.py")


class Guard:
    """Watches over the processes of a run; use as a context manager.

    Left in any way but the death of this process, it does nothing: the starter itself has ended
    the processes then.

    :param mark: ``NAME=value`` in the environment of these processes, and of no other
    """

    def __init__(self, mark: str) -> None:
        self._mark = mark

    def __enter__(self) -> Guard:
        # Isolated and without site: it starts within hundredths of a second. In its own session, so
        # that it does not receive what the terminal sends to the command.
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", str(_PROGRAM), self._mark],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        assert self._process.stdin is not None
        with suppress(OSError):  # it was killed
            self._process.stdin.write(b"x")
            self._process.stdin.close()
        self._process.wait()
