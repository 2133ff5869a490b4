# SPDX-License-Identifier: Apache-2.0
"""Tells while a study runs what is under way, what is done, and how long the rest will take."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from types import TracebackType
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

from ros2_cosim.lab.study.record import StudyRun
from ros2_cosim.lab.study.schedule import Job, expected_s


class StudyProgress:
    """A line whenever a run begins or is done; use as a context manager.

    :param tell: takes the lines
    :param together: budget of what is under way at once
    :param most: largest number of runs at once
    :param clock: wall time [s]
    """

    def __init__(
        self,
        tell: Callable[[str], None],
        together: float,
        most: int,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._tell = tell
        self._together = together
        self._most = most
        self._clock = clock
        self._waiting: list[Job[Any]] = []
        self._under_way: dict[str, tuple[Job[Any], float]] = {}
        self._done = 0

    def __enter__(self) -> StudyProgress:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        return None

    def expect(self, jobs: Sequence[Job[Any]], done: int = 0) -> None:
        """These will be run, too; ``done`` others need not be any more."""
        self._waiting.extend(jobs)
        self._done += done

    def started(self, job: Job[Any]) -> None:
        """A run begins."""
        self._waiting.remove(job)
        self._under_way[job.name] = job, self._clock()
        self._tell(f"{job.name} begins ({self._state()})")

    def reached(self, name: str, share: float) -> None:
        """A run has come so far, from 0 to 1; may be called from any thread."""

    def done(self, job: Job[Any], run: StudyRun) -> None:
        """A run is done."""
        del self._under_way[job.name]
        self._done += 1
        found = f"timing {run.timing}, order {run.order}, loss {run.loss}, reached {run.rtf:.3g}"
        self._tell(f"{job.name}: {found} ({self._state()})")

    def _state(self) -> str:
        others = ", ".join(self._under_way)
        total = self._done + len(self._under_way) + len(self._waiting)
        parts = [f"{self._done} of {total} done"]
        if others:
            parts.append(f"under way: {others}")
        if self._waiting or self._under_way:
            parts.append(f"about {_duration(self.left_s())} left")
        return "; ".join(parts)

    def left_s(self) -> float:
        """Expected wall time [s] until all is done."""
        now = self._clock()
        rests = [
            (job, max(0.0, since + job.expected_s - now)) for job, since in self._under_way.values()
        ]
        return expected_s(self._waiting, rests, self._together, self._most)


class StudyBars(StudyProgress):
    """The same on a terminal: bars of what is under way below the lines."""

    def __init__(self, together: float, most: int) -> None:
        #: One task for each run under way.
        self.bars = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("{task.percentage:>3.0f} %"),
            TimeElapsedColumn(),
            console=Console(),
            transient=True,
        )
        self._tasks: dict[str, TaskID] = {}
        tell = partial(self.bars.console.print, markup=False, highlight=False, soft_wrap=True)
        super().__init__(tell, together, most)

    def __enter__(self) -> StudyBars:
        self.bars.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.bars.stop()

    def started(self, job: Job[Any]) -> None:
        """A run begins."""
        self._tasks[job.name] = self.bars.add_task(job.name, total=1.0)
        super().started(job)

    def reached(self, name: str, share: float) -> None:
        """A run has come so far, from 0 to 1."""
        if (task := self._tasks.get(name)) is not None:
            self.bars.update(task, completed=share)

    def done(self, job: Job[Any], run: StudyRun) -> None:
        """A run is done."""
        self.bars.remove_task(self._tasks.pop(job.name))
        super().done(job, run)


def progress_for(tell: Callable[[str], None], together: float, most: int) -> StudyProgress:
    """Bars on a terminal, lines otherwise."""
    if sys.stdout.isatty():
        return StudyBars(together, most)
    return StudyProgress(tell, together, most)


def _duration(seconds: float) -> str:
    if seconds < 90.0:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60.0)
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60:02d} min"
