# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""One run at a time in a namespace of a ROS domain: two would read each other's topics.

Three things are held, and both end with the process that holds them:

- a *claim* keeps a whole domain for one process and for those that it starts: a study with many
  runs, or a session of tests. It is a socket with an abstract name, which leaves no file behind.
- a *place* is the same for one run: its domain and namespace. What takes one of the two looks for
  the other kind afterwards, so that of two that come at the same time at least one gives way.
- the *lock* of a place belongs to one run. Its file says what others need to talk to the run; it
  lies where only this user can make and read files (:mod:`ros2_cosim.core.run.private_directory`).
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import socket
import time
from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import NamedTuple

from pydantic import ValidationError

from ros2_cosim.core.documents.settings import Section, fault_text
from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.messages.namespaces import ROOT, in_words
from ros2_cosim.core.run.private_directory import (
    PrivateDirectory,
    private_directories,
    private_directory,
    read_text,
    write_text,
)
from ros2_cosim.core.sockets.peers import peer_of

_FILE = "domain_{}.lock"
#: Versions without namespaces do not find it; they would not understand its content.
_FILE_OF_PLACE = "namespace_{}{}.lock"
_CLAIM = "\0ros2_cosim-domain-{}"
_PLACE = "\0ros2_cosim-run-{}{}"
#: Linux lists sockets here; an abstract name begins with @.
_SOCKETS = Path("/proc/net/unix")
#: Its tables of UDP sockets.
_UDP_TABLES = (Path("/proc/net/udp"), Path("/proc/net/udp6"))
#: Each look at the owner of a claim takes one place; more than the system allows is cut down.
_CLAIM_BACKLOG = 4096
_ATTEMPTS = 5
#: The last domain whose ports lie below those that Linux hands out to clients.
_LAST_DOMAIN = 101
#: Domains that are taken when no domain was requested: 0 is what a user gets without a choice.
FREE_DOMAINS = range(1, _LAST_DOMAIN + 1)
_HIGHEST_DOMAIN = 232


class ActiveRun(NamedTuple):
    """A run on this machine: its ROS domain, namespace, scenario, output and DDS settings.

    ``secret`` seals its coordination messages (:mod:`ros2_cosim.core.process.seal`).
    """

    domain: int
    scenario: str
    output: Path
    environment: dict[str, str]
    secret: str
    namespace: str = ROOT

    @property
    def place(self) -> str:
        """Where it is, for a message."""
        return f"ROS domain {self.domain}{in_words(self.namespace)}"


class _Facts(Section):
    """What a lock file says."""

    domain: int
    namespace: str = ROOT
    scenario: str
    output: str
    environment: dict[str, str]
    secret: str


class HeldPlace:
    """A namespace of a ROS domain that a run holds; others find the run once it is announced.

    :param domain: the number of the domain
    :param namespace: in it
    :param file: descriptor of the lock file
    """

    def __init__(self, domain: int, namespace: str, file: int) -> None:
        self.domain = domain
        self._namespace = namespace
        self._file = file

    def announce(
        self,
        scenario: str,
        output: Path = Path(),
        environment: Mapping[str, str] | None = None,
        secret: str = "",
    ) -> None:
        """Let others find the run (:func:`active_runs`); what they read of it has to be there.

        :param output: its directory, with the scenario in it
        :param environment: DDS settings that others need to talk to the run
        :param secret: that seals the coordination messages of the run
        """
        facts = _Facts(
            domain=self.domain,
            namespace=self._namespace,
            scenario=scenario,
            output=str(output.absolute()),
            environment=dict(environment or {}),
            secret=secret,
        )
        write_text(self._file, facts.model_dump_json(exclude_defaults=True))


@contextlib.contextmanager
def domain_lock(
    domains: Sequence[int] | None = None, *, namespace: str = ROOT
) -> Iterator[HeldPlace]:
    """Hold a namespace of a ROS domain for a run.

    :param domains: the first of them that is free is taken; None: only the domain of this
        process (``ROS_DOMAIN_ID``, 0 by default)
    :param namespace: of the run
    :raises ConfigurationError: other programs on this machine use all of them, or the lock file
        cannot be used
    """
    with contextlib.ExitStack() as stack:
        domain, file = _taken(stack, domains or (own_domain(),), namespace)
        # It may still name a run that was killed.
        write_text(file, "")
        yield HeldPlace(domain, namespace, file)
        write_text(file, "")


@contextlib.contextmanager
def claim(count: int = 1, among: Sequence[int] = FREE_DOMAINS) -> Iterator[int]:
    """Keep ROS domains for this process and for those that it starts; yields the first.

    For programs that make runs rather than being one: they put the number into
    ``ROS_DOMAIN_ID`` of what they start.

    :param count: how many domains side by side
    :param among: consecutive domains to choose from
    :raises ConfigurationError: there are not so many free ones side by side
    """
    for start in range(len(among) - count + 1):
        wanted = among[start : start + count]
        with contextlib.ExitStack() as stack:
            if all(_bound(stack, _CLAIM.format(d)) and _is_free(d) for d in wanted):
                yield wanted[0]
                return
    raise ConfigurationError(
        f"there are no {count} free ROS domains side by side from {among[0]} to {among[-1]}"
    )


def _taken(
    stack: contextlib.ExitStack, candidates: Sequence[int], namespace: str
) -> tuple[int, int]:
    """Take the first place that is free, for as long as the stack lasts, with its lock file."""
    directory = stack.enter_context(private_directory())
    for domain in candidates:
        with contextlib.ExitStack() as attempt:
            if not _bound(attempt, _PLACE.format(domain, namespace)):
                continue
            if _claimant(domain) not in (None, *_own_line()):
                continue
            # A domain that was not asked for must be free of all programs, not just of runs.
            if domain != candidates[0] and listened_to(domain):
                continue
            name = _file_of(domain, namespace)
            file = attempt.enter_context(directory.opened(name, create=True))
            if _locked(file):
                stack.push(attempt.pop_all())
                return domain, file
    if len(candidates) > 1:
        raise ConfigurationError(
            f"other programs use all of {len(candidates)} ROS domains; wait for them"
        )
    raise ConfigurationError(
        f"another run uses ROS domain {candidates[0]}{in_words(namespace)}; wait for it, or give "
        "this one another place with --namespace, or with ROS_DOMAIN_ID from 0 to "
        f"{_LAST_DOMAIN}"
    )


def _bound(stack: contextlib.ExitStack, name: str) -> bool:
    """Take an abstract name for as long as the stack lasts; whether that was possible."""
    claim = stack.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM))
    try:
        claim.bind(name)
    except OSError:
        return False
    claim.listen(_CLAIM_BACKLOG)
    return True


def _claimant(domain: int) -> int | None:
    """The process that has claimed a domain; None: none has, 0: one that cannot be seen."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.setblocking(False)
        try:
            probe.connect(_CLAIM.format(domain))
            return peer_of(probe).process
        except OSError:
            return None


def _own_line() -> Iterator[int]:
    """This process, the one that started it, and so on."""
    pid = os.getpid()
    while pid > 0:
        yield pid
        try:
            stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
        except OSError:
            return
        pid = int(stat.rpartition(")")[2].split()[1])


def _is_free(domain: int) -> bool:
    """Whether neither a run nor another program uses a domain."""
    return not listened_to(domain) and not _has_place(domain)


def _has_place(domain: int) -> bool:
    """Whether a run, of any user, has a place in a domain."""
    start = _PLACE.format(domain, ROOT)[1:]
    lines = _SOCKETS.read_text(encoding="utf-8", errors="replace").splitlines()
    return any(line.partition("@")[2].startswith(start) for line in lines)


def _file_of(domain: int, namespace: str) -> str:
    """The name of the lock file of a place."""
    if namespace == ROOT:
        return _FILE.format(domain)
    return _FILE_OF_PLACE.format(domain, namespace.replace("/", "."))


def domains_from(first: int) -> tuple[int, ...]:
    """``first`` and what may be taken instead: those above it, then those from 1 on."""
    others = (*range(first + 1, _LAST_DOMAIN + 1), *range(1, min(first, _LAST_DOMAIN + 1)))
    return (first, *others)


def listened_to(domain: int) -> bool:
    """Whether a program takes part in a domain, also one that is not of this project.

    It listens to announcements on port 7400 + 250 * domain, and the first participant of a host on
    the port that is higher by 10 (DDSI-RTPS 9.6.1.1). Fast DDS numbers the participants of a
    process: its second one takes a higher port, whatever the domain is.
    """
    first = 7400 + 250 * domain
    return not _udp_ports().isdisjoint((first, first + 10))


def _udp_ports() -> set[int]:
    """The UDP ports of this host that are in use; none is taken by this look."""
    lines: list[str] = []
    for table in _UDP_TABLES:
        with contextlib.suppress(FileNotFoundError):  # a system without IPv6
            lines += table.read_text(encoding="ascii").splitlines()[1:]
    return {int(line.split()[1].rpartition(":")[2], 16) for line in lines}


def _locked(file: int) -> bool:
    """Lock a file; a look for runs holds it for a moment, so try several times."""
    for _ in range(_ATTEMPTS):
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            time.sleep(0.02)
        else:
            return True
    return False


def own_domain(environment: Mapping[str, str] = os.environ) -> int:
    """The ROS domain of this process, or of one with another environment.

    :raises ConfigurationError: ``ROS_DOMAIN_ID`` is not a domain
    """
    domain = environment.get("ROS_DOMAIN_ID") or "0"
    if not domain.isdecimal() or int(domain) > _HIGHEST_DOMAIN:
        raise ConfigurationError(
            f"ROS_DOMAIN_ID: found '{domain}'; allowed is 0 to {_HIGHEST_DOMAIN}"
        )
    return int(domain)


def place_name(domain: int, namespace: str) -> str:
    """The socket that a run holds for its place, as the system lists it."""
    return _PLACE.format(domain, namespace).replace("\0", "@")


def active_runs() -> list[ActiveRun]:
    """The runs of this user on this machine, by domain and namespace.

    :raises ConfigurationError: the lock file of one is not readable
    """
    found = []
    for directory in private_directories():
        for name in directory.names():
            if fnmatchcase(name, "*_*.lock"):
                run = _read(directory, name)
                found += [] if run is None else [run]
    return sorted(found, key=lambda run: (run.domain, run.namespace))


def _read(directory: PrivateDirectory, name: str) -> ActiveRun | None:
    """The run that holds a lock file; None: there is none, or it begins or ends just now."""
    try:
        with directory.opened(name) as file:
            try:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
                return None
            except BlockingIOError:
                text = read_text(file)
    except FileNotFoundError:
        return None
    if not text:
        return None
    try:
        facts = _Facts.model_validate_json(text)
    except ValidationError as error:
        raise ConfigurationError(
            f"lock file {directory.path / name}: "
            f"{fault_text(error, _Facts, None)}; it is not a lock file of this version"
        ) from None
    return ActiveRun(
        facts.domain,
        facts.scenario,
        Path(facts.output),
        facts.environment,
        facts.secret,
        facts.namespace,
    )
