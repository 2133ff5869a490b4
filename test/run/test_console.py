# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""How commands end on a terminal: one line and an exit code, whatever happened."""

from __future__ import annotations

import errno
import io
import json
import os
import shutil
import signal
import subprocess
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import typer
from support.control_scenarios import write_chain
from support.patience import HANG_S

from ros2_cosim.cli.console import GuardedStream, clear_errors, print_line
from ros2_cosim.core.kernel.errors import Cancelled, RunError
from ros2_cosim.core.record.bag_reader import is_complete
from ros2_cosim.core.record.summary import read_summary
from ros2_cosim.core.run.request import RunRequest
from ros2_cosim.core.run.start import run_request
from ros2_cosim.core.scenario.library import library_file

ENVIRONMENT = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}


@pytest.mark.parametrize(
    ("error", "code", "line"),
    [
        (RunError("it broke"), 1, "cosim: it broke"),
        (
            OSError(errno.ENOSPC, "No space left on device", "a.json"),
            1,
            "cosim: a.json: No space left on device",
        ),
        (
            OSError(errno.EMFILE, "Too many open files"),
            1,
            "cosim: Too many open files (limit of open files, ulimit -n)",
        ),
        (MemoryError(), 1, "cosim: out of memory"),
        (KeyboardInterrupt(signal.SIGHUP), 129, "cosim: ended by SIGHUP"),
        (KeyboardInterrupt(), 130, "cosim: ended by SIGINT"),
        # A command that waits in a ROS session, which takes the signals itself.
        (Cancelled("SIGINT"), 130, "cosim: ended by SIGINT"),
        (Cancelled("shutdown"), 143, "cosim: ended by SIGTERM"),
    ],
)
def test_every_end_is_one_line(
    error: BaseException, code: int, line: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(typer.Exit) as ended, clear_errors():
        raise error
    assert ended.value.exit_code == code
    assert capsys.readouterr().err == f"{line}\n"


@pytest.mark.parametrize("how", [{"line_buffering": True}, {"write_through": True}])
def test_a_line_is_shown_when_it_is_written(how: dict[str, bool]) -> None:
    """Also with PYTHONUNBUFFERED, as containers set it."""
    reader, writer = os.pipe()
    with open(reader, "rb") as read, open(writer, "wb", buffering=0) as write:
        stream = GuardedStream(io.TextIOWrapper(write, **how), "standard error")
        stream.write("one line\n")
        os.set_blocking(read.fileno(), False)
        assert read.read() == b"one line\n"
        stream.detach()


@pytest.mark.parametrize("arguments", [["--help"], ["models"]])
def test_a_command_that_only_prints_ends_with_its_output(arguments: list[str]) -> None:
    command = [sys.executable, "-m", "ros2_cosim.cli.main", *arguments]
    with open("/dev/full", "wb") as full:
        ended = subprocess.run(
            command,
            env=ENVIRONMENT,
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            timeout=HANG_S,
            check=False,
        )
    assert ended.returncode == 1
    assert ended.stderr == "cosim: standard output: No space left on device\n"


@pytest.mark.parametrize("closed", [">&-", "2>&-", "<&- >&- 2>&-"])
def test_standard_streams_that_are_closed_lose_nothing(closed: str, tmp_path: Path) -> None:
    """As cron and services may start it."""
    scenario = write_chain(tmp_path / "chain.json", "2s")
    output = tmp_path / "out"
    command = f'"$@" {closed}'
    words = [sys.executable, "-m", "ros2_cosim.cli.main", "run", scenario, "--out", output]
    ended = subprocess.run(
        ["sh", "-c", command, "sh", *map(str, words), "--shape", "inproc"],
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        timeout=HANG_S,
        check=False,
    )
    assert (ended.returncode, ended.stderr) == (0, "")
    assert read_summary(output).sim_time_s == 2.0
    assert is_complete(output / "bag")
    assert (output / "report.html").stat().st_size > 0


#: Commands behind a run in ``out`` -> their words, and what they write.
BEHIND_A_RUN = {
    "report": ("report out", "out/report.html"),
    "replay": ("replay out --out again", "again/summary.json"),
    "sweep": ("sweep sweep.json --workers 1 --out runs", "runs/runs.parquet"),
    "study": (
        f"study pedals {library_file('platoon20')} follower1 --top-speed 5 "
        "--set parameters.vehicles=2 --out pedals.yaml",
        "pedals.yaml",
    ),
}


@pytest.fixture(scope="module")
def run_before(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with a run in ``out``, and a sweep of its scenario."""
    directory = tmp_path_factory.mktemp("run_before")
    scenario = write_chain(directory / "chain.json", "100ms")
    run_request(RunRequest(scenario, shape="inproc", out=directory / "out"))
    sweep = json.dumps({"scenario": "chain.json", "seeds": [1, 2]})
    (directory / "sweep.json").write_text(sweep, encoding="utf-8")
    return directory


# Each command and each stream once: what guards the streams is the same for all commands.
@pytest.mark.parametrize(
    ("name", "closed"),
    [("report", "2>&-"), ("replay", ">&-"), ("sweep", "2>&-"), ("study", "<&-")],
)
def test_commands_behind_a_run_need_no_standard_streams(
    name: str, closed: str, run_before: Path, tmp_path: Path
) -> None:
    if name == "sweep":
        pytest.importorskip("distributed", reason="the extra sweep is not installed")
    words, written = BEHIND_A_RUN[name]
    shutil.copytree(run_before, tmp_path, dirs_exist_ok=True)
    (tmp_path / "out" / "report.html").unlink()
    ended = subprocess.run(
        ["sh", "-c", f"'{sys.executable}' -m ros2_cosim.cli.main {words} {closed}"],
        cwd=tmp_path,
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        timeout=HANG_S,
        check=False,
    )
    assert (ended.returncode, ended.stderr) == (0, "")
    assert bool(ended.stdout) == (closed != ">&-")
    assert (tmp_path / written).stat().st_size > 0


def test_a_run_and_its_results_in_a_small_address_space(tmp_path: Path) -> None:
    scenario = write_chain(tmp_path / "chain.json", "2s")
    cosim = f"'{sys.executable}' -m ros2_cosim.cli.main"
    run = f"{cosim} run {scenario} --out {tmp_path}/out --shape inproc"
    ended = subprocess.run(
        ["sh", "-ec", f"ulimit -v 900000; {run}; {cosim} report out; {cosim} diff out out"],
        cwd=tmp_path,
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        timeout=HANG_S,
        check=False,
    )
    assert (ended.returncode, ended.stderr) == (0, "")


@pytest.mark.parametrize("name", BEHIND_A_RUN)
@pytest.mark.parametrize("space", [60_000, 140_000, 262_143])
def test_a_space_that_is_too_small_is_one_line(name: str, space: int, tmp_path: Path) -> None:
    """Nothing begins: libraries of numbers and of schemas would end the process by themselves."""
    cosim = f"'{sys.executable}' -m ros2_cosim.cli.main {BEHIND_A_RUN[name][0]}"
    ended = subprocess.run(
        ["sh", "-c", f"ulimit -v {space}; exec {cosim}"],
        cwd=tmp_path,
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        timeout=HANG_S,
        check=False,
    )
    said = f"limit of memory (ulimit -v): found {space} KiB; cosim needs 262144 KiB"
    assert (ended.returncode, ended.stderr) == (1, f"cosim: {said}\n")


def test_what_is_not_closed_says_what_failed(tmp_path: Path) -> None:
    """What is meant for one stream does not come on the other."""
    words = [sys.executable, "-m", "ros2_cosim.cli.main", "report", str(tmp_path)]
    for closed, expected in (("2>&-", ("", "")), (">&-", ("", "cosim: "))):
        ended = subprocess.run(
            ["sh", "-c", f'"$@" {closed}', "sh", *words],
            env=ENVIRONMENT,
            capture_output=True,
            text=True,
            timeout=HANG_S,
            check=False,
        )
        assert ended.returncode == 1
        assert (ended.stdout, ended.stderr[:7]) == expected


@pytest.mark.parametrize("arguments", ["--help", "models"])
def test_a_reader_that_has_enough_is_no_error(arguments: str) -> None:
    """As head has."""
    reader, writer = os.pipe()
    os.close(reader)
    with open(writer, "wb") as gone:
        ended = subprocess.run(
            [sys.executable, "-m", "ros2_cosim.cli.main", arguments],
            env=ENVIRONMENT,
            stdout=gone,
            stderr=subprocess.PIPE,
            text=True,
            timeout=HANG_S,
            check=False,
        )
    assert (ended.returncode, ended.stderr) == (141, "")


def test_two_signals_at_once_leave_no_complaint():
    """Both have arrived when the first handler runs."""
    program = """
import os, signal, typer
from ros2_cosim.cli.console import clear_errors, ending_in_order
numbers = (signal.SIGINT, signal.SIGTERM)
app = typer.Typer()
@app.command()
def wait():
    with clear_errors(), ending_in_order(*numbers):
        signal.pthread_sigmask(signal.SIG_BLOCK, numbers)
        for number in numbers:
            os.kill(os.getpid(), number)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, numbers)
        signal.pause()
app()
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (130, "cosim: ended by SIGINT\n")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_that_comes_in_a_destructor_ends_the_command(number):
    """Python drops what is raised there: the signal comes once more."""
    program = f"""
import os, time, typer
from ros2_cosim.cli.console import clear_errors, ending_in_order
class Held:
    def __del__(self):
        os.kill(os.getpid(), {int(number)})
        time.sleep(0.1)
app = typer.Typer()
@app.command()
def wait():
    with clear_errors(), ending_in_order({int(number)}):
        Held()
        while True:
            time.sleep(0.01)
app()
"""
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, timeout=HANG_S)
    assert (done.returncode, done.stderr) == (128 + number, f"cosim: ended by {number.name}\n")


def test_a_signal_that_a_library_turned_into_an_error_of_its_own_ends_the_command():
    """As pydantic does while it builds a validator."""
    program = """
import os, signal, typer
from pydantic_core import SchemaError
from ros2_cosim.cli.console import clear_errors, ending_in_order
app = typer.Typer()
@app.command()
def build(fails: bool = False):
    with clear_errors(), ending_in_order(signal.SIGINT):
        if fails:
            raise SchemaError("of its own")
        try:
            os.kill(os.getpid(), signal.SIGINT)
            signal.pause()
        except KeyboardInterrupt as interrupt:
            raise SchemaError(f"KeyboardInterrupt: {interrupt}") from None
app()
"""
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, timeout=HANG_S)
    assert (done.returncode, done.stderr) == (130, "cosim: ended by SIGINT\n")
    done = subprocess.run([*command, "--fails"], capture_output=True, text=True, timeout=HANG_S)
    assert done.returncode == 1
    assert "of its own" in done.stderr


def test_lines_of_processes_are_whole_also_when_others_print(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A thread for each process passes its lines on."""
    path = tmp_path / "errors.txt"
    with GuardedStream(path.open("w", encoding="utf-8", buffering=1), "errors") as stream:
        monkeypatch.setattr(sys, "stderr", stream)
        names = [f"process{number}" for number in range(8)]
        before = sys.getswitchinterval()
        sys.setswitchinterval(1e-6)
        with ThreadPoolExecutor(len(names)) as pool:
            for name in names:
                pool.submit(lambda name: [print_line(name, "a line") for _ in range(5000)], name)
        sys.setswitchinterval(before)
    lines = Counter(path.read_text(encoding="utf-8").splitlines())
    assert lines == {f"[{name}] a line": 5000 for name in names}
