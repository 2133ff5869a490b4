# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""From the name of a model in a scenario to the model itself.

Models have names by entry points of the group ``ros2_cosim.models``, those of this project as
those of any other distribution. ``module:Class`` names any other class derived from
:class:`~ros2_cosim.core.kernel.model.Model`.
"""

from __future__ import annotations

from importlib.metadata import EntryPoint
from typing import NamedTuple

from ros2_cosim.core.documents.offered import offered
from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.kernel.loading import load_named
from ros2_cosim.core.kernel.model import Model

MODEL_GROUP = "ros2_cosim.models"


class NamedModel(NamedTuple):
    """A model by its name in a scenario."""

    name: str
    kind: type[Model]


def available_models() -> dict[str, EntryPoint]:
    """Name -> entry point of every model that an installed distribution offers."""
    return offered(MODEL_GROUP)


def find_model(name: str, where: str) -> NamedModel:
    """Find a model: import its module, but do not make the model.

    :param name: as in a scenario
    :param where: how messages call the place that names it
    :raises ConfigurationError: there is no such model, or its module cannot be imported
    """
    targets = {known: entry.value for known, entry in available_models().items()}
    found = load_named(name, targets, where=where, noun="model", form="module:Class")
    if not (isinstance(found, type) and issubclass(found, Model)):
        raise ConfigurationError(
            f"{where}: found '{name}', which is not a model; allowed are classes derived from "
            f"Model, and {', '.join(targets)}"
        )
    return NamedModel(name, found)
