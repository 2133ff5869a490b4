# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Runs of ``cosim`` as processes of their own, as a user starts them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import NamedTuple

from support.isolation import leave, without_dds_settings
from support.patience import HANG_S, until
from support.processes import descendants_of, kill, marked_processes
from support.warm import Warm

from ros2_cosim.core.messages.namespaces import process_name_of
from ros2_cosim.ros.bringup.domain_lock import claim
from ros2_cosim.ros.bringup.fork_server import SERVER as FORK_SERVER

ROOT = Path(__file__).resolve().parents[2]
PLATOON = ROOT / "config" / "platoon.yaml"
HIGHWAY = ROOT / "config" / "highway.xodr"

#: Every process of a run inherits this variable.
MARK = "ROS2_COSIM_RUN_MARK"
#: What a command that is a copy has left behind are the descendants of its keeper.
_KEEPERS: dict[str, list[int]] = {}


class Result(NamedTuple):
    """How a command ended."""

    code: int
    stdout: str
    stderr: str

    def error(self) -> str:
        """The one line on stderr of a command that failed."""
        assert self.code != 0, self
        lines = self.stderr.splitlines()
        assert len(lines) == 1, self
        assert lines[0].startswith("cosim: "), self
        return lines[0]


@contextmanager
def user_environment(logs: Path) -> Iterator[dict[str, str]]:
    """The environment of a user, with nothing set but a ROS domain of its own."""
    environment = without_dds_settings(os.environ)
    # Scenarios of the tests name models in test/support.
    paths = [str(ROOT), str(ROOT / "test"), os.environ.get("PYTHONPATH", "")]
    path = os.pathsep.join(filter(None, paths))
    with claim() as domain:
        yield {
            **environment,
            "PYTHONPATH": path,
            "ROS_DOMAIN_ID": str(domain),
            "ROS_LOG_DIR": str(logs),
            MARK: uuid.uuid4().hex,
        }
        leave(range(domain, domain + 1))


def left_processes(environment: dict[str, str]) -> list[str]:
    """Command lines of the processes of a run that do not end; those found are killed.

    With its processes all sockets of a run are closed. Its ports may be in use again at once: by a
    run of a test beside this one.
    """
    deadline = time.monotonic() + HANG_S / 4
    while True:
        found = marked_processes(MARK, environment[MARK])
        for keeper in _KEEPERS.get(environment[MARK], []):
            found |= descendants_of(keeper)
        if not found or time.monotonic() > deadline:
            break
        time.sleep(0.05)
    kill(found)
    return list(found.values())


def cosim(environment: dict[str, str], *arguments: object, anew: bool = False) -> Result:
    """Run ``cosim run`` to its end; see :class:`Running`."""
    with Running(environment, *arguments, anew=anew) as running:
        return running.result()


class Running:
    """A ``cosim run`` under way; use as a context manager.

    :param stdout: where its output goes; a pipe is read
    :param prepare: called in the process before the command, as to set limits
    :param anew: it is a process of its own from its start on, with a seed of hashes of its own, and
        is found by the mark in its environment
    """

    def __init__(
        self,
        environment: dict[str, str],
        *arguments: object,
        stdout: int = subprocess.PIPE,
        prepare: Callable[[], None] | None = None,
        anew: bool = False,
    ) -> None:
        words = ["run", *map(str, arguments)]
        self._process: Warm | subprocess.Popen[str]
        if anew or prepare is not None or stdout != subprocess.PIPE:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "ros2_cosim.cli.main", *words],
                env=environment,
                stdout=stdout,
                preexec_fn=prepare,
                stderr=subprocess.PIPE,
                text=True,
            )
        else:
            self._process = Warm(words, environment)
            _KEEPERS.setdefault(environment[MARK], []).append(self._process.keeper)
        self.pid = self._process.pid

    def __enter__(self) -> Running:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._process.poll() is None:
            self._process.kill()
        self._process.communicate()

    @property
    def has_ended(self) -> bool:
        """Whether the command has come to its end."""
        return self._process.poll() is not None

    @property
    def errors(self) -> str:
        """What a copy of the warm process has told so far on standard error."""
        assert isinstance(self._process, Warm)
        return self._process.errors

    def result(self) -> Result:
        """Wait for the end."""
        stdout, stderr = self._process.communicate(timeout=HANG_S)
        return Result(self._process.returncode, stdout or "", stderr)

    def wait_until_recorded(self, output: Path) -> None:
        """Wait until the bag holds data of the running simulation."""
        bag = output / "bag" / "bag_0.mcap"

        def meanwhile() -> None:
            if self._process.poll() is not None:
                raise AssertionError(f"ended before anything was recorded: {self.result()}")
            time.sleep(0.02)

        # The declarations at the begin of the file are far smaller.
        until(lambda: bag.exists() and bag.stat().st_size >= 200_000, meanwhile)

    def children(self) -> dict[str, int]:
        """Process ids of the run's processes by their names in the plan."""
        found = {}
        for directory in Path("/proc").glob("[0-9]*"):
            try:
                parent = int((directory / "stat").read_text().rpartition(")")[2].split()[1])
                words = (directory / "cmdline").read_text().replace("\0", " ").split()
            except (OSError, IndexError):
                continue  # ended meanwhile
            helps = FORK_SERVER in words or any(word.endswith("/_guard.py") for word in words)
            if parent != self.pid or helps:
                continue
            given = [w.removeprefix("process:=") for w in words if w.startswith("process:=")]
            shared = list(map(json.loads, given))
            nodes = [w.removeprefix("__node:=") for w in words if w.startswith("__node:=")]
            names = shared or list(map(process_name_of, nodes))
            found[names[0] if names else "simulator"] = int(directory.name)
        return found

    def shared_memory(self) -> list[str]:
        """Files in shared memory that the middleware of the run's processes has open."""
        found = []
        for pid in self.children().values():
            with suppress(OSError):
                lines = Path(f"/proc/{pid}/maps").read_text(errors="replace").splitlines()
                found += [line for line in lines if "/dev/shm/" in line and "fastrtps" in line]
        return found

    def send(self, number: signal.Signals) -> None:
        """Send a signal to ``cosim`` itself."""
        self._process.send_signal(number)
