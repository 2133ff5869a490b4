# SPDX-License-Identifier: Apache-2.0
"""Python code that a user names by a text: ``package.module`` or ``path/to/file.py``."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from pathlib import Path
from types import ModuleType

from ros2_cosim.kernel.errors import ConfigurationError


def load_module(place: str, directory: Path | None = None) -> ModuleType:
    """Import a module, or run a file as one.

    :param place: ``package.module``, or the path of a file that ends in ``.py``; a file is run
        anew each time
    :param directory: where a relative path begins, by default the working directory
    :raises ConfigurationError: there is no such file, or the code failed; its own exception is
        the cause
    """
    try:
        if place.endswith(".py"):
            return _run_file((directory or Path()) / place)
        return importlib.import_module(place)
    except ConfigurationError:
        raise
    except Exception as error:
        raise ConfigurationError(
            f"loading {place} failed: {type(error).__name__}: {error}"
        ) from error


def _run_file(path: Path) -> ModuleType:
    if not path.is_file():
        raise ConfigurationError(f"there is no file {path}")
    name = f"ros2_cosim_file_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ConfigurationError(f"{path} is no Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses look their module up there
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module
