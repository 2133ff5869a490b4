# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""A sweep on a cluster with a network between scheduler and workers (needs root and Linux).

Two network namespaces stand for two hosts, with a relay between them that delays packets and loses
some. Command and scheduler of Dask are on one, the workers, each a process, on the other. The table
must be that of a sweep in one process, byte for byte; then the scheduler is killed within a sweep,
and what was finished must be kept.

    python -m bench.sweep_two_hosts [--runs 200] [--workers 2] [--latency-ms 2] [--loss 0.005]
"""

from __future__ import annotations

import argparse
import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

from bench.dcp_two_hosts import two_hosts

ROOT = Path(__file__).resolve().parents[1]
SWEEP = """\
scenario: {scenario}
set: {{duration: {duration}}}
seeds: {runs}
"""
#: The scheduler is killed after so many runs, and others have to be left.
_BEFORE_KILL, _LEAST = 5, 20
#: Guards against hanging only.
_HANG_S = 300.0


def inside(host: str, *command: str) -> list[str]:
    """A command line that runs on a host."""
    return ["ip", "netns", "exec", host, sys.executable, "-m", *command]


def sweep(file: Path, out: Path, *options: str) -> list[str]:
    """The command of a sweep, without Python."""
    return ["ros2_cosim.cli.main", "sweep", str(file), "--out", str(out), *options]


class Cluster:
    """Scheduler on one host, workers on the other."""

    def __init__(self, place: Path, hosts: tuple[str, str], workers: int) -> None:
        self._processes: list[subprocess.Popen[bytes]] = []
        note = place / "scheduler.json"
        note.unlink(missing_ok=True)
        common = ("--interface", "dcp0", "--no-dashboard")
        with (place / "cluster.log").open("ab") as log:

            def start(host: str, *command: str) -> None:
                self._processes.append(
                    subprocess.Popen(
                        inside(host, *command), cwd=place, stdout=log, stderr=subprocess.STDOUT
                    )
                )

            file = ("--scheduler-file", str(note))
            start(hosts[0], "distributed.cli.dask_scheduler", *common, *file, "--port", "0")
            until = time.monotonic() + _HANG_S
            while not note.exists():
                assert time.monotonic() < until, "the scheduler does not come up"
                time.sleep(0.1)
            self.address = str(json.loads(note.read_text())["address"])
            for _ in range(workers):
                single = ("--no-nanny", "--nthreads", "1")
                start(hosts[1], "distributed.cli.dask_worker", self.address, *common, *single)

    def kill_scheduler(self) -> None:
        """As a power cut does."""
        self._processes[0].kill()

    def end(self) -> None:
        """End all that is left."""
        for process in reversed(self._processes):
            process.kill()
            process.wait()


def measure(place: Path, chosen: argparse.Namespace) -> int:
    """Run the sweeps; returns 1 if a promise is not kept."""
    file = place / "sweep.yaml"
    scenario = ROOT / "config" / "car_following.yaml"
    file.write_text(SWEEP.format(scenario=scenario, duration=chosen.duration, runs=chosen.runs))
    here = [sys.executable, "-m", *sweep(file, place / "one", "--workers", "0")]
    subprocess.run(here, check=True, stdout=subprocess.DEVNULL)
    wanted = (place / "one" / "runs.parquet").read_bytes()
    network = (chosen.latency_ms / 1e3, chosen.latency_ms / 1e3, chosen.loss)
    with two_hosts(*network) as hosts:
        cluster = Cluster(place, hosts, chosen.workers)
        try:
            began = time.perf_counter()
            options = ("--cluster", cluster.address)
            command = inside(hosts[0], *sweep(file, place / "network", *options))
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL, timeout=_HANG_S)
            wall = time.perf_counter() - began
            same = (place / "network" / "runs.parquet").read_bytes() == wanted
            print(
                f"{chosen.runs} runs on {chosen.workers} workers behind a network with "
                f"{chosen.latency_ms:g} to {2 * chosen.latency_ms:g} ms each way and "
                f"{100 * chosen.loss:g} % loss: {wall:.1f} s, table "
                f"{'the same' if same else 'ANOTHER'}",
                flush=True,
            )
            kept, said = _killed(place, file, hosts, cluster)
        finally:
            cluster.end()
    print(f"scheduler killed: {kept} runs kept; the command said: {said}", flush=True)
    again = sweep(file, place / "killed", "--workers", "0", "--resume")
    subprocess.run([sys.executable, "-m", *again], check=True, stdout=subprocess.DEVNULL)
    whole = (place / "killed" / "runs.parquet").read_bytes() == wanted
    print(f"resumed in one process: table {'the same' if whole else 'ANOTHER'}")
    return int(not (same and whole and kept > 0))


def _killed(place: Path, file: Path, hosts: tuple[str, str], cluster: Cluster) -> tuple[int, str]:
    """A sweep whose scheduler is killed: number of runs kept, last line of the command."""
    out = place / "killed"
    command = inside(hosts[0], *sweep(file, out, "--cluster", cluster.address))
    process = subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    )
    until = time.monotonic() + _HANG_S
    while len(list((out / "runs").glob("*"))) < _BEFORE_KILL:
        assert process.poll() is None and time.monotonic() < until, "the sweep ended too early"
        time.sleep(0.02)
    cluster.kill_scheduler()
    try:
        _, errors = process.communicate(timeout=_HANG_S)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate()
    return len(list((out / "runs").glob("*"))), (errors.strip().splitlines() or [""])[-1]


def main() -> int:
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=200, help=f"at least {_LEAST}")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--duration", default="5s")
    parser.add_argument("--latency-ms", type=float, default=2.0)
    parser.add_argument("--loss", type=float, default=0.005)
    chosen = parser.parse_args()
    if chosen.runs < _LEAST:
        parser.error(f"--runs: found {chosen.runs}; allowed is {_LEAST} or more")
    with TemporaryDirectory() as directory:
        return measure(Path(directory), chosen)


if __name__ == "__main__":
    sys.exit(main())
