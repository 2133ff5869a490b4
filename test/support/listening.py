# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""What really listens in the processes of a run, and how it differs from a plan."""

from __future__ import annotations

import re
import socket
from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, NamedTuple

#: Flag of a Unix socket that listens (__SO_ACCEPTCON).
_ACCEPTS = 1 << 16
#: Fast DDS opens so many ports of any number in each node, besides those of the ROS domain.
_FURTHER_DDS = 2


class Found(NamedTuple):
    """A socket at which something can come in; of Unix sockets the port is 0."""

    kind: str
    host: str
    port: int


def listening(processes: Iterable[int]) -> list[Found]:
    """All sockets of processes at which something can come in, each one once."""
    table = dict(_internet()) | dict(_unix())
    inodes = set()
    for process in processes:
        try:
            for name in Path(f"/proc/{process}/fd").iterdir():
                inode = re.fullmatch(r"socket:\[(\d+)\]", str(name.readlink()))
                if inode is not None:
                    inodes.add(inode[1])
        except OSError:
            continue  # ended, or closed, meanwhile
    return sorted(table[inode] for inode in inodes & set(table))


def _internet() -> Iterable[tuple[str, Found]]:
    for name, waiting in (("tcp", "0A"), ("tcp6", "0A"), ("udp", "07"), ("udp6", "07")):
        for line in Path(f"/proc/net/{name}").read_text().splitlines()[1:]:
            words = line.split()
            if words[3] == waiting:
                host, port = words[1].split(":")
                packed = b"".join(
                    bytes.fromhex(host[at : at + 8])[::-1] for at in range(0, len(host), 8)
                )
                family = socket.AF_INET if len(packed) == 4 else socket.AF_INET6
                shown = socket.inet_ntop(family, packed)
                yield words[9], Found(name[:3], shown, int(port, 16))


def _unix() -> Iterable[tuple[str, Found]]:
    for line in Path("/proc/net/unix").read_text().splitlines()[1:]:
        words = line.split()
        if int(words[3], 16) & _ACCEPTS:
            yield words[6], Found("unix", " ".join(words[7:]), 0)


def difference(
    planned: Sequence[dict[str, Any]], found: Sequence[Found], domain: int
) -> tuple[list[Any], list[Any]]:
    """(what is planned and does not listen, what listens and is not planned).

    :param planned: the ports of ``cosim plan --json``
    """
    left = list(found)
    nodes = [each for each in planned if each["use"] == "DDS"]
    missing = []
    # Those with a number first: one that may have any does not take their place.
    for each in sorted(planned, key=lambda port: port["port"] == 0):
        if each in nodes:
            continue
        wanted = each["kind"], each["host"], each["port"]
        match = next((at for at in left if _is(at, *wanted, domain)), None)
        if match is None:
            missing.append(each)
        else:
            left.remove(match)
    further = len(nodes) * _FURTHER_DDS
    of_nodes = []
    for at in left:
        if nodes and at.kind == "udp":
            if _of_domain(at.port, domain):
                of_nodes.append(at)
            elif further and at.host in {node["host"] for node in nodes}:
                further -= 1
                of_nodes.append(at)
    if sum(_of_domain(at.port, domain) for at in of_nodes) < 2 * len(nodes):
        missing += nodes
    return missing, [at for at in left if at not in of_nodes]


def _is(at: Found, kind: str, host: str, port: int, domain: int) -> bool:
    if kind != at.kind or not fnmatchcase(at.host, host):
        return False
    return at.port == port if port or kind == "unix" else not _of_domain(at.port, domain)


def _of_domain(port: int, domain: int) -> bool:
    return 7400 + 250 * domain <= port < 7650 + 250 * domain
