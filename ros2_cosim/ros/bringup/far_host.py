# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The process of a run that stands for another host: what is there ends with it, and it with that.

It reaches the host by a command, as a rule ssh, whose input and output are the connection; or it
waits until a part that was started there by hand reaches it.
"""

from __future__ import annotations

import os
import queue
import shlex
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from types import FrameType

from ros2_cosim import __version__
from ros2_cosim.core.documents.files import cause_of, in_words
from ros2_cosim.core.documents.run_files import RESOLVED_SCENARIO
from ros2_cosim.core.kernel.errors import CosimError, RunError
from ros2_cosim.core.process.processes import end_with_parent
from ros2_cosim.core.process.seal import RUN_SECRET, secret_of
from ros2_cosim.core.scenario.host_settings import HostSettings
from ros2_cosim.core.scenario.schema import load_scenario
from ros2_cosim.core.sockets.peers import ADMISSION
from ros2_cosim.ros.bringup.far_link import (
    Ended,
    EndPart,
    FarLine,
    FarLink,
    Joined,
    LinkError,
    Part,
    PartFailed,
    greet,
)
from ros2_cosim.ros.bringup.far_news import News
from ros2_cosim.ros.bringup.far_plan import own_address_towards, read_part
from ros2_cosim.ros.bringup.starter_channel import EarlyLeave, Required, Starter

#: What the part runs there.
MODULE = "ros2_cosim.cli.main"
COMMAND = "join"
#: Nothing asks on a terminal, which a run does not have; a network that is cut is noticed.
_SSH = ("ssh", "-T", "-o", "BatchMode=yes", "-o", "ServerAliveInterval=5")
_POLL_S = 0.05
#: How long the part may take to end in order [s]; less than the starter gives this process.
_END_S = 5.0
#: How long the last words of a command that failed may take [s].
_WORDS_S = 1.0
#: What is passed on of the environment, where it is set.
_PASSED_ON = ("ROS_DOMAIN_ID", RUN_SECRET, "RMW_IMPLEMENTATION")
#: So many connections are greeted at one time, and wait for it; of more the oldest has to go.
_BACKLOG = 8


class _Asked(Exception):
    """The run asks this process to end."""


def attend(directory: Path, host: str) -> int:
    """Stand for a host until the run ends it.

    :param directory: output directory of the run
    :returns: the exit code: 1 if the part of the host failed
    """
    starter = Starter(host, directory)
    stop = _Stop()
    try:
        prepared = read_part(directory, host)
        scenario = load_scenario(directory / RESOLVED_SCENARIO)
        part = prepared.model_copy(
            update={
                "scenario": (directory / RESOLVED_SCENARIO).read_text(encoding="utf-8"),
                "environment": {n: os.environ[n] for n in _PASSED_ON if n in os.environ},
            }
        )
        settings = scenario.hosts[host]
        reach = _by_hand if settings.start == "hand" else _by_command
        with reach(part, settings, stop) as link:
            _serve(link, part, starter, stop)
    except _Asked:
        return 0
    except (CosimError, OSError) as error:
        if stop.asked:
            return 0
        starter.failed(f"host '{host}': {in_words(error)}")
        return 1
    return 0


class _Stop:
    """Whether the run has asked this process to end; by a handler of SIGINT and SIGTERM."""

    def __init__(self) -> None:
        self.asked = False
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self._ask)

    def _ask(self, number: int, frame: FrameType | None) -> None:
        self.asked = True


def _serve(link: FarLink, part: Part, starter: Starter, stop: _Stop) -> None:
    """Have the part run; returns when it has ended on request.

    :raises RunError: it failed
    :raises LinkError: the host has gone
    """
    _await_joined(link, stop)
    link.send(part)
    news = News(starter, link)
    deadline: float | None = None
    while deadline is None or time.monotonic() < deadline:
        for message in link.receive(_POLL_S):
            if isinstance(message, FarLine):
                print(f"[{message.process}] {message.text}", flush=True)
            elif isinstance(message, EarlyLeave | Required):
                news.take(message)
            elif isinstance(message, PartFailed) and deadline is None:
                raise RunError(message.reason)
            elif isinstance(message, Ended):
                return
        _print_others(link)
        if deadline is None:
            news.pass_on()
            if stop.asked:
                link.send(EndPart())
                deadline = time.monotonic() + _END_S


def _await_joined(link: FarLink, stop: _Stop) -> None:
    """Wait for the first message of the part.

    :raises RunError: it has another version
    """
    while True:
        for message in link.receive(_POLL_S):
            if isinstance(message, Joined):
                if message.version != __version__:
                    raise RunError(
                        f"found ros2_cosim {message.version} there; allowed is {__version__}, "
                        "as here"
                    )
                return
            raise RunError("the program there is not a part of a run")
        _print_others(link)
        if stop.asked:
            raise _Asked


def _print_others(link: FarLink) -> None:
    for line in link.others():
        print(line, flush=True)


def part_command(settings: HostSettings) -> list[str]:
    """The command line by which the part of a host is started from here."""
    there = [settings.python or sys.executable, "-m", MODULE, COMMAND]
    if settings.through is not None:
        return [*shlex.split(settings.through), *there]
    name = f"{settings.user}@{settings.address}" if settings.user else settings.address
    # ssh gives all words, joined, to a shell there.
    return [*_SSH, name, *map(shlex.quote, there)]


@contextmanager
def _by_command(part: Part, settings: HostSettings, stop: _Stop) -> Iterator[FarLink]:
    """The connection through a command.

    :raises RunError: the command ends before its time; its last words say why
    """
    words = part_command(settings)
    try:
        command = subprocess.Popen(
            words,
            env=_plain(os.environ),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
            preexec_fn=partial(end_with_parent, os.getpid()),
        )
    except OSError as error:
        raise RunError(f"{words[0]}: {cause_of(error)}") from None
    assert command.stdin is not None and command.stdout is not None
    said = _Said(command)
    try:
        yield FarLink(command.stdout.fileno(), command.stdin.fileno())
    except LinkError as error:
        raise RunError(f"{error}{said.at_end()}") from None
    finally:
        # The end of its input ends the part, also where it hears nothing else.
        command.stdin.close()
        try:
            command.wait(_END_S)
        except subprocess.TimeoutExpired:
            command.kill()
            command.wait()
        command.stdout.close()


def _plain(environment: Mapping[str, str]) -> dict[str, str]:
    """Without what belongs to the run here, which a command on this machine would pass on."""
    return {
        name: value
        for name, value in environment.items()
        if not name.startswith(("COSIM_", "FASTRTPS_", "ROS_"))
    }


class _Said:
    """What a command prints beside the connection: passed on, and the last line is kept."""

    def __init__(self, command: subprocess.Popen[bytes]) -> None:
        self._command = command
        self._last = ""
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        assert self._command.stderr is not None
        for raw in self._command.stderr:
            line = raw.decode(errors="replace").rstrip()
            if line:
                self._last = line
                print(line, file=sys.stderr, flush=True)
        self._command.stderr.close()

    def at_end(self) -> str:
        """How the command ended, behind what else is said; empty: it still runs."""
        try:
            code = self._command.wait(_WORDS_S)
        except subprocess.TimeoutExpired:
            return ""
        self._thread.join(_WORDS_S)
        words = shlex.join(map(str, self._command.args))  # type: ignore[arg-type]
        return f"; '{words}' ended with exit code {code}: {self._last or 'it printed nothing'}"


@contextmanager
def _by_hand(part: Part, settings: HostSettings, stop: _Stop) -> Iterator[FarLink]:
    """The connection that the part makes.

    :raises RunError: the port is in use
    :raises _Asked: the run ends before the part has come
    """
    own = own_address_towards(part.own, part.host)
    with socket.socket() as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((own, settings.port))
        except OSError as error:
            raise RunError(f"port {settings.port} on {own}: {cause_of(error)}") from None
        listener.listen(_BACKLOG)
        listener.settimeout(_POLL_S)
        port = listener.getsockname()[1]
        secret = secret_of()
        print(
            f"start the part of host '{part.host}' there with: "
            f"{RUN_SECRET}={secret} cosim {COMMAND} {own}:{port} {part.host}",
            flush=True,
        )
        connection, link = _accepted(listener, secret, part.host, stop)
    with connection:
        yield link


def _accepted(
    listener: socket.socket, secret: str, host: str, stop: _Stop
) -> tuple[socket.socket, FarLink]:
    """The first connection of a part of this run.

    Each one is greeted in its own thread: one that says nothing keeps no other out.
    """
    found: queue.SimpleQueue[tuple[socket.socket, FarLink]] = queue.SimpleQueue()
    greeted: deque[socket.socket] = deque()
    try:
        while not stop.asked:
            with suppress(TimeoutError):
                connection = listener.accept()[0]
                if not ADMISSION.admits(connection):
                    connection.close()
                    continue
                greeted.append(connection)
                work = partial(_greet, greeted[-1], secret, host, found)
                threading.Thread(target=work, daemon=True).start()
            if len(greeted) > _BACKLOG:
                _part_with(greeted.popleft())
            with suppress(queue.Empty):
                connection, link = found.get_nowait()
                if connection in greeted:
                    greeted.remove(connection)
                    return connection, link
                connection.close()
        raise _Asked
    finally:
        for connection in greeted:
            _part_with(connection)


def _greet(
    connection: socket.socket,
    secret: str,
    host: str,
    found: queue.SimpleQueue[tuple[socket.socket, FarLink]],
) -> None:
    """Greet one connection; closes it unless it is one of the part."""
    try:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        found.put((connection, greet(connection, secret, host, is_part=False)))
    except (LinkError, OSError) as error:
        print(f"refused a connection: {in_words(error)}", flush=True)
        connection.close()


def _part_with(connection: socket.socket) -> None:
    """End a connection; the thread that greets it closes it."""
    with suppress(OSError):  # it is closed already
        connection.shutdown(socket.SHUT_RDWR)
