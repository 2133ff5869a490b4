# SPDX-License-Identifier: Apache-2.0
"""From the name of a model in a scenario to the model itself.

Models have names by entry points of the group ``ros2_cosim.models``, those of this project as
those of any other distribution. ``module:attribute`` names any other: a
:class:`~ros2_cosim.core.kernel.model.Model`, or a factory that is called with a ``ModelContext``
and gives an object with a method ``activate``.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from importlib.metadata import EntryPoint
from typing import Any, NamedTuple

from ros2_cosim.core.documents.offered import offered
from ros2_cosim.core.kernel.duck_typed import MEMBERS
from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.kernel.guesses import check_members
from ros2_cosim.core.kernel.loading import is_own_module, load_named
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


def available_models() -> dict[str, EntryPoint]:
    """Name -> entry point of every model that an installed distribution offers."""
    return offered(MODEL_GROUP)


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
