# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The command line of a node, taken apart into parameters of ``foreign_node``."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from shutil import which
from typing import Any

import yaml

from ros2_cosim.core.documents.plain_data import read_mapping
from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.ros.foreign.led_program import parted

Data = dict[str, Any]
_BEGIN, _END = "--ros-args", "--"
#: Files of parameters that launch writes for one start of a node.
_OF_LAUNCH = "launch_params_"
_PARAMETERS = "ros__parameters"
_LONGEST_LINE = 1024


def settings_of(words: Sequence[str], where: str) -> Data:
    """How a node is started, with its remappings and parameters each in its own place.

    A program of this interpreter becomes ``script`` or ``module``, ``ros2 run`` its package and
    executable, anything else stays a ``command``.

    :param words: of the command line
    :param where: how messages call it
    :raises ConfigurationError: it is empty, or a ROS argument is not understood
    """
    plain, ros = parted(words)
    if not plain:
        raise ConfigurationError(f"{where}: found no command; allowed is the one of a node")
    settings, arguments = _program(plain)
    rest = _ros_arguments(ros, settings, where)
    if rest:
        arguments = [*arguments, _BEGIN, *rest, _END]
    return settings | ({"arguments": arguments} if arguments else {})


def _program(words: Sequence[str]) -> tuple[Data, list[str]]:
    """How a program is started, and its arguments."""
    first, *rest = words
    # First, for that program may be one of this interpreter.
    if [Path(first).name, *rest[:1]] == ["ros2", "run"] and len(rest) > 2:
        return {"package": rest[1], "executable": rest[2]}, rest[3:]
    line = _first_line(first)
    by_name = Path(first).suffix == ".py" and (which(first) is None or not line.startswith("#!"))
    named = line.removeprefix("#!").split() if line.startswith("#!") else []
    if by_name or (named and _is_this_interpreter(named[-1])):
        return {"script": first}, rest
    if _is_this_interpreter(first) and rest:
        if rest[0] == "-m" and len(rest) > 1:
            return {"module": rest[1]}, rest[2:]
        if not rest[0].startswith("-"):
            return {"script": rest[0]}, rest[1:]
    return {"command": list(words)}, []


def _first_line(program: str) -> str:
    """The first line of a file, which may say what runs it; empty: it is not a text."""
    with suppress(OSError, UnicodeDecodeError), open(which(program) or program) as file:
        return file.readline(_LONGEST_LINE)
    return ""


def _is_this_interpreter(program: str) -> bool:
    found = which(program)
    return found is not None and Path(found).samefile(sys.executable)


def _ros_arguments(words: Sequence[str], settings: Data, where: str) -> list[str]:
    """Put remappings and parameters into settings; what is left stays an argument."""
    remap: dict[str, str] = {}
    parameters: Data = {}
    files: list[str] = []
    rest: list[str] = []
    pending = list(words)
    while pending:
        word = pending.pop(0)
        if word not in ("-r", "--remap", "-p", "--param", "--params-file"):
            rest.append(word)
            continue
        if not pending:
            raise ConfigurationError(f"{where}: found nothing after {word}; allowed is its value")
        value = pending.pop(0)
        name, given, target = value.partition(":=")
        if word == "--params-file":
            files.append(value)
        elif not given:
            raise ConfigurationError(f"{where}: found {word} {value!r}; allowed is NAME:=VALUE")
        elif word in ("-r", "--remap"):
            remap[name] = target
        else:
            parameters[name] = yaml.safe_load(target)
    node = remap.get("__node", "")
    for file in files:
        if Path(file).name.startswith(_OF_LAUNCH):
            parameters = _parameters_in(Path(file), node) | parameters
        else:
            rest += ["--params-file", file]
    settings |= {"remap": remap} if remap else {}
    parameters.pop("use_sim_time", None)
    settings |= {"ros_parameters": parameters} if parameters else {}
    return rest


def _parameters_in(file: Path, node: str) -> Data:
    """The parameters of a node in a file that goes when launch ends."""
    found: Data = {}
    for name, part in read_mapping(file, "ROS parameters").items():
        if name in ("/**", node, f"/{node}") and isinstance(part, Mapping):
            found |= part.get(_PARAMETERS, {})
        elif name.rpartition("/")[2] == node and isinstance(part, Mapping):
            found |= part.get(_PARAMETERS, {})
    return found
