# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""A scenario written by looking at nodes: ``cosim new NAME --from-node COMMAND``."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import yaml

from ros2_cosim.core.documents.installed import find_share, module_command
from ros2_cosim.core.documents.settings import read_section
from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.messages.foreign import ForeignSettings
from ros2_cosim.ros.bringup.dds import dds_settings, loopback_environment
from ros2_cosim.ros.bringup.domain_lock import claim
from ros2_cosim.ros.bringup.look import look_at
from ros2_cosim.ros.foreign.command_words import settings_of
from ros2_cosim.ros.foreign.proposal import proposed

_LAUNCH_FILES = (".launch.py", ".launch.xml", ".launch.yaml", ".launch.yml")
_DOMAIN = "ROS_DOMAIN_ID"
_LAUNCHED = "ros2_cosim.ros.programs._launched"
#: A launch file has started everything and has ended within this wall time [s].
_LAUNCH_S = 60.0


def scenario_of_nodes(name: str, commands: Sequence[str], directory: Path) -> tuple[str, list[str]]:
    """The text of a scenario with the nodes that commands start, and notes about it.

    Each node is started alone, looked at, and ended.

    :param name: of the scenario
    :param commands: command lines, or launch files with their arguments
    :param directory: of the scenario; scripts are relative to it
    :raises ConfigurationError: a node cannot be started or does not appear
    """
    looked = []
    left: list[str] = []
    owners: dict[str, str] = {}
    for command in commands:
        started, unseen = _started_by(command, directory)
        left += [
            f"--from-node {command}: {text}, so what it starts then is not seen" for text in unseen
        ]
        for each in started:
            where = f"--from-node {shlex.join(each.words)}"
            data = settings_of(each.words, where)
            own = [n for n in each.environment if n in (_DOMAIN, *dds_settings(each.environment))]
            kept = {n: value for n, value in each.environment.items() if n not in own}
            if kept:
                data["environment"] = kept
            if own:
                left.append(f"{where}: the run has its own {', '.join(own)}")
            if each.directory is not None:
                left.append(f"{where}: not started in its directory, {each.directory}")
            settings = read_section(ForeignSettings, data, origin=where)
            seen = look_at(settings, directory, where)
            left += [f"{where}: {seen.unseen}; it may have more"] if seen.unseen else []
            for node in seen.nodes:
                if node.number > 1 or node.name in owners:
                    raise ConfigurationError(
                        f"{where}: found a second node called {node.name}, beside that of "
                        f"{owners.get(node.name, 'the same process')}; allowed is one: give it "
                        "another name (--ros-args -r __node:=NAME)"
                    )
                owners[node.name] = where
            looked.append((data, seen))
    scenario, notes = proposed(name, looked)
    notes = [*notes, *left]
    text = yaml.safe_dump(scenario, sort_keys=False, allow_unicode=True, width=100)
    head = [f"# Written by cosim new from: {command}" for command in commands]
    return "\n".join([*head, *(f"# Note: {note}" for note in notes), text]), notes


class _Started(NamedTuple):
    """How a node is started: its words; what a launch file changes of its environment (None: it
    removes that variable), and the working directory that it gives it.
    """

    words: list[str]
    environment: Mapping[str, str | None] = {}
    directory: str | None = None


def _started_by(command: str, directory: Path) -> tuple[list[_Started], list[str]]:
    """One node, or each one that a launch file starts; and what was not waited for."""
    where = f"--from-node {command}"
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise ConfigurationError(f"{where}: {error}; allowed is a command line") from None
    words = _without_launch(words, where)
    if not words or not words[0].endswith(_LAUNCH_FILES):
        return [_Started(words)], []
    path = directory / words[0]
    if not path.is_file():
        raise ConfigurationError(f"{where}: there is no file {path}")
    with claim() as domain, TemporaryDirectory() as place:
        alone = {**os.environ, _DOMAIN: str(domain)}
        try:
            done = subprocess.run(
                [*module_command(_LAUNCHED), str(path), *words[1:]],
                env=loopback_environment(alone, Path(place)),
                capture_output=True,
                text=True,
                timeout=_LAUNCH_S,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise ConfigurationError(f"{where}: does not end within {_LAUNCH_S:g} s") from None
    told = [json.loads(line) for line in done.stdout.splitlines()]
    unseen = [text for each in told for text in each.pop("unseen", ())]
    found = [_Started(**each) for each in told if each]
    if not found or done.returncode:
        # What launch says of an error takes several lines; a traceback says it in the last one.
        _, by_launch, said = done.stderr.rpartition("[ERROR]")
        said = said if by_launch else (done.stderr.splitlines() or ["nothing"])[-1]
        said = " ".join(said.split())
        what = "fails after it has started processes" if found else "starts no process"
        raise ConfigurationError(f"{where}: it {what}; launch says: {said}")
    return found, unseen


def _without_launch(words: list[str], where: str) -> list[str]:
    """The launch file and its arguments, if ``ros2 launch`` would start it; else all words.

    :raises ConfigurationError: the package has no such file
    """
    if [Path(word).name for word in words[:2]] != ["ros2", "launch"]:
        return words
    rest = words[2:]
    if len(rest) < 2 or rest[0].endswith(_LAUNCH_FILES):
        return rest
    package, name = rest[:2]
    known = find_share(package, "package.xml")
    file = next(iter(sorted(known.parent.rglob(name))), None) if known else None
    if file is None:
        raise ConfigurationError(
            f"{where}: found no file {name} of package {package}; source its workspace"
        )
    return [str(file), *rest[2:]]
