# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""From a scenario file as it is written to the plain data of one whole scenario.

A file may include others (``include``), take parameters (``parameters``, used as ``${name}``),
and have sections that stand for more (:mod:`ros2_cosim.core.scenario.templates`). All of that is
resolved here, on plain data and within bounds: what comes out could have been written by hand,
and everything else knows only that.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Final, NamedTuple

from ros2_cosim.core.documents.installed import share_file
from ros2_cosim.core.documents.plain_data import merged, parse_value, read_mapping
from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.scenario.templates import (
    is_template,
    scenario_of_file,
    without_templates,
)

#: Files of one scenario: a chain or a fan of includes that is longer is a mistake.
MAX_FILES: Final = 32
#: Texts that hold parameters, in one scenario.
MAX_SUBSTITUTIONS: Final = 20_000
#: Characters of a parameter that is a text; with the bound above, of all that they become.
MAX_TEXT: Final = 200

_REFERENCE = re.compile(r"\$(\$?)\{([^{}]*)\}")
_NAME = re.compile(r"[a-z][a-z0-9_]*")


class ValueChange(NamedTuple):
    """One value of a scenario file to replace; ``where`` names the source of the new value."""

    key: str
    value: Any
    where: str


def compose(path: Path, overrides: Sequence[str] = ()) -> dict[str, Any]:
    """Read a scenario file with all that it includes, and resolve what it describes in short.

    :param overrides: ``dotted.key=value`` texts, applied in order
    :raises ConfigurationError: a file cannot be read or includes itself, a parameter is unknown,
        a template is wrong, or there is far too much of something; the message names the place
    """
    return resolved(read_whole(path), [_change(text) for text in overrides], f"scenario {path}")


def read_whole(path: Path, directory: Path = Path()) -> dict[str, Any]:
    """Read a scenario file with all that it includes, without resolving it.

    :param path: the file; or the name of a scenario of this package, as ``platoon`` or ``town``
    :param directory: from which the file is named
    :raises ConfigurationError: a file cannot be read or includes itself
    """
    file = directory / path
    try:
        file.stat()
    except FileNotFoundError:
        shipped = _shipped(path)
        if shipped is None:
            raise ConfigurationError(f"scenario {file}: {_nearest(file)}") from None
        file = shipped
    except OSError:
        pass  # its reader says why
    data = _Files().read(file)
    data.setdefault("base_directory", str(file.resolve().parent))
    return data


def _shipped(path: Path) -> Path | None:
    """The scenario of this package that has this name; None if none has it."""
    files = [directory / f"{path}.yaml" for directory in _directories()]
    return next((file for file in files if path.name == str(path) and file.is_file()), None)


def _directories() -> tuple[Path, Path]:
    """Where the scenarios of this package are."""
    config = share_file("config/platoon.yaml").parent
    return config, config / "library"


def _nearest(path: Path) -> str:
    """What to say of a scenario file that is not there: those whose names are most like its."""
    directories = (path.parent, *_directories())
    files = {
        file.stem: os.path.relpath(file) if file.is_relative_to(Path.cwd()) else str(file)
        for directory in reversed(directories)
        for file in sorted(directory.glob("*.yaml"))
    }
    near = get_close_matches(path.stem, files)
    meant = f"did you mean {' or '.join(files[name] for name in near)}? " if near else ""
    return f"there is no such file; {meant}cosim new --list shows the scenario library"


def with_overrides(data: dict[str, Any], overrides: Sequence[str], origin: str) -> dict[str, Any]:
    """Plain data of a scenario that is resolved already, changed.

    :param overrides: ``dotted.key=value`` texts, applied in order
    :raises ConfigurationError: a key is not there
    """
    return resolved(data, [_change(text) for text in overrides], f"scenario {origin}")


def resolved(data: dict[str, Any], changes: Sequence[ValueChange], origin: str) -> dict[str, Any]:
    """What a whole scenario file describes, changed.

    :param data: of :func:`read_whole`; it is changed, too
    :param changes: applied in order
    :param origin: how messages call the scenario
    :raises ConfigurationError: as :func:`compose`
    """
    early = [change for change in changes if _is_resolved(change.key.split(".")[0])]
    for change in early:
        _apply(data, change)
    if "parameters" in data:
        data = _substituted(data, data.pop("parameters"), origin)
    data = without_templates(data, origin)
    for change in changes:
        if change not in early:
            _apply(data, change)
    return data


class _Files:
    """Reads a file and those that it includes."""

    def __init__(self) -> None:
        self._count = 0

    def read(self, path: Path, within: tuple[Path, ...] = ()) -> dict[str, Any]:
        self._count += 1
        if self._count > MAX_FILES:
            raise ConfigurationError(
                f"scenario {within[0]}: include: found more than {MAX_FILES} files; allowed are "
                f"{MAX_FILES}"
            )
        data = scenario_of_file(path, path.parent) or read_mapping(path, "scenario")
        own = path.resolve()
        whole: dict[str, Any] = {}
        for place, included in _includes(data.pop("include", []), path):
            if included.resolve() in (own, *within):
                chain = " -> ".join(p.name for p in (*within, own, included.resolve()))
                raise ConfigurationError(
                    f"scenario {path}: {place}: found '{included.name}', which includes itself "
                    f"({chain})"
                )
            whole = merged(whole, self.read(included, (*within, own)))
        return merged(whole, data)


def _includes(entry: Any, path: Path) -> list[tuple[str, Path]]:
    names = entry if isinstance(entry, list) else [entry]
    found = []
    for number, name in enumerate(names):
        place = f"include.{number}" if isinstance(entry, list) else "include"
        if not isinstance(name, str) or not name.endswith((".yaml", ".yml", ".json")):
            raise ConfigurationError(
                f"scenario {path}: {place}: found {name!r}; allowed is the path of a file "
                "relative to this one that ends in .yaml, .yml or .json"
            )
        if not (path.parent / name).is_file():
            raise ConfigurationError(
                f"scenario {path}: {place}: found {name!r}; there is no file {path.parent / name}"
            )
        found.append((place, path.parent / name))
    return found


def _substituted(data: dict[str, Any], parameters: Any, origin: str) -> dict[str, Any]:
    """The data with the values of the parameters instead of ``${name}``."""
    values = _checked_parameters(parameters, origin)
    left = MAX_SUBSTITUTIONS

    def look_up(reference: re.Match[str], place: str) -> Any:
        nonlocal left
        left -= 1
        if left < 0:
            raise ConfigurationError(
                f"{origin}: {place}: found more than {MAX_SUBSTITUTIONS} uses of parameters; "
                f"allowed are {MAX_SUBSTITUTIONS}"
            )
        name = reference[2]
        if name not in values:
            raise ConfigurationError(
                f"{origin}: {place}: found ${{{name}}}; allowed are the parameters of this "
                f"scenario, {', '.join(values) or 'none'} (write $${{ for the text ${{)"
            )
        return values[name]

    def resolve(value: Any, place: str) -> Any:
        if isinstance(value, dict):
            return {k: resolve(v, f"{place}.{k}" if place else k) for k, v in value.items()}
        if isinstance(value, list):
            return [resolve(v, f"{place}.{i}") for i, v in enumerate(value)]
        if not isinstance(value, str) or "${" not in value:
            return value
        whole = _REFERENCE.fullmatch(value)
        if whole and not whole[1]:
            return look_up(whole, place)  # keeps its type

        def as_text(found: re.Match[str]) -> str:
            return found[0][1:] if found[1] else _text(look_up(found, place))

        return _REFERENCE.sub(as_text, value)

    resolved: dict[str, Any] = resolve(data, "")
    return resolved


def _text(value: Any) -> str:
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    return str(value)


def _checked_parameters(parameters: Any, origin: str) -> dict[str, Any]:
    if not isinstance(parameters, dict):
        raise ConfigurationError(
            f"{origin}: parameters: found {parameters!r}; allowed is a mapping of name: value"
        )
    for name, value in parameters.items():
        if not _NAME.fullmatch(name):
            raise ConfigurationError(
                f"{origin}: parameters: found the name {name!r}; allowed is {_NAME.pattern}"
            )
        if isinstance(value, (dict, list)) or (isinstance(value, str) and len(value) > MAX_TEXT):
            raise ConfigurationError(
                f"{origin}: parameters.{name}: found {type(value).__name__}; allowed are a number, "
                f"true, false, null and a text of at most {MAX_TEXT} characters"
            )
    return parameters


def _change(override: str) -> ValueChange:
    """A change from ``dotted.key=value``; the value is YAML."""
    key, separator, text = override.partition("=")
    if not separator or not key:
        raise ConfigurationError(f"--set {override}: allowed is key=value, with dots in the key")
    return ValueChange(key, parse_value(text, f"--set {override}"), f"--set {override}")


def _is_resolved(section: str) -> bool:
    """Whether a section is gone in what comes out: ``--set`` changes it before it is resolved."""
    return section == "parameters" or is_template(section)


def _has_defaults(section: str, is_whole: bool) -> bool:
    """Whether parts of a section, or the section itself, are there without being written.

    :param is_whole: whether the section itself is looked for
    """
    return section in ("simulator", "bag") or (is_template(section) and not is_whole)


def _apply(data: dict[str, Any], change: ValueChange) -> None:
    node: Any = data
    where = change.where
    *path, last = change.key.split(".")
    for part in path:
        if isinstance(node, dict) and _has_defaults(path[0], node is data):
            node.setdefault(part, {})
        if not isinstance(node, dict) or part not in node:
            known = ", ".join(map(str, node)) if isinstance(node, dict) else "nothing"
            raise ConfigurationError(f"{where}: no '{part}' there; found {known}")
        node = node[part]
    if not isinstance(node, dict):
        raise ConfigurationError(f"{where}: '{'.'.join(path)}' holds a plain value")
    if path == ["parameters"] and last not in node:
        raise ConfigurationError(
            f"{where}: the scenario has no parameter '{last}'; it has {', '.join(node) or 'none'}"
        )
    node[last] = change.value
