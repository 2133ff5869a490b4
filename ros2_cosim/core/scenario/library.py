# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The scenario library: ready-made scenarios of the package, and copies of them for users."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

import yaml

from ros2_cosim.core.documents.files import write_atomically
from ros2_cosim.core.documents.installed import share_file
from ros2_cosim.core.documents.plain_data import read_mapping
from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.scenario.composition import compose
from ros2_cosim.core.scenario.templates import scenario_of_file

#: The scenarios of ``config/library``, in the order in which they are listed.
NAMES: Final = (
    "roadblock",
    "braking",
    "sine_leader",
    "stop_and_go",
    "drive_cycle",
    "cut_in",
    "cut_out",
    "merge",
    "overtake",
    "v2v_outage",
    "packet_loss",
    "join",
    "leave",
    "platoon20",
    "curve",
    "slope",
    "town",
    "mixed_traffic",
    "car_following",
)
DEFAULT: Final = "roadblock"
_NAME = re.compile(r"[a-z][a-z0-9_]*")
_NAME_LINE = re.compile(r"^name: .*$", re.MULTILINE)
#: Files of the package that a scenario of the library names, relative to itself.
_NEIGHBOUR = re.compile(r"\.\./([a-z0-9_]+\.xodr)")


class LibraryEntry(NamedTuple):
    """A scenario of the library."""

    name: str
    description: str
    parameters: Mapping[str, Any]


def library_file(name: str) -> Path:
    """The file of a scenario of the library.

    :raises ConfigurationError: there is none of that name
    """
    if name not in NAMES:
        raise ConfigurationError(
            f"scenario library: found '{name}'; allowed are {', '.join(NAMES)}"
        )
    return share_file(f"config/{'' if name == 'car_following' else 'library/'}{name}.yaml")


def library() -> list[LibraryEntry]:
    """All scenarios of the library."""
    entries = []
    for name in NAMES:
        data = read_mapping(library_file(name), "scenario")
        entries.append(LibraryEntry(name, data["description"], data.get("parameters", {})))
    return entries


def new_scenario(name: str, template: str | None, directory: Path) -> list[Path]:
    """Write a scenario of the library into a directory, with the maps that it needs.

    A file of another format stays where it is: the scenario names it.

    :param name: of the new scenario, and of its file
    :param template: name in the library, or a file of a format that can be imported; None:
        ``name`` if there is one of that name, else ``DEFAULT``
    :returns: the files; the first one is the scenario
    :raises ConfigurationError: the name is not valid, there is no such template, or a file is there
        already and differs
    :raises OSError: a file cannot be written
    """
    name = checked_name(name)
    if template is None:
        template = name if name in NAMES else DEFAULT
    imported = scenario_of_file(Path(template), directory)
    if imported is not None:
        compose(Path(template))  # what is wrong with it is said now
        text = yaml.safe_dump({**imported, "name": name}, sort_keys=False, allow_unicode=True)
        return write_new({directory / f"{name}.yaml": text})
    source = library_file(template)
    text = source.read_text(encoding="utf-8")
    maps = list(dict.fromkeys(_NEIGHBOUR.findall(text)))
    text = _NEIGHBOUR.sub(r"\1", _NAME_LINE.sub(f"name: {name}", text, count=1))
    contents = {directory / f"{name}.yaml": text}
    for neighbour in maps:
        content = (source.parent.parent / neighbour).read_text(encoding="utf-8")
        contents[directory / neighbour] = content
    return write_new(contents)


def checked_name(name: str) -> str:
    """The name of a new scenario, of its name or that of its file.

    :raises ConfigurationError: it is not valid
    """
    name = name.removesuffix(".yaml")
    if not _NAME.fullmatch(name):
        raise ConfigurationError(
            f"cosim new: found '{name}'; allowed is a name of small letters, digits and underscores"
        )
    return name


def write_new(contents: Mapping[Path, str]) -> list[Path]:
    """Write files that are not there yet; the first one is the scenario.

    :raises ConfigurationError: the scenario is there already, or another one differs
    :raises OSError: a file cannot be written
    """
    scenario = next(iter(contents))
    for path, content in contents.items():
        if path.exists() and (path == scenario or path.read_text(encoding="utf-8") != content):
            raise ConfigurationError(
                f"cosim new: {path}: is there already; allowed is another name or directory"
            )
    for path, content in contents.items():
        write_atomically(path, content)
    return list(contents)
