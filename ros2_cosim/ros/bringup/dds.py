# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The DDS settings of a run: loopback only, or its hosts only; nothing in shared memory.

Fast DDS's shared memory transport leaves its files behind when a process is killed; UDP over
loopback is as fast for messages of this size and leaves nothing.

The processes of a run start one after the other within seconds. By default a process announces
itself five times in half a second and then every three seconds: a process that starts in between is
found late.

A writer asks its readers with a heartbeat whether they have everything: by default with every
message once its history is full, and every three seconds. The first is most of the traffic where
thousands of small messages a second cross, of which loopback hardly ever loses one; the second is
how long a lost message is missing, and how long a process waits at its end until its last messages
have arrived. Ten times a second is enough for the one and soon enough for the other. By default a
timer is started for each reader of each message, too; here, at most as often.

The horizon, which all participants read, is sent once, by multicast.

A run on several hosts uses the address of each alone, also between processes of one host: with the
loopback beside it, other hosts would receive an address that is their own. Nodes find each other by
these addresses, so that networks without multicast will do; the horizon goes to each reader.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TypeVar

from ros2_cosim.core.documents.files import write_atomically
from ros2_cosim.core.documents.installed import package_text
from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.messages.namespaces import ROOT, qualified
from ros2_cosim.ros.bringup.domain_lock import own_domain
from ros2_cosim.ros.node.topics import HORIZON

_Value = TypeVar("_Value")
PROFILE_FILE = "fastdds.xml"
_FAST = "rmw_fastrtps_cpp"
#: Variables by which users choose their own DDS settings, which then hold.
USER_CHOICES = (
    "FASTRTPS_DEFAULT_PROFILES_FILE",
    "FASTDDS_DEFAULT_PROFILES_FILE",
    "ROS_AUTOMATIC_DISCOVERY_RANGE",
    "ROS_LOCALHOST_ONLY",
    "FASTDDS_BUILTIN_TRANSPORTS",
    "ROS_DISCOVERY_SERVER",
)

#: Port of multicast user data in domain 0, and ports from one domain to the next (RTPS 2.2, 9.6.1).
_USER_MULTICAST = 7401
_PORTS_PER_DOMAIN = 250

#: How many nodes more than those of the run are looked for on each host: tools of users.
_MORE_NODES = 12
_MULTICAST_DISCOVERY = "239.255.0.1"

_HORIZON_READER = """
    <data_reader profile_name="{horizon}">
      <multicastLocatorList>
        <locator><udpv4><port>{port}</port><address>239.255.0.2</address></udpv4></locator>
      </multicastLocatorList>
    </data_reader>"""


@dataclass(frozen=True)
class Network:
    """The network of a run on several hosts, as one of them sees it.

    ``own`` are the addresses of this host by which the others reach it, ``all`` those of every
    host, and ``nodes`` is how many the run has at most on one of them.
    """

    own: tuple[str, ...]
    all: tuple[str, ...]
    nodes: int


def dds_settings(environment: Mapping[str, _Value]) -> dict[str, _Value]:
    """The variables of an environment that decide which other nodes its nodes can reach."""
    names = (*USER_CHOICES, "ROS_STATIC_PEERS", "RMW_IMPLEMENTATION", "COSIM_KEEP_DDS")
    return {name: environment[name] for name in names if name in environment}


def loopback_environment(
    environment: Mapping[str, str],
    directory: Path,
    namespace: str = ROOT,
    network: Network | None = None,
) -> dict[str, str]:
    """An environment in which ROS nodes talk over loopback only, or among the hosts of a run.

    DDS settings that are in the environment already hold instead. With ``COSIM_KEEP_DDS`` the
    middleware's defaults hold.

    :param directory: where the profile file is written
    :param namespace: of the run
    :param network: of the run, if it is on several hosts
    """
    result = dds_environment(environment, directory, network)
    profile = result.get("FASTRTPS_DEFAULT_PROFILES_FILE", "")
    if profile and profile != environment.get("FASTRTPS_DEFAULT_PROFILES_FILE"):
        text = _network_profile(network) if network else _loopback_profile(environment, namespace)
        write_atomically(Path(profile), text)
    return result


def _loopback_profile(environment: Mapping[str, str], namespace: str) -> str:
    port = _USER_MULTICAST + _PORTS_PER_DOMAIN * own_domain(environment)
    return package_text("ros/bringup/dds_profile.xml").format(
        interfaces="<address>127.0.0.1</address>",
        peers_range="",
        peers="",
        readers=_HORIZON_READER.format(port=port, horizon=qualified(namespace, HORIZON)),
    )


def _network_profile(network: Network) -> str:
    peers = (*network.all, _MULTICAST_DISCOVERY)
    locators = "".join(
        f"<locator><udpv4><address>{address}</address></udpv4></locator>" for address in peers
    )
    most = network.nodes + _MORE_NODES
    return package_text("ros/bringup/dds_profile.xml").format(
        interfaces="".join(f"<address>{address}</address>" for address in network.own),
        peers_range=f"<maxInitialPeersRange>{most}</maxInitialPeersRange>",
        peers=f"<initialPeersList>{locators}</initialPeersList>",
        readers="",
    )


def keeps_dds(environment: Mapping[str, str]) -> bool:
    """Whether the DDS settings of the user hold: then nodes on other hosts may take part."""
    return bool(environment.get("COSIM_KEEP_DDS")) or any(
        name in environment for name in USER_CHOICES
    )


def check_ros(what: str, instead: str = "", environment: Mapping[str, str] = os.environ) -> None:
    """Check whether this process can load ROS, which would end it without its middleware.

    :param what: the part that needs ROS, for the message
    :param instead: what else a user can do
    :raises ConfigurationError: rclpy, or the middleware that the environment names, is missing
    """
    if find_spec("rclpy") is None:
        ways = ["run 'make setup'", "or source a ROS installation", instead]
        raise ConfigurationError(
            f"{what} needs rclpy, which is not installed; {', '.join(filter(None, ways))}"
        )
    if (middleware := _middleware(environment)) != _FAST:
        _check_middleware(middleware, environment)


def _check_middleware(name: str, environment: Mapping[str, str]) -> None:
    """Make sure that the library of a middleware is installed, as far as that can be seen.

    :raises ConfigurationError: it is not; what is there is named
    """
    places = [Path(sys.prefix) / "lib"]
    places += [Path(place) for place in environment.get("LD_LIBRARY_PATH", "").split(":") if place]
    prefixes = environment.get("AMENT_PREFIX_PATH", "").split(":")
    places += [Path(prefix) / "lib" for prefix in prefixes if prefix]
    libraries = {path.stem for place in places for path in place.glob("librmw_*_cpp.so")}
    names = {library.removeprefix("lib") for library in libraries}
    # Beside them are what they share, and type support.
    present = sorted(n for n in names if "__" not in n and not n.endswith("_shared_cpp"))
    if present and name not in present:
        raise ConfigurationError(
            f"RMW_IMPLEMENTATION: found '{name}', which is not installed here; allowed is "
            f"{', '.join(present)}"
        )


def dds_notes(environment: Mapping[str, str]) -> list[str]:
    """What a user should know about the DDS settings of an environment, in lines."""
    found = [name for name in USER_CHOICES if name in environment]
    notes = []
    if found:
        notes.append(
            f"{', '.join(found)}: set, so the run has no loopback profile of its own; it may "
            "listen at all addresses, and leave shared memory that others can read"
        )
    if (middleware := _middleware(environment)) != _FAST:
        notes.append(f"RMW_IMPLEMENTATION: {middleware} may listen at all addresses")
    return notes


def _middleware(environment: Mapping[str, str]) -> str:
    return environment.get("RMW_IMPLEMENTATION") or _FAST


def dds_environment(
    environment: Mapping[str, str], directory: Path, network: Network | None = None
) -> dict[str, str]:
    """The environment of :func:`loopback_environment`; the profile is not written.

    :raises ConfigurationError: the middleware that it names is not installed
    """
    result = dict(environment)
    middleware = _middleware(environment)
    if middleware != _FAST:
        _check_middleware(middleware, environment)
    if keeps_dds(environment):
        return result
    if middleware != _FAST:
        result["ROS_AUTOMATIC_DISCOVERY_RANGE"] = "SUBNET" if network else "LOCALHOST"
        if network:
            result["ROS_STATIC_PEERS"] = ";".join(network.all)
        return result
    result["FASTRTPS_DEFAULT_PROFILES_FILE"] = str((directory / PROFILE_FILE).resolve())
    # LOCALHOST would make the middleware ignore the profile's transports.
    result["ROS_AUTOMATIC_DISCOVERY_RANGE"] = "SUBNET"
    return result
