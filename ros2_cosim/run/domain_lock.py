# SPDX-License-Identifier: Apache-2.0
"""One run at a time in a ROS domain: two would read each other's topics."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import socket
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, NamedTuple

from ros2_cosim.kernel.errors import ConfigurationError

_PREFIX = "ros2_cosim_run_"
_ATTEMPTS = 5
#: The last domain whose ports lie below those that Linux hands out to clients.
_LAST_DOMAIN = 101


class ActiveRun(NamedTuple):
    """A run on this machine: its ROS domain, scenario, output directory and DDS settings."""

    domain: int
    scenario: str
    output: Path
    environment: dict[str, str]


@contextlib.contextmanager
def domain_lock(
    scenario: str = "",
    output: Path = Path(),
    environment: Mapping[str, str] | None = None,
    domains: Sequence[int] | None = None,
) -> Iterator[int]:
    """Hold a ROS domain for a run; yields its number.

    What is known of the run is left in the lock file, for :func:`active_runs`.

    :param environment: DDS settings that others need to talk to the run
    :param domains: the first of them that is free is taken; None: only the domain of this
        process (``ROS_DOMAIN_ID``, 0 by default)
    :raises ConfigurationError: other runs on this machine use all of them
    """
    candidates = domains or (own_domain(),)
    with contextlib.ExitStack() as stack:
        for domain in candidates:
            # A domain that nobody asked for must be free of everybody, not just of runs.
            if domain == candidates[0] or not listened_to(domain):
                file = stack.enter_context(_path(domain).open("a"))
                if _locked(file):
                    break
        else:
            if len(candidates) > 1:
                raise ConfigurationError(
                    f"other programs use all of {len(candidates)} ROS domains; wait for them"
                )
            raise ConfigurationError(
                f"another run uses ROS domain {candidates[0]}; wait for it, or set ROS_DOMAIN_ID "
                f"to another number from 0 to {_LAST_DOMAIN}"
            )
        file.truncate(0)
        facts = {
            "domain": domain,
            "scenario": scenario,
            "output": str(output.absolute()),
            "environment": dict(environment or {}),
        }
        file.write(json.dumps(facts))
        file.flush()
        yield domain
        file.truncate(0)


def domains_from(first: int) -> tuple[int, ...]:
    """``first`` and what may be taken instead: those above it, then those from 1 on."""
    others = (*range(first + 1, _LAST_DOMAIN + 1), *range(1, min(first, _LAST_DOMAIN + 1)))
    return (first, *others)


def listened_to(domain: int) -> bool:
    """Whether a program listens in a domain, be it none of this project.

    The first participant of a host listens on port 7400 + 250 * domain + 10 (DDSI-RTPS 9.6.1.1).
    """
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.bind(("0.0.0.0", 7400 + 250 * domain + 10))
        except OSError:
            return True
    return False


def _locked(file: IO[str]) -> bool:
    """Lock a file; whoever looks for runs holds it for a moment, so try several times."""
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

    :raises ConfigurationError: ``ROS_DOMAIN_ID`` is no domain
    """
    domain = environment.get("ROS_DOMAIN_ID") or "0"
    if not domain.isdecimal() or int(domain) > 232:
        raise ConfigurationError(f"ROS_DOMAIN_ID: found '{domain}'; allowed is 0 to 232")
    return int(domain)


def active_runs() -> list[ActiveRun]:
    """The runs of this user on this machine, by domain."""
    found = []
    for path in Path(tempfile.gettempdir()).glob(f"{_PREFIX}{os.getuid()}_*.lock"):
        try:
            with path.open("r", encoding="utf-8") as file:
                try:
                    fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
                except BlockingIOError:
                    facts = json.loads(file.read())
                    found.append(
                        ActiveRun(
                            int(facts["domain"]),
                            str(facts["scenario"]),
                            Path(facts["output"]),
                            {str(k): str(v) for k, v in facts["environment"].items()},
                        )
                    )
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            continue  # it ends or begins just now, or is no file of ours
    return sorted(found)


def _path(domain: int) -> Path:
    return Path(tempfile.gettempdir()) / f"{_PREFIX}{os.getuid()}_{domain}.lock"
