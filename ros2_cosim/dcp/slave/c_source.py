# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""A C function as an FMU (co-simulation): its signature says what its variables are.

Example::

    double kp = 0.2; /* [1/s^2] gain on the gap error */

    /* Returns the demanded acceleration [m/s^2]. */
    double demanded_acceleration(double dt,
                                 double gap,                        /* [m] */
                                 const double objects_distance[8],  /* [m] */
                                 int *warning)

========================================  ======================================================
in the file                               in the FMU
========================================  ======================================================
parameter ``double``, ``int``, ``bool``   input
parameter ``double dt``                   no variable: the communication step [s]
``const double x[8]``                     inputs ``x[0]`` to ``x[7]``
``double *y``, ``int *y``                 output
``double y[8]``                           outputs ``y[0]`` to ``y[7]``
what the function returns                 output of the name of the function
variable ``double kp = 0.2;`` of the file parameter
a comment behind it                       ``[unit]``, then the description
========================================  ======================================================

The function is the only one that is not ``static``, beside ``void reset(void)``: a file with
``static`` variables has one, which gives them their first values.
"""

from __future__ import annotations

import io
import os
import re
import tempfile
import uuid
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from ros2_cosim.core.documents.archives import inner_content
from ros2_cosim.core.documents.files import cause_of, read_bounded
from ros2_cosim.core.documents.fmi2 import (
    Fmi2Model,
    Fmi2Variable,
    compile_library,
    found_compiler,
    packed,
    this_platform,
)
from ros2_cosim.core.documents.fmi3 import INCLUDED, MACHINE, FmiFormat, fmi_format
from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.dcp.standard.errors import DescriptionError

SUFFIX: Final = ".c"
#: Name of the parameter that gets the communication step.
STEP: Final = "dt"
RESET: Final = "reset"
#: Largest source [bytes]: generated controllers have some hundred kilobytes.
MAX_SOURCE: Final = 16_000_000
#: Largest array; each element is a variable.
MAX_ELEMENTS: Final = 1000
#: Step that the FMU suggests [s].
SUGGESTED_STEP: Final = 0.01
_HERE: Final = Path(__file__).parent
_NAMESPACE: Final = uuid.UUID("1d4c64b0-3c1c-5f0b-8f4e-7b0c1f1d9a52")
#: Without fused operations results are equal to those of the same formula in Python.
_FLAGS: Final = ("-shared", "-fPIC", "-O2", "-ffp-contract=off", "-fvisibility=hidden", "-s")
_KINDS: Final[Mapping[str, type]] = {"double": float, "int": int, "bool": bool, "_Bool": bool}
_FMI_KINDS: Final = {float: "r", int: "i", bool: "b"}
_C_KINDS: Final = {float: "double", int: "int", bool: "int"}

_SKIPPED = re.compile(
    r"/\*.*?\*/|//[^\n]*|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'|^[ \t]*#(?:\\\n|[^\n])*",
    re.DOTALL | re.MULTILINE,
)
_FUNCTION = re.compile(
    r"^(?!static\b|typedef\b|extern\b|return\b|else\b)([A-Za-z_][\w \t*]*?)[ \t\n*]+(\w+)\s*"
    r"\(([^(){};]*)\)\s*\{",
    re.MULTILINE,
)
_PARAMETER = re.compile(r"(const\s+)?(\w+)\s*(\*?)\s*(\w+)\s*(?:\[\s*(\d+)\s*\])?")
_TUNED = re.compile(r"^(double|int)\s+(\w+)\s*=\s*([^;,{}]+?)\s*;", re.MULTILINE)
_KEPT = re.compile(r"\bstatic\s+(?!const\b|inline\b)[^;(){}=]*[;=]")
_COMMENT = re.compile(r"\[([^\]]*)\]\s*(.*)", re.DOTALL)
_RETURNS = re.compile(r"\breturns?\b[^\[]*\[([^\]]+)\]", re.IGNORECASE | re.DOTALL)


class _Argument(NamedTuple):
    """One parameter of the function; ``size`` is 0 for a single value."""

    name: str
    kind: type
    is_output: bool
    size: int
    unit: str | None
    description: str


class CFunction(NamedTuple):
    """A C file as a model: the function, and the values of the file that may be set."""

    path: Path
    source: bytes
    name: str
    result: type | None
    result_unit: str | None
    arguments: tuple[_Argument, ...]
    tuned: tuple[Fmi2Variable, ...]
    has_reset: bool

    @property
    def variables(self) -> list[Fmi2Variable]:
        """Inputs and outputs in the order of the signature, then what it returns, parameters."""
        found = []
        for a in self.arguments:
            causality = "output" if a.is_output else "input"
            names = [f"{a.name}[{i}]" for i in range(a.size)] if a.size else [a.name]
            if a.name != STEP:
                found += [
                    Fmi2Variable(name, causality, a.kind, None, a.unit, a.description)
                    for name in names
                ]
        if self.result is not None:
            found.append(Fmi2Variable(self.name, "output", self.result, None, self.result_unit))
        return [*found, *self.tuned]


def read_c_function(path: Path) -> CFunction:
    """Read the signature of a C file, without compiling it.

    :raises DescriptionError: it cannot be read, or has no such function
    """
    try:
        source = read_bounded(path, MAX_SOURCE)
        text = source.decode("utf-8")
    except OSError as error:
        raise DescriptionError(f"{path}: {cause_of(error)}") from None
    except UnicodeDecodeError as error:
        raise DescriptionError(f"{path}: {error}") from None
    # Of equal length, so that places are those of the source.
    plain = _SKIPPED.sub(lambda found: " " * len(found[0]), text)
    comments = [
        (found.start(), found[0].strip("/* \n\t")) for found in _SKIPPED.finditer(text)
        if found[0].startswith("/")
    ]  # fmt: skip
    functions = list(_FUNCTION.finditer(plain))
    chosen = [found for found in functions if found[2] != RESET]
    if len(chosen) != 1:
        names = ", ".join(found[2] for found in chosen) or "none"
        raise DescriptionError(
            f"{path}: found functions {names}; allowed is one beside '{RESET}', the others static"
        )
    (function,) = chosen
    has_reset = len(functions) > 1
    kept = _KEPT.search(plain)
    if kept is not None and not has_reset:
        line = plain.count("\n", 0, kept.start()) + 1
        raise DescriptionError(
            f"{path}, line {line}: found a static variable; allowed with a function 'void "
            f"{RESET}(void)', which gives it its first value"
        )
    result = _kind_of_result(path, function[1].strip())
    before = [comment for start, comment in comments if start < function.start()]
    unit = _RETURNS.search(before[-1]) if before else None
    return CFunction(
        path,
        source,
        function[2],
        result,
        unit[1].strip() if unit else None,
        _arguments(path, plain, function, comments),
        _tuned(path, plain, text, comments),
        has_reset,
    )


def _kind_of_result(path: Path, text: str) -> type | None:
    if text != "void" and text not in _KINDS:
        raise DescriptionError(
            f"{path}: found a function that returns '{text}'; allowed are void, double, int, bool"
        )
    return _KINDS.get(text)


def _arguments(
    path: Path, plain: str, function: re.Match[str], comments: list[tuple[int, str]]
) -> tuple[_Argument, ...]:
    begin, end = function.span(3)
    inside = plain[begin:end]
    if inside.strip() in ("", "void"):
        return ()
    starts, parts, at = [], inside.split(","), begin
    for part in parts:
        starts.append(at + len(part) - len(part.lstrip()))
        at += len(part) + 1
    texts = [""] * len(parts)
    for start, comment in comments:
        if starts[0] <= start < function.end():
            texts[bisect_right(starts, start) - 1] = comment
    found = []
    for part, text in zip(parts, texts, strict=True):
        declared = _PARAMETER.fullmatch(part.strip())
        kind = None if declared is None else _KINDS.get(declared[2])
        if declared is None or kind is None or (declared[3] and (declared[1] or declared[5])):
            raise DescriptionError(
                f"{path}: {function[2]}: found parameter '{' '.join(part.split())}'; allowed are "
                "double x, int x, bool x, const double x[8], double *y and double y[8]"
            )
        count = int(declared[5] or 0)
        is_output = bool(declared[3]) or (declared[5] is not None and not declared[1])
        if (declared[5] is not None and not 0 < count <= MAX_ELEMENTS) or (
            kind is bool and (is_output or count)
        ):
            raise DescriptionError(
                f"{path}: {function[2]}: found parameter '{' '.join(part.split())}'; allowed are "
                f"arrays of 1 to {MAX_ELEMENTS} and bool as single input"
            )
        unit, description = _annotation(text)
        found.append(_Argument(declared[4], kind, is_output, count, unit, description))
    return tuple(found)


def _annotation(comment: str) -> tuple[str | None, str]:
    found = _COMMENT.match(comment)
    unit, description = (found[1].strip(), found[2]) if found else (None, comment)
    return unit or None, " ".join(re.sub(r"\n\s*\*", " ", description).split())


def _tuned(
    path: Path, plain: str, text: str, comments: list[tuple[int, str]]
) -> tuple[Fmi2Variable, ...]:
    """The variables of the file that an FMU shows as parameters."""
    places = [start for start, _ in comments]
    variables = []
    for found in _TUNED.finditer(plain):
        kind = _KINDS[found[1]]
        try:
            start = kind(found[3])
        except ValueError:
            line = plain.count("\n", 0, found.start()) + 1
            raise DescriptionError(
                f"{path}, line {line}: found {found[2]} = {found[3]}; allowed is a number, or "
                "a static variable"
            ) from None
        next_comment = bisect_right(places, found.end())
        note = ""
        if next_comment < len(comments) and "\n" not in text[found.end() : places[next_comment]]:
            note = comments[next_comment][1]
        unit, description = _annotation(note)
        variables.append(Fmi2Variable(found[2], "parameter", kind, start, unit, description))
    return tuple(variables)


def c_fmu(
    path: Path,
    *,
    compiled: bool = True,
    starts: Mapping[str, float | int] | None = None,
    fmi: str = "2.0",
    machines: Sequence[str] = (MACHINE,),
) -> bytes:
    """The FMU of a C file.

    :param compiled: with its library; otherwise it can only be described
    :param starts: other start values of parameters
    :param fmi: version of FMI
    :param machines: what it has libraries for; others than x86_64 need a cross compiler
    :raises DescriptionError: the file cannot be read, has no such function, a parameter is not
        there, there is no compiler, or it finds errors
    """
    function = read_c_function(path)
    given = dict(starts or {})
    known = [variable.name for variable in function.tuned]
    for name in given:
        if name not in known:
            raise DescriptionError(
                f"{path}: found parameter '{name}'; there are {', '.join(known) or 'none'}"
            )
    tuned = tuple(
        variable._replace(start=variable.kind(given.get(variable.name, variable.start)))
        for variable in function.tuned
    )
    function = function._replace(tuned=tuned)
    form = fmi_format(fmi)
    identity = function.source + repr((function.name, tuned)).encode() + _wrapper(form)
    model = Fmi2Model(
        function.name,
        str(uuid.uuid5(_NAMESPACE, identity.hex())),
        f"function {function.name} of {path.name}",
        step=SUGGESTED_STEP,
        once=True,
    )
    content = form.content(model, function.variables)
    if compiled:
        try:
            for machine in machines:
                where = form.library(model.name, machine)
                content[where] = _library(function, model.guid, form, machine)
        except ConfigurationError as error:
            raise DescriptionError(f"{path}: {error}") from None
        content[f"sources/{path.name}"] = function.source
    return packed(content)


def fmu_content(path: Path, *, compiled: bool) -> str | io.BytesIO:
    """What a reader of archives opens: the file itself, one in an archive, or the FMU of a C file.

    :raises DescriptionError: see :func:`c_fmu`
    """
    if path.suffix == SUFFIX:
        return io.BytesIO(c_fmu(path, compiled=compiled))
    inner = inner_content(path, DescriptionError)
    return str(path) if inner is None else io.BytesIO(inner)


def require_compiler(path: Path) -> None:
    """Check whether the C file could be compiled.

    :raises DescriptionError: there is no compiler, or this is another platform
    """
    try:
        this_platform()
        _compiler()
    except ConfigurationError as error:
        raise DescriptionError(f"{path}: {error}") from None


def _compiler(machine: str = MACHINE) -> str:
    if machine == MACHINE:
        return found_compiler(os.environ.get("CC"), "gcc", "CC")
    name = f"CC_{machine}"
    return found_compiler(os.environ.get(name), f"{machine}-linux-gnu-gcc", name)


def _wrapper(form: FmiFormat) -> bytes:
    """The part of the library that does not depend on the signature."""
    return (_HERE / f"c_function_fmi{form.number}.c").read_bytes()


def _library(function: CFunction, guid: str, form: FmiFormat, machine: str) -> bytes:
    compiler = _compiler(machine)
    with tempfile.TemporaryDirectory(prefix="c-source-") as directory:
        wrapper, library = Path(directory) / "wrapper.c", Path(directory) / "model.so"
        wrapper.write_bytes(_generated(function, guid).encode() + _wrapper(form))
        command = [compiler, "-std=gnu11", *_FLAGS, f"-I{INCLUDED}", "-o", str(library)]
        sources = [str(wrapper), str(function.path), "-lm"]
        compile_library([*command, *sources], f"'{function.path.name}'")
        return library.read_bytes()


# Complex, yet one text: each branch is a line of C, in the order in which the compiler reads them.
def _generated(function: CFunction, guid: str) -> str:
    """The part of the library that depends on the signature."""
    lines = ["#include <stdbool.h>", f'#define FMU_GUID "{guid}"']
    declared, passed, places = [], [], []
    for number, a in enumerate(function.arguments):
        of_user = "bool" if a.kind is bool else _C_KINDS[a.kind]
        if a.name == STEP:
            declared.append("double")
            passed.append("fmu_step")
            continue
        place = f"fmu_value{number}"
        lines.append(f"static {_C_KINDS[a.kind]} {place}[{max(a.size, 1)}];")
        pointer = a.is_output or a.size
        const = "const " if a.size and not a.is_output else ""
        declared.append(f"{const}{of_user}{' *' if pointer else ''}")
        passed.append(place if pointer else f"{place}[0]")
        places += [(a.kind, f"&{place}[{i}]", None) for i in range(max(a.size, 1))]
    result = "void"
    if function.result is not None:
        result = "bool" if function.result is bool else _C_KINDS[function.result]
        lines.append(f"static {_C_KINDS[function.result]} fmu_result;")
        places.append((function.result, "&fmu_result", None))
    lines.append(f"{result} {function.name}({', '.join(declared) or 'void'});")
    if function.has_reset:
        lines.append(f"void {RESET}(void);")
    begin: list[Any] = []
    for variable in function.tuned:
        lines.append(f"extern {_C_KINDS[variable.kind]} {variable.name};")
        places.append((variable.kind, f"&{variable.name}", None))
        begin.append(f"{variable.name} = {variable.start!r};")
    lines.append("static const struct { char kind; void *place; } fmu_variables[] = {")
    lines += [f"  {{'{_FMI_KINDS[kind]}', {place}}}," for kind, place, _ in places]
    lines.append("  {'x', 0}\n};")
    assigned = "fmu_result = " if function.result is not None else ""
    lines.append("static void fmu_call(double fmu_step) {\n  (void)fmu_step;")
    lines.append(f"  {assigned}{function.name}({', '.join(passed)});\n}}")
    lines.append("static void fmu_begin(void) {")
    for number, a in enumerate(function.arguments):
        if a.name != STEP:
            lines.append(f"  for (int i = 0; i < {max(a.size, 1)}; ++i) fmu_value{number}[i] = 0;")
    if function.result is not None:
        lines.append("  fmu_result = 0;")
    lines += [f"  {line}" for line in begin]
    if function.has_reset:
        lines.append(f"  {RESET}();")
    return "\n".join([*lines, "}", ""])
