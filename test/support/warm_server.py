# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The process that imports ``cosim`` once and becomes each command by a copy.

See :mod:`support.warm`. Each command has a keeper, its parent, which adopts what the command
leaves behind: the descendants of a keeper are what is left of its command. A keeper ends with the
last of them. Libraries of the middleware start threads when they are loaded; a copy has none of
them, and leaves without the end functions of these libraries, which would look for them.

The fork server of a run is a copy as well, made before the command begins, as its child: what it
imports is there already.
"""

from __future__ import annotations

import ctypes
import fcntl
import importlib
import json
import os
import signal
import socket
import sys
import traceback
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NoReturn

from setproctitle import setproctitle
from support.warm import FILES, REQUEST_LIMIT, TOLD, request_of

from ros2_cosim.cli import main as command
from ros2_cosim.core.documents.installed import module_command
from ros2_cosim.core.process.processes import end_with_parent, leave, set_adopts_orphans
from ros2_cosim.ros.bringup import fork_server
from ros2_cosim.ros.programs import _fork_server

#: What most commands, and nodes of their runs, import when they run.
_MODULES = (
    "carla",
    "encodings.idna",
    "numpy.random",
    "ros2_cosim.cli.check",
    "ros2_cosim.cli.control",
    "ros2_cosim.cli.replay",
    "ros2_cosim.cli.run",
    "ros2_cosim.core.run.start",
    "ros2_cosim.core.scenario.check",
    "ros2_cosim.dcp.bridge.coupled",
    "ros2_cosim.dcp.bridge.participant",
    "ros2_cosim.driving.cacc",
    "ros2_cosim.driving.measures.recorded_encounters",
    "ros2_cosim.driving.referee",
    "ros2_cosim.driving.sensors.object_sensor",
    "ros2_cosim.ros.bringup.control",
    "ros2_cosim.ros.bringup.shapes",
    "ros2_cosim.ros.node.session",
    "ros2_cosim.ros.programs.carla_headless",
    "ros2_cosim.ros.programs.carla_slave",
    "ros2_cosim.ros.programs.clock",
    "ros2_cosim.ros.programs.participants",
    "ros2_cosim.ros.programs.recorder",
    "ros2_cosim.world.carla.dcp_world",
    "ros2_cosim.world.carla.world",
    "ros2_cosim.world.headless.server",
)


#: Commands that start a fork server, unless they are told to do without processes.
_WITH_PROCESSES = ("run", "study", "sweep", "replay")
#: What is inherited is moved there for a moment, and then to its place [file descriptor].
_ASIDE = 500


def main() -> None:
    """Serve until whoever asks has gone; in a copy: run the command."""
    link = socket.socket(fileno=int(sys.argv[1]))
    _fork_server.prepare(_MODULES)
    while True:
        request, files, _, _ = socket.recv_fds(link, REQUEST_LIMIT, FILES)
        if not request:
            return
        asked = json.loads(request)
        if os.fork() == 0:
            link.close()
            if "words" not in asked:
                _serve_another(asked, files)
            if _is_command(files):
                break
            os._exit(0)
        for descriptor in files:
            os.close(descriptor)
        with suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
    words = asked["words"]
    if words[0] in _WITH_PROCESSES and "inproc" not in words:
        fork_server.start_server = _Spare(files).start
    _become(asked, files)
    try:
        command.main()
    except SystemExit as left:
        leave(left.code)
    except BaseException:
        traceback.print_exc()
        leave(1)
    leave(0)


class _Spare:
    """A child of the command that becomes its first fork server; others are started as usual.

    :param files: open files of the command
    """

    def __init__(self, files: Sequence[int]) -> None:
        self._link: socket.socket | None
        self._link, remote = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        command = os.getpid()
        self._pid = os.fork()
        if self._pid == 0:
            for descriptor in (self._link.detach(), *files):
                os.close(descriptor)
            _wait_as_fork_server(remote, command)
        remote.close()
        self._start_anew = fork_server.start_server

    def start(
        self, arguments: Sequence[str], environment: Mapping[str, str], files: Sequence[int]
    ) -> fork_server.ServerProcess:
        """Take the place of :func:`fork_server.start_server`."""
        if self._link is None:
            return self._start_anew(arguments, environment, files)
        reader, writer = os.pipe()
        request = request_of(arguments, environment, files)
        with self._link:
            socket.send_fds(self._link, [json.dumps(request).encode()], [writer, *files])
        os.close(writer)
        self._link = None
        return _Child(self._pid, open(reader, "rb"))


class _Child(fork_server.AdoptedProcess):
    def kill(self) -> None:
        """Kill it, if it still runs."""
        if self.poll() is None:
            os.kill(self.pid, signal.SIGKILL)


def _wait_as_fork_server(link: socket.socket, command: int) -> NoReturn:
    end_with_parent(command)
    os.setsid()
    setproctitle(" ".join(module_command(fork_server.SERVER)))
    request, files, _, _ = socket.recv_fds(link, REQUEST_LIMIT, FILES)
    if not request:
        os._exit(0)
    link.close()
    _become_fork_server(json.loads(request), files, command)


def _serve_another(asked: Mapping[str, Any], files: list[int]) -> NoReturn:
    """Be the fork server of the process that has asked, an ancestor."""
    end_with_parent()
    os.setsid()
    with socket.socket(fileno=files.pop()) as tells:
        tells.sendall(TOLD.pack(os.getpid()))
    _become_fork_server(asked, files, asked["starter"])


def _become_fork_server(asked: Mapping[str, Any], files: Sequence[int], starter: int) -> NoReturn:
    """Take the place of a fork server.

    :param files: its output, and what it inherits
    """
    aside = [fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, _ASIDE) for descriptor in files]
    for descriptor in files:
        os.close(descriptor)
    nothing = os.open(os.devnull, os.O_RDWR)
    places = [0, 1, 2, *asked["files"]]
    for descriptor, place in zip([nothing, aside[0], *aside], places, strict=True):
        os.dup2(descriptor, place)
    for descriptor in (nothing, *aside):
        os.close(descriptor)
    _set_environment(asked["environment"])
    os.chdir(asked["directory"])
    del sys.path[0]
    sys.argv = ["", *asked["arguments"], ""]
    setproctitle(" ".join([*module_command(fork_server.SERVER), *asked["arguments"]]))
    leave(_fork_server.main(starter))


def _is_command(files: list[int]) -> bool:
    """Fork the command; whether this is it. The other one is its keeper, and has done its work."""
    set_adopts_orphans(True)
    pid = os.fork()
    if pid == 0:
        return True
    stdout, stderr, tells = files
    os.close(stdout)
    os.close(stderr)
    setproctitle(f"keeper of {pid}")
    with socket.socket(fileno=tells) as listener:
        listener.sendall(TOLD.pack(pid) + TOLD.pack(os.getpid()))
        _, status = os.waitpid(pid, 0)
        with suppress(OSError):  # nobody waits for it
            listener.sendall(TOLD.pack(status))
    with suppress(ChildProcessError):
        while True:
            os.wait()
    return False


def _become(request: Mapping[str, object], files: list[int]) -> None:
    """Take the place of a process that was started as this command."""
    for target, descriptor in zip((1, 2), files[:2], strict=True):
        os.dup2(descriptor, target)
    for descriptor in files:
        os.close(descriptor)
    environment, words = request["environment"], request["words"]
    assert isinstance(environment, dict)
    assert isinstance(words, list)
    _set_environment(environment)
    directory = str(request["directory"])
    os.chdir(directory)
    sys.path[0] = directory
    sys.argv = [str(command.__file__), *words]
    setproctitle(" ".join([sys.executable, "-m", command.__name__, *words]))
    importlib.invalidate_caches()


def _set_environment(environment: Mapping[str, str]) -> None:
    """Also where others look for it: in ``/proc``, which shows where the first one was put."""
    os.environ.clear()
    os.environ.update(environment)
    fields = Path("/proc/self/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    start, end = map(int, fields[47:49])
    shown = "".join(f"{key}={value}\0" for key, value in environment.items()).encode()
    assert len(shown) <= end - start, "ROOM is too small"
    ctypes.memset(start, 0, end - start)
    ctypes.memmove(start, shown, len(shown))


if __name__ == "__main__":
    main()
