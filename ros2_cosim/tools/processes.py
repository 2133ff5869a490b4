# SPDX-License-Identifier: Apache-2.0
"""Starting, watching and ending the processes of a plan.

Each process gets its own process group and dies with this one. The first process that ends
before its time ends the run; what it said last is its reason. Lines of the form ``NAME: text``
are a node's own word about its failure: they are the reason of the run's end and not echoed.
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from ros2_cosim.scenario.plan import Process

#: How long a process may take to end in order before it is killed.
GRACE_S = 6.0
#: How long the others may take to end when the last process of the plan has ended, and it to
#: end when one of the others has.
_SETTLE_S = 12.0
#: Processes that fail one after the other have one cause; so long we listen for it.
_GATHER_S = 0.7
#: Exit code of a process that ended because another one failed (see nodes/_start.py).
_ABORTED = 3
_PR_SET_PDEATHSIG = 1
# Loaded here: between fork and exec nothing should be.
_LIBC = ctypes.CDLL(None)
_KEPT_LINES = 20


@dataclass
class _Child:
    process: Process
    popen: subprocess.Popen[bytes]
    lines: deque[str] = field(default_factory=lambda: deque(maxlen=_KEPT_LINES))
    reader: threading.Thread | None = None
    #: When it was first seen to have ended [monotonic s].
    ended: float | None = None

    def code(self) -> int | None:
        """Exit code, None while it runs."""
        code = self.popen.poll()
        if code is not None and self.ended is None:
            self.ended = time.monotonic()
        return code

    def ended_for(self) -> float:
        """Seconds since its end, zero while it runs."""
        return 0.0 if self.code() is None else time.monotonic() - (self.ended or 0.0)


class ProcessGroup:
    """The running processes of one plan; use as a context manager.

    :param plan: what to start, in this order; the run is over when the last one has ended
    :param environment: for all of them
    :param on_line: called with (process name, line) of everything they print
    """

    def __init__(
        self,
        plan: Sequence[Process],
        environment: Mapping[str, str],
        on_line: Callable[[str, str], None] = lambda name, line: None,
    ) -> None:
        self._plan = plan
        self._environment = dict(environment)
        self._on_line = on_line
        self._children: list[_Child] = []

    def __enter__(self) -> ProcessGroup:
        try:
            for process in self._plan:
                self._start(process)
        except BaseException:
            self.end()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def pids(self) -> dict[str, int]:
        """Process ids by name."""
        return {child.process.name: child.popen.pid for child in self._children}

    def failure(self) -> str | None:
        """One line about the first required process that ended with an error, else None."""
        if not any(self._failed(child) for child in self._children):
            return self._left_early()
        time.sleep(_GATHER_S)
        failed = [child for child in self._children if self._failed(child)]
        # Whoever was killed, or failed without having been told to end, is the cause; of
        # several the one that comes first in the plan, for the others depend on it.
        causes = [child for child in failed if child.popen.returncode != _ABORTED]
        return self._describe((causes or failed)[0])

    def ended(self) -> bool:
        """Whether all required ROS nodes have ended; servers go on until they are told.

        When the last process of the plan, the clock, has ended in order, the results are
        complete; a node that has not heard of it by then is ended.
        """
        if self._children[-1].code() == 0 and self._children[-1].ended_for() > _SETTLE_S:
            return True
        return all(child.code() is not None for child in self._nodes())

    def stopped(self) -> list[str]:
        """Names of the processes that somebody has stopped (SIGSTOP); only Linux tells."""
        return [child.process.name for child in self._children if _is_stopped(child.popen.pid)]

    def _nodes(self) -> list[_Child]:
        return [c for c in self._children if c.process.required and c.process.is_ros]

    def _left_early(self) -> str | None:
        """A node that ended in order, though the run is not over."""
        if self._children[-1].code() is not None:
            return None
        for child in self._nodes():
            if child.ended_for() > _SETTLE_S:
                return f"process '{child.process.name}' ended before the run was over"
        return None

    def end(self) -> None:
        """Ask all processes to end, the first started last; kill those that do not."""
        for child in reversed(self._children):
            self._signal(child, signal.SIGTERM)
            # Who has been stopped could not end.
            self._signal(child, signal.SIGCONT)
        deadline = time.monotonic() + GRACE_S
        for child in self._children:
            try:
                child.popen.wait(max(0.0, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                self._signal(child, signal.SIGKILL)
                child.popen.wait()
        for child in self._children:
            if child.reader is not None:
                child.reader.join(1.0)

    @staticmethod
    def _signal(child: _Child, number: signal.Signals) -> None:
        if child.popen.poll() is None:
            try:
                os.killpg(child.popen.pid, number)
            except ProcessLookupError:
                return

    @staticmethod
    def _failed(child: _Child) -> bool:
        return child.process.required and child.code() not in (None, 0)

    @staticmethod
    def _describe(child: _Child) -> str:
        name, code = child.process.name, child.popen.returncode
        if code < 0:
            return f"process '{name}' was killed by {signal.Signals(-code).name}"
        if child.reader is not None:
            child.reader.join(1.0)
        own = [line for line in child.lines if line.startswith(f"{name}: ")]
        if own:
            return own[-1]
        last = child.lines[-1] if child.lines else "it printed nothing"
        return f"process '{name}' ended with exit code {code}: {last}"

    def _start(self, process: Process) -> None:
        popen = subprocess.Popen(
            command_of(process),
            env=self._environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            preexec_fn=partial(_die_with, os.getpid()),
        )
        child = _Child(process, popen)
        child.reader = threading.Thread(target=self._read, args=(child,), daemon=True)
        child.reader.start()
        self._children.append(child)

    def _read(self, child: _Child) -> None:
        assert child.popen.stdout is not None
        for raw in child.popen.stdout:
            line = raw.decode(errors="replace").rstrip()
            if line:
                child.lines.append(line)
                if line.startswith(f"{child.process.name}: "):
                    continue
                self._on_line(child.process.name, line)
        child.popen.stdout.close()


def command_of(process: Process) -> list[str]:
    """The command line of a process of a plan."""
    if process.executable == "rviz2":
        return ["rviz2", *process.arguments]
    command = [sys.executable, "-m", f"ros2_cosim.nodes.{process.executable}"]
    command += process.arguments
    if process.is_ros:
        command += ["--ros-args", "-r", f"__node:={process.name}"]
        for name, value in process.parameters.items():
            # ROS reads parameter values as YAML, of which JSON is a part.
            command += ["-p", f"{name}:={json.dumps(value)}"]
    return command


def _die_with(parent: int) -> None:
    """Runs in the child: end when the starting process ends, even by SIGKILL (Linux)."""
    _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
    if os.getppid() != parent:  # it ended before the request took hold
        os.kill(os.getpid(), signal.SIGKILL)


def _is_stopped(pid: int) -> bool:
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] == "T"
