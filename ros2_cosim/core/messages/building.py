# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""``cosim messages build``: message packages from their definitions, compiled into a prefix.

It uses the definitions of a package, but not its build files: descriptions of builds name linters,
other build systems and other distributions. The dependencies of a package follow from its
definitions, too.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import NamedTuple
from xml.sax.saxutils import escape

from ros2_cosim.core.documents.extras import command_for
from ros2_cosim.core.documents.one_line import one_line
from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.messages.compilation import (
    PYTHON_DIRECTORY,
    build_interface_package,
    wheel_prefix,
)
from ros2_cosim.core.messages.definitions import used_types
from ros2_cosim.core.messages.packages import (
    EXTRA,
    STANDARD_PACKAGES,
    MessagePackage,
    definition_text,
    find_packages,
)

_CMAKE = """\
cmake_minimum_required(VERSION 3.20)
project({name} VERSION {version})
find_package(ament_cmake REQUIRED)
find_package(rosidl_default_generators REQUIRED)
{finds}
rosidl_generate_interfaces(${{PROJECT_NAME}}
  {files}
  DEPENDENCIES {needs})
ament_export_dependencies(rosidl_default_runtime)
ament_package()
"""

_DESCRIPTION = """\
<?xml version="1.0"?>
<package format="3">
  <name>{name}</name>
  <version>{version}</version>
  <description>Built from {directory}.</description>
  <maintainer email="nobody@example.invalid">not maintained here</maintainer>
  <license>as its sources</license>
  <buildtool_depend>ament_cmake</buildtool_depend>
  <buildtool_depend>rosidl_default_generators</buildtool_depend>
{needs}
  <exec_depend>rosidl_default_runtime</exec_depend>
  <member_of_group>rosidl_interface_packages</member_of_group>
  <export><build_type>ament_cmake</build_type></export>
</package>
"""

#: Packages of ROS that a build begins with.
_GENERATORS = ("ament_cmake", "rosidl_default_generators")

#: Types that definitions of ROS 1 name without a package, at the beginning of a field.
_FORMER = {
    "Header": "std_msgs/Header",
    "time": "builtin_interfaces/Time",
    "duration": "builtin_interfaces/Duration",
}
_FORMER_TYPE = re.compile(rf"^(?:{'|'.join(_FORMER)})(?=[\[ \t])", re.MULTILINE)

_VERSION = re.compile(r"\d+(\.\d+){0,3}")


class BuiltPackage(NamedTuple):
    """A message package that was built: its types are full names such as ``a_msgs/msg/Hit``."""

    name: str
    version: str
    directory: Path
    types: tuple[str, ...]


def environment_prefix() -> Path:
    """The prefix that the environment of this interpreter is."""
    return Path(sys.prefix)


def variables_for(prefix: Path) -> dict[str, str]:
    """What has to be in the environment of programs that use its own prefix."""
    return {
        "AMENT_PREFIX_PATH": str(prefix),
        "LD_LIBRARY_PATH": str(prefix / "lib"),
        "PYTHONPATH": str(prefix / PYTHON_DIRECTORY),
    }


def build_packages(directories: Sequence[Path], prefix: Path) -> list[BuiltPackage]:
    """Build the message packages that directories are or hold.

    Nothing is installed before all are built.

    :param prefix: where they are installed
    :returns: the packages, those first that others are built of
    :raises ConfigurationError: a directory holds none, or a package needs one that is not there
    :raises InterfaceBuildError: a tool is missing, or a step of the build fails
    """
    prefix = prefix.absolute()
    _check_generators()
    packages: dict[str, MessagePackage] = {}
    for directory in directories:
        for package in find_packages(directory, str(directory)):
            known = packages.setdefault(package.name, package)
            if known.directory != package.directory:
                raise ConfigurationError(
                    f"{package.directory}: package {package.name} is in {known.directory}, too; "
                    "allowed is one of them"
                )
    needs = {name: needed_packages(package) for name, package in packages.items()}
    for package in packages.values():
        _check_definitions(package)
    prefixes = [prefix, wheel_prefix()]
    _check_needs(needs, prefixes)
    try:
        order = list(TopologicalSorter(_among(needs)).static_order())
    except CycleError as error:
        raise ConfigurationError(
            f"packages need each other: {' -> '.join(error.args[1])}; allowed is one direction"
        ) from None
    with tempfile.TemporaryDirectory(prefix="cosim-messages-") as directory_name:
        scratch = Path(directory_name)
        for name in order:
            source = scratch / "source" / name
            _write_sources(packages[name], sorted(needs[name]), source)
            build_interface_package(
                name, source, scratch / "build" / name, scratch / "stage", prefixes
            )
        _install(scratch / "stage", prefix)
    return [_described(packages[name]) for name in order]


def _check_generators() -> None:
    """:raises ConfigurationError: what builds messages is not installed."""
    share = wheel_prefix() / "share"
    missing = [name for name in _GENERATORS if not (share / name).is_dir()]
    if missing:
        raise ConfigurationError(
            f"cosim messages build needs {', '.join(missing)}, which is not installed; run "
            f"'{command_for(EXTRA)}'"
        )


def needed_packages(package: MessagePackage) -> set[str]:
    """Names of the other packages whose types the definitions of a package name.

    :raises ConfigurationError: a definition is not understood
    """
    own = package.messages.keys()
    needed: set[str] = set()
    for path in package.files:
        for part in re.split(r"^---\s*$", _present_text(package, path), flags=re.MULTILINE):
            try:
                used = used_types(f"{package.name}/msg/{path.stem}", part)
            except ConfigurationError as error:
                raise ConfigurationError(f"{path}: {error}") from None
            packages = {kind: kind.partition("/")[0] for kind in used}
            missing = sorted(k for k in used - own if packages[k] == package.name)
            if missing:
                raise ConfigurationError(
                    f"{path}: found a field of type {missing[0]}, of which the package has no "
                    "definition; allowed are built-in types, messages of the package, and "
                    "PACKAGE/TYPE"
                )
            needed |= set(packages.values())
    return needed - {package.name}


def _present_text(package: MessagePackage, path: Path) -> str:
    """A definition with the names that ROS 1 has for three types replaced by those of ROS 2.

    :raises ConfigurationError: it cannot be read, or is not text
    """
    own = {name.rpartition("/")[2] for name in package.messages}

    def present(match: re.Match[str]) -> str:
        return match[0] if match[0] in own else _FORMER[match[0]]

    return _FORMER_TYPE.sub(present, definition_text(path))


def _check_definitions(package: MessagePackage) -> None:
    """Let the generator of ROS read the definitions, which it does more strictly than others."""
    from rosidl_adapter import parser

    readers = {
        ".msg": parser.parse_message_string,
        ".srv": parser.parse_service_string,
        ".action": parser.parse_action_string,
    }
    for path in package.files:
        try:
            readers[path.suffix](package.name, path.stem, _present_text(package, path))
        except Exception as error:
            raise ConfigurationError(f"{path}: {one_line(error)}") from None


def _check_needs(needs: dict[str, set[str]], prefixes: Sequence[Path]) -> None:
    for name, needed in needs.items():
        for other in sorted(needed - needs.keys()):
            if not any((p / "share" / other / "package.xml").is_file() for p in prefixes):
                bring = (
                    f"run '{command_for(EXTRA)}'"
                    if other in STANDARD_PACKAGES
                    else "name the directory of its definitions, too: cosim messages build ... "
                    f"DIRECTORY_OF_{other.upper()}"
                )
                raise ConfigurationError(
                    f"package {name} needs package {other}, which is not installed; {bring}"
                )


def _among(needs: dict[str, set[str]]) -> dict[str, set[str]]:
    return {name: needed & needs.keys() for name, needed in needs.items()}


def _write_sources(package: MessagePackage, needs: Sequence[str], source: Path) -> None:
    """A package that holds nothing but the definitions."""
    version = package.version if _VERSION.fullmatch(package.version) else "0.0.0"
    for path in package.files:
        copy = source / path.parent.name / path.name
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_text(_present_text(package, path), encoding="utf-8")
    files = [f"{path.parent.name}/{path.name}" for path in package.files]
    cmake = _CMAKE.format(
        name=package.name,
        version=version,
        finds="\n".join(f"find_package({name} REQUIRED)" for name in needs),
        files="\n  ".join(files),
        needs=" ".join(needs),
    )
    if not needs:
        cmake = cmake.replace("\n  DEPENDENCIES )", ")")
    (source / "CMakeLists.txt").write_text(cmake, encoding="utf-8")
    description = _DESCRIPTION.format(
        name=package.name,
        version=version,
        directory=escape(package.directory.name),
        needs="\n".join(f"  <depend>{name}</depend>" for name in needs),
    )
    (source / "package.xml").write_text(description, encoding="utf-8")


def _install(stage: Path, prefix: Path) -> None:
    """Move what was built into place; a library in use stays unchanged for its users."""
    for path in _files_below(stage):
        target = prefix / path.relative_to(stage)
        target.parent.mkdir(parents=True, exist_ok=True)
        fresh = target.with_name(f"{target.name}.new")
        shutil.copy2(path, fresh)
        os.replace(fresh, target)


def _files_below(directory: Path) -> Iterator[Path]:
    return (path for path in sorted(directory.rglob("*")) if path.is_file())


def _described(package: MessagePackage) -> BuiltPackage:
    types = tuple(f"{package.name}/{path.parent.name}/{path.stem}" for path in package.files)
    return BuiltPackage(package.name, package.version, package.directory, types)
