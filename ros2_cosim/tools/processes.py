# SPDX-License-Identifier: Apache-2.0
"""Starting, watching and ending the processes of a plan.

Each process gets its own process group and dies with this one. The first process that ends
before its time ends the run; what it said last is its reason.
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

from ros2_cosim.scenario.plan import Process

#: How long a process may take to end in order before it is killed.
GRACE_S = 6.0
#: Processes that fail one after the other have one cause; so long we listen for it.
_GATHER_S = 0.7
#: Exit code of a process that ended because another one failed (see nodes/_start.py).
_ABORTED = 3
_PR_SET_PDEATHSIG = 1
_KEPT_LINES = 20


@dataclass
class _Child:
    process: Process
    popen: subprocess.Popen[bytes]
    lines: deque[str] = field(default_factory=lambda: deque(maxlen=_KEPT_LINES))
    reader: threading.Thread | None = None


class ProcessGroup:
    """The running processes of one plan; use as a context manager.

    :param plan: what to start, in this order
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
            return None
        time.sleep(_GATHER_S)
        failed = [child for child in self._children if self._failed(child)]
        # Whoever was killed, or failed without having been told to end, is the cause; of
        # several the one that comes first in the plan, for the others depend on it.
        causes = [child for child in failed if child.popen.returncode != _ABORTED]
        return self._describe((causes or failed)[0])

    def ended(self) -> bool:
        """Whether all required ROS nodes have ended; servers go on until they are told."""
        return all(
            child.popen.poll() is not None
            for child in self._children
            if child.process.required and child.process.is_ros
        )

    def end(self) -> None:
        """Ask all processes to end, the first started last; kill those that do not."""
        for child in reversed(self._children):
            self._signal(child, signal.SIGTERM)
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
        return child.process.required and child.popen.poll() not in (None, 0)

    @staticmethod
    def _describe(child: _Child) -> str:
        name, code = child.process.name, child.popen.returncode
        if code < 0:
            return f"process '{name}' was killed by {signal.Signals(-code).name}"
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
            preexec_fn=_die_with_parent,
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


def _die_with_parent() -> None:
    """Runs in the child: end when the starting process ends, even by SIGKILL (Linux)."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
