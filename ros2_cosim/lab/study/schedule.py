# SPDX-License-Identifier: Apache-2.0
"""Jobs side by side in threads: as many as a budget permits, the longest first.

Knows nothing of what the jobs do. Each has a weight, the share of the machine that it needs;
the weights of those under way together stay within the budget. Starting up costs more than
running, so that one job starts up at a time: the next one follows when it reports that it has
begun. While a ``quiet`` job is under way, none starts up: what runs beside it was started before.
"""

from __future__ import annotations

import heapq
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from queue import SimpleQueue
from typing import Generic, NamedTuple, TypeVar

from ros2_cosim.core.kernel.errors import Cancelled

T = TypeVar("T")

#: Sums of decimal fractions may pass the budget by so much.
_SLACK = 1e-9


class Control:
    """What a job under way uses to stop when asked, and to report; safe in any thread."""

    def __init__(self, stop: threading.Event, begun: Callable[[], None]) -> None:
        self._stop = stop
        self._begun = begun
        self._reported = False

    def check(self) -> None:
        """To be called again and again.

        :raises Cancelled: the job shall end
        """
        if self._stop.is_set():
            raise Cancelled

    def begun(self) -> None:
        """The job is up: the next one may start. Only the first call counts."""
        if not self._reported:
            self._reported = True
            self._begun()


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


class Neighbours(NamedTuple):
    """What a job had beside it.

    ``weight`` is the largest sum of the weights of others at one time, ``starts`` how many of
    them came up meanwhile.
    """

    weight: float
    starts: int


@dataclass(eq=False)
class _Active(Generic[T]):
    job: Job[T]
    thread: threading.Thread | None = None
    starting_up: bool = True
    beside: float = 0.0
    starts: int = 0
    #: Results and errors; a job that was cancelled has neither.
    results: list[T] = field(default_factory=list)
    error: BaseException | None = None


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
    if any(job.alone or job.quiet for job in under_way):
        return None
    if waiting and waiting[0].alone:
        return None if under_way else waiting[0]
    if len(under_way) >= most:
        return None
    room = budget - sum(job.weight for job in under_way) + _SLACK
    quiet = next((job for job in waiting if job.quiet), None)
    # One place is kept, too.
    if quiet is None or len(under_way) + 1 < most:
        left = room - (quiet.weight if quiet else 0.0)
        for job in waiting:
            if not job.quiet and not job.alone and job.weight <= left:
                return job
    if quiet is not None and (quiet.weight <= room or not under_way):
        return quiet
    return waiting[0] if waiting and not under_way else None


def expected_s(
    jobs: Sequence[Job[T]],
    under_way: Sequence[tuple[Job[T], float]],
    budget: float,
    most: int,
) -> float:
    """Wall time [s] until all jobs are done, if each takes as long as is expected.

    :param jobs: not yet started
    :param under_way: with the time [s] that each still needs
    """
    waiting = in_order(jobs)
    ends = [(rest, number, job) for number, (job, rest) in enumerate(under_way)]
    heapq.heapify(ends)
    now, number = 0.0, len(ends)
    while waiting or ends:
        job = next_job(waiting, [entry[2] for entry in ends], budget, most)
        if job is None:
            now = heapq.heappop(ends)[0]
        else:
            waiting.remove(job)
            heapq.heappush(ends, (now + job.expected_s, number, job))
            number += 1
    return now


def run_jobs(
    jobs: Sequence[Job[T]],
    budget: float,
    most: int,
    *,
    on_start: Callable[[Job[T]], None] = lambda job: None,
    on_done: Callable[[Job[T], T, Neighbours], None],
) -> None:
    """Run all jobs; the functions given are called in this thread, in the order of events.

    When a job fails, or this thread is interrupted (KeyboardInterrupt), no other is started,
    those under way are asked to end and are waited for, and what was done is handed on; then the
    first error is raised.

    :param budget: largest sum of the weights under way; 0: strictly one after the other
    :param most: largest number under way
    """
    waiting = in_order(jobs)
    active: list[_Active[T]] = []
    events: SimpleQueue[tuple[_Active[T], bool]] = SimpleQueue()
    stop = threading.Event()
    failure: BaseException | None = None

    def work(one: _Active[T]) -> None:
        try:
            one.results.append(one.job.run(Control(stop, lambda: events.put((one, False)))))
        except Cancelled:
            pass
        except BaseException as error:
            one.error = error
        finally:
            events.put((one, True))

    def start(job: Job[T]) -> None:
        waiting.remove(job)
        one = _Active(job)
        for other in active:
            other.starts += 1
        active.append(one)
        for each in active:
            others = sum(other.job.weight for other in active if other is not each)
            each.beside = max(each.beside, others)
        on_start(job)
        one.thread = threading.Thread(target=work, args=(one,), name=job.name)
        one.thread.start()

    def take(one: _Active[T], ended: bool) -> None:
        nonlocal failure
        one.starting_up = False
        if not ended:
            return
        active.remove(one)
        if one.error is not None:
            failure = failure or one.error
            stop.set()
        for result in one.results:
            on_done(one.job, result, Neighbours(round(one.beside, 9), one.starts))

    try:
        while waiting or active:
            if failure is None and not any(one.starting_up for one in active):
                job = next_job(waiting, [one.job for one in active], budget, most)
                if job is not None:
                    start(job)
                    continue
            if not active:
                break
            take(*events.get())
    finally:
        stop.set()
        for one in active:
            if one.thread is not None and one.thread.ident is not None:
                one.thread.join()
        while not events.empty():
            take(*events.get())
    if failure is not None:
        raise failure
