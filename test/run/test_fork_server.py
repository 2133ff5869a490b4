# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Processes that are copies of the fork server."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.patience import HANG_S
from support.ports import free_port

from ros2_cosim.core.kernel.errors import RunError
from ros2_cosim.core.process.processes import adopts_orphans
from ros2_cosim.core.sockets.inherited import hold
from ros2_cosim.ros.bringup.fork_server import AdoptedProcess, ForkServer

#: Guards against hanging only.
PROGRAM = """
import ctypes, os, signal, sys, threading, time

def main():
    what = sys.argv[1]
    if what == "tell":
        print(os.getppid(), os.environ["OWN"], sys.argv[1:], os.getsid(0) == os.getpid())
        print(open("/proc/self/cmdline").read(), file=sys.stderr)
    elif what == "name":
        name = ctypes.c_char_p.in_dll(ctypes.CDLL(None), "program_invocation_name")
        print(name.value.decode())
    elif what == "thread":
        threading.Thread(target=lambda: (time.sleep(0.1), print("from a thread"))).start()
    elif what == "code":
        return 7
    elif what == "exit":
        sys.exit("a reason")
    elif what == "raise":
        raise ValueError("wrong")
    elif what == "serve":
        from ros2_cosim.core.sockets.endpoints import open_listener
        listener = open_listener(sys.argv[2], int(sys.argv[3]))
        listener.setblocking(True)
        print("listens", flush=True)
        listener.accept()[0].sendall(b"served")
    elif what == "wait":
        print("waits", flush=True)
        time.sleep(600)
"""


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    directory = tmp_path_factory.mktemp("program")
    (directory / "program.py").write_text(PROGRAM)
    path = os.pathsep.join([str(directory), os.environ.get("PYTHONPATH", "")])
    return {**os.environ, "PYTHONPATH": path, "OWN": "a value"}


@pytest.fixture(scope="module")
def server(environment: dict[str, str]) -> Iterator[ForkServer]:
    with ForkServer(environment, ["program"]) as server:
        yield server


def printed(process: AdoptedProcess) -> str:
    assert process.stdout is not None
    with process.stdout as output:
        return output.read().decode()


def test_a_wrong_definition_is_left_to_the_node_that_reads_it(
    environment: dict[str, str], tmp_path: Path
) -> None:
    definition = tmp_path / "share" / "std_msgs" / "msg" / "Header.msg"
    definition.parent.mkdir(parents=True)
    definition.write_text("no definition\n")
    index = tmp_path / "share" / "ament_index" / "resource_index" / "packages" / "std_msgs"
    index.parent.mkdir(parents=True)
    index.touch()
    overlay = {**environment, "AMENT_PREFIX_PATH": str(tmp_path)}
    with ForkServer(overlay, ["program"]) as server:
        assert server.start("program", ["code"]).wait(HANG_S) == 7


def test_a_process_is_a_child_of_its_starter_with_a_name_of_its_own(server: ForkServer) -> None:
    process = server.start("program", ["tell", "two words"])
    lines = sorted(printed(process).splitlines(), key=lambda line: "-m program" in line)
    assert lines[0] == f"{os.getpid()} a value ['tell', 'two words'] True"
    assert lines[1].strip().rstrip("\0").endswith("-m program tell two words")
    assert process.wait(HANG_S) == 0
    assert process.poll() == 0


def test_the_log_file_of_a_process_has_the_name_of_its_module(server: ForkServer) -> None:
    """That of rcl, which takes the C library's name of the program."""
    process = server.start("program", ["name", '/a/scenario.json" -p participant:="world"'])
    assert printed(process) == "program\n"
    assert process.wait(HANG_S) == 0


@pytest.mark.parametrize(
    ("what", "code", "words"),
    [
        ("thread", 0, "from a thread"),
        ("code", 7, ""),
        ("exit", 1, "a reason"),
        ("raise", 1, "ValueError: wrong"),
    ],
)
def test_it_ends_like_a_process_of_its_own(
    server: ForkServer, what: str, code: int, words: str
) -> None:
    process = server.start("program", [what])
    assert printed(process).strip().endswith(words)
    assert process.wait(HANG_S) == code


def test_a_signal_that_ends_it_is_told(server: ForkServer) -> None:
    process = server.start("program", ["wait"])
    assert process.stdout is not None
    assert process.stdout.readline() == b"waits\n"
    assert process.poll() is None
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(0.0)
    os.killpg(process.pid, signal.SIGKILL)
    assert process.wait(HANG_S) == -signal.SIGKILL
    process.stdout.close()


def test_it_takes_over_sockets_that_are_held_for_it(server: ForkServer) -> None:
    port = free_port()
    held = hold("tcp", "127.0.0.1", port)
    process = server.start("program", ["serve", "127.0.0.1", str(port)], [held])
    # Only a process that has the socket itself can listen there.
    assert process.stdout is not None
    assert process.stdout.readline() == b"listens\n"
    held.sock.close()
    with socket.create_connection(("127.0.0.1", port), HANG_S) as client:
        assert client.recv(100) == b"served"
    assert process.wait(HANG_S) == 0
    process.stdout.close()
    # The server itself has kept nothing open.
    with socket.socket() as again:
        again.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        again.bind(("127.0.0.1", port))


def test_many_of_them_are_not_ended_by_their_start(server: ForkServer) -> None:
    # A process asks for a signal at its starter's end: not before it is the starter's child.
    processes = [server.start("program", ["thread"]) for _ in range(40)]
    assert {printed(process) for process in processes} == {"from a thread\n"}
    assert {process.wait(HANG_S) for process in processes} == {0}


def test_it_ends_with_its_starter(environment: dict[str, str], nothing_left: None) -> None:
    starter = """
import os, sys, time
from ros2_cosim.ros.bringup.fork_server import ForkServer
with ForkServer(os.environ, ["program"]) as server:
    process = server.start("program", ["wait"])
    process.stdout.readline()
    print("ready", flush=True)
    time.sleep(600)
"""
    with subprocess.Popen(
        [sys.executable, "-c", starter],
        env={**environment, **os.environ, "PYTHONPATH": environment["PYTHONPATH"]},
        stdout=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        process.kill()
    # The fixture finds what is left.


def test_orphans_go_elsewhere_again_afterwards(environment: dict[str, str]) -> None:
    before = adopts_orphans()
    with ForkServer(environment, []), ForkServer(environment, []):
        assert adopts_orphans()
    assert adopts_orphans() is before


def test_a_server_that_cannot_start_says_why(environment: dict[str, str]) -> None:
    with (
        ForkServer({**environment, "PYTHONHOME": "/nonexistent"}, []) as server,
        pytest.raises(RunError, match=r"^fork server: it has ended: .*encodings"),
    ):
        server.start("program", ["tell"])
