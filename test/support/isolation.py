# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Fixtures of all tests: ROS domains of their own, and a look for what a test leaves behind.

Nodes of tests have the DDS settings of a run: those that a discovery range would bring keep files
in shared memory, which stay when a process is killed, and look for one another less often.

Tests of a package without the wing ``ros`` have this module, too; so it is imported where it is
needed.
"""

from __future__ import annotations

import gc
import os
import re
import time
import uuid
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from support.patience import HANG_S
from support.processes import kill, marked_processes

# Every process started by a test inherits this variable, however it is started.
MARK = "ROS2_COSIM_TEST_MARK"

#: Domains of the test under way, or of the last one that had any.
_domains = range(0)
#: Fast DDS names the ports of a domain in shared memory by their numbers, as DDS counts them.
_PORT = re.compile(r"fastrtps_port(\d+)")
_FIRST_PORT, _PORTS_OF_DOMAIN = 7400, 250

# How long processes may take to end after the test that started them, and their files to go.
GRACE_SECONDS = 5.0


def without_dds_settings(environment: Mapping[str, str]) -> dict[str, str]:
    """The environment of a user who chose no DDS settings: a run then takes its own."""
    from ros2_cosim.ros.bringup.dds import USER_CHOICES

    # Not by items(): pytest sets and removes a variable while runs of a module's threads begin.
    found = ((name, environment.get(name)) for name in environment if name not in USER_CHOICES)
    return {name: value for name, value in found if value is not None}


def drop_dds_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take the DDS settings of the fixtures below out of this process's environment."""
    from ros2_cosim.ros.bringup.dds import USER_CHOICES

    for name in USER_CHOICES:
        monkeypatch.delenv(name, raising=False)


def _use_domains(monkeypatch: pytest.MonkeyPatch, directory: Path, count: int) -> Iterator[int]:
    from support.warm import start_fork_server

    from ros2_cosim.ros.bringup import fork_server
    from ros2_cosim.ros.bringup.dds import loopback_environment
    from ros2_cosim.ros.bringup.domain_lock import claim

    global _domains
    with claim(count) as domain:
        _domains = range(domain, domain + count)
        drop_dds_settings(monkeypatch)
        monkeypatch.setenv("ROS_DOMAIN_ID", str(domain))
        monkeypatch.setenv("ROS_LOG_DIR", str(directory / "ros-log"))
        settings = directory / "dds"
        settings.mkdir()
        for name, value in loopback_environment(os.environ, settings).items():
            monkeypatch.setenv(name, value)
        # A run in this process has one without starting Python.
        monkeypatch.setattr(fork_server, "start_server", start_fork_server)
        yield domain
        leave(_domains)


def leave(domains: range) -> None:
    """Fail the test if nodes stay in domains that the next test may get.

    The middleware gives a node up when the last object that belongs to it is gone.
    """
    from ros2_cosim.ros.bringup.domain_lock import listened_to

    deadline = time.monotonic() + HANG_S / 4
    while used := [domain for domain in domains if listened_to(domain)]:
        if time.monotonic() > deadline:
            pytest.fail(f"nodes of the test are left in ROS domains {used}")
        gc.collect()
        time.sleep(0.05)


@pytest.fixture
def ros_domain(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[int]:
    """A ROS domain of the test's own, set in the environment; yields its number.

    Messages stay on this host, and logs go to the test's temporary directory.
    """
    yield from _use_domains(monkeypatch, tmp_path, 1)


@pytest.fixture
def ros_domains(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[int]:
    """The same with the two domains above it, for runs side by side; yields the first."""
    yield from _use_domains(monkeypatch, tmp_path, 3)


def _shared_memory() -> set[str]:
    """Return the names of this user's Fast DDS files in shared memory."""
    names = set()
    for entry in os.scandir("/dev/shm"):
        try:
            own = entry.stat(follow_symlinks=False).st_uid == os.getuid()
        except OSError:
            continue
        if own and "fastrtps" in entry.name:
            names.add(entry.name)
    return names


def _is_of_another_test(name: str) -> bool:
    """Whether a file is of a domain that this process has not claimed."""
    port = _PORT.search(name)
    return port is not None and (int(port[1]) - _FIRST_PORT) // _PORTS_OF_DOMAIN not in _domains


def _mapped_shared_memory() -> set[str]:
    """Return the names of the files in shared memory that living processes have in use."""
    names = set()
    for directory in Path("/proc").glob("[0-9]*"):
        try:
            lines = (directory / "maps").read_text(errors="replace").splitlines()
            opened = [os.readlink(link) for link in (directory / "fd").iterdir()]
        except OSError:
            continue
        for text in [*lines, *opened]:
            _, found, name = text.partition("/dev/shm/")
            if found:
                names.add(name)
    return names


def _left_since(before: set[str]) -> set[str]:
    """Return what no living process uses of the files that were not there before.

    The test may have claimed a domain in which others have left files before.
    """
    files = {name for name in _shared_memory() - before if not _is_of_another_test(name)}
    return files - _mapped_shared_memory() if files else files


@pytest.fixture
def nothing_left(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Fail the test if a process it started outlives it, or a Fast DDS shared memory file.

    Processes are recognised by a variable they inherit, so that neither a new session nor the
    death of their parent hides them. A file counts if it is new and no living process uses it:
    sessions side by side do not disturb each other. Survivors are killed.
    """
    mark = uuid.uuid4().hex
    monkeypatch.setenv(MARK, mark)
    before = _shared_memory()
    yield
    deadline = time.monotonic() + GRACE_SECONDS
    while True:
        processes = marked_processes(MARK, mark)
        files = _left_since(before)
        if not processes and not files:
            return
        if time.monotonic() > deadline:
            break
        time.sleep(0.05)
    kill(processes)
    complaints = [f"process {number} still runs: {text}" for number, text in processes.items()]
    complaints += [f"left in shared memory: {name}" for name in sorted(files)]
    pytest.fail("the test left something behind:\n" + "\n".join(complaints))
