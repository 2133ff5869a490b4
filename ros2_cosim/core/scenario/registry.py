# SPDX-License-Identifier: Apache-2.0
"""From the name of a model in a scenario to the model itself.

Models have names by entry points of the group ``ros2_cosim.models``, those of this project as
those of any other distribution. ``module:attribute`` names any other: a
:class:`~ros2_cosim.core.kernel.model.Model`, or a factory that is called with a ``ModelContext``
and gives an object with a method ``activate``.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import lru_cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any, NamedTuple

from ros2_cosim.core.kernel.duck_typed import MEMBERS
from ros2_cosim.core.kernel.errors import ConfigurationError, MissingWingError
from ros2_cosim.core.kernel.guesses import check_members, did_you_mean
from ros2_cosim.core.kernel.loading import (
    is_own_module,
    line_of,
    load_named,
    refuse_code,
    refuse_missing_wing,
)
from ros2_cosim.core.kernel.model import Model

MODEL_GROUP = "ros2_cosim.models"


class NamedModel(NamedTuple):
    """What a scenario names: a declared model (``kind``), or a factory that declares nothing."""

    name: str
    kind: type[Model]
    factory: Callable[..., Any] | None = None


class Undeclared(Model):
    """Stands for a factory of which nothing is known before it has made its model."""

    def activate(self, step: Any) -> Any:
        """Never called: the model that the factory makes takes its place."""
        raise AssertionError("a factory's model is made before it is activated")


@lru_cache(maxsize=1)
def available_models() -> dict[str, EntryPoint]:
    """Name -> entry point of every model that an installed distribution offers."""
    return {entry.name: entry for entry in sorted(entry_points(group=MODEL_GROUP))}


def find_model(name: str, where: str) -> NamedModel:
    """Find a model; its module is imported, nothing is made.

    :param name: as in a scenario
    :param where: how messages call the place that names it
    :raises ConfigurationError: there is no such model, or its module cannot be imported
    """
    targets = {known: entry.value for known, entry in available_models().items()}
    found = load_named(name, targets, where=where, noun="model", form="module:factory")
    if isinstance(found, type) and issubclass(found, Model):
        return NamedModel(name, found)
    if name not in targets and is_own_module(name.partition(":")[0]):
        raise ConfigurationError(
            f"{where}: found '{name}', which is no model; allowed of this package are classes "
            f"derived from Model, and {', '.join(targets)}"
        )
    if not callable(found):
        raise ConfigurationError(
            f"{where}: model '{name}' cannot be loaded: it is of type {type(found).__name__}; "
            "allowed is a Model, or a factory that takes a ModelContext"
        )
    _check_factory(found, name, where)
    if isinstance(found, type):
        check_members(found, f"{where}: '{name}'", MEMBERS)
    return NamedModel(name, Undeclared, found)


@lru_cache
def offered(group: str) -> dict[str, EntryPoint]:
    """Name -> entry point of all that installed distributions offer in a group."""
    return {entry.name: entry for entry in sorted(entry_points(group=group))}


def functions_of(group: str) -> dict[str, Callable[..., Any]]:
    """Name -> function of all that installed distributions offer in a group.

    What needs a part of this package that is not there is left out.

    :raises ConfigurationError: one cannot be imported
    """
    found = {}
    for name, entry in offered(group).items():
        with suppress(MissingWingError):
            found[name] = load_entry(entry, group)
    return found


def load_entry(entry: EntryPoint, where: str) -> Any:
    """What an entry point stands for.

    :param where: how messages call the place that needs it
    :raises MissingWingError: it needs a part of this package that is not there
    :raises ConfigurationError: it cannot be imported
    """
    try:
        return entry.load()
    except Exception as error:
        refuse_missing_wing(error, f"{where}: '{entry.name}'")
        raise ConfigurationError(
            f"{where}: '{entry.name}' cannot be loaded: {type(error).__name__}: {error}"
            f"{line_of(error)}"
        ) from error


def find_kind(
    known: Mapping[str, EntryPoint], name: str, where: str, noun: str, *kinds: type
) -> Any:
    """The class that an entry point offers.

    :param known: name -> entry point
    :param where: how messages call the place that names it
    :param kinds: what it may be derived from
    :raises ConfigurationError: there is none of this name, or it cannot be imported
    """
    entry = known.get(name)
    if entry is None:
        raise ConfigurationError(
            f"{where}: found '{name}'; {did_you_mean(name, known)}allowed are "
            f"{', '.join(known) or 'none'}"
        )
    if not is_own_module(entry.value.partition(":")[0]):
        refuse_code(f"{where}: found '{name}', which")
    try:
        module, _, attribute = entry.value.partition(":")
        found = vars(importlib.import_module(module))[attribute]
    except Exception as error:
        refuse_missing_wing(error, f"{where}: {noun} '{name}'")
        raise ConfigurationError(
            f"{where}: {noun} '{name}' cannot be loaded: {type(error).__name__}: {error}"
        ) from error
    if not (isinstance(found, type) and issubclass(found, kinds)):
        allowed = " or ".join(kind.__name__ for kind in kinds)
        raise ConfigurationError(
            f"{where}: {noun} '{name}' cannot be loaded: {entry.value} is no {allowed}"
        )
    return found


def _check_factory(factory: Callable[..., Any], name: str, where: str) -> None:
    try:
        inspect.signature(factory).bind(None)
    except TypeError:
        raise ConfigurationError(
            f"{where}: found '{name}', which cannot be called with one argument; allowed is a "
            "Model, or a factory that takes a ModelContext"
        ) from None
    except ValueError:
        return  # without a signature nothing is known of it
