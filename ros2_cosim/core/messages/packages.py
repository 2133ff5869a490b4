# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Message packages as sources: directories with definitions in ``msg/``, ``srv/``, ``action/``."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from ros2_cosim.core.documents.extras import command_for
from ros2_cosim.core.documents.files import cause_of, read_bounded
from ros2_cosim.core.documents.installed import PACKAGE, find_share, share_file
from ros2_cosim.core.documents.xml_reader import read_xml
from ros2_cosim.core.kernel.errors import ConfigurationError

KINDS = ("msg", "srv", "action")
"""The directories of a package that hold definitions, which are also the ends of their names."""

EXTRA = "messages"
"""The extra of this distribution that has what builds messages, and further standard packages."""

STANDARD_PACKAGES = frozenset({"actionlib_msgs", "shape_msgs", "stereo_msgs", "trajectory_msgs"})
"""Packages of definitions that a run does not need: they are in the extra."""

_NAME = re.compile(r"[a-z][a-z0-9_]*")
_DESCRIPTION = "package.xml"
#: A definition, or the description of a package, is a page or two [bytes].
_MAX_TEXT = 1 << 20
#: A workspace of message packages has some hundred directories; a whole disk has millions.
_MAX_DIRECTORIES = 10_000


class MessagePackage(NamedTuple):
    """A message package as it is checked out.

    ``files`` are its definitions; those of one kind are ordered by name.
    """

    name: str
    directory: Path
    version: str
    files: tuple[Path, ...]

    @property
    def messages(self) -> dict[str, Path]:
        """Full type name -> definition, of messages alone."""
        return {f"{self.name}/msg/{f.stem}": f for f in self.files if f.suffix == ".msg"}


def find_packages(directory: Path, where: str) -> list[MessagePackage]:
    """The message packages that a directory is or holds, at any depth.

    A directory without ``package.xml`` is a package if it has a directory ``msg``; the package
    is then called as it.

    :param where: how messages call the place that names the directory
    :raises ConfigurationError: it is not there, holds no message package, or two of one name
    """
    if not directory.is_dir():
        raise ConfigurationError(f"{where}: found {directory}, which is not a directory")
    found: dict[str, MessagePackage] = {}
    for package in _packages_in(directory.absolute(), _Count(directory, where)):
        other = found.setdefault(package.name, package)
        if other is not package:
            raise ConfigurationError(
                f"{where}: {other.directory} and {package.directory} are both package "
                f"{package.name}; allowed is one of them"
            )
    if not found:
        raise ConfigurationError(
            f"{where}: {directory} holds no message package; allowed is a directory with "
            "msg/*.msg, or one above such directories"
        )
    return sorted(found.values())


def is_installed(type_name: str) -> bool:
    """Whether the package of a message type is installed, with this message."""
    package, _, name = type_name.partition("/msg/")
    return any(find_share(package, f"msg/{name}{end}") for end in (".msg", ".idl"))


def how_to_install(type_name: str) -> str:
    """What brings the package of a message type, for messages to the user."""
    package = type_name.partition("/")[0]
    if package in STANDARD_PACKAGES:
        return f"package {package} is not installed: run '{command_for(EXTRA)}'"
    return (
        f"package {package} is not installed: build it from its definitions by "
        f"'cosim messages build DIRECTORY_OF_{package.upper()}', or source a workspace that has it"
    )


def changed_since_build(directory: Path | None = None) -> str:
    """The first of this project's definitions that is another one than was compiled, as msg/X.msg.

    Empty: none is, or nothing was compiled here. What runs reads the definitions of the checkout,
    the middleware and other programs have the compiled ones.

    :param directory: with ``msg`` and ``srv``; None: that of this package, if it is a checkout
    """
    if directory is None:
        directory = share_file(_DESCRIPTION).parent
    files = [file for kind in KINDS for file in sorted((directory / kind).glob(f"*.{kind}"))]
    names = [f"{file.parent.name}/{file.name}" for file in files]
    built = [find_share(PACKAGE, name) for name in names]
    if not any(built):
        return ""
    for file, name, there in zip(files, names, built, strict=True):
        if there is None or _lines(there) != _lines(file):
            return name
    return ""


def _lines(definition: Path) -> list[str]:
    """What a definition says, without its comments."""
    lines = [line.partition("#")[0].split() for line in definition_text(definition).splitlines()]
    return [" ".join(words) for words in lines if words]


def definition_text(path: Path) -> str:
    """The text of a definition.

    :raises ConfigurationError: it cannot be read, or is none
    """
    try:
        return read_bounded(path, _MAX_TEXT).decode("utf-8")
    except OSError as error:
        raise ConfigurationError(f"{path}: {cause_of(error)}") from None
    except UnicodeDecodeError:
        raise ConfigurationError(f"{path}: a definition is UTF-8 text") from None


class _Count:
    """Counts the directories that are looked into.

    :param directory: below which they are
    :param where: how messages call the place that names it
    """

    def __init__(self, directory: Path, where: str) -> None:
        self._directory = directory
        self._where = where
        self._seen = 0

    def one_more(self) -> None:
        """Look into another one.

        :raises ConfigurationError: there are too many
        """
        self._seen += 1
        if self._seen > _MAX_DIRECTORIES:
            raise ConfigurationError(
                f"{self._where}: found more than {_MAX_DIRECTORIES} directories below "
                f"{self._directory}; allowed is a directory of message packages"
            )


def _packages_in(directory: Path, count: _Count) -> Iterator[MessagePackage]:
    count.one_more()
    described = directory / _DESCRIPTION
    files = _definitions(directory)
    if not files and described.is_file():
        # By subject, one directory further below.
        files = _definitions(directory, "*/")
        named = {f"{path.parent.name}/{path.name}": path for path in files}
        for path in files:
            other = named[f"{path.parent.name}/{path.name}"]
            if path != other:
                raise ConfigurationError(f"{path}: found beside {other}; allowed is one of them")
    if files:
        name, version = _read(described) if described.exists() else (directory.name, "0.0.0")
        if not _NAME.fullmatch(name):
            raise ConfigurationError(
                f"{directory}: found the package name '{name}'; allowed are small letters, digits "
                "and underscores"
            )
        yield MessagePackage(name, directory, version, files)
    elif not described.is_file():
        for below in sorted(directory.iterdir()):
            if below.is_dir() and not below.is_symlink() and not below.name.startswith("."):
                yield from _packages_in(below, count)


def _definitions(directory: Path, depth: str = "") -> tuple[Path, ...]:
    patterns = (f"{depth}{kind}/*.{kind}" for kind in KINDS)
    return tuple(path for pattern in patterns for path in sorted(directory.glob(pattern)))


def _read(description: Path) -> tuple[str, str]:
    """Name and version in a ``package.xml``."""
    try:
        data = read_bounded(description, _MAX_TEXT)
    except OSError as error:
        raise ConfigurationError(f"{description}: {cause_of(error)}") from None
    root = read_xml(data, str(description))
    name = (root.findtext("name") or "").strip()
    return name, (root.findtext("version") or "0.0.0").strip()
