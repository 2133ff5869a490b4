# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The watchdog of one process: an activation that does not return, and the line where it is.

A separate thread looks now and then at counters that the activations keep anyway: to be watched
costs them nothing, and no result depends on it. It can only end the process, or the run.
"""

from __future__ import annotations

import ctypes
import sys
import threading
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from types import TracebackType

from ros2_cosim.core.kernel.errors import ParticipantError
from ros2_cosim.core.kernel.loading import place_in
from ros2_cosim.core.kernel.runtime import ParticipantRuntime
from ros2_cosim.core.kernel.time import format_ns

#: How often it looks [s].
_LOOK_S = 0.25
#: An error that is raised within an activation has this long to end it [s].
_RETURN_S = 1.0
#: What stops in these stands in a debugger, which may take its time.
_DEBUGGERS = ("bdb", "pydevd", "_pydevd_bundle.pydevd")


@dataclass(frozen=True)
class StuckActivation:
    """An activation that does not return.

    :ivar line: participant, activation, simulated time, and file and line where it is
    :ivar thread: that it is in
    :ivar goes_on: whether it still has not returned
    """

    line: str
    thread: int
    goes_on: Callable[[], bool]


def interrupting(stuck: StuckActivation) -> None:
    """Raise an error where an activation does not return, for the program that has the run.

    Python raises it at the next of its instructions there. While native code keeps it from that,
    all that is left is a line on standard error.
    """
    kind = type("NotReturnedError", (_NotReturnedError,), {"line": stuck.line})
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(stuck.thread), ctypes.py_object(kind))
    time.sleep(_RETURN_S)
    if stuck.goes_on():
        print(f"cosim: {stuck.line}", file=sys.stderr, flush=True)


class _NotReturnedError(ParticipantError):
    line = ""

    def __init__(self) -> None:
        super().__init__(self.line)


class Watchdog:
    """Ends a process in which an activation does not return; use as a context manager.

    :param limit_s: so long an activation may take [s of wall time]
    :param bark: called in the thread of the watchdog, once; it ends the process, or the run
    """

    def __init__(self, limit_s: float, bark: Callable[[StuckActivation], None]) -> None:
        self._limit_s = limit_s
        self._bark = bark
        self._watched: tuple[ParticipantRuntime, ...] = ()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._look, name="watchdog", daemon=True)

    def watch(self, *runtimes: ParticipantRuntime) -> None:
        """Watch further participants; their activations run in this thread, unless they say."""
        for runtime in runtimes:
            runtime.thread = threading.get_ident()
        self._watched += runtimes

    def here(self) -> None:
        """All activations run in this thread from now on."""
        for runtime in self._watched:
            runtime.thread = threading.get_ident()

    def _look(self) -> None:
        seen: dict[str, tuple[tuple[int, int, int], float]] = {}
        while not self._over.wait(_LOOK_S):
            now = time.monotonic()
            for runtime in self._watched:
                going = runtime.open_activation
                if going is None or seen.get(runtime.name, (None, 0.0))[0] != going:
                    if going is not None:
                        seen[runtime.name] = (going, now)
                    continue
                if now - seen[runtime.name][1] >= self._limit_s and self._tell(runtime, going):
                    return

    def _tell(self, runtime: ParticipantRuntime, going: tuple[int, int, int]) -> bool:
        """Bark at a participant, unless a debugger holds it."""
        frame = sys._current_frames().get(runtime.thread)
        stack = [] if frame is None else list(traceback.walk_stack(frame))
        if any(each.f_globals.get("__name__") in _DEBUGGERS for each, _ in stack):
            return False
        frames = traceback.StackSummary.extract(reversed(stack))
        if runtime.open_activation != going:
            return False
        number, time_ns, _ = going
        line = (
            f"participant '{runtime.name}' has not returned from its activation {number} at "
            f"{format_ns(time_ns)} for {self._limit_s:g} s of wall time{place_in(frames)}"
        )
        self._bark(StuckActivation(line, runtime.thread, lambda: runtime.open_activation == going))
        return True

    def __enter__(self) -> Watchdog:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._over.set()
