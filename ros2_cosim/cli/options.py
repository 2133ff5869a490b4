# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Commands of classes of options: each field is an option of the command line."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass
from functools import wraps
from inspect import Parameter, Signature, signature
from typing import Annotated, Any, Literal, get_args, get_type_hints

import typer

from ros2_cosim.cli import completion
from ros2_cosim.core.run.request import DeclaredOption, run_options

_COMPLETIONS = {
    "simulator": completion.simulators,
    "controllers": completion.laws,
    "shape": completion.shapes,
}


class RunWords(dict[str, Any]):
    """What was given of the options of a run, for ``read_options``.

    A command takes them with a parameter of this type, all of them or, as
    ``Annotated[RunWords, "set shape"]``, those that are named.
    """


def with_options(function: Callable[..., None]) -> Callable[..., None]:
    """A command of a function, with the options of its parameters that are classes of options.

    Such a class is a dataclass whose fields are annotated as parameters of typer, or ``RunWords``.
    """
    parameters: list[Parameter] = []
    classes: dict[str, tuple[Callable[..., Any], list[str]]] = {}
    hints = get_type_hints(function, include_extras=True)
    for parameter in signature(function).parameters.values():
        kind, *told = get_args(hints[parameter.name]) or [hints[parameter.name]]
        if kind is RunWords:
            made = [_of_run(option) for option in run_options().values() if _is_one(option, told)]
        elif isinstance(kind, type) and is_dataclass(kind):
            made = list(_of_class(kind))
        else:
            parameters.append(
                parameter.replace(kind=Parameter.KEYWORD_ONLY, annotation=hints[parameter.name])
            )
            continue
        parameters += made
        classes[parameter.name] = (kind, [each.name for each in made])

    @wraps(function)
    def command(**given: Any) -> None:
        for name, (kind, of_class) in classes.items():
            given[name] = kind(**{each: given.pop(each) for each in of_class})
        function(**given)

    described: Any = command
    described.__signature__ = Signature(parameters)
    command.__annotations__ = {each.name: each.annotation for each in parameters}
    return command


def _is_one(option: DeclaredOption, named: list[str]) -> bool:
    return not named or option.argument in named[0].split()


def _of_class(kind: type) -> Iterator[Parameter]:
    hints = get_type_hints(kind, include_extras=True)
    for field in fields(kind):
        yield Parameter(
            field.name, Parameter.KEYWORD_ONLY, default=field.default, annotation=hints[field.name]
        )


def _of_run(option: DeclaredOption) -> Parameter:
    """An option of a run. A text that has its own meaning is read by the command."""
    told, default = option.told, option.default
    kind: Any = option.kind
    if told.choices:
        kind = Literal[told.choices]
    elif told.read is not None:
        kind = str
    if option.several:
        kind = list[kind]
    if default in ("", ()) or (told.read is not None):
        default = None
    flags = f"{option.flag}/--no-{option.flag[2:]}" if default is True else option.flag
    info = typer.Option(
        flags,
        help=told.help,
        min=told.minimum,
        metavar=told.metavar,
        autocompletion=_COMPLETIONS.get(option.argument),
    )
    return Parameter(
        option.argument,
        Parameter.KEYWORD_ONLY,
        default=default,
        annotation=Annotated[kind if default is not None else kind | None, info],
    )
