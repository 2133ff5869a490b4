# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""What does the runs: this process, its own workers, or a cluster; the last two are Dask's."""

from __future__ import annotations

import logging
import os
import signal
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import islice
from multiprocessing import forkserver, resource_tracker
from tempfile import TemporaryDirectory, gettempdir
from typing import Any, Protocol

from ros2_cosim.core.documents.files import in_words
from ros2_cosim.core.documents.one_line import one_line
from ros2_cosim.core.kernel.errors import (
    ConfigurationError,
    ConnectionFailedError,
    CosimError,
    StorageError,
)
from ros2_cosim.core.process.one_thread import OF_ALL
from ros2_cosim.lab.sweep.task import RunOutcome, SweepJob, perform

#: Wall time [s] in which a cluster has to answer.
ANSWER_S = 30
#: So many runs are known to the scheduler at once: more than a cluster has workers, and few
#: enough that their scenarios fit into its memory.
IN_FLIGHT = 2000
#: Level of the log of Dask that nothing reaches.
SILENT = logging.CRITICAL + 1
#: The module of the connections with workers of this machine.
OWN_WORKERS = "ros2_cosim.lab.sweep.own_workers"
#: Imported once, by the process that the workers of this machine are forked from.
PRELOADED = ("__main__", "distributed.nanny", OWN_WORKERS, "ros2_cosim.lab.sweep.workers")
#: A socket's path has 107 bytes; the fork server has one of 32 bytes in that directory.
LONGEST_TEMPORARY = 107 - len("/pymp-12345678/listener-12345678")


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
                    "the scheduler of the workers is lost; finished runs are kept, continue with "
                    "--resume"
                )
            done.update(submit(each) for each in islice(waiting, 1))
            if future.status == "error":
                error = result[1] if isinstance(result, tuple) else result
                told = isinstance(error, CosimError | OSError)
                why = one_line(in_words(error) if told else f"{type(error).__name__}: {error}")
                if isinstance(error, KilledWorker):
                    why = "each worker that tried it has died"
                yield job, RunOutcome({}, why), error
            else:
                yield job, result, None
            future.release()


def start_fork_server() -> None:
    """Start the process that local workers are forked from, unless it runs; it ends with this one.

    It imports what they need while this process goes on: a worker is there at once, also one that
    comes for another that was killed. Workers may use the processors that this process may use at
    its first sweep. An interrupt from the keyboard, which all processes get, is for this one alone.

    :raises ConfigurationError: the directory of temporary files has too long a name for sockets
    """
    temporary = gettempdir()
    if len(os.fsencode(temporary)) > LONGEST_TEMPORARY:
        raise ConfigurationError(
            f"directory of temporary files (TMPDIR): found {temporary}; the sockets of workers "
            f"allow {LONGEST_TEMPORARY} bytes"
        )
    forkserver.set_forkserver_preload(list(PRELOADED))
    # As Dask has it for its workers.
    added = dict.fromkeys(set(OF_ALL) - os.environ.keys(), "1")
    resource_tracker.ensure_running()  # it would let interrupts in again
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    os.environ.update(added)
    try:
        forkserver.ensure_running()
    finally:
        for name in added:
            del os.environ[name]
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _started(cluster: Callable[[], Any]) -> Any:
    """Make a cluster as a whole: Dask cannot end one that is half there.

    An interrupt waits until it is there, and closes it.
    """
    with ThreadPoolExecutor(1) as thread:
        started = thread.submit(cluster)
        try:
            return started.result()
        except BaseException:
            if not started.done() or started.exception() is None:
                started.result().close()
            raise


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

    # This package reports what breaks; Dask would print traces of what it repairs, and of what it
    # has still to do when it is interrupted.
    settings = {
        "distributed.logging.distributed": SILENT,
        "distributed.admin.tick.limit": "1h",
        # Beside the run that it does, a worker has one that waits. A run that kills its worker
        # takes that one along; ``outcomes`` tries both again.
        "distributed.scheduler.allowed-failures": 1,
        "distributed.worker.multiprocessing-method": "forkserver",
        # No pages of a scheduler and of workers, which any program could read.
        "distributed.scheduler.http.routes": [],
        "distributed.worker.http.routes": [],
        "distributed.scheduler.preload": [OWN_WORKERS],
        "distributed.worker.preload": [OWN_WORKERS],
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
        from ros2_cosim.lab.sweep.own_workers import SCHEME

        start_fork_server()
        count = workers or len(os.sched_getaffinity(0))
        with (
            TemporaryDirectory(prefix="cosim-sweep-") as place,
            # Where the scheduler and workers have theirs, from which they import modules: else it
            # is a directory of a known name, which another user can make first and then fill.
            dask.config.set({"temporary-directory": place}),
            _started(
                lambda: LocalCluster(
                    n_workers=count,
                    threads_per_worker=1,
                    protocol=SCHEME,
                    dashboard_address="127.0.0.1:0",  # else a known one, in the way of others
                    local_directory=place,
                    silence_logs=SILENT,
                    # Not that of the moment in which the first sweep of this process has begun.
                    env=dict(os.environ),
                )
            ) as local,
            Client(local, set_as_default=False) as client,
        ):
            yield DaskWorkers(client, retries)
