# SPDX-License-Identifier: Apache-2.0
"""From the name of a control law in a scenario to the law itself."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

from ros2_cosim.kernel.errors import ConfigurationError
from ros2_cosim.kernel.loading import load_module
from ros2_cosim.models.controllers.measurement import LongitudinalLaw
from ros2_cosim.models.controllers.script import law_of_script

ENTRY_POINT_GROUP = "ros2_cosim.controllers"

_ROOM = "ros2_cosim.models.controllers"
BUILT_IN: Mapping[str, str] = {
    "path_cacc": f"{_ROOM}.path:PathCacc",
    "path_acc": f"{_ROOM}.path:PathAcc",
    "cruise_control": f"{_ROOM}.path:CruiseControl",
    "ploeg_cacc": f"{_ROOM}.ploeg:PloegCacc",
    "rajamani_acc": f"{_ROOM}.rajamani:RajamaniAcc",
    "leader_predecessor_cacc": f"{_ROOM}.rajamani:LeaderPredecessorCacc",
}
"""The laws of this project, for a source tree that is not installed."""


def available_laws() -> dict[str, str]:
    """Return name -> ``module:Class`` of every law known here, sorted by name.

    An installed package offers laws as entry points of the group ``ros2_cosim.controllers``;
    such a law replaces a built-in one of the same name.
    """
    found = dict(BUILT_IN)
    found.update(sorted((e.name, e.value) for e in entry_points(group=ENTRY_POINT_GROUP)))
    return dict(sorted(found.items()))


def make_law(
    spec: str,
    parameters: Mapping[str, Any] | None = None,
    *,
    base_directory: Path | None = None,
) -> LongitudinalLaw:
    """Build a control law.

    :param spec: a name of :func:`available_laws`, ``package.module:Class``,
        ``path/to/file.py:Class``, or the script of a controller node, ``path/to/script.py``
    :param parameters: keyword arguments of the class
    :param base_directory: what a relative file path is relative to (None: where we run)
    :raises ConfigurationError: unknown name (the message lists the known ones), a module, file
        or class that is not there or fails to load, wrong parameters, or no law
    """
    if not isinstance(spec, str) or not spec:
        raise ConfigurationError(f"control law: found {spec!r}; {_allowed()}")
    script = (base_directory or Path()) / spec
    if spec.endswith(".py") and script.is_file():
        law: Any = law_of_script(script)
    else:
        law_class = _find_class(spec, base_directory)
        law = _construct(spec, law_class, dict(parameters or {}))
    if not callable(getattr(law, "acceleration", None)):
        raise ConfigurationError(
            f"control law '{spec}': {type(law).__name__} has no method"
            " acceleration(measurement) -> float"
        )
    return law


def _allowed() -> str:
    return (
        f"allowed are {', '.join(available_laws())}, 'package.module:Class' and"
        " 'path/to/file.py:Class'"
    )


def _find_class(spec: str, base_directory: Path | None) -> type:
    target = available_laws().get(spec, spec)
    place, colon, class_name = target.rpartition(":")
    if not colon or not place or not class_name:
        raise ConfigurationError(f"control law: found '{spec}'; {_allowed()}")
    try:
        module = load_module(place, base_directory)
    except ConfigurationError as error:
        raise ConfigurationError(f"control law '{spec}': {error}") from error.__cause__
    law_class = getattr(module, class_name, None)
    if not isinstance(law_class, type):
        classes = [
            name
            for name, item in sorted(vars(module).items())
            if isinstance(item, type) and item.__module__ == module.__name__
        ]
        raise ConfigurationError(
            f"control law '{spec}': {place} has no class '{class_name}';"
            f" it has {', '.join(classes) or 'none'}"
        )
    return law_class


def _construct(spec: str, law_class: type, parameters: dict[str, Any]) -> Any:
    try:
        inspect.signature(law_class).bind(**parameters)
    except TypeError as error:
        known = [
            name
            for name, parameter in inspect.signature(law_class).parameters.items()
            if parameter.kind in (parameter.KEYWORD_ONLY, parameter.POSITIONAL_OR_KEYWORD)
        ]
        raise ConfigurationError(
            f"control law '{spec}': parameters {sorted(parameters)} do not fit ({error});"
            f" it takes {', '.join(known) or 'none'}"
        ) from error
    try:
        return law_class(**parameters)
    except ConfigurationError:
        raise
    except Exception as error:
        raise ConfigurationError(
            f"control law '{spec}': {law_class.__name__}(**{parameters!r}) failed:"
            f" {type(error).__name__}: {error}"
        ) from error
