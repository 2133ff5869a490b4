# SPDX-License-Identifier: Apache-2.0
"""From the name of a control law in a scenario to the law itself.

Laws have names by entry points of the group ``ros2_cosim.controllers``, those of this project as
those of any other distribution. Whatever else names a law, a class with a method
``acceleration`` is one; what such an object offers is bound once, in :func:`adapted`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import lru_cache
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any, NamedTuple, get_type_hints

from pydantic import ConfigDict, TypeAdapter, ValidationError

from ros2_cosim.documents.settings import Section, read_section
from ros2_cosim.kernel.errors import ConfigurationError
from ros2_cosim.kernel.loading import load_module, refuse_code
from ros2_cosim.kernel.model import check_names, public_names
from ros2_cosim.models.controllers.measurement import LongitudinalLaw, Measurement
from ros2_cosim.models.controllers.script import law_of_script

ENTRY_POINT_GROUP = "ros2_cosim.controllers"
#: The members that a law may have.
LAW_MEMBERS = ("acceleration", "needs_v2v", "attach", "save_state", "restore_state")
#: What a law may need by V2V.
PEERS = ("predecessor", "leader")
#: Classes of these modules bring names of their own, which are no misspelt ones.
_FOREIGN = ("builtins", "typing", "abc", "pydantic.main")


class AdaptedLaw(NamedTuple):
    """A control law as the controller uses it.

    ``acceleration`` is its method, ``needs`` names the peers that it needs, ``attach`` is called
    with the rclpy node of the participant, if it has that method. ``saves`` tells whether the other
    two keep the state of the law; one without attributes, or of fixed ones, has none.
    """

    name: str
    acceleration: Callable[[Measurement], float]
    needs: frozenset[str]
    attach: Callable[[Any], Any] | None
    saves: bool
    save_state: Callable[[], Any]
    restore_state: Callable[[Any], Any]


def adapted(law: Any, where: str) -> AdaptedLaw:
    """What an object offers as a control law.

    :param where: how messages call it
    :raises ConfigurationError: it has no method ``acceleration``, it needs something else by
        V2V than there is, or a member looks like a misspelt one
    """
    kind = type(law)
    names = [name for k in kind.__mro__ if k.__module__ not in _FOREIGN for name in public_names(k)]
    check_names(f"{where}: {kind.__name__}", names, LAW_MEMBERS)
    acceleration = getattr(law, "acceleration", None)
    if not callable(acceleration):
        raise ConfigurationError(
            f"{where}: {kind.__name__} has no method acceleration(measurement) -> float"
        )
    needs = getattr(law, "needs_v2v", ())
    if not isinstance(needs, (tuple, list, set, frozenset)) or not set(needs) <= set(PEERS):
        raise ConfigurationError(
            f"{where}: {kind.__name__}.needs_v2v: found {needs!r}; allowed is a tuple of "
            f"{' and '.join(repr(peer) for peer in PEERS)}"
        )
    attach = getattr(law, "attach", None)
    save: Any = getattr(law, "save_state", None)
    restore: Any = getattr(law, "restore_state", None)
    saves = callable(save) and callable(restore)
    if not saves:
        saves = isinstance(law, Section) or not _has_attributes(law)
        save, restore = _nothing, _nothing
    return AdaptedLaw(kind.__name__, acceleration, frozenset(needs), attach, saves, save, restore)


def _has_attributes(law: Any) -> bool:
    """Whether a law may have a state: attributes of its own."""
    slots = any("__slots__" in vars(kind) for kind in type(law).__mro__[:-1])
    return slots or bool(vars(law))


def _nothing(state: Any = None) -> None:
    """The state of a law that has none."""


@lru_cache(maxsize=1)
def available_laws() -> dict[str, str]:
    """Return name -> ``module:Class`` of every law that an installed distribution offers."""
    found = ((entry.name, entry.value) for entry in entry_points(group=ENTRY_POINT_GROUP))
    return dict(sorted(found))


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
    :param base_directory: what a relative file path is relative to (None: the current one)
    :raises ConfigurationError: unknown name (the message lists the known ones), a module, file
        or class that is not there or fails to load, wrong parameters, or no law
    """
    given = dict(parameters or {})
    law_class = check_law(spec, given, base_directory=base_directory)
    where = f"control law '{spec}'"
    law: Any
    if law_class is None:
        law = law_of_script((base_directory or Path()) / spec)
    elif issubclass(law_class, Section):
        law = read_section(law_class, given, place=where)
    else:
        try:
            law = law_class(**given)
        except ConfigurationError:
            raise
        except Exception as error:
            raise ConfigurationError(
                f"{where}: {law_class.__name__}(**{given!r}) failed:"
                f" {type(error).__name__}: {error}"
            ) from error
    adapted(law, where)
    return law


def check_law(
    spec: str,
    parameters: Mapping[str, Any],
    where: str | None = None,
    *,
    base_directory: Path | None = None,
) -> type | None:
    """Find the class of a control law and check its parameters; nothing is made.

    :param where: the place of a scenario that names the law; its parameters are at
        ``WHERE_parameters``. None: messages name the law
    :returns: the class; None for the script of a controller node
    :raises ConfigurationError: as :func:`make_law`
    """
    if not isinstance(spec, str) or not spec:
        raise ConfigurationError(f"{where or 'control law'}: found {spec!r}; {_allowed()}")
    if spec.endswith(".py") and ((base_directory or Path()) / spec).is_file():
        refuse_code(f"{where or 'control law'}: found '{spec}', which")
        return None
    try:
        law_class = _find_class(spec, base_directory)
    except ConfigurationError as error:
        raise ConfigurationError(f"{where}: {error}" if where else str(error)) from None
    place = f"{where}_parameters" if where else f"control law '{spec}'"
    if issubclass(law_class, Section):
        read_section(law_class, dict(parameters), place=place)
    else:
        _check_arguments(place, law_class, dict(parameters))
    return law_class


def _check_arguments(where: str, law_class: type, parameters: dict[str, Any]) -> None:
    """Check arguments by signature and annotations, as far as there are any."""
    try:
        signature = inspect.signature(law_class)
    except ValueError:
        return  # without a signature nothing is known of it
    try:
        signature.bind(**parameters)
    except TypeError as error:
        known = [
            name
            for name, parameter in signature.parameters.items()
            if parameter.kind in (parameter.KEYWORD_ONLY, parameter.POSITIONAL_OR_KEYWORD)
        ]
        raise ConfigurationError(
            f"{where}: parameters {sorted(parameters)} do not fit ({error});"
            f" it takes {', '.join(known) or 'none'}"
        ) from error
    try:
        hints = get_type_hints(law_class.__init__)  # type: ignore[misc]
    except Exception:
        return  # annotations that cannot be read say nothing
    for name, value in parameters.items():
        if hints.get(name) in _CHECKED:
            try:
                TypeAdapter(hints[name], config=_STRICT).validate_python(value)
            except ValidationError as error:
                what = error.errors()[0]["msg"]
                raise ConfigurationError(f"{where}.{name}: found {value!r}; {what}") from None


_CHECKED = (int, float, str, bool)
_STRICT = ConfigDict(strict=True)


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
