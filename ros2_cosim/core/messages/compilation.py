# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Build ROS interface packages with CMake against the ROS wheels of a virtual environment.

Imported by the build of this package, too: it needs the standard library only.
"""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.messages.message_generators.sitecustomize import (
    DIRECTORY as PARSED_DEFINITIONS,
)

# Where an installation keeps the Python packages, relative to its prefix.
PYTHON_DIRECTORY = Path(
    f"lib/python{sys.version_info.major}.{sys.version_info.minor}/site-packages"
)

# What is generated from messages copies fields one by one: more optimisation costs half of the time
# of the build and gains nothing that a benchmark shows.
GENERATED_CODE_FLAGS = "-O1 -DNDEBUG"


# Makes the generators share what they have parsed, see there.
GENERATORS_PATH = Path(__file__).with_name("message_generators")


class InterfaceBuildError(ConfigurationError):
    """The messages cannot be built; the text says what is missing or which step failed."""


def wheel_prefix() -> Path:
    """Return the prefix that the ROS wheels visible to this interpreter are installed in.

    In an isolated build this is not ``sys.prefix``, so it is derived from a module.

    :raises InterfaceBuildError: if the interpreter sees no ROS message generator.
    """
    spec = importlib.util.find_spec("rosidl_adapter")
    if spec is None or not spec.submodule_search_locations:
        raise InterfaceBuildError(
            f"no ROS message generator (rosidl_adapter) found by {sys.executable}"
        )
    package = Path(next(iter(spec.submodule_search_locations)))
    return package.parents[len(PYTHON_DIRECTORY.parts)]


def build_environment(prefixes: list[Path]) -> dict[str, str]:
    """Return the process environment in which CMake and the generators find ``prefixes``.

    A ROS installation that happens to be sourced is hidden: its packages must not be mixed
    with those of the wheels.
    """
    environment = dict(os.environ)
    for name in ("PYTHONPATH", "ROS_DISTRO", "CMAKE_MODULE_PATH"):
        environment.pop(name, None)
    joined = os.pathsep.join(str(prefix) for prefix in prefixes)
    # The order of includes follows that of a set.
    environment["PYTHONHASHSEED"] = "0"
    environment["AMENT_PREFIX_PATH"] = joined
    environment["CMAKE_PREFIX_PATH"] = joined
    libraries = [prefix / "lib" for prefix in prefixes]
    for prefix in prefixes:
        libraries.extend(sorted((prefix / PYTHON_DIRECTORY).glob("ros_*.libs")))
    environment["LD_LIBRARY_PATH"] = os.pathsep.join(str(library) for library in libraries)
    tools = [str(prefix / "bin") for prefix in prefixes]
    environment["PATH"] = os.pathsep.join([*tools, environment.get("PATH", os.defpath)])
    # The generators import the packages of all prefixes, those of an isolated build included.
    python = [GENERATORS_PATH, *(prefix / PYTHON_DIRECTORY for prefix in prefixes)]
    environment["PYTHONPATH"] = os.pathsep.join(map(str, python))
    return environment


def run_step(description: str, command: list[str], environment: dict[str, str]) -> None:
    """Run one command; show its output only if it fails.

    :raises InterfaceBuildError: if the command cannot be started or fails.
    """
    try:
        subprocess.run(
            command,
            env=environment,
            check=True,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
        )
    except OSError as error:
        cause = os.strerror(error.errno or 0)
        raise InterfaceBuildError(f"{description}: cannot run {command[0]}: {cause}") from error
    except subprocess.CalledProcessError as error:
        raise InterfaceBuildError(
            f"{description} failed with exit status {error.returncode}:\n{error.stdout}"
        ) from None


@contextmanager
def unchanged_files_stay_old(directory: Path) -> Iterator[None]:
    """Give files that are written again with the same content their former time back.

    The message adapters write their output at each configuration; without this, everything
    would be generated and compiled again.
    """
    before = {
        path: (path.stat(), path.read_bytes())
        for path in directory.rglob("*")
        if path.is_file() and path.suffix in (".idl", ".json", ".py", ".in", ".cmake")
    }
    yield
    for path, (status, content) in before.items():
        if path.is_file() and path.read_bytes() == content:
            os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


def build_interface_package(
    name: str, source: Path, build: Path, stage: Path, prefixes: Sequence[Path] = ()
) -> None:
    """Configure, build and install the CMake package ``source`` into ``stage``.

    :param name: of the package, for messages.
    :param build: scratch directory of the build.
    :param stage: installation prefix, laid out like that of the wheels.
    :param prefixes: further prefixes in which packages are found.
    :raises InterfaceBuildError: if a tool is missing or a step fails.
    """
    environment = build_environment(list(dict.fromkeys([stage, *prefixes, wheel_prefix()])))
    parsed = build / "parsed_definitions"
    parsed.mkdir(parents=True, exist_ok=True)
    environment[PARSED_DEFINITIONS] = str(parsed)
    configure = ["cmake", "-G", "Ninja", "-S", str(source), "-B", str(build)]
    configure += [
        f"-DCMAKE_INSTALL_PREFIX={stage}",
        f"-DCMAKE_PROJECT_INCLUDE={Path(__file__).with_name('ros_wheels.cmake')}",
        "-DCMAKE_BUILD_TYPE=Release",
        # The place of the build would leave its length in the libraries, which is all that is left
        # of it in an installed one.
        "-DCMAKE_SKIP_RPATH=ON",
        f"-DCMAKE_C_FLAGS_RELEASE={GENERATED_CODE_FLAGS}",
        f"-DCMAKE_CXX_FLAGS_RELEASE={GENERATED_CODE_FLAGS}",
        "-DBUILD_TESTING=OFF",
        "-DROS2_COSIM_PYTHON_METADATA=OFF",
        f"-DPYTHON_INSTALL_DIR={PYTHON_DIRECTORY.as_posix()}",
        f"-DPython3_EXECUTABLE={sys.executable}",
    ]
    with unchanged_files_stay_old(build):
        run_step(f"configuring the messages of {name}", configure, environment)
    run_step(f"compiling the messages of {name}", ["cmake", "--build", str(build)], environment)
    run_step(f"installing the messages of {name}", ["cmake", "--install", str(build)], environment)
