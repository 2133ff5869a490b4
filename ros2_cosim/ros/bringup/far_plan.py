# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""What each other host of a run has to do, written before the run is started.

The file lies beside the resolved scenario. The process that stands for a host reads it.
"""

from __future__ import annotations

import hashlib
import socket
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from ros2_cosim.core.documents.files import cause_of, write_atomically
from ros2_cosim.core.documents.installed import share_file
from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.run.request import RunOptions
from ros2_cosim.core.scenario.schema import Scenario
from ros2_cosim.core.sockets.endpoints import address_towards
from ros2_cosim.ros.bringup.dds import Network
from ros2_cosim.ros.bringup.far_link import FarProcess, Part
from ros2_cosim.ros.bringup.plan import Process

#: Of the part of a host, by its name.
PART_FILE = "host-{}.json"
#: Larger files are not compared between hosts [bytes].
_COMPARED = 256 << 20
#: Any port: it receives no data.
_DISCARD = 9


def network_of(scenario: Scenario, plan: Sequence[Process]) -> Network | None:
    """The network of a run as the host sees it that starts it; None: there is no other host.

    :raises ConfigurationError: a host has no address, or none that leads there
    """
    parts = [process for process in plan if process.there]
    if not parts:
        return None
    places = {part.name: _address(scenario, part.name) for part in parts}
    own = dict.fromkeys(own_address_towards(place, name) for name, place in places.items())
    nodes = Counter({next(iter(own)): sum(process.is_ros for process in plan)})
    for part in parts:
        nodes[places[part.name]] += sum(process.is_ros for process in part.there)
    return Network(tuple(own), tuple(dict.fromkeys([*own, *places.values()])), max(nodes.values()))


def write_parts(
    scenario: Scenario, options: RunOptions, plan: Sequence[Process], network: Network
) -> None:
    """Write the file of each host."""
    directory = Path(scenario.base_directory).absolute()
    files = dict(_named_files(scenario, directory))
    for process in plan:
        if process.there:
            part = Part(
                host=process.name,
                scenario="",
                directory=str(directory),
                within=_within_package(directory),
                there=scenario.hosts[process.name].directory,
                files=files,
                processes=tuple(map(_far, process.there)),
                environment={},
                own=_address(scenario, process.name),
                addresses=network.all,
                most_nodes=network.nodes,
                namespace=options.namespace,
            )
            path = options.output / PART_FILE.format(process.name)
            write_atomically(path, part.model_dump_json(indent=1) + "\n")


def read_part(directory: Path, host: str) -> Part:
    """What a host has to do, as :func:`write_parts` left it.

    :raises ConfigurationError: the file is not there, or it is of another version
    """
    path = directory / PART_FILE.format(host)
    try:
        return Part.model_validate_json(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigurationError(f"{path}: {cause_of(error)}") from None
    except ValidationError as error:
        raise ConfigurationError(f"{path}: {error.errors()[0]['msg']}") from None


def own_address_towards(address: str, host: str) -> str:
    """The address of this machine by which another one is reached, and which it reaches.

    :raises ConfigurationError: no way leads there
    """
    try:
        return address_towards(address, _DISCARD)
    except OSError as error:
        raise ConfigurationError(
            f"hosts.{host}.address: found {address}, which cannot be reached from here: "
            f"{cause_of(error)}"
        ) from None


def _address(scenario: Scenario, host: str) -> str:
    """The address of a host in numbers."""
    address = scenario.hosts[host].address
    try:
        found = socket.getaddrinfo(address, None, socket.AF_INET, socket.SOCK_DGRAM)
    except OSError as error:
        raise ConfigurationError(
            f"hosts.{host}.address: found '{address}' ({cause_of(error)}); allowed is an "
            "IPv4 address, or a name that has one"
        ) from None
    return str(found[0][4][0])


def _far(process: Process) -> FarProcess:
    return FarProcess(
        name=process.name,
        executable=process.executable,
        package=process.package,
        parameters=dict(process.parameters),
        arguments=process.arguments,
        is_ros=process.is_ros,
        required=process.required,
        leaves=process.leaves,
        participant=process.participant,
        hosts=process.hosts,
        namespace=process.namespace,
        ros_arguments=process.ros_arguments,
    )


def _within_package(directory: Path) -> str:
    """A directory relative to the files of this package; empty if it is not among them."""
    root = package_files()
    return str(directory.relative_to(root)) if directory.is_relative_to(root) else ""


def package_files() -> Path:
    """Where the files of this package are on this host: ``config`` and others."""
    return share_file("config/platoon.yaml").parent.parent


def _named_files(scenario: Scenario, directory: Path) -> Iterator[tuple[str, str]]:
    """The files that a scenario names, relative to its directory, and their hashes."""
    data = scenario.model_dump(by_alias=True, exclude={"description", "base_directory"})
    for text in dict.fromkeys(_texts(data)):
        name = text.partition(":")[0]
        if name and not name.startswith("/") and "\0" not in name:
            digest = digest_of(directory / name)
            if digest:
                yield name, digest


def digest_of(path: Path) -> str:
    """The hash of a file; empty if there is none, or one too large to be compared."""
    try:
        if not path.is_file() or path.stat().st_size > _COMPARED:
            return ""
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError:
        return ""


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for each in value.values():
            yield from _texts(each)
    elif isinstance(value, list | tuple):
        for each in value:
            yield from _texts(each)
