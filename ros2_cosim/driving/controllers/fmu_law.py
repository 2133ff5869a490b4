# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""An FMU, or a C function, as the control law inside a controller.

The controller keeps its limits, emergency brake, fall-back and pedals. At each call the FMU gets
its inputs of the measurement and makes one step as long as the controller's; its own time counts
these steps only. Each instance has a copy of the library: several controllers share nothing.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from pydantic import Field, PrivateAttr

from ros2_cosim.core.documents.one_line import one_line
from ros2_cosim.core.kernel.errors import ConfigurationError, ModelError
from ros2_cosim.core.messages.field_paths import (
    VALID,
    FieldPath,
    array_path_of_identifier,
    field_path,
    path_of_identifier,
    paths_of,
)
from ros2_cosim.dcp.bridge.mapping import MappedSource, parse_source
from ros2_cosim.dcp.bridge.units import conversion
from ros2_cosim.dcp.fmi.interface_type import InterfaceType, can_save_state, steps_vary
from ros2_cosim.dcp.slave.fmu import FmuSlave
from ros2_cosim.dcp.slave.fmu_description import (
    FmuVariable,
    fmu_slave_description,
    fmu_variables,
    read_fmu,
    require_platform,
)
from ros2_cosim.dcp.standard.enums import DataType
from ros2_cosim.dcp.standard.slave_description import (
    Causality,
    SlaveDescription,
    Variable,
    element_count,
)
from ros2_cosim.dcp.standard.values import FLOATS, SIZED, Value
from ros2_cosim.driving.controllers.file_law import FileLaw
from ros2_cosim.driving.controllers.measurement import UNITS, Measurement
from ros2_cosim.driving.controllers.registry import PEERS

#: The output that is taken if there are several and none is named.
OUTPUT: Final = "demanded_acceleration"
#: Steps that differ by less than this share are equal: they are differences of times.
_STEP_TOLERANCE: Final = 1e-6


class _Input(NamedTuple):
    """Where the value of one input comes from: ``path``, or a constant without one.

    ``size`` is that of an array; missing values are zero.
    """

    variable: Variable
    source: MappedSource
    path: FieldPath | None
    size: int = 0

    def value(self, measurement: Measurement) -> Value:
        found = self.source.constant if self.path is None else self.path.read(measurement)
        found = self.source.scaled(found)
        if not self.variable.dimensions:
            return _fitting(found, self.variable.data_type)
        items = [_fitting(item, self.variable.data_type) for item in found]
        rest = [_fitting(0, self.variable.data_type)] * self.size
        return tuple((items + rest)[: self.size])


class _Bound(NamedTuple):
    """A file, and how its variables are tied to a law."""

    model: Any
    variables: Sequence[FmuVariable]
    description: SlaveDescription
    inputs: tuple[_Input, ...]
    output: Variable
    factor: float
    offset: float
    values: Mapping[int, Value]
    needs: tuple[str, ...]
    fixed_step: bool


class FmuLaw(FileLaw):
    """An FMU (FMI 2.0 or 3.0) or a C function that computes the law."""

    interface: InterfaceType | None = Field(
        default=None, description="interface type of the FMU; default: the first that it has"
    )
    process: bool = Field(default=False, strict=True, description="run the FMU in its own process")
    inputs: dict[str, Any] = Field(
        default_factory=dict,
        description="input of the FMU: a value of the measurement, as gap, predecessor.speed or "
        "objects[0].distance, a number, or {field, factor, offset}; others by their names",
    )
    output: str | None = Field(
        default=None,
        min_length=1,
        description="demanded acceleration; default: the only output that is a number, or "
        "demanded_acceleration",
    )
    parameters: dict[str, Any] = Field(
        default_factory=dict, description="parameter of the FMU: its value"
    )

    _bound: _Bound | None = PrivateAttr(default=None)
    _slave: FmuSlave | None = PrivateAttr(default=None)
    _time: float = PrivateAttr(default=0.0)
    _step: float | None = PrivateAttr(default=None)

    @property
    def needs_v2v(self) -> tuple[str, ...]:
        """The peers of which it takes values and does not look whether they are valid."""
        return () if self._bound is None else self._bound.needs

    def check(self, where: str) -> None:
        """Check whether mapping, units, parameters and platform fit; the library is not loaded.

        :raises ConfigurationError: one does not
        """
        self._bind(where)

    def open(self, where: str) -> None:
        """Load the library.

        :raises ConfigurationError: it does not fit, or cannot be loaded
        """
        bound = self._bound = self._bind(where)
        slave = self._slave = FmuSlave(
            Path(self.file), bound.model, bound.variables, apart=self.process
        )
        slave.bind(bound.description, _structure(bound.description), bound.values)
        self._time, self._step = 0.0, None
        try:
            slave.configure({})
        except Exception as error:  # FMPy raises plain exceptions
            self.close()
            raise ConfigurationError(f"{where}: {self.file}: {one_line(error)}") from None

    def close(self) -> None:
        """Free the instance."""
        if self._slave is not None:
            self._slave.close()
            self._slave = None

    def acceleration(self, measurement: Measurement) -> float:
        """Return the demanded acceleration [m/s^2].

        :raises ModelError: the FMU refuses the step
        """
        slave, bound = self._slave, self._bound
        assert slave is not None and bound is not None, "open() comes before"
        size = measurement.dt
        if bound.fixed_step and self._step is not None:
            if abs(size - self._step) > _STEP_TOLERANCE * self._step:
                raise ModelError(
                    f"{self.file}: found a step of {size:g} s after one of {self._step:g} s; the "
                    "FMU allows steps of one size"
                )
            size = self._step
        self._step = size
        for item in bound.inputs:
            slave.inputs[slave.index[item.variable.name]] = item.value(measurement)
        try:
            slave.advance(self._time, size)
        except Exception as error:
            raise ModelError(f"{self.file}: {one_line(error)}") from None
        if slave.stop_requested:
            raise ModelError(f"{self.file}: the FMU ends the simulation at its {self._time:g} s")
        self._time += size
        found: Any = slave.outputs[slave.index[bound.output.name]]
        if bound.factor == 1.0 and bound.offset == 0.0:
            return float(found)
        return bound.factor * float(found) + bound.offset

    @property
    def unsaved(self) -> str:
        """Why its state cannot be saved: the FMU does not state that it can."""
        if self._bound is not None and can_save_state(self._bound.model):
            return ""
        return (
            f"control law {self.file}: its description does not state canGetAndSetFMUstate and "
            "canSerializeFMUstate"
        )

    def save_state(self) -> Any:
        """The state of the FMU by its own means, and its last inputs."""
        assert self._slave is not None, "open() comes before"
        return [self._time, self._step, self._slave.save_state()]

    def restore_state(self, state: Any) -> None:
        """Go back to a state that ``save_state`` gave.

        :raises ConfigurationError: the FMU refuses it
        """
        assert self._slave is not None, "open() comes before"
        self._time, self._step, saved = state
        try:
            self._slave.restore_state(saved)
        except Exception as error:  # FMPy raises plain exceptions
            raise ConfigurationError(f"{self.file}: {one_line(error)}") from None

    # -- inside --------------------------------------------------------------------------------

    def _bind(self, where: str) -> _Bound:
        path = Path(self.file)
        try:
            model = read_fmu(path, self.interface)
            require_platform(path)
            variables = fmu_variables(model)
            description = fmu_slave_description(path, model, variables)
        except ConfigurationError as error:
            raise ConfigurationError(f"{where}.file: {error}") from None
        inputs = self._inputs(description, where)
        output = self._output(description, where)
        factor, offset = _converted(
            output, description, "m/s^2", f"{where}.output: '{output.name}'"
        )
        return _Bound(
            model,
            variables,
            description,
            inputs,
            output,
            factor,
            offset,
            self._values(description, where),
            self._needs(inputs),
            not steps_vary(model),
        )

    def _inputs(self, description: SlaveDescription, where: str) -> tuple[_Input, ...]:
        there = {v.name: v for v in description.of(Causality.INPUT)}
        for name in self.inputs:
            if name not in there:
                raise ConfigurationError(
                    f"{where}.inputs: found {name!r}; the inputs of {Path(self.file).name} are "
                    f"{', '.join(there) or 'none'}"
                )
        found = []
        for name, variable in there.items():
            place = f"{where}.inputs.{name}"
            if name not in self.inputs and variable.data_type in SIZED:
                continue  # a text or bytes: it stays as the FMU starts with it
            if name in self.inputs:
                source = parse_source(self.inputs[name], "field", place)
            else:
                source = MappedSource(_usual_path(variable, place))
            found.append(_input(variable, source, description, place))
        return tuple(found)

    def _output(self, description: SlaveDescription, where: str) -> Variable:
        there = {
            v.name: v
            for v in description.of(Causality.OUTPUT)
            if v.data_type not in SIZED and not v.dimensions
        }
        numbers = [name for name, v in there.items() if v.data_type in FLOATS]
        name = self.output
        if name is None:
            name = numbers[0] if len(numbers) == 1 else OUTPUT
        if name not in there:
            raise ConfigurationError(
                f"{where}.output: found {self.output or 'none'}; allowed are "
                f"{', '.join(there) or 'none: the FMU has no output that is a number'}"
            )
        return there[name]

    def _values(self, description: SlaveDescription, where: str) -> dict[int, Value]:
        there = {v.name: v for v in description.of(Causality.PARAMETER)}
        values: dict[int, Value] = {}
        for name, given in self.parameters.items():
            variable = there.get(name)
            place = f"{where}.parameters.{name}"
            if variable is None:
                raise ConfigurationError(
                    f"{place}: there is no such parameter; there are {', '.join(there) or 'none'}"
                )
            number = isinstance(given, int | float) and math.isfinite(given)
            whole = number and (variable.data_type in FLOATS or given == int(given))
            text = variable.data_type is DataType.string and isinstance(given, str)
            if variable.dimensions or not (text or (whole and variable.data_type not in SIZED)):
                raise ConfigurationError(
                    f"{place}: found {given!r}; it is {variable.data_type.name}"
                )
            values[variable.value_reference] = (
                given if text else _fitting(given, variable.data_type)
            )
        return values

    @staticmethod
    def _needs(inputs: Sequence[_Input]) -> tuple[str, ...]:
        names = [item.source.name for item in inputs if item.path is not None]
        return tuple(
            peer
            for peer in PEERS
            if any(name.startswith(f"{peer}.") for name in names) and f"{peer}.{VALID}" not in names
        )


def _usual_path(variable: Variable, where: str) -> str:
    """The path that an input stands for by its name."""
    name = variable.name
    if variable.dimensions:
        path = array_path_of_identifier(Measurement, name)
    else:
        path = path_of_identifier(Measurement, name)
    if path is None and any(mark in name for mark in ".["):
        path = name  # what is wrong with it is said where it is read
    if path is None:
        raise ConfigurationError(
            f"{where}: a measurement has no value of that name; give it one, of "
            f"{', '.join(paths_of(Measurement))}, or a number"
        )
    return path


def _input(
    variable: Variable, source: MappedSource, description: SlaveDescription, where: str
) -> _Input:
    if variable.data_type in SIZED:
        raise ConfigurationError(f"{where}: found a {variable.data_type.name}; allowed are numbers")
    if not source.name:
        if variable.dimensions or not isinstance(source.constant, int | float):
            raise ConfigurationError(
                f"{where}: found {source.constant!r}; it is not a value of "
                f"{'an array' if variable.dimensions else variable.data_type.name}"
            )
        return _Input(variable, source, None)
    path = field_path(Measurement, source.name, where, UNITS)
    if path.repeated != bool(variable.dimensions):
        kind = "a list" if path.repeated else "a single value"
        raise ConfigurationError(
            f"{where}: found {source.name!r}, which is {kind}; the input is not"
        )
    if path.scalar is float and variable.data_type not in FLOATS:
        raise ConfigurationError(
            f"{where}: found {source.name!r}, a number with fractions; the input is "
            f"{variable.data_type.name}"
        )
    size = element_count(variable, _structure(description)) or 0
    if source.factor is None and source.offset is None and path.unit is not None:
        factor, offset = _converted(variable, description, path.unit, f"{where}: {source.name!r}")
        if (factor, offset) != (1.0, 0.0):
            # SI = factor * value + offset, and the FMU wants the value.
            source = MappedSource(source.name, None, 1.0 / factor, -offset / factor)
    return _Input(variable, source, path, size)


def _converted(
    variable: Variable, description: SlaveDescription, unit: str, where: str
) -> tuple[float, float]:
    """Factor and offset to SI; an undefined unit is refused."""
    found = conversion(variable, description, unit, where)
    if found is None:
        raise ConfigurationError(
            f"{where}: found unit '{variable.attributes.unit}', which the FMU does not define; "
            f"allowed is {unit}, or for an input factor and offset"
        )
    return found


def _structure(description: SlaveDescription) -> dict[int, int]:
    """Value reference -> start value of what says how large arrays are."""
    return {
        variable.value_reference: int(variable.start)
        for variable in description.of(Causality.STRUCTURAL)
        if isinstance(variable.start, int)
    }


def _fitting(value: Any, kind: DataType) -> Value:
    return float(value) if kind in FLOATS else int(value)
