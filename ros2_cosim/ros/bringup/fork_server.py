# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Starting nodes as copies of a process that has everything imported (Linux).

To import what a node needs takes longer than most runs: a process that has done it once, the
*fork server*, is copied for each node instead. A copy is forked twice, and the one in between ends
at once: the kernel gives the orphan to the starter, which has asked for orphans (child subreaper).
So a node is a child of the starter like one started directly: it can be waited for, and it ends
with the starter.

The starter asks over a socket, one datagram for each process: a JSON list with the module, its
arguments and the addresses of sockets that it takes over, and with it the open file for the output
and these sockets. The answer is the process id.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from types import TracebackType
from typing import IO, Protocol

from ros2_cosim.core.documents.installed import module_command
from ros2_cosim.core.kernel.errors import RunError
from ros2_cosim.core.process.processes import adopts_orphans, end_with_parent, set_adopts_orphans
from ros2_cosim.core.sockets.inherited import HeldSocket

SERVER = "ros2_cosim.ros.programs._fork_server"
#: A request is one datagram.
REQUEST_LIMIT = 131_072
#: The output of a process, and sockets that it takes over.
FILES_LIMIT = 8
#: The server answers as soon as its imports are done; on a busy machine that takes long.
_ANSWER_S = 120.0
_POLL_S = 0.01
#: So many lines of what the server printed explain its end.
_LAST_LINES = 4
#: A copy shows its own command line, which has as much room as that of the server.
_ROOM = " " * 4096


class StartedProcess(Protocol):
    """A child of this process, as ``subprocess.Popen`` describes it."""

    pid: int
    stdout: IO[bytes] | None

    def poll(self) -> int | None:
        """The exit code; negative: the number of the signal that ended it; None: it runs."""

    def wait(self, timeout: float | None = None) -> int:
        """Wait for its end.

        :raises subprocess.TimeoutExpired: it still runs after ``timeout`` seconds
        """


class ServerProcess(StartedProcess, Protocol):
    """The process of a fork server."""

    def kill(self) -> None:
        """Kill it, if it still runs."""


class AdoptedProcess:
    """A child that another process has started.

    :param pid: its process id
    :param stdout: what it prints
    """

    def __init__(self, pid: int, stdout: IO[bytes]) -> None:
        self.pid = pid
        self.stdout: IO[bytes] | None = stdout
        self._code: int | None = None
        self._lock = threading.Lock()

    def poll(self) -> int | None:
        """The exit code; negative: the number of the signal that ended it; None: it runs."""
        with self._lock:
            if self._code is None:
                pid, status = os.waitpid(self.pid, os.WNOHANG)
                if pid == self.pid:
                    self._code = os.waitstatus_to_exitcode(status)
            return self._code

    def wait(self, timeout: float | None = None) -> int:
        """Wait for its end.

        :raises subprocess.TimeoutExpired: it still runs after ``timeout`` seconds
        """
        deadline = None if timeout is None else time.monotonic() + timeout
        while (code := self.poll()) is None:
            if deadline is not None and time.monotonic() >= deadline:
                raise subprocess.TimeoutExpired(str(self.pid), timeout or 0.0)
            time.sleep(_POLL_S)
        return code


_adoptions = 0
_adopted_before = False
_adoption_lock = threading.Lock()


@contextlib.contextmanager
def _adopting() -> Iterator[None]:
    """Orphans among the descendants become children of this process."""
    global _adoptions, _adopted_before
    with _adoption_lock:
        if _adoptions == 0:
            _adopted_before = adopts_orphans()
            set_adopts_orphans(True)
        _adoptions += 1
    try:
        yield
    finally:
        with _adoption_lock:
            _adoptions -= 1
            if _adoptions == 0:
                set_adopts_orphans(_adopted_before)


def start_server(
    arguments: Sequence[str], environment: Mapping[str, str], files: Sequence[int]
) -> ServerProcess:
    """Start the process of a fork server, a child of this one.

    :param arguments: the open file of its socket, and modules that it imports
    :param files: open files that it inherits
    """
    return subprocess.Popen(
        [*module_command(SERVER), *arguments, _ROOM],
        # The environment of a process stays readable from outside.
        env={**environment, "SPT_NOENV": "1"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
        pass_fds=files,
        preexec_fn=partial(end_with_parent, os.getpid()),
    )


class ForkServer:
    """The fork server of one run; use as a context manager.

    :param environment: of the server and of all processes
    :param modules: what it imports before it copies itself. The module of a process it imports
        when that is requested: those that were requested before run meanwhile
    :param inherited: open files that the processes inherit
    """

    def __init__(
        self, environment: Mapping[str, str], modules: Sequence[str], inherited: Sequence[int] = ()
    ) -> None:
        self._environment = environment
        self._modules = modules
        self._inherited = inherited

    def __enter__(self) -> ForkServer:
        self._adoption = contextlib.ExitStack()
        self._adoption.enter_context(_adopting())
        self._link, remote = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with remote:
            arguments = [str(remote.fileno()), *self._modules]
            files = [remote.fileno(), *self._inherited]
            self._server = start_server(arguments, self._environment, files)
        self._link.settimeout(_ANSWER_S)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._link.close()
        self._server.kill()
        self._server.wait()
        assert self._server.stdout is not None
        self._server.stdout.close()
        self._adoption.close()

    def start(
        self, module: str, arguments: Sequence[str], sockets: Sequence[HeldSocket] = ()
    ) -> AdoptedProcess:
        """Start ``python -m module arguments``; its output can be read from ``stdout``.

        :param sockets: that the process takes over
        :raises RunError: the server cannot; it says why
        """
        reader, writer = os.pipe()
        try:
            addresses = [[held.kind, held.host, held.port] for held in sockets]
            request = json.dumps([module, list(arguments), addresses]).encode()
            files = [writer, *(held.sock.fileno() for held in sockets)]
            socket.send_fds(self._link, [request], files)
            answer, problem = self._link.recv(REQUEST_LIMIT), "it has ended"
        except TimeoutError:
            answer, problem = b"", f"no answer for {_ANSWER_S:.0f} s"
        except OSError:  # the connection broke before there was an answer
            answer, problem = b"", "it has ended"
        finally:
            os.close(writer)
        if not answer:
            os.close(reader)
            raise RunError(f"fork server: {problem}{self._last_words()}")
        return AdoptedProcess(int(answer), open(reader, "rb"))  # the caller's

    def _last_words(self) -> str:
        self._server.kill()
        assert self._server.stdout is not None
        lines = self._server.stdout.read().decode(errors="replace").strip().splitlines()
        return f": {' | '.join(lines[-_LAST_LINES:])}" if lines else ""


def is_usable() -> bool:
    """Whether processes can be started this way here."""
    return sys.platform == "linux" and signal.getsignal(signal.SIGCHLD) is not signal.SIG_IGN
