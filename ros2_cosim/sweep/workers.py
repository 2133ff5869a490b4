# SPDX-License-Identifier: Apache-2.0
"""What does the runs: this process, workers of its own, or a cluster; the last two are Dask's."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from tempfile import TemporaryDirectory
from typing import Any, Protocol

from ros2_cosim.documents.files import in_words
from ros2_cosim.documents.one_line import one_line
from ros2_cosim.kernel.errors import ConnectionFailedError, StorageError
from ros2_cosim.sweep.task import RunOutcome, SweepJob, perform

#: Wall time [s] in which a cluster has to answer.
ANSWER_S = 30
#: So many runs are known to the scheduler at once: more than a cluster has workers, and few
#: enough that their scenarios fit into its memory.
IN_FLIGHT = 2000


class Workers(Protocol):
    """Does runs, in any order, as many at once as it can."""

    def outcomes(self, jobs: Sequence[SweepJob]) -> Iterator[tuple[SweepJob, RunOutcome]]:
        """Do runs; each is given back as soon as it is complete.

        :raises ConnectionFailedError: the scheduler of the workers is lost
        """


class ThisProcess:
    """One run after the other, in this process."""

    def __init__(self, retries: int) -> None:
        self._retries = retries

    def outcomes(self, jobs: Sequence[SweepJob]) -> Iterator[tuple[SweepJob, RunOutcome]]:
        """Do runs."""
        for job in jobs:
            yield job, self._outcome(job)

    def _outcome(self, job: SweepJob) -> RunOutcome:
        for attempt in range(self._retries + 1):
            try:
                return perform(job)
            except (OSError, StorageError) as error:
                if attempt == self._retries:
                    return RunOutcome({}, one_line(in_words(error)))
        raise AssertionError("the last attempt returns")


def perform_at_worker(job: SweepJob) -> RunOutcome:
    """Do a run in a worker of Dask, in its directory: that is removed though the run kills it."""
    from distributed import get_worker

    return perform(job, get_worker().local_directory)


class DaskWorkers:
    """Workers behind a scheduler of Dask.

    :param client: connected with it
    :param retries: how often a run is tried again whose worker or machine failed
    """

    def __init__(self, client: Any, retries: int) -> None:
        self._client = client
        self._retries = retries

    def outcomes(self, jobs: Sequence[SweepJob]) -> Iterator[tuple[SweepJob, RunOutcome]]:
        """Do runs; those that workers have died with once more, one after the other.

        Dask gives up a run when too many workers have died with it. That run may only have waited
        behind the one that killed them: alone, each is judged by what it does itself.
        """
        from distributed import KilledWorker

        doubtful: list[SweepJob] = []
        for job, outcome, error in self._done(jobs):
            if isinstance(error, KilledWorker):
                doubtful.append(job)
            else:
                yield job, outcome
        for each in doubtful:
            for job, outcome, _ in self._done([each]):
                yield job, outcome

    def _done(
        self, jobs: Sequence[SweepJob]
    ) -> Iterator[tuple[SweepJob, RunOutcome, BaseException | None]]:
        """Each run as soon as it is done, and the error of its worker, if there was one."""
        from distributed import KilledWorker, as_completed

        waiting = iter(jobs)
        jobs_of: dict[Any, SweepJob] = {}

        def submit(job: SweepJob) -> Any:
            # Not pure: a run is done though another sweep on the cluster had the same.
            future = self._client.submit(perform_at_worker, job, pure=False, retries=self._retries)
            jobs_of[future] = job
            return future

        done = as_completed(
            [submit(job) for job in islice(waiting, IN_FLIGHT)],
            loop=self._client.loop,
            with_results=True,
            raise_errors=False,
        )
        for future, result in done:
            job = jobs_of.pop(future)
            if future.status == "cancelled":
                raise ConnectionFailedError(
                    "the scheduler of the workers is lost; what is done is kept, go on with it by "
                    "--resume"
                )
            done.update(submit(each) for each in islice(waiting, 1))
            if future.status == "error":
                error = result[1] if isinstance(result, tuple) else result
                why = one_line(f"{type(error).__name__}: {error}")
                if isinstance(error, KilledWorker):
                    why = "each worker that tried it has died"
                yield job, RunOutcome({}, why), error
            else:
                yield job, result, None
            future.release()


@contextmanager
def workers_for(
    workers: int | None,
    cluster: str | None,
    retries: int,
    tell: Callable[[str], None],
) -> Iterator[Workers]:
    """What does the runs of a sweep.

    :param workers: number of processes on this machine, 0: this process itself; None: one for each
        of its processors
    :param cluster: address of a scheduler instead, such as ``tcp://10.0.0.1:8786``
    :param tell: takes a line for the user
    :raises ConnectionFailedError: the scheduler does not answer
    """
    if workers == 0:
        yield ThisProcess(retries)
        return
    import dask
    from distributed import Client, LocalCluster

    # What breaks is told in our words; Dask would print traces of what it repairs, too.
    settings = {
        "distributed.logging.distributed": "critical",
        "distributed.admin.tick.limit": "1h",
        # Beside the run that it does, a worker has one that waits. A run that kills its worker
        # takes that one along; ``outcomes`` tries both again, and a new worker takes seconds to
        # come up.
        "distributed.scheduler.allowed-failures": 1,
    }
    with dask.config.set(settings):
        if cluster is not None:
            try:
                client = Client(cluster, timeout=ANSWER_S, set_as_default=False)
            except (OSError, ValueError) as error:
                raise ConnectionFailedError(
                    f"--cluster {cluster}: no scheduler answers there: {one_line(error)}"
                ) from None
            with client:
                known = len(client.scheduler_info(n_workers=-1)["workers"])
                tell(f"cluster {cluster}: {known} workers")
                yield DaskWorkers(client, retries)
            return
        count = workers or len(os.sched_getaffinity(0))
        with (
            TemporaryDirectory(prefix="cosim-sweep-") as place,
            LocalCluster(
                n_workers=count,
                threads_per_worker=1,
                dashboard_address=None,
                local_directory=place,
                silence_logs="CRITICAL",
            ) as local,
            Client(local, set_as_default=False) as client,
        ):
            yield DaskWorkers(client, retries)
