# SPDX-License-Identifier: Apache-2.0
"""One run at a time in a ROS domain: two would read each other's topics."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, NamedTuple

from ros2_cosim.kernel.errors import ConfigurationError

_PREFIX = "ros2_cosim_run_"
_ATTEMPTS = 5


class ActiveRun(NamedTuple):
    """A run on this machine: its ROS domain, scenario, output directory and DDS settings."""

    domain: int
    scenario: str
    output: Path
    environment: dict[str, str]


@contextlib.contextmanager
def domain_lock(
    scenario: str = "", output: Path = Path(), environment: Mapping[str, str] | None = None
) -> Iterator[None]:
    """Hold the ROS domain of this process (``ROS_DOMAIN_ID``, 0 by default) for a run.

    What is known of the run is left in the lock file, for :func:`active_runs`.

    :param environment: DDS settings that others need to talk to the run
    :raises ConfigurationError: another run on this machine uses the domain
    """
    domain = own_domain()
    path = _path(domain)
    with path.open("a") as file:
        if not _locked(file):
            raise ConfigurationError(
                f"another run uses ROS domain {domain}; wait for it, or set ROS_DOMAIN_ID to "
                "another number from 0 to 101"
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
        yield
        file.truncate(0)


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
