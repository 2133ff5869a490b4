# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Slaves named by a text: ``module:Class``, ``file.py:Class`` or an FMU."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from types import ModuleType
from typing import Any

from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.kernel.loading import load_module, search_also
from ros2_cosim.dcp.fmi.interface_type import InterfaceType
from ros2_cosim.dcp.slave.declare import DEFAULT_MODES, describe
from ros2_cosim.dcp.slave.slave_model import SlaveModel
from ros2_cosim.dcp.standard.enums import OpMode
from ros2_cosim.dcp.standard.errors import DescriptionError
from ros2_cosim.dcp.standard.read_description import read_description
from ros2_cosim.dcp.standard.slave_description import SlaveDescription

MODEL_STEP = Fraction(1, 1000)
"""Seconds per resolution of a Python model, if none is given."""


def load_model(
    text: str,
    *,
    directory: Path | None = None,
    step: Fraction | None = None,
    modes: Sequence[OpMode] = (),
    **more: Any,
) -> tuple[SlaveModel, SlaveDescription]:
    """A Python model and its description.

    :param text: ``module:name``, ``directory/module:name`` or ``path/to/file.py:name``; ``name``
        is a class derived from ``SlaveModel`` that can be made without arguments, or a function
        that returns a model and its description
    :param directory: where relative files are and modules are looked for besides the usual
        places
    :param step: seconds per resolution, and ``modes`` the operating modes, of a class (a
        function has settled both)
    :param more: further arguments of :func:`~ros2_cosim.dcp.slave.declare.describe`
    :raises DescriptionError: nothing of that kind is there
    """
    place, separator, name = text.rpartition(":")
    if not separator or not place or not name:
        raise DescriptionError(f"model {text!r}: allowed is module:Class or file.py:Class")
    module = _import(text, place, directory or Path.cwd())
    found = getattr(module, name, None)
    if found is None:
        raise DescriptionError(f"model {text!r}: {place} has no {name!r}")
    if isinstance(found, type) and issubclass(found, SlaveModel):
        chosen = MODEL_STEP if step is None else step
        description = describe(
            found, op_modes=modes or DEFAULT_MODES, resolutions=(chosen,), **more
        )
        return _make(text, found), description
    made = _make(text, found) if callable(found) else found
    if not (
        isinstance(made, tuple)
        and len(made) == 2
        and isinstance(made[0], SlaveModel)
        and isinstance(made[1], SlaveDescription)
    ):
        raise DescriptionError(
            f"model {text!r}: found {type(made).__name__}; allowed is a class derived from "
            "SlaveModel, or a function that returns a model and its description"
        )
    return made


def load_slave(
    model: str | None,
    fmu: str | Path | None,
    description: str | Path | None = None,
    *,
    directory: Path | None = None,
    step: Fraction | None = None,
    modes: Sequence[OpMode] = (),
    interface: InterfaceType | None = None,
    apart: bool = False,
) -> tuple[SlaveModel, SlaveDescription]:
    """A slave from either a Python model or an FMU.

    :param description: a .dcpx or .dcp file that replaces the one made from the model
    :param apart: run an FMU in a process of its own
    :param interface: of an FMU; by default the first that it has
    :raises DescriptionError: both or none given, not there, or the description names a
        variable that the model does not have
    """
    base = directory or Path.cwd()
    if (model is None) == (fmu is None):
        raise DescriptionError("a slave is either a Python model or an FMU; give one of them")
    if fmu is None and interface is not None:
        raise DescriptionError("interface: allowed for an FMU")
    if fmu is not None:
        from ros2_cosim.dcp.slave.fmu import load_fmu

        made: tuple[SlaveModel, SlaveDescription] = load_fmu(
            base / fmu, step=step, modes=modes, interface=interface, apart=apart
        )
    else:
        made = load_model(str(model), directory=base, step=step, modes=modes)
    if description is None:
        return made
    given = read_description(base / description)
    own = {v.name: v for v in made[1].variables}
    for variable in given.variables:
        there = own.get(variable.name)
        if there is None or (there.causality, there.data_type) != (
            variable.causality,
            variable.data_type,
        ):
            raise DescriptionError(
                f"{description}: variable {variable.name!r} ({variable.causality.value} "
                f"{variable.data_type.name}) is not in the model"
            )
    return made[0], given


def _make(text: str, what: Any) -> Any:
    try:
        return what()
    except TypeError as error:
        raise DescriptionError(f"model {text!r} cannot be made: {error}") from None


def _import(text: str, place: str, directory: Path) -> ModuleType:
    if not place.endswith(".py"):
        directory, place = directory / Path(place).parent, Path(place).name
        search_also(directory)
    try:
        return load_module(place, directory)
    except ConfigurationError as error:
        raise DescriptionError(f"model {text!r}: {error}") from error.__cause__


def parse_step(text: str | int | float, where: str = "step") -> Fraction:
    """A step size in seconds, written as ``1/100`` or ``0.01``.

    :raises DescriptionError: not a positive number
    """
    try:
        step = Fraction(str(text))
    except (ValueError, ZeroDivisionError):
        step = Fraction(0)
    if step <= 0:
        raise DescriptionError(f"{where}: found {text!r}; allowed is a time such as 1/100 or 0.01")
    return step
