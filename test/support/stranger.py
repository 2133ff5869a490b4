# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""A program of another user of this machine, and the ports that it finds there."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from support.patience import HANG_S

USER = 65534
LOOPBACK = "127.0.0.1"
#: As ``setpriv --reuid=65534 --regid=65534 --clear-groups`` does, behind the imports: the
#: interpreter may lie where the other user cannot read.
BECOME = f"""
import os
os.setgroups([]); os.setresgid({USER}, {USER}, {USER}); os.setresuid({USER}, {USER}, {USER})
"""
_TALK = """
import json, socket, sys
become
for line in sys.stdin:
    kind, host, port, data, enough, last, wait_s = json.loads(line)
    answer, closed, last = b"", False, bytes.fromhex(last)
    if host.startswith("@"):
        family, address = socket.AF_UNIX, chr(0) + host[1:]
    else:
        family, address = socket.AF_INET6 if ":" in host else socket.AF_INET, (host, port)
    with socket.socket(family, socket.SocketKind[kind]) as sock:
        sock.settimeout(wait_s)
        try:
            sock.connect(address)
            sock.sendall(bytes.fromhex(data))
            while len(answer) < enough and not (last and last in answer):
                part = sock.recv(65536)
                answer += part
                if not part:
                    closed = True
                    break
        except TimeoutError:
            pass
        except OSError:
            closed = True
    print(json.dumps([answer.hex(), closed]), flush=True)
"""


class Said(NamedTuple):
    """What came back, and whether the other side has closed the connection."""

    answer: bytes
    closed: bool


class Program:
    """Sends bytes to ports."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def tcp(
        self,
        port: int,
        data: bytes,
        enough: int = 1_000_000,
        wait_s: float = HANG_S,
        host: str = LOOPBACK,
        last: bytes = b"",
    ) -> Said:
        """Connect, send, and take what comes until the end, or until that is enough bytes.

        :param wait_s: for each part of it
        :param last: what the last answer holds; if empty, that is not known
        """
        return self._say("SOCK_STREAM", host, port, data, enough, last.hex(), wait_s)

    def udp(self, port: int, data: bytes, wait_s: float = HANG_S, host: str = LOOPBACK) -> Said:
        """Send a datagram, and wait for one as answer."""
        return self._say("SOCK_DGRAM", host, port, data, 1, "", wait_s)

    def unix(self, name: str, data: bytes, *, in_packets: bool) -> Said:
        """Connect with a socket of an abstract name (``@NAME``), send, and take what comes."""
        kind = "SOCK_SEQPACKET" if in_packets else "SOCK_STREAM"
        return self._say(kind, name, 0, data, 1, "", HANG_S)

    def _say(self, kind: str, host: str, port: int, data: bytes, *limits: str | float) -> Said:
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(json.dumps([kind, host, port, data.hex(), *limits]) + "\n")
        self._process.stdin.flush()
        answer, closed = json.loads(self._process.stdout.readline())
        return Said(bytes.fromhex(answer), closed)


@contextmanager
def program(of_another_user: bool = True) -> Iterator[Program]:
    """A program of another user, or of this one."""
    if of_another_user and os.getuid() != 0:
        pytest.skip("a second user: only root can become one")
    script = _TALK.replace("become", BECOME if of_another_user else "")
    command = [sys.executable, "-I", "-S", "-c", script]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        yield Program(process)
    finally:
        process.communicate(timeout=HANG_S)


class Port(NamedTuple):
    """A port of a process: ``tcp`` if it listens there, or ``udp``."""

    kind: str
    number: int
    process: int


def ports_of(processes: Iterable[int]) -> list[Port]:
    """The ports of processes over IPv4, in the order of their numbers."""
    inodes: dict[str, tuple[str, int]] = {}
    for kind, listening in (("tcp", "0A"), ("udp", "07")):
        for line in Path(f"/proc/net/{kind}").read_text().splitlines()[1:]:
            words = line.split()
            if words[3] == listening:
                inodes[words[9]] = kind, int(words[1].rpartition(":")[2], 16)
    found = set()
    for process in processes:
        for name in Path(f"/proc/{process}/fd").iterdir():
            try:
                inode = re.fullmatch(r"socket:\[(\d+)\]", str(name.readlink()))
            except OSError:
                continue  # closed meanwhile
            if inode is not None and inode[1] in inodes:
                found.add(Port(*inodes[inode[1]], process))
    return sorted(found)


def descendants(process: int) -> list[int]:
    """A process, its children, and theirs."""
    parents: dict[int, list[int]] = {}
    for directory in Path("/proc").glob("[0-9]*"):
        try:
            parent = int((directory / "stat").read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue  # ended meanwhile
        parents.setdefault(parent, []).append(int(directory.name))
    found = [process]
    for each in found:
        found += parents.get(each, [])
    return found


def http(method: str, path: str, port: int, body: Any = None) -> bytes:
    """A request to a server of HTTP, after which the connection ends."""
    data = b"" if body is None else json.dumps(body).encode()
    head = f"{method} {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\n"
    head += f"Content-Type: application/json\r\nContent-Length: {len(data)}\r\n\r\n"
    return head.encode() + data
