# SPDX-License-Identifier: Apache-2.0
"""The watchdog of one process: an activation that does not return, and the line where it is.

A thread of its own looks now and then at counters that the activations keep anyway: to be watched
costs them nothing, and no result depends on it. It can only end the process.
"""

from __future__ import annotations

import sys
import threading
import time
import traceback
from collections.abc import Callable
from types import TracebackType

from ros2_cosim.kernel.loading import place_in
from ros2_cosim.kernel.runtime import ParticipantRuntime
from ros2_cosim.kernel.time import format_ns

#: How often it looks [s].
_LOOK_S = 0.25
#: What stops in these stands in a debugger, which may take its time.
_DEBUGGERS = ("bdb", "pydevd", "_pydevd_bundle.pydevd")


class Watchdog:
    """Ends a process in which an activation does not return; use as a context manager.

    :param limit_s: so long an activation may take [s of wall time]
    :param bark: called in the thread of the watchdog, once, with one line: participant, activation,
        simulated time, and file and line where it is; it ends the process
    """

    def __init__(self, limit_s: float, bark: Callable[[str], None]) -> None:
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
        self._bark(
            f"participant '{runtime.name}' has not returned from its activation {number} at "
            f"{format_ns(time_ns)} for {self._limit_s:g} s of wall time{place_in(frames)}"
        )
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
