# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Sweeps on workers of Dask: order, number and end of workers change no result."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
import yaml

from ros2_cosim.core.kernel.errors import ConnectionFailedError
from ros2_cosim.lab.sweep import sweep as sweeping
from ros2_cosim.lab.sweep.settings import load_sweep

pytest.importorskip("distributed", reason="the extra sweep is not installed")

ROOT = Path(__file__).resolve().parents[2]
START = "participants.traffic.parameters.front.start"


def sweep_file(directory: Path, **settings: object) -> Path:
    content = {
        "scenario": str(ROOT / "config" / "car_following.yaml"),
        "set": {"duration": "200ms"},
        "design": {"kind": "sobol", "samples": 6},
        "parameters": {START: {"low": 3.0, "high": 60.0}},
        **settings,
    }
    path = directory / "sweep.yaml"
    path.write_text(yaml.safe_dump(content))
    return path


@pytest.fixture
def cluster(tmp_path, nothing_left):
    """Scheduler and two workers as processes of their own, connected by TCP: address, processes."""
    environment = {**os.environ, "PYTHONPATH": f"{ROOT}:{ROOT / 'test'}"}
    file = tmp_path / "scheduler.json"
    here = ["--interface", "lo", "--no-dashboard", "--scheduler-file", str(file)]
    processes: list[subprocess.Popen[bytes]] = []

    def start(program: str, *options: str) -> None:
        with (tmp_path / f"{program}-{len(processes)}.log").open("wb") as log:
            command = [sys.executable, "-m", f"distributed.cli.dask_{program}", *here, *options]
            processes.append(
                subprocess.Popen(
                    command, env=environment, cwd=tmp_path, stdout=log, stderr=subprocess.STDOUT
                )
            )

    start("scheduler", "--port", "0")
    while not file.exists():
        assert processes[0].poll() is None, (tmp_path / "scheduler-0.log").read_text()
        time.sleep(0.05)
    for _ in range(2):
        start("worker", "--no-nanny", "--nthreads", "1")
    yield json.loads(file.read_text())["address"], processes
    for process in reversed(processes):
        process.kill()
        process.wait()


@pytest.fixture
def longest():
    """A directory of temporary files with the longest name that a sweep with workers allows."""
    with TemporaryDirectory() as place:
        directory = Path(place) / ("a" * (75 - len(place) - 1))
        directory.mkdir()
        yield directory


def test_a_cluster_gives_the_table_of_one_process(tmp_path, cluster):
    address, processes = cluster
    sweep = load_sweep(sweep_file(tmp_path, seeds=2))
    sweeping.run_sweep([sweep], tmp_path / "one", workers=0)
    lines: list[str] = []
    sweeping.run_sweep([sweep], tmp_path / "cluster", cluster=address, tell=lines.append)
    tables = [(tmp_path / out / "runs.parquet").read_bytes() for out in ("one", "cluster")]
    assert tables[0] == tables[1]
    assert lines[0].startswith(f"cluster {address}: ")

    # The scheduler ends after two runs: those are kept, and the sweep goes on elsewhere.
    keep, kept = sweeping.Store.keep, []

    def keep_and_kill(self, *arguments):
        run = keep(self, *arguments)
        kept.append(run)
        if len(kept) == 2:
            processes[0].kill()
            processes[0].wait()
        return run

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sweeping.Store, "keep", keep_and_kill)
        with pytest.raises(ConnectionFailedError, match=r"is lost; .* --resume"):
            sweeping.run_sweep([sweep], tmp_path / "ended", cluster=address)
    again: list[str] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sweeping.Store, "keep", lambda self, *a: again.append(a[0]) or keep(self, *a))
        sweeping.run_sweep([sweep], tmp_path / "ended", workers=0, resume=True)
    assert len(again) == 12 - len(kept) and not {run.run_id for run in kept} & set(again)
    assert (tmp_path / "ended" / "runs.parquet").read_bytes() == tables[0]


def test_a_worker_that_is_killed_loses_no_run(tmp_path, nothing_left, longest):
    scenario = yaml.safe_load((ROOT / "config" / "car_following.yaml").read_text())
    scenario["participants"]["killer"] = {
        "model": "support.sweep_models:KillsItsWorker",
        "period": "100ms",
        "parameters": {"file": ""},
    }
    (tmp_path / "scenario.yaml").write_text(yaml.safe_dump(scenario))
    harmless = [tmp_path / f"harmless-{number}" for number in range(8)]
    for file in harmless:
        file.touch()
    files = [str(tmp_path / "killed"), "", *map(str, harmless)]
    path = sweep_file(
        tmp_path,
        scenario="scenario.yaml",
        design={"kind": "grid"},
        parameters={"participants.killer.parameters.file": files},
    )
    command = [sys.executable, "-m", "ros2_cosim.cli.main", "sweep", str(path), "--json"]
    done = subprocess.run(
        [*command, "--workers", "2", "--out", str(tmp_path / "out")],
        env={**os.environ, "PYTHONPATH": f"{ROOT}:{ROOT / 'test'}", "TMPDIR": str(longest)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1, done.stderr
    # The run that kills each worker is given up, and named; those beside it are done.
    (failed,) = json.loads(done.stdout)["failed"]
    assert failed == {"run_id": "000002", "error": "each worker that tried it has died"}
    assert (tmp_path / "killed").exists()
    assert done.stderr.splitlines()[-1] == "cosim: 1 of 10 runs failed", done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("reached", ["sweep.json", "runs/*/run.json"], ids=["start", "runs"])
def test_an_interrupt_ends_all_processes_with_one_line(tmp_path, nothing_left, reached):
    path = sweep_file(tmp_path, set={"duration": "1s"}, seeds=500)
    command = [sys.executable, "-m", "ros2_cosim.cli.main", "sweep", str(path)]
    sweep = subprocess.Popen(
        [*command, "--workers", "2", "--out", str(tmp_path / "out")],
        env={**os.environ, "PYTHONPATH": f"{ROOT}:{ROOT / 'test'}"},
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    while not any((tmp_path / "out").glob(reached)):
        assert sweep.poll() is None
        time.sleep(0.01)
    # As a terminal does it: each process of the group gets it.
    os.killpg(sweep.pid, signal.SIGINT)
    _, errors = sweep.communicate()
    assert sweep.returncode == 130, errors
    assert errors.splitlines()[-1] == "cosim: ended by SIGINT"
    assert all(
        line.startswith("cosim: ") or " runs done" in line for line in errors.splitlines()
    ), errors


def test_an_address_where_nothing_answers_is_one_error(tmp_path, monkeypatch):
    monkeypatch.setattr("ros2_cosim.lab.sweep.workers.ANSWER_S", 0.5)
    sweep = load_sweep(sweep_file(tmp_path))
    with pytest.raises(ConnectionFailedError, match="tcp://127.0.0.1:1: no scheduler answers"):
        sweeping.run_sweep([sweep], tmp_path / "out", cluster="tcp://127.0.0.1:1")


def test_a_directory_of_temporary_files_has_a_name_of_75_bytes_at_most(tmp_path, longest):
    """The sockets of the workers are below it; a sweep with the longest name is above."""
    directory = longest.with_name(f"{longest.name}a")
    directory.mkdir()
    command = [sys.executable, "-m", "ros2_cosim.cli.main", "sweep", sweep_file(tmp_path)]
    ended = subprocess.run(
        [*command, "--workers", "1", "--out", tmp_path / "out"],
        env={**os.environ, "TMPDIR": str(directory)},
        capture_output=True,
        text=True,
        check=False,
    )
    allowed = f"found {directory}; the sockets of workers allow 75 bytes"
    assert ended.stderr == f"cosim: directory of temporary files (TMPDIR): {allowed}\n"
    assert ended.returncode == 1
