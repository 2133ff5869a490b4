# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The process of a foreign node: started with the adapter's remappings, watched, ended."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Collection, Mapping
from contextlib import suppress
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from ros2_cosim.core.documents.files import cause_of
from ros2_cosim.core.documents.installed import find_executable, find_share, module_command
from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.messages.foreign import ForeignSettings
from ros2_cosim.core.process.processes import end_with_parent

#: How long the process may take to end in order before it is killed.
GRACE_S = 3.0
#: The package of the program that loads components, and the kind of the list of those.
_CONTAINERS = "rclcpp_components"
#: So many values has PYTHONHASHSEED.
_HASH_SEEDS = 2**32


class ForeignProcess:
    """A running foreign node; it dies with this process.

    :param command: program and arguments
    :param environment: all of its environment
    :param inherited: open files that it inherits
    :param quiet: whether what it prints is not shown
    :raises ConfigurationError: it cannot be started
    """

    def __init__(
        self,
        command: list[str],
        environment: Mapping[str, str],
        where: str,
        inherited: Collection[int] = (),
        *,
        quiet: bool = False,
    ) -> None:
        try:
            self._popen = subprocess.Popen(
                command,
                env=dict(environment),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                pass_fds=inherited,
                preexec_fn=partial(_begin, os.getpid()),
            )
        except OSError as error:
            raise ConfigurationError(
                f"{where}: cannot start {command[0]}: {cause_of(error)}"
            ) from None
        self._last = "it printed nothing"
        self._quiet = quiet
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    @property
    def pid(self) -> int:
        """The process, which leads its own session."""
        return self._popen.pid

    @property
    def ended_well(self) -> bool:
        """Whether it has ended by itself, with exit code 0."""
        return self._popen.poll() == 0

    def ended(self) -> str | None:
        """How the process ended and what it printed last; None while it runs."""
        code = self._popen.poll()
        if code is None:
            return None
        self._reader.join(1.0)
        if code < 0:
            return f"was killed by {signal.Signals(-code).name}; its last line: {self._last}"
        return f"ended with exit code {code}; its last line: {self._last}"

    def close(self) -> None:
        """End the process and all that it started: asked first, then killed."""
        for number, patience in ((signal.SIGINT, GRACE_S), (signal.SIGKILL, None)):
            with suppress(ProcessLookupError):
                os.killpg(self._popen.pid, number)
            with suppress(subprocess.TimeoutExpired):
                self._popen.wait(patience)
        self._reader.join(1.0)

    def _read(self) -> None:
        assert self._popen.stdout is not None
        for raw in self._popen.stdout:
            line = raw.decode(errors="replace").rstrip()
            if line:
                self._last = line
                if not self._quiet:
                    print(line, flush=True)


def _begin(parent: int) -> None:
    """Let SIGINT end it, also where this program ignores it (``nohup ... &``)."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    end_with_parent(parent)


def foreign_command(
    settings: ForeignSettings, base_directory: Path, remappings: Mapping[str, str], where: str
) -> list[str]:
    """The command line of a foreign node.

    :param remappings: of its names, ``__node`` among them
    :raises ConfigurationError: the program is not there
    """
    command: list[str]
    if settings.command is not None:
        command = list(settings.command)
    elif settings.script is not None:
        path = base_directory / settings.script
        if not path.is_file():
            raise ConfigurationError(f"{where}: script: there is no file {path}")
        command = [sys.executable, str(path)]
    elif settings.module is not None:
        command = module_command(settings.module)
    elif settings.is_component:
        space, _, base = container_name({**settings.remap, **remappings}).rpartition("/")
        container = _container(settings, where)
        return [container, "--ros-args", "-r", f"__node:={base}", "-r", f"__ns:={space or '/'}"]
    else:
        assert settings.package is not None and settings.executable is not None
        command = [str(_executable(settings.package, settings.executable, where))]
    command += [*settings.arguments, "--ros-args", *ros_arguments(settings, remappings)]
    return command


def ros_arguments(settings: ForeignSettings, remappings: Mapping[str, str]) -> list[str]:
    """The ROS arguments that put a node behind its adapter."""
    arguments = []
    for name, target in {**settings.remap, **remappings}.items():
        arguments += ["-r", f"{name}:={target}"]
    for name, value in node_parameters(settings).items():
        arguments += ["-p", f"{name}:={json.dumps(value)}"]
    return arguments


def node_parameters(settings: ForeignSettings) -> dict[str, Any]:
    """The ROS parameters of a node by their full names."""
    clock = {"use_sim_time": True} if settings.use_sim_time else {}
    return {**settings.ros_parameters, **clock}


def container_name(remappings: Mapping[str, str]) -> str:
    """The full name of the container of a component; looks at the graph leave it out.

    :param remappings: of the component's names, ``__node`` and ``__ns`` among them
    """
    space = remappings.get("__ns", "").rstrip("/")
    return f"{space}/_{remappings.get('__node', 'component')}_container"


def foreign_environment(settings: ForeignSettings, seed: int = 0) -> dict[str, str]:
    """This process's environment with the scenario's changes; null removes a variable.

    :param seed: of the order of Python's sets, unless the scenario sets it
    """
    environment = {**os.environ, "PYTHONHASHSEED": str(seed % _HASH_SEEDS)}
    for name, value in settings.environment.items():
        if value is None:
            environment.pop(name, None)
        else:
            environment[name] = value
    return environment


def _executable(package: str, executable: str, where: str) -> Path:
    path = find_executable(package, executable)
    if path is not None:
        return path
    raise ConfigurationError(
        f"{where}: package: found no executable '{executable}' of package '{package}'; source "
        "its workspace"
    )


def check_container_services(where: str) -> None:
    """Check whether components can be loaded from here.

    :raises ConfigurationError: the services of containers are not installed
    """
    if find_spec("composition_interfaces") is None:
        raise ConfigurationError(
            f"{where}: executable: a component needs the package composition_interfaces, which is "
            "not installed: source a ROS 2 installation"
        )


def _container(settings: ForeignSettings, where: str) -> str:
    """The program of a component's container.

    :raises ConfigurationError: there is no such component, or no container
    """
    package, wanted = str(settings.package), settings.executable
    index = find_share("ament_index", f"resource_index/{_CONTAINERS}/{package}")
    lines = index.read_text().split() if index else []
    there = [line.partition(";")[0] for line in lines]
    if wanted not in there:
        raise ConfigurationError(
            f"{where}: executable: found no component '{wanted}' of package '{package}'; it has "
            f"{', '.join(there) or 'none'}: source its workspace"
        )
    check_container_services(where)
    return str(_executable(_CONTAINERS, "component_container", where))
