# SPDX-License-Identifier: Apache-2.0
"""DCP slaves of ``dcp_master`` participants that a run starts as processes of its own.

A slave entry asks for it by ``process: true`` (a Python model or an FMU, served by
``cosim dcp serve``) or by ``command`` (any other program; ``{host}`` and ``{port}`` in its words
are filled in). All other slaves are reached where they are, or served by the participant itself.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ros2_cosim.kernel.errors import ConfigurationError
from ros2_cosim.scenario.schema import Scenario

DCP_MASTER_MODEL = "dcp_master"
LOOPBACK = "127.0.0.1"


def started_slaves(participants: Mapping[str, Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """(participant, slave, its entry) of all slaves that a run starts.

    :param participants: the participants of a scenario as plain data
    :raises ConfigurationError: ``process`` or ``command`` of an entry is wrong
    """
    for participant, settings in participants.items():
        slaves = settings["parameters"].get("slaves")
        if settings["model"] != DCP_MASTER_MODEL or not isinstance(slaves, dict):
            continue
        for slave, entry in slaves.items():
            if isinstance(entry, dict) and (entry.get("process") or entry.get("command")):
                _check(entry, f"participants.{participant}.parameters.slaves.{slave}")
                yield participant, slave, entry


def slave_commands(scenario: Scenario) -> Iterator[tuple[str, str, tuple[str, ...]]]:
    """(participant, process name, command) of these slaves.

    :raises ConfigurationError: an entry is wrong, or two processes would have one name
    """
    plain = {name: p.model_dump() for name, p in scenario.participants.items()}
    shared = {p.process for p in scenario.participants.values()}
    for participant, slave, entry in started_slaves(plain):
        name = f"{participant}_{slave}"
        if name in scenario.participants or name in shared:
            raise ConfigurationError(
                f"participants.{participant}.parameters.slaves.{slave}: its process would be named "
                f"'{name}', as a participant is or a process that several share; give another name"
            )
        yield participant, name, _command(scenario, participant, entry)


def _command(scenario: Scenario, participant: str, entry: dict[str, Any]) -> tuple[str, ...]:
    host, port = str(entry.get("host") or LOOPBACK), str(entry.get("port") or 0)
    command = entry.get("command")
    if command:
        first, *rest = (w.replace("{host}", host).replace("{port}", port) for w in command)
        own = Path(scenario.base_directory) / first
        return (str(own.absolute()) if "/" in first else first, *rest)
    words = [sys.executable, "-m", "ros2_cosim.cli.main", "dcp", "serve"]
    words += ["--host", host, "--port", port, "--keep", "--newest-only"]
    words += ["--directory", scenario.base_directory]
    parameters = scenario.participants[participant].parameters
    step = entry.get("step") or parameters.get("step")
    for option, value in (
        ("--fmu", entry.get("fmu")),
        ("--description", entry.get("description")),
        ("--step", step),
    ):
        if value is not None:
            words += [option, str(value)]
    for check in parameters.get("check") or ():
        words += ["--check", str(check)]
    model = entry.get("model")
    return (*words, str(model)) if model is not None else tuple(words)


def _check(entry: dict[str, Any], where: str) -> None:
    process, command = entry.get("process", False), entry.get("command")
    if not isinstance(process, bool):
        raise ConfigurationError(f"{where}.process: found {process!r}; allowed are true and false")
    if command is None:
        if (entry.get("model") is None) == (entry.get("fmu") is None):
            raise ConfigurationError(f"{where}.process: allowed with either model or fmu")
        return
    if not isinstance(command, list) or not all(isinstance(w, str) and w for w in command):
        raise ConfigurationError(
            f"{where}.command: found {command!r}; allowed is a list of words, the first a program"
        )
    if process or not entry.get("description"):
        raise ConfigurationError(
            f"{where}.command: allowed with description (which says what the program is), and "
            "without process"
        )
