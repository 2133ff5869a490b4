# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""``cosim`` as a copy of a process that has imported it: a short run is imports for its most part.

A copy is a process like any other: it has the arguments, environment and directory of the command,
and ends as the interpreter does. It shares the seed of hashes with the other copies. What a test
says of the start itself, or of limits and streams that a process is born with, it has to see in a
process of its own.
"""

from __future__ import annotations

import codecs
import json
import os
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import IO

from support.patience import HANG_S

from ros2_cosim.core.sockets.waiting import readable
from ros2_cosim.ros.bringup.fork_server import ServerProcess

#: A request is one datagram.
REQUEST_LIMIT = 131_072
#: What a copy gets: its output, its errors, and where its keeper tells how it is; or what a fork
#: server inherits.
FILES = 8
#: What a keeper tells: the process id of the command, then how it ended.
TOLD = struct.Struct("<i")
_POLL_S = 0.01
_TESTS = Path(__file__).parents[1]
#: A copy shows its own command line and environment, as long as those of the server.
_ROOM = 16_384
_IMPORTING = ("PYTHON", "LD_", "COSIM_PURE")
#: What else a process needs; the marks by which tests find what they left are not among it.
_NEEDED = ("PATH", "HOME", "LANG", "AMENT_PREFIX_PATH")


class Warm:
    """A command that runs in a copy; the part of ``subprocess.Popen`` that tests use, as text.

    :param words: arguments of ``cosim``
    :param directory: where it is run; None: here
    """

    def __init__(
        self, words: Sequence[str], environment: Mapping[str, str], directory: Path | None = None
    ) -> None:
        stdout, writes_stdout = os.pipe()
        stderr, writes_stderr = os.pipe()
        self._told, tells = socket.socketpair()
        files = [writes_stdout, writes_stderr, tells.fileno()]
        place = str(directory or Path.cwd())
        request = {"words": words, "environment": dict(environment), "directory": place}
        self._server = _server(imported_as(environment))
        try:
            socket.send_fds(self._server.link, [json.dumps(request).encode()], files)
        finally:
            for descriptor in files[:2]:
                os.close(descriptor)
            tells.close()
        self._told.settimeout(HANG_S)
        self.pid, self.keeper = self._hear(), self._hear()
        self._told.setblocking(False)
        self.returncode: int | None = None
        self._printed = [_Reader(stdout), _Reader(stderr)]

    @property
    def errors(self) -> str:
        """What it has told so far on standard error."""
        return self._printed[1].text

    def _hear(self) -> int:
        heard = self._told.recv(TOLD.size)
        if not heard:
            raise AssertionError(f"the process to copy has ended: {self._server.last_words()}")
        (number,) = TOLD.unpack(heard)
        return int(number)

    def poll(self) -> int | None:
        """How it ended; None: it runs."""
        if self.returncode is None:
            try:
                self.returncode = os.waitstatus_to_exitcode(self._hear())
            except BlockingIOError:
                return None
            self._told.close()
        return self.returncode

    def communicate(self, timeout: float = HANG_S) -> tuple[str, str]:
        """Wait for its end, and that of whatever has its output; what it printed.

        :raises subprocess.TimeoutExpired: they go on
        """
        deadline = time.monotonic() + timeout
        for reader in self._printed:
            reader.join(max(0.0, deadline - time.monotonic()))
        while self.poll() is None or any(reader.is_alive() for reader in self._printed):
            if time.monotonic() > deadline:
                raise subprocess.TimeoutExpired("cosim", timeout)
            time.sleep(_POLL_S)
        stdout, stderr = (reader.text for reader in self._printed)
        return stdout, stderr

    def send_signal(self, number: signal.Signals) -> None:
        """Send it a signal, if it still runs."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        """Kill it."""
        self.send_signal(signal.SIGKILL)


def cosim(
    environment: Mapping[str, str], *words: object, directory: Path | None = None
) -> subprocess.CompletedProcess[str]:
    """Run ``cosim`` to its end.

    :param directory: where it is run; None: here
    """
    command = Warm([*map(str, words)], environment, directory)
    try:
        stdout, stderr = command.communicate()
    finally:
        command.kill()
    assert command.returncode is not None
    return subprocess.CompletedProcess([*map(str, words)], command.returncode, stdout, stderr)


def request_of(
    arguments: Sequence[str], environment: Mapping[str, str], files: Sequence[int]
) -> dict[str, object]:
    """What a copy has to know to become a fork server."""
    return {
        "arguments": arguments,
        "directory": os.getcwd(),
        "environment": dict(environment),
        "files": files,
    }


def start_fork_server(
    arguments: Sequence[str], environment: Mapping[str, str], files: Sequence[int]
) -> ServerProcess:
    """Take the place of the function of that name, for runs in the process of the tests."""
    server = _server(imported_as(environment))
    reader, writer = os.pipe()
    told, tells = socket.socketpair()
    request = {**request_of(arguments, environment, files), "starter": os.getpid()}
    with told:
        with tells:
            given = [writer, *files, tells.fileno()]
            socket.send_fds(server.link, [json.dumps(request).encode()], given)
        os.close(writer)
        (pid,) = TOLD.unpack(told.recv(TOLD.size))
    return _Distant(pid, open(reader, "rb"))


class _Distant:
    """A descendant that is no child of this process."""

    def __init__(self, pid: int, stdout: IO[bytes]) -> None:
        self.pid = pid
        self.stdout: IO[bytes] | None = stdout
        self._handle = os.fdopen(os.pidfd_open(pid))

    def poll(self) -> int | None:
        """Some code if it has ended."""
        return 0 if readable(self._handle, 0.0) else None

    def wait(self, timeout: float | None = None) -> int:
        """Wait for its end.

        :raises subprocess.TimeoutExpired: it still runs after ``timeout`` seconds
        """
        if not readable(self._handle, timeout):
            raise subprocess.TimeoutExpired(str(self.pid), timeout or 0.0)
        self._handle.close()
        return 0

    def kill(self) -> None:
        """Kill it, if it still runs."""
        with suppress(ProcessLookupError):
            signal.pidfd_send_signal(self._handle.fileno(), signal.SIGKILL)


class _Reader(threading.Thread):
    """Reads a stream to its end; ``text`` is what it has read so far."""

    def __init__(self, descriptor: int) -> None:
        super().__init__(daemon=True)
        self._file: IO[bytes] = open(descriptor, "rb", buffering=0)
        self.text = ""
        self.start()

    def run(self) -> None:
        decoder = codecs.getincrementaldecoder("utf-8")()
        with self._file:
            while data := self._file.read(65_536):
                self.text += decoder.decode(data)


def imported_as(environment: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """What of an environment decides how Python imports."""
    return tuple(sorted((k, v) for k, v in environment.items() if k.startswith(_IMPORTING)))


class _Server:
    """The process that is copied; it ends with this one."""

    def __init__(self, importing: Sequence[tuple[str, str]]) -> None:
        self.link, remote = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        needed = {key: os.environ[key] for key in _NEEDED if key in os.environ}
        path = [*filter(None, [dict(importing).get("PYTHONPATH")]), str(_TESTS)]
        with remote:
            self._process = subprocess.Popen(
                [
                    sys.executable,
                    *("-m", "support.warm_server", str(remote.fileno()), " " * _ROOM),
                ],
                env={
                    **needed,
                    **dict(importing),
                    "PYTHONPATH": os.pathsep.join(path),
                    "SPT_NOENV": "1",
                    "ROOM": "." * _ROOM,
                },
                # Streams of a copy are pipes as well: Python treats those of a file in another way.
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                pass_fds=[remote.fileno()],
            )

    def last_words(self) -> str:
        """What it printed."""
        self._process.kill()
        return self._process.communicate()[0]


@cache
def _server(importing: tuple[tuple[str, str], ...]) -> _Server:
    return _Server(importing)
