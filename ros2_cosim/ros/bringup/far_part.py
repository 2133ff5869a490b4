# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The part of a run on this host, whose clock and recorder are on another one.

It is a starter like that of the run: it has its own channel, starts its processes, watches them,
and ends them when the connection ends, in whatever way.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import replace
from pathlib import Path
from types import FrameType
from typing import Final

from ros2_cosim import __version__
from ros2_cosim.core.documents.files import cause_of, in_words, write_atomically
from ros2_cosim.core.documents.run_files import RESOLVED_SCENARIO
from ros2_cosim.core.kernel.errors import ConfigurationError, CosimError, RunError
from ros2_cosim.core.messages.namespaces import parse_namespace
from ros2_cosim.core.process.seal import RUN_SECRET
from ros2_cosim.core.run.output_directory import LOG_DIRECTORY
from ros2_cosim.core.sockets.switchboard import LANE
from ros2_cosim.ros.bringup.dds import (
    Network,
    dds_environment,
    dds_settings,
    loopback_environment,
)
from ros2_cosim.ros.bringup.domain_lock import active_runs, domain_lock
from ros2_cosim.ros.bringup.far_link import (
    Ended,
    EndPart,
    FarLine,
    FarLink,
    Joined,
    LinkEnd,
    LinkError,
    Part,
    PartFailed,
    greet,
)
from ros2_cosim.ros.bringup.far_news import News
from ros2_cosim.ros.bringup.far_plan import digest_of, package_files
from ros2_cosim.ros.bringup.guard import Guard
from ros2_cosim.ros.bringup.plan import Process
from ros2_cosim.ros.bringup.processes import ProcessGroup
from ros2_cosim.ros.bringup.starter_channel import (
    CHANNEL,
    EarlyLeave,
    Required,
    Starter,
    StarterChannel,
)

#: Between two looks at the connection and at the processes [s].
_POLL_S = 0.05
_RETRY_S = 0.5
#: How long a part looks for its run, where nothing listens yet [s].
PATIENCE_S: Final = 120.0


class _Asked(RunError):
    """This process was asked to end by a signal."""


class _Signals:
    """The first SIGINT or SIGTERM since it was made; they end the part in order."""

    def __init__(self) -> None:
        self._name = ""
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self._take)

    def _take(self, number: int, frame: FrameType | None) -> None:
        self._name = self._name or signal.Signals(number).name

    def check(self) -> None:
        """Check whether there was one.

        :raises _Asked: there was
        """
        if self._name:
            raise _Asked(f"its part was ended there by {self._name}")


def join(link: FarLink, told: Callable[[str], None] = lambda text: None) -> int:
    """Take part in a run until it ends.

    :param told: called with a line about what happens
    :returns: the exit code: 0 if the run has ended this part
    """
    try:
        return _join(link, told, _Signals())
    except LinkEnd:
        told("the run has gone; its part here has ended")
        return 1
    except LinkError as error:
        told(f"the run: {error}; its part here has ended")
        return 1


def _join(link: FarLink, told: Callable[[str], None], signals: _Signals) -> int:
    link.send(Joined(version=__version__))
    code = 0
    try:
        part = _received_part(link, signals)
        if part is not None:
            told(f"part '{part.host}' of a run: {', '.join(p.name for p in part.processes)}")
            _take_part(part, link, signals)
    except LinkError:
        raise
    except (CosimError, OSError) as error:
        told(in_words(error))
        link.send(PartFailed(reason=in_words(error)))
        code = 1
    with suppress(LinkEnd):  # it did not wait for the last processes
        link.send(Ended())
    return code


def _received_part(link: FarLink, signals: _Signals) -> Part | None:
    """The next work to do; None: there is no more."""
    while True:
        signals.check()
        for message in link.receive(_POLL_S):
            if isinstance(message, Part):
                return message
            if isinstance(message, EndPart):
                return None


def _take_part(part: Part, link: FarLink, signals: _Signals) -> None:
    """Run the processes until the run ends them.

    :raises CosimError: they cannot be started here, or one failed that the run needs
    :raises LinkError: the run has gone
    """
    with ExitStack() as stack:
        directory = Path(
            stack.enter_context(tempfile.TemporaryDirectory(prefix="ros2_cosim-part-"))
        )
        environment = _environment(part, directory, stack)
        plan = _local_plan(part, directory)
        channel = stack.enter_context(StarterChannel())
        stack.enter_context(Guard(f"{CHANNEL}={channel.address}"))
        environment[CHANNEL] = os.environ[CHANNEL] = channel.address

        def tell(process: str, text: str) -> None:
            with suppress(LinkEnd):  # the end of the link is seen where it is read
                link.send(FarLine(process=process, text=text))

        group = stack.enter_context(ProcessGroup(plan, environment, tell, channel=channel))
        news = News(Starter(part.host), link)
        while True:
            for message in link.receive(_POLL_S):
                if isinstance(message, EndPart):
                    return
                if isinstance(message, EarlyLeave | Required):
                    news.take(message)
            signals.check()
            failure = group.failure(elsewhere=True)
            news.pass_on()
            if failure is not None:
                raise RunError(failure)


def _environment(part: Part, directory: Path, stack: ExitStack) -> dict[str, str]:
    """Of the processes here; the ROS domain is held from now on."""
    environment = {**os.environ, **part.environment}
    environment.pop(LANE, None)
    environment.setdefault("ROS_LOG_DIR", str(directory / LOG_DIRECTORY))
    _check_address(part)
    network = Network((part.own,), part.addresses, part.most_nodes)
    secret = part.environment[RUN_SECRET]
    if all(run.secret != secret for run in active_runs()):  # else its starter is on this machine
        domain = int(part.environment["ROS_DOMAIN_ID"])
        namespace = parse_namespace(part.namespace)
        place = stack.enter_context(domain_lock([domain], namespace=namespace))
        settings = dds_settings(dds_environment(environment, directory, network))
        place.announce(f"part '{part.host}'", directory, settings, secret)
    return loopback_environment(environment, directory, part.namespace, network)


def _check_address(part: Part) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        try:
            sock.bind((part.own, 0))
        except OSError:
            raise ConfigurationError(
                f"hosts.{part.host}.address: found {part.own}, which is not an address of the "
                f"machine '{socket.gethostname()}'; allowed is one by which the other hosts "
                "reach it"
            ) from None


def _local_plan(part: Part, directory: Path) -> list[Process]:
    """The processes with the paths that files have on this host; the scenario is written.

    :raises ConfigurationError: a file of the scenario is not here, or another one is
    """
    base = _base(part)
    for name, digest in part.files.items():
        found = digest_of(base / name)
        if found != digest:
            what = "is another file than on the host of the run" if found else "is not there"
            raise ConfigurationError(
                f"{base / name}, which the scenario names, {what}; allowed is the same file, in "
                f"hosts.{part.host}.directory"
            )
    scenario = json.loads(part.scenario)
    scenario["base_directory"] = str(base)
    path = directory / RESOLVED_SCENARIO
    write_atomically(path, json.dumps(scenario, indent=1) + "\n")

    def here(text: str) -> str:
        at = Path(text)
        if at.is_absolute() and at.is_relative_to(part.directory):
            return str(base / at.relative_to(part.directory))
        return text

    return [
        replace(
            Process(**each.model_dump()),
            executable=here(each.executable),
            arguments=tuple(map(here, each.arguments)),
            parameters=each.parameters | {"scenario_file": str(path)} if each.is_ros else {},
        )
        for each in part.processes
    ]


def _base(part: Part) -> Path:
    """Where the files of the scenario are here."""
    if part.there is not None:
        return Path(part.there)
    if part.within:
        return package_files() / part.within
    return Path(part.directory)


def connect(
    address: tuple[str, int], secret: str, host: str, patience: float = PATIENCE_S
) -> FarLink:
    """Reach the run that waits for this part.

    :param patience: how long to try [s], while nothing listens there
    :raises LinkError: nothing listens there, or the other side is not that run
    """
    deadline = time.monotonic() + patience
    while True:
        try:
            link = socket.create_connection(address, _RETRY_S * 10)
        except OSError as error:
            if time.monotonic() > deadline:
                place = f"{address[0]}:{address[1]}"
                raise LinkError(f"{place}: no run waits there: {cause_of(error)}") from None
            time.sleep(_RETRY_S)
        else:
            link.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
            found = greet(link, secret, host, is_part=True)
            link.detach()  # the descriptor is the connection's, to the end of the process
            return found
