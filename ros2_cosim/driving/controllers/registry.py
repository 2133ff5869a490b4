# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""From the name of a control law in a scenario to the law itself.

Laws have names by entry points of the group ``ros2_cosim.controllers``, those of this project as
those of any other distribution. Whatever else names a law, a class with a method
``acceleration`` is one; what such an object offers is bound once, in :func:`adapted`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from types import UnionType
from typing import Any, Final, NamedTuple, Union, get_args, get_origin, get_type_hints

from ros2_cosim.core.documents.offered import offered
from ros2_cosim.core.documents.settings import Section, read_section
from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.kernel.guesses import check_members, did_you_mean
from ros2_cosim.core.kernel.loading import is_own_module, line_of, load_module, refuse_code
from ros2_cosim.core.kernel.model import Repeatability
from ros2_cosim.core.kernel.saved_state import SavedAttributes
from ros2_cosim.core.scenario.law_files import law_of_file
from ros2_cosim.driving.controllers.checks import is_number
from ros2_cosim.driving.controllers.file_law import FileLaw, with_place
from ros2_cosim.driving.controllers.measurement import LongitudinalLaw, Measurement
from ros2_cosim.driving.controllers.script import law_of_script

ENTRY_POINT_GROUP = "ros2_cosim.controllers"
#: The members that a law may have.
LAW_MEMBERS = (
    "acceleration",
    "needs_v2v",
    "standstill_gap",
    "drives_alone",
    "attach",
    "close",
    "save_state",
    "restore_state",
)
#: What a law may need by V2V.
PEERS = ("predecessor", "leader")


class AdaptedLaw(NamedTuple):
    """A control law as the controller uses it.

    ``acceleration`` is its method, ``needs`` names the peers that it needs, ``standstill_gap`` is
    the gap that it keeps at standstill [m] (None: that of the spacing policy). A law that
    ``drives_alone`` is asked without an object ahead, too, and has no emergency brake behind it.
    ``attach`` is called
    with the rclpy node of the participant, and ``close`` at the end, if it has these methods.
    ``unsaved`` tells why the other two do not keep the state of the law, and is empty where they
    do; a law without attributes, or of fixed ones, has none.
    """

    name: str
    acceleration: Callable[[Measurement], float]
    needs: frozenset[str]
    standstill_gap: float | None
    drives_alone: bool
    attach: Callable[[Any], Any] | None
    close: Callable[[], Any] | None
    unsaved: str
    save_state: Callable[[], Any]
    restore_state: Callable[[Any], Any]


def adapted(law: Any, where: str) -> AdaptedLaw:
    """What an object offers as a control law.

    :param where: how messages call it
    :raises ConfigurationError: it has no method ``acceleration``, it needs something else by
        V2V than there is, or a member looks like a misspelt one
    """
    kind = type(law)
    check_members(kind, where, LAW_MEMBERS)
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
    gap = getattr(law, "standstill_gap", None)
    if gap is not None and not (is_number(gap) and gap >= 0.0):
        raise ConfigurationError(
            f"{where}: {kind.__name__}.standstill_gap: found {gap!r}; allowed is a gap of 0 or "
            "more [m], or None"
        )
    alone = getattr(law, "drives_alone", False)
    if not isinstance(alone, bool):
        raise ConfigurationError(
            f"{where}: {kind.__name__}.drives_alone: found {alone!r}; allowed is True or False"
        )
    attach, close = getattr(law, "attach", None), getattr(law, "close", None)
    save: Any = getattr(law, "save_state", None)
    restore: Any = getattr(law, "restore_state", None)
    unsaved = law.unsaved if isinstance(law, FileLaw) else ""
    if not (callable(save) and callable(restore)):
        fixed = isinstance(law, Section) and not type(law).__private_attributes__
        save, restore = _nothing, _nothing
        if isinstance(law, Section) and not fixed:
            unsaved = f"control law {kind.__name__} has no save_state and restore_state"
        elif not fixed and _has_attributes(law):
            save, restore = partial(_STATE.save, law), partial(_STATE.restore, law)
            try:
                save()
            except ConfigurationError as error:
                unsaved = f"control law {error}"
    return AdaptedLaw(
        kind.__name__,
        acceleration,
        frozenset(needs),
        gap,
        alone,
        attach,
        close,
        unsaved,
        save,
        restore,
    )


#: Of a law that does not declare its state: its attributes are the state.
_STATE = SavedAttributes(constants=(Section,), plain=True)


def _has_attributes(law: Any) -> bool:
    """Whether a law may have a state: its own attributes."""
    slots = any("__slots__" in vars(kind) for kind in type(law).__mro__[:-1])
    return slots or bool(vars(law))


def _nothing(state: Any = None) -> None:
    """The state of a law that has none."""


def available_laws() -> dict[str, str]:
    """Return name -> ``module:Class`` of every law that an installed distribution offers."""
    return {name: entry.value for name, entry in offered(ENTRY_POINT_GROUP).items()}


def make_law(
    spec: str,
    parameters: Mapping[str, Any] | None = None,
    *,
    base_directory: Path | None = None,
) -> LongitudinalLaw:
    """Build a control law.

    :param spec: a name of :func:`available_laws`, ``package.module:Class``,
        ``path/to/file.py:Class``, the script of a controller node, ``path/to/script.py``, an FMU
        or a C file
    :param parameters: keyword arguments of the class
    :param base_directory: what a relative file path is relative to (None: the current one)
    :raises ConfigurationError: unknown name (the message lists the known ones), a module, file
        or class that is not there or fails to load, wrong parameters, or no law
    """
    law_class, law = _read_law(spec, parameters or {}, None, base_directory)
    given = dict(parameters or {})
    where = f"control law '{spec}'"
    if law_class is None:
        law = law_of_script((base_directory or Path()) / spec)
    elif isinstance(law, FileLaw):
        law.open(where)
    elif law is None:
        try:
            law = law_class(**given)
        except ConfigurationError:
            raise
        except Exception as error:
            raise ConfigurationError(
                f"{where}: {law_class.__name__}(**{given!r}) failed:"
                f" {type(error).__name__}: {error}{line_of(error)}"
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
    """Find the class of a control law and check its parameters, without making the law.

    :param where: the place of a scenario that names the law; its parameters are at
        ``WHERE_parameters``. None: messages name the law
    :returns: the class; None for the script of a controller node
    :raises ConfigurationError: as :func:`make_law`
    """
    return _read_law(spec, parameters, where, base_directory)[0]


def _read_law(
    spec: str, parameters: Mapping[str, Any], where: str | None, base_directory: Path | None
) -> tuple[type | None, Any]:
    """The class of a law, and the law itself where it is what its parameters are read as."""
    if not isinstance(spec, str) or not spec:
        raise ConfigurationError(f"{where or 'control law'}: found {spec!r}; {_allowed()}")
    place = f"{where}_parameters" if where else f"control law '{spec}'"
    if spec.endswith(".py") and ((base_directory or Path()) / spec).is_file():
        refuse_code(f"{where or 'control law'}: found '{spec}', which")
        if parameters:
            raise ConfigurationError(
                f"{place}: found {dict(parameters)}; the script {spec} makes its law itself; "
                "parameters are allowed for file.py:Class"
            )
        return None, None
    try:
        law_class = _find_class(spec, base_directory)
    except ConfigurationError as error:
        raise ConfigurationError(f"{where}: {error}" if where else str(error)) from None
    if is_own_module(law_class.__module__) and not issubclass(law_class, LongitudinalLaw):
        raise ConfigurationError(
            f"{where or 'control law'}: found '{spec}', which has no method "
            f"acceleration(measurement) -> float; {_allowed()}"
        )
    if issubclass(law_class, Section):
        given = _completed(spec, parameters, law_class, base_directory)
        law = read_section(law_class, given, place=place)
        if isinstance(law, FileLaw):
            refuse_code(f"{where or 'control law'}: found '{law.file}', which")
            law.check(place)
        return law_class, law
    _check_arguments(place, law_class, dict(parameters))
    return law_class, None


def law_repeatability(spec: str, base_directory: Path | None = None) -> Repeatability:
    """How far two runs with a control law agree, as far as it says so.

    :raises ConfigurationError: there is none of that name
    """
    if spec.endswith(".py"):
        return Repeatability.EVERYWHERE
    law_class = _find_class(spec, base_directory)
    return law_class.repeatable if issubclass(law_class, FileLaw) else Repeatability.EVERYWHERE


def _completed(
    spec: str, parameters: Mapping[str, Any], law_class: type | None, base_directory: Path | None
) -> dict[str, Any]:
    """The parameters of a law; a file that is named as the law is one of them."""
    given = dict(parameters)
    if law_class is None or not issubclass(law_class, FileLaw):
        return given
    if law_of_file(spec) is not None:
        given["file"] = spec
    return with_place(given, base_directory)


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
        hints = {}  # annotations that cannot be read say nothing
    for name, value in parameters.items():
        default = signature.parameters[name].default if name in signature.parameters else None
        hint = hints.get(name, _KINDS.get(type(default)))
        kinds = get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
        checked = all(kind in _CHECKED_TEXTS for kind in kinds)
        if checked and not any(_fits(kind, value) for kind in kinds):
            raise ConfigurationError(
                f"{where}.{name}: found {value!r}; allowed is "
                f"{' or '.join(_CHECKED_TEXTS[kind] for kind in kinds)}"
            )


def _fits(kind: type, value: object) -> bool:
    if kind is float:
        return isinstance(value, (int, float)) and not isinstance(value, bool)
    return isinstance(value, kind) and (kind is not int or not isinstance(value, bool))


_CHECKED_TEXTS: Final = {
    int: "an integer",
    float: "a number",
    str: "a text",
    bool: "true or false",
    type(None): "null",
}
#: Type of a default -> what is allowed for a parameter without an annotation.
_KINDS: Final = {int: float, float: float, str: str, bool: bool}


def _allowed() -> str:
    return (
        f"allowed are {', '.join(available_laws())}, 'package.module:Class',"
        " 'path/to/file.py:Class', 'path/to/file.fmu' and 'path/to/file.c'"
    )


def _find_class(spec: str, base_directory: Path | None) -> type:
    target = available_laws().get(law_of_file(spec) or spec, spec)
    place, colon, class_name = target.rpartition(":")
    if not colon or not place or not class_name:
        raise ConfigurationError(
            f"control law: found '{spec}'; {did_you_mean(spec, available_laws())}{_allowed()}"
        )
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
