# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Python code that a user names by a text: ``package.module`` or ``path/to/file.py``.

To name code is to run it. :func:`data_only` is for documents of strangers: each place that
would load or start what a document names asks :func:`refuse_code` before.
"""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import sys
import sysconfig
import traceback
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from types import ModuleType
from typing import Any

from ros2_cosim.core.kernel.errors import ConfigurationError, MissingWingError
from ros2_cosim.core.kernel.guesses import did_you_mean

_OWN = "ros2_cosim"
#: Compiled modules name their source relative to the checkout.
_PACKAGE = (str(Path(__file__).parents[2]), f"{_OWN}/")
#: Where code is that is installed, and so no file that the user works on.
_INSTALLED = tuple(sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib"))
_data_only: ContextVar[bool] = ContextVar("data_only", default=False)
#: Whether this process may have loaded other code than that of this project and its libraries.
_others: list[bool] = []


@contextmanager
def data_only() -> Iterator[None]:
    """Within the body, code other than that of this project is refused, and not loaded."""
    token = _data_only.set(True)
    try:
        yield
    finally:
        _data_only.reset(token)


def refuse_code(what: str) -> None:
    """Check whether code may be loaded, or a program started, that a document names.

    :param what: the place that names it, and what was found there
    :raises ConfigurationError: data alone is to be read
    """
    if _data_only.get():
        raise ConfigurationError(f"{what} is code; allowed is code of {_OWN} only")
    note_code_of_others()


def note_code_of_others() -> None:
    """Code of others is about to be loaded in this process, or their program is about to start."""
    _others.append(True)


def has_code_of_others() -> bool:
    """Whether that has happened."""
    return bool(_others)


def may_load(module: str) -> bool:
    """Whether a module may be imported: any, and within :func:`data_only` one of this project."""
    return is_own_module(module) or not _data_only.get()


def is_own_module(name: str) -> bool:
    """Whether a module is one of this project."""
    return name.partition(".")[0] == _OWN and not name.endswith(".py")


def refuse_missing_wing(error: BaseException, what: str) -> None:
    """Check whether an import has failed because a wing of this package is not installed.

    :param what: what needs the wing, for the message
    :raises MissingWingError: it is so
    """
    name = error.name if isinstance(error, ModuleNotFoundError) else None
    own, _, rest = (name or "").partition(".")
    if own == _OWN and rest:
        raise MissingWingError(
            f"{what} needs {own}.{rest.partition('.')[0]}, which is not installed"
        ) from None


def search_also(directory: Path) -> None:
    """Have modules found in a directory from now on; those of the standard library come first.

    A file ``random.py`` there would otherwise be imported by the next module that needs the
    standard one. Installed packages come after the directory.
    """
    standard = {sysconfig.get_path("stdlib"), sysconfig.get_path("platstdlib")}
    standard |= {f"{path}/lib-dynload" for path in standard}
    if str(directory) not in sys.path:
        behind = [index + 1 for index, path in enumerate(sys.path) if path in standard]
        sys.path.insert(max(behind, default=0), str(directory))


def load_module(place: str, directory: Path | None = None) -> ModuleType:
    """Import a module, or run a file as one.

    :param place: ``package.module``, or the path of a file that ends in ``.py``; a file is run
        anew each time
    :param directory: where a relative path begins, by default the working directory
    :raises ConfigurationError: there is no such file, or the code failed; its own exception is
        the cause
    """
    if not is_own_module(place):
        refuse_code(f"found '{place}', which")
    try:
        if place.endswith(".py"):
            return _run_file((directory or Path()) / place)
        return importlib.import_module(place)
    except ConfigurationError:
        raise
    except (Exception, SystemExit) as error:
        raise ConfigurationError(
            f"loading {place} failed: {type(error).__name__}: {error}{line_of(error)}"
        ) from error


def _run_file(path: Path) -> ModuleType:
    if not path.is_file():
        raise ConfigurationError(f"there is no file {path}")
    name = f"ros2_cosim_file_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None:
        raise ConfigurationError(f"{path} is not a Python file")
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses look their module up there
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module


def load_named(name: str, targets: Mapping[str, str], *, where: str, noun: str, form: str) -> Any:
    """What a name of a document stands for: an object of an installed distribution, or of a module.

    :param name: one of ``targets``, or ``module:attribute``
    :param targets: name -> ``module:attribute``, empty for a name that is not loaded
    :param where: how messages call the place that names it
    :param noun: what it is called
    :param form: how messages call the other form
    :raises ConfigurationError: there is none, or its module cannot be imported
    """
    module_name, colon, attribute = targets.get(name, name).partition(":")
    if not colon or not module_name or not attribute:
        raise ConfigurationError(
            f"{where}: found '{name}'; {did_you_mean(name, targets)}allowed are "
            f"{', '.join(targets) or f'no installed {noun}s'}, and {form}"
        )
    if "/" in module_name or module_name.endswith(".py"):
        raise ConfigurationError(
            f"{where}: found '{name}'; allowed is {form} with a module that can be imported, not a "
            "file"
        )
    if module_name.partition(".")[0] in sys.stdlib_module_names:
        raise ConfigurationError(
            f"{where}: found '{name}'; the Python standard library has no "
            f"{noun}s, allowed is your own module"
        )
    if not is_own_module(module_name):
        refuse_code(f"{where}: found '{name}', which")
    try:
        found: Any = importlib.import_module(module_name)
        for part in attribute.split("."):
            found = inspect.getattr_static(found, part)
    except (Exception, SystemExit) as error:
        refuse_missing_wing(error, f"{where}: {noun} '{name}'")
        raise ConfigurationError(
            f"{where}: {noun} '{name}' cannot be loaded: {type(error).__name__}: {error}"
            f"{line_of(error)}"
        ) from error
    return found


def line_of(error: BaseException) -> str:
    """Where an exception of named code comes from, for the end of a message.

    :returns: `` (FILE, line N)``: the last line that is neither this project's nor installed, else
        the last that is not this project's, else the last; empty if nothing was run
    """
    return place_in(traceback.extract_tb(error.__traceback__))


def place_in(stack: Iterable[traceback.FrameSummary]) -> str:
    """The place in a stack, the newest frame last, that :func:`line_of` names."""
    frames = [
        frame
        for frame in stack
        if not frame.filename.startswith(("<frozen ", __file__, importlib.__file__))
    ]
    others = [frame for frame in frames if not frame.filename.startswith(_PACKAGE)]
    users = [frame for frame in others if not frame.filename.startswith(_INSTALLED)]
    found = (users or others or frames)[-1:]
    return "".join(f" ({frame.filename}, line {frame.lineno})" for frame in found)
