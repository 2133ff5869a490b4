# SPDX-License-Identifier: Apache-2.0
"""What the tests of all rooms share: isolation of ROS traffic, and a look for what is left."""

from __future__ import annotations

import os
import socket
import time
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from ros2_cosim.run.domain_lock import listened_to

# How long an example takes says nothing on a machine that does other work, too.
# Property tests take the same examples in every run, so that a change is judged by itself;
# ``HYPOTHESIS_PROFILE=explore`` looks for new ones.
settings.register_profile("project", deadline=None, derandomize=True)
settings.register_profile("explore", deadline=None)
settings.register_profile("quick", deadline=None, derandomize=True, max_examples=20)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "project"))

# Domains whose ports stay below the range that Linux hands out to clients.
ROS_DOMAINS = range(1, 102)

# Every process started by a test inherits this variable, however it is started.
MARK = "ROS2_COSIM_TEST_MARK"

# How long processes may take to end after the test that started them, and their files to go.
GRACE_SECONDS = 5.0


def _claim_domains(count: int) -> tuple[int, list[socket.socket]]:
    """Claim consecutive ROS domains that nobody else on this host uses; returns the first.

    The claims are sockets with abstract names: they exclude other claims, leave no file, and
    end with this process at the latest.
    """
    claims: list[socket.socket] = []
    for domain in ROS_DOMAINS:
        claim = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        claims.append(claim)
        try:
            claim.bind(f"\0ros2_cosim-test-domain-{domain}")
            free = not listened_to(domain)
        except OSError:
            free = False
        if not free:
            _close(claims)
            claims = []
        elif len(claims) == count:
            return domain - count + 1, claims
    _close(claims)
    raise RuntimeError(
        f"no {count} free ROS domains side by side among {ROS_DOMAINS[0]}..{ROS_DOMAINS[-1]}"
    )


def _close(sockets: list[socket.socket]) -> None:
    for each in sockets:
        each.close()


def _use_domains(monkeypatch: pytest.MonkeyPatch, directory: Path, count: int) -> Iterator[int]:
    domain, claims = _claim_domains(count)
    monkeypatch.setenv("ROS_DOMAIN_ID", str(domain))
    monkeypatch.setenv("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST")
    monkeypatch.delenv("ROS_LOCALHOST_ONLY", raising=False)
    monkeypatch.setenv("ROS_LOG_DIR", str(directory / "ros-log"))
    try:
        yield domain
    finally:
        _close(claims)


@pytest.fixture
def ros_domain(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[int]:
    """A ROS domain of the test's own, set in the environment; yields its number.

    Discovery stays on this host, and logs go to the test's temporary directory.
    """
    yield from _use_domains(monkeypatch, tmp_path, 1)


@pytest.fixture
def ros_domains(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[int]:
    """The same with the two domains above it, for what runs side by side; yields the first."""
    yield from _use_domains(monkeypatch, tmp_path, 3)


def _marked_processes(mark: str) -> dict[int, str]:
    """Return the other living processes that carry the mark: process id -> command line."""
    needle = f"{MARK}={mark}".encode()
    found = {}
    for directory in Path("/proc").glob("[0-9]*"):
        try:
            if needle not in (directory / "environ").read_bytes().split(b"\0"):
                continue
            command = (directory / "cmdline").read_bytes().replace(b"\0", b" ").decode().strip()
            state = (directory / "stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            continue  # ended meanwhile, or another user's
        if state != "Z" and int(directory.name) != os.getpid():
            found[int(directory.name)] = command
    return found


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
        processes = _marked_processes(mark)
        files = _shared_memory() - before
        if files:
            files -= _mapped_shared_memory()
        if not processes and not files:
            return
        if time.monotonic() > deadline:
            break
        time.sleep(0.05)
    for process in processes:
        try:
            os.kill(process, 9)
        except ProcessLookupError:
            pass
    complaints = [f"process {number} still runs: {text}" for number, text in processes.items()]
    complaints += [f"left in shared memory: {name}" for name in sorted(files)]
    pytest.fail("the test left something behind:\n" + "\n".join(complaints))
