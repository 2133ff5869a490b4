# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The base class of models of DCP slaves: variables as class attributes, a few callbacks.

Example::

    class Gain(SlaveModel):
        u = Input("float64", unit="m")
        y = Output("float64", unit="m")
        k = Parameter("float64", start=2.0)

        def do_step(self, step):
            self.y = self.k * self.u

Callbacks run between two PDUs, one at a time; an exception sends the slave to its
error state (raise :class:`~ros2_cosim.dcp.standard.errors.SlaveFault` to choose the error code).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

from ros2_cosim.dcp.standard.enums import DataType
from ros2_cosim.dcp.standard.errors import DescriptionError
from ros2_cosim.dcp.standard.slave_description import (
    Causality,
    SlaveDescription,
    element_count,
    resized,
    start_value,
)
from ros2_cosim.dcp.standard.values import Value


class StepInfo(NamedTuple):
    """One computation step.

    ``ticks`` counts resolutions from the start of the run to the start of the step,
    ``steps`` is the length of the step in resolutions, ``resolution`` is in seconds.
    """

    ticks: int
    steps: int
    resolution: Fraction

    @property
    def time(self) -> Fraction:
        """Simulation time in seconds at the start of the step."""
        return self.ticks * self.resolution

    @property
    def size(self) -> Fraction:
        """Length of the step in seconds."""
        return self.steps * self.resolution

    @property
    def time_ns(self) -> int:
        """Start of the step in whole nanoseconds (rounded down)."""
        return self.ticks * self.resolution.numerator * 10**9 // self.resolution.denominator


class Declaration:
    """A variable declared as a class attribute; reads and writes the current value.

    :param data_type: name of a data type, e.g. ``"float64"``
    :param start: start value; a sequence for arrays
    :param shape: dimensions of an array, each a number or the name of a structural parameter
    :param attributes: further fields of ``description.Variable`` and
        ``description.TypeAttributes``, e.g. ``unit="m"``, ``min=0.0``, ``variability="discrete"``
    """

    causality: Causality
    variability: str = "continuous"
    store: str = ""

    def __init__(
        self,
        data_type: str = "float64",
        start: Value = None,
        *,
        shape: Sequence[int | str] = (),
        **attributes: Any,
    ) -> None:
        self.data_type: DataType = DataType[data_type]
        self.start = start
        self.shape: tuple[int | str, ...] = tuple(shape)
        self.attributes = attributes
        self.name: str = ""

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = self.attributes.pop("name", name)
        self.attribute = name

    def __get__(self, model: SlaveModel | None, owner: type) -> Any:
        if model is None:
            return self
        return getattr(model, self.store)[model.index[self.name]]

    def __set__(self, model: SlaveModel, value: Value) -> None:
        getattr(model, self.store)[model.index[self.name]] = value


class Input(Declaration):
    """A value that the slave receives in data PDUs."""

    causality = Causality.INPUT
    store = "inputs"


class Output(Declaration):
    """A value that the slave sends in data PDUs."""

    causality = Causality.OUTPUT
    store = "outputs"


class Parameter(Declaration):
    """A value set before the run, and with ``variability="tunable"`` also during it."""

    causality = Causality.PARAMETER
    variability = "fixed"
    store = "parameters"


class StructuralParameter(Declaration):
    """The size of an array dimension."""

    causality = Causality.STRUCTURAL
    variability = "fixed"
    store = "parameters"

    def __init__(self, data_type: str = "uint32", start: int = 1, **attributes: Any) -> None:
        super().__init__(data_type, start, **attributes)


class SlaveModel:
    """Base class of models; every callback may be left out.

    :ivar inputs: input values in the order of the description
    :ivar outputs: output values in the order of the description; assign to them
    :ivar parameters: parameters and structural parameters in the order of the description
    :ivar index: position of each variable, by name, in its list
    :ivar resolution: seconds per step, known from ``configure`` on
    :ivar unheard: inputs that the master connected and nothing ever came for, known in ``stop``
    """

    resolution: Fraction = Fraction(0)
    unheard: tuple[str, ...] = ()
    inputs: list[Value]
    outputs: list[Value]
    parameters: list[Value]
    index: dict[str, int]
    log: Callable[..., None] = staticmethod(lambda template_id, *arguments: None)
    """``log(template_id, *arguments)`` writes a log entry of the description."""
    stop_requested: bool = False
    """Set it to leave the Run superstate without a request."""

    def configure(self, parameters: Mapping[str, Value]) -> None:
        """CONFIGURING: all parameters by name are known, inputs are not."""

    def initialise(self) -> None:
        """INITIALIZING: compute a consistent initial state and outputs from the inputs."""

    def do_step(self, step: StepInfo) -> None:
        """COMPUTING, or one tick in real time: from inputs to outputs over ``step``."""

    def before_sending(self) -> None:
        """The outputs are about to be sent (SENDING_I, SENDING_D)."""

    def parameters_changed(self, names: Sequence[str]) -> None:
        """Tunable parameters have new values (before the next step)."""

    def synchronized(self) -> bool:
        """Called in SYNCHRONIZING: whether the transient is over."""
        return True

    def stop(self) -> None:
        """STOPPING: release what ``configure`` and ``initialise`` took."""

    def reset(self) -> None:
        """STC_reset: back to the condition before ``configure``."""

    def error(self, code: int, message: str) -> None:
        """ERRORHANDLING: bring everything to a safe condition; by default ``stop()``."""
        self.stop()

    def get(self, name: str) -> Value:
        """Current value of any variable by name."""
        return getattr(self, self._store[name])[self.index[name]]

    def set(self, name: str, value: Value) -> None:
        """Set any variable by name (models set outputs)."""
        getattr(self, self._store[name])[self.index[name]] = value

    def bind(
        self,
        description: SlaveDescription,
        structural: Mapping[int, int] | None = None,
        values: Mapping[int, Value] | None = None,
    ) -> None:
        """Give every variable its start value, or that of ``values`` by value reference."""
        self.inputs, self.outputs, self.parameters = [], [], []
        self.index, self._store = {}, {}
        self.stop_requested = False
        given = values or {}
        for variable in description.variables:
            store = _STORES[variable.causality]
            target = getattr(self, store)
            self.index[variable.name] = len(target)
            self._store[variable.name] = store
            reference = variable.value_reference
            count = element_count(variable, structural)
            target.append(given[reference] if reference in given else start_value(variable, count))

    def resize(self, description: SlaveDescription, structural: Mapping[int, int]) -> None:
        """Bring arrays to the sizes that the structural parameters now give them."""
        for variable in description.variables:
            count = element_count(variable, structural)
            if count is not None:
                values = getattr(self, self._store[variable.name])
                at = self.index[variable.name]
                values[at] = resized(tuple(values[at]), count)

    @classmethod
    def declarations(cls) -> list[Declaration]:
        """Declared variables in the order of the class body, base classes first."""
        found: dict[str, Declaration] = {}
        for base in reversed(cls.__mro__):
            for value in vars(base).values():
                if isinstance(value, Declaration):
                    found[value.attribute] = value
        names = [d.name for d in found.values()]
        if len(set(names)) != len(names):
            raise DescriptionError(f"{cls.__name__}: a variable name is used twice")
        return list(found.values())


_STORES = {
    Causality.INPUT: "inputs",
    Causality.OUTPUT: "outputs",
    Causality.PARAMETER: "parameters",
    Causality.STRUCTURAL: "parameters",
}
