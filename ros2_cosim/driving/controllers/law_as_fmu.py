# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""A control law as an FMU: a C function is compiled, a law in Python served by this installation.

The inputs of the FMU of a Python law are the values of a measurement under their own names
(``gap``, ``predecessor.speed``); its output is ``demanded_acceleration``. An instance is a process
of the Python that has written the FMU, as with scenarios (:mod:`ros2_cosim.dcp.export.fmu_export`).
"""

from __future__ import annotations

import inspect
import json
import re
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from ros2_cosim.core.documents.files import cause_of, write_atomically
from ros2_cosim.core.documents.fmi2 import Fmi2Model, Fmi2Variable
from ros2_cosim.core.documents.fmi3 import MACHINE
from ros2_cosim.core.documents.settings import Section
from ros2_cosim.core.kernel.errors import ConfigurationError, RunError
from ros2_cosim.core.messages.field_paths import VALID, field_path
from ros2_cosim.core.scenario.law_files import law_of_file
from ros2_cosim.dcp.export.fmu_export import write_served
from ros2_cosim.dcp.export.fmu_instance import Instance, serve
from ros2_cosim.dcp.slave.c_source import SUFFIX, c_fmu
from ros2_cosim.driving.controllers.measurement import UNITS, Measurement, Peer
from ros2_cosim.driving.controllers.registry import (
    PEERS,
    AdaptedLaw,
    adapted,
    check_law,
    make_law,
)

LAW_FILE: Final = "law.json"
OUTPUT: Final = "demanded_acceleration"
#: Step that the FMU suggests [s]: the period of the controllers of the platoon.
SUGGESTED_STEP: Final = 0.04
_NAMESPACE: Final = uuid.UUID("b7b6a3a2-4c55-5d0e-9d53-0f7a8c9b6e11")
#: Of a measurement, without what comes by itself (the step) and lists.
_OWN: Final = tuple(
    name for name in Measurement._fields if name not in ("dt", "objects", *PEERS)
)  # fmt: skip


def build_law(
    law: str,
    out: Path | None = None,
    settings: Mapping[str, str] | None = None,
    *,
    fmi: str = "2.0",
    machines: Sequence[str] = (MACHINE,),
) -> Path:
    """Write a control law as an FMU.

    :param law: as for ``--controllers``: a C file, a name, ``module:Class`` or ``file.py:Class``
    :param out: the FMU (default: the name of the law in the working directory)
    :param settings: parameter -> its value as text, which becomes its start value
    :param fmi: version of FMI
    :param machines: what the FMU of a C function has libraries for
    :returns: where it is
    :raises ConfigurationError: there is no such law or parameter, or no compiler
    """
    name = re.sub(r"\W+", "_", law.rpartition(":")[2] or law)
    if law.endswith(SUFFIX):
        name = Path(law).stem
    target = out or Path(f"{name}.fmu")
    values = {key: _number(key, text) for key, text in (settings or {}).items()}
    if law.endswith(SUFFIX):
        try:
            write_atomically(target, c_fmu(Path(law), starts=values, fmi=fmi, machines=machines))
        except OSError as error:
            raise ConfigurationError(f"{target}: {cause_of(error)}") from None
        return target
    if tuple(machines) != (MACHINE,):
        raise ConfigurationError("machine: a law in Python runs on the machine that has written it")
    if law_of_file(law) is not None:
        raise ConfigurationError(f"law: found '{law}', which is an FMU already")
    place, colon, class_name = law.rpartition(":")
    if colon and place.endswith(".py"):
        law = f"{Path(place).absolute()}:{class_name}"
    variables = law_variables(law, values)
    content = json.dumps({"law": law, "parameters": values})
    guid = str(uuid.uuid5(_NAMESPACE, content + repr(variables)))
    model = Fmi2Model(name, guid, f"control law {name}", step=SUGGESTED_STEP, needs_tool=True)
    resources = {LAW_FILE: content.encode()}
    module = "ros2_cosim.driving.controllers.law_as_fmu"
    write_served(target, model, variables, resources, module, fmi=fmi)
    return target


def law_variables(law: str, values: Mapping[str, float]) -> list[Fmi2Variable]:
    """Inputs, the output, then the parameters that are numbers, with these start values.

    A peer that the law does not need has an input that tells whether it is valid.

    :raises ConfigurationError: there is no such law or parameter
    """
    found = adapted(make_law(law, values), law)
    paths = list(_OWN)
    for peer in PEERS:
        names = Peer._fields if peer in found.needs else (VALID, *Peer._fields)
        paths += [f"{peer}.{name}" for name in names]
    inputs = []
    for path in paths:
        value = field_path(Measurement, path, law, UNITS)
        inputs.append(Fmi2Variable(path, "input", value.scalar, None, value.unit))
    output = Fmi2Variable(OUTPUT, "output", float, None, "m/s^2")
    parameters = [
        Fmi2Variable(name, "parameter", float, float(start))
        for name, start in {**_defaults(law), **values}.items()
    ]
    return [*inputs, output, *parameters]


def _defaults(law: str) -> dict[str, float]:
    """The parameters of a law that are numbers by default."""
    kind = check_law(law, {})
    if kind is None:
        return {}
    if issubclass(kind, Section):
        found = {name: field.default for name, field in kind.model_fields.items()}
    else:
        found = {name: p.default for name, p in inspect.signature(kind).parameters.items()}
    return {
        name: value
        for name, value in found.items()
        if isinstance(value, int | float) and not isinstance(value, bool)
    }


def _number(key: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ConfigurationError(f"{key}: found {text!r}; allowed is a number") from None


class LawInstance(Instance):
    """One instance of the FMU: values by reference, and the law.

    :param resources: directory with the file that names the law
    """

    def __init__(self, resources: Path) -> None:
        content = json.loads((resources / LAW_FILE).read_text(encoding="utf-8"))
        self._spec: str = content["law"]
        self._variables = law_variables(self._spec, content["parameters"])
        self._values: list[Any] = []
        self._law: AdaptedLaw | None = None
        self.reset()

    def setup(self, start: float) -> None:
        """The law does not look at the time."""

    def begin(self) -> str:
        """Make the law."""
        parameters = {
            variable.name: value
            for variable, value in zip(self._variables, self._values, strict=True)
            if variable.causality == "parameter"
        }
        self._law = adapted(make_law(self._spec, parameters), self._spec)
        return ""

    def step(self, time: float, size: float) -> None:
        """Ask the law once; ``size`` [s] is the time since the previous call."""
        if self._law is None:
            raise RunError("the initialisation is not complete")
        by_name = dict(zip((v.name for v in self._variables), self._values, strict=True))
        peers: dict[str, Any] = {
            peer: Peer(*(by_name[f"{peer}.{name}"] for name in Peer._fields))
            for peer in PEERS
            if by_name.get(f"{peer}.{VALID}", True)
        }
        own = {name: by_name[name] for name in _OWN}
        measurement = Measurement(dt=size, **own)._replace(**peers)
        demand = self._law.acceleration(measurement)
        at = next(i for i, v in enumerate(self._variables) if v.causality == "output")
        self._values[at] = float(demand)

    def terminate(self) -> None:
        """There are no results."""

    def reset(self) -> None:
        """Begin anew with the start values."""
        self.close()
        self._values = [v.kind() if v.start is None else v.start for v in self._variables]

    def close(self) -> None:
        """Release the law."""
        if self._law is not None and self._law.close is not None:
            self._law.close()
        self._law = None

    def get(self, kind: type, reference: int) -> Any:
        """The value of a variable."""
        self._check(kind, reference)
        return self._values[reference]

    def set(self, kind: type, reference: int, value: Any) -> None:
        """Give an input, or a parameter before the run, a value."""
        causality = self._check(kind, reference).causality
        if causality == "output" or (causality == "parameter" and self._law is not None):
            raise ConfigurationError(
                f"variable '{self._variables[reference].name}': it is an {causality}; allowed to "
                "be set are inputs, and parameters before the initialisation"
            )
        self._values[reference] = value

    def _check(self, kind: type, reference: int) -> Fmi2Variable:
        if reference >= len(self._variables) or self._variables[reference].kind is not kind:
            raise ConfigurationError(
                f"value reference {reference}: there is no such variable of type {kind.__name__}"
            )
        return self._variables[reference]


def main() -> None:
    """Serve the library of the FMU."""
    serve(LawInstance)
