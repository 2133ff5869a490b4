# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Jobs side by side in threads: as many as a budget permits, the longest first.

It does not depend on what the jobs do. Each has a weight, the share of the machine that it needs;
the weights of those under way together stay within the budget. Starting up costs more than
running, so that one job starts up at a time: the next one follows when it reports that it has
begun. While a ``quiet`` job is under way, none starts up: what runs beside it was started before.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from functools import partial
from typing import Generic, NamedTuple, TypeVar

from ros2_cosim.core.kernel.errors import Cancelled

T = TypeVar("T")

#: Sums of decimal fractions may pass the budget by so much.
_SLACK = 1e-9


class Control:
    """What a job under way uses to stop when asked, and to report; safe in any thread."""

    def __init__(self, stop: threading.Event) -> None:
        self._stop = stop
        self.is_up = threading.Event()

    def check(self) -> None:
        """To be called again and again.

        :raises Cancelled: the job has to end
        """
        if self._stop.is_set():
            raise Cancelled

    def begun(self) -> None:
        """The job is up: the next one may start."""
        self.is_up.set()


@dataclass(frozen=True)
class Job(Generic[T]):
    """One job.

    ``weight`` counts against the budget, ``expected_s`` is how long it will take. A job that
    runs ``alone`` has no other beside it; beside a ``quiet`` one no other starts up.
    """

    name: str
    weight: float
    expected_s: float
    run: Callable[[Control], T]
    alone: bool = False
    quiet: bool = False

    def work(self, budget: float) -> float:
        """Wall time [s] that it takes of a machine that does as much at once as the budget says."""
        return self.expected_s * (1.0 if self.alone else min(1.0, self.weight / (budget or 1e-9)))


class Neighbours(NamedTuple):
    """What a job had beside it.

    ``weight`` is the largest sum of the weights of others at one time, ``starts`` how many of
    them came up meanwhile.
    """

    weight: float
    starts: int


@dataclass
class _Active(Generic[T]):
    job: Job[T]
    beside: float = 0.0
    starts: int = 0


def in_order(jobs: Sequence[Job[T]]) -> list[Job[T]]:
    """The order in which jobs are looked at: those that run alone, then the longest first."""
    return sorted(jobs, key=lambda job: (not job.alone, 0.0 if job.alone else -job.expected_s))


def next_job(
    waiting: Sequence[Job[T]], under_way: Sequence[Job[T]], budget: float, most: int
) -> Job[T] | None:
    """The first job that may start beside those under way, if there is one.

    The first quiet job keeps room for itself, and starts when nothing else fits beside it. A job
    that is heavier than the budget runs by itself.

    :param most: so many may be under way at once, whatever they weigh
    """
    if not waiting or any(job.alone or job.quiet for job in under_way):
        return None
    if waiting[0].alone:
        return None if under_way else waiting[0]
    room = budget - sum(job.weight for job in under_way) + _SLACK
    places = most - len(under_way)
    quiet = next((job for job in waiting if job.quiet), None)
    kept = (quiet.weight, 1) if quiet else (0.0, 0)
    for job in waiting:
        if not job.quiet and job.weight <= room - kept[0] and places > kept[1]:
            return job
    first = quiet or waiting[0]
    return first if not under_way or (quiet and quiet.weight <= room and places > 0) else None


def run_jobs(
    jobs: Sequence[Job[T]],
    budget: float,
    most: int,
    *,
    on_start: Callable[[Job[T]], None] = lambda job: None,
    on_done: Callable[[Job[T], T, Neighbours], None],
) -> None:
    """Run all jobs; the functions given are called in this thread.

    When a job fails, or this thread is interrupted (KeyboardInterrupt), no other is started,
    those under way are asked to end and are waited for, and what was done is handed on; then the
    first error is raised.

    :param budget: largest sum of the weights under way; 0: strictly one after the other
    :param most: largest number under way
    """
    waiting = in_order(jobs)
    active: dict[Future[T], _Active[T]] = {}
    stop = threading.Event()
    failures: list[BaseException] = []

    def ended(control: Control, future: Future[T]) -> None:
        if future.exception() is not None:
            stop.set()
        control.begun()

    def start(job: Job[T]) -> None:
        waiting.remove(job)
        on_start(job)
        control = Control(stop)
        for other in active.values():
            other.starts += 1
        future = pool.submit(job.run, control)
        active[future] = _Active(job)
        future.add_done_callback(partial(ended, control))
        total = sum(one.job.weight for one in active.values())
        for one in active.values():
            one.beside = max(one.beside, total - one.job.weight)
        control.is_up.wait()

    def take(done: Iterable[Future[T]]) -> None:
        for future in done:
            one, error = active.pop(future), future.exception()
            if error is None:
                on_done(one.job, future.result(), Neighbours(round(one.beside, 9), one.starts))
            elif not isinstance(error, Cancelled):
                failures.append(error)

    with ThreadPoolExecutor(most) as pool:
        try:
            while (waiting and not stop.is_set()) or active:
                take([future for future in active if future.done()])
                under_way = [one.job for one in active.values()]
                job = None if stop.is_set() else next_job(waiting, under_way, budget, most)
                if job is not None:
                    start(job)
                else:
                    wait(active, return_when=FIRST_COMPLETED)
        finally:
            stop.set()
            take(wait(active).done)
    if failures:
        raise failures[0]
