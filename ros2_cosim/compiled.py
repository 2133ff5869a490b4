# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Finds the compiled form of the hot modules, where there is one of exactly these sources.

``make setup`` compiles the modules that ``buildtools/compile_modules.py`` lists, with mypyc, and
puts library and manifest into the environment, outside of the source tree. The manifest has a
digest of every source file that went into the library, and a stamp, by which a file that was not
touched since is known without reading it. A process takes the library only if all files beside
this one are those: an edited file is never shadowed by older compiled code, and all modules run as
Python, then, because a library is one piece. What runs gives the same bits in both forms.

``COSIM_PURE=1`` leaves the library aside.
"""

from __future__ import annotations

import importlib.machinery
import importlib.util
import json
import os
import sys
from collections.abc import Sequence
from hashlib import sha256
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Any

#: Set to anything but nothing or 0, it keeps a process to pure Python.
PURE_VARIABLE = "COSIM_PURE"
MANIFEST = "manifest.json"
#: Name of the library's own module, and of the function in it that starts the others.
LIBRARY_MODULE = "ros2_cosim_compiled__mypyc"
STARTER_MODULE = "ros2_cosim_starter"

_PACKAGE = Path(__file__).resolve().parent


def directory(prefix: Path | None = None) -> Path:
    """Where an environment, this interpreter's if none is named, has library and manifest."""
    return (Path(sys.prefix) if prefix is None else prefix) / "lib" / "ros2_cosim_compiled"


def digest_of(path: Path | str) -> str:
    """The digest of one source file as the manifest has it."""
    return sha256(Path(path).read_bytes()).hexdigest()


def stamp_of(path: Path | str) -> list[int]:
    """What the system changes whenever a file is written, moved or copied: inode, size, ctime."""
    found = os.stat(path)
    return [found.st_ino, found.st_size, found.st_ctime_ns]


class CompiledFinder(MetaPathFinder):
    """Finds the modules of one library.

    :param library: path of the library
    :param modules: full names of the modules in it
    """

    def __init__(self, library: Path, modules: Sequence[str]) -> None:
        self.library = library
        self._modules = frozenset(modules)

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None,
        target: ModuleType | None = None,
    ) -> ModuleSpec | None:
        """Find a module of the library; the others are left to the finders behind this one."""
        if fullname in self._modules:
            source = _PACKAGE.parent.joinpath(*fullname.split(".")).with_suffix(".py")
            spec = ModuleSpec(fullname, _Compiled(self), origin=str(source))
            spec.has_location = True
            return spec
        if fullname in (LIBRARY_MODULE, STARTER_MODULE):
            return importlib.util.spec_from_file_location(
                fullname,
                self.library,
                loader=importlib.machinery.ExtensionFileLoader(fullname, str(self.library)),
            )
        return None


class _Compiled(Loader):
    """Starts a module of the library."""

    def __init__(self, finder: CompiledFinder) -> None:
        self._finder = finder

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        library = importlib.import_module(LIBRARY_MODULE)
        starter: Any = importlib.import_module(STARTER_MODULE)
        start = vars(library)["init_" + spec.name.replace(".", "___")]
        module: ModuleType = starter.start(start)
        return module

    def exec_module(self, module: ModuleType) -> None:
        """Nothing: starting the module has executed it."""


def _load() -> tuple[CompiledFinder | None, str]:
    """The finder of a library that fits; or None and why there is none."""
    if os.environ.get(PURE_VARIABLE, "0") not in ("", "0"):
        return None, f"{PURE_VARIABLE} is set"
    place = directory()
    try:
        manifest = json.loads((place / MANIFEST).read_bytes())
        library, suffix, modules, sources = (
            manifest[key] for key in ("library", "suffix", "modules", "sources")
        )
        stamps = dict(manifest.get("stamps", {}))
    except FileNotFoundError:
        return None, "not compiled; `make setup` does it"
    except (OSError, ValueError, KeyError, TypeError) as error:
        return None, f"{place / MANIFEST} cannot be used: {type(error).__name__}: {error}"
    if suffix != importlib.machinery.EXTENSION_SUFFIXES[0]:
        return None, f"compiled for {suffix}"
    for name, digest in sources.items():
        try:
            path = f"{_PACKAGE}/{name}"  # hundreds of paths would take longer than the system
            same = stamp_of(path) == stamps.get(name) or digest_of(path) == digest
        except FileNotFoundError:
            same = False
        if not same:
            return None, f"{name} changed since; `make setup` compiles it again"
    if not (place / library).is_file():
        return None, f"{place / library} is missing; `make setup` makes it again"
    return CompiledFinder(place / library, modules), ""


#: Why this process runs pure Python; empty if it runs the compiled modules.
reason_for_pure = ""


def is_compiled() -> bool:
    """Whether this process runs the compiled form of the hot modules."""
    return not reason_for_pure


def library() -> Path | None:
    """The library that this process uses: it has functions in C, too; None: pure Python runs."""
    return next((f.library for f in sys.meta_path if isinstance(f, CompiledFinder)), None)


def describe() -> str:
    """``yes``, or ``no`` and why."""
    return f"no ({reason_for_pure})" if reason_for_pure else "yes"


def install() -> None:
    """Let the compiled modules be found, where there are any of these sources; once."""
    global reason_for_pure
    if any(isinstance(finder, CompiledFinder) for finder in sys.meta_path):
        return
    finder, reason_for_pure = _load()
    if finder is not None:
        sys.meta_path.insert(0, finder)
