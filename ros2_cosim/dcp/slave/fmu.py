# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""An FMU (FMI 2.0 or 3.0, of any interface type) as a DCP slave, run by FMPy; also a C function.

Example::

    slave, description = load_fmu("plant.fmu", step=Fraction(1, 100))
    serve(slave, description, port=8080)

The FMU's initialization mode spans the Initialization superstate: it is entered by the first
INITIALIZING (or the first step) and left by the first step. Booleans are uint8, FMI 2.0
integers int32, enumerations int32 (2.0) and int64 (3.0). A file that ends in ``.c`` is made into
an FMU first (:mod:`ros2_cosim.dcp.slave.c_source`).
"""

from __future__ import annotations

import os
import shutil
import tempfile
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

from ros2_cosim.dcp.fmi.apart import ApartRuntime
from ros2_cosim.dcp.fmi.interface_type import InterfaceType
from ros2_cosim.dcp.fmi.runtime import FmuPlace, Runtime
from ros2_cosim.dcp.slave.c_source import fmu_content
from ros2_cosim.dcp.slave.fmu_description import (
    FmuVariable,
    fmu_slave_description,
    fmu_variables,
    read_fmu,
)
from ros2_cosim.dcp.slave.slave_model import SlaveModel, StepInfo
from ros2_cosim.dcp.standard.enums import OpMode
from ros2_cosim.dcp.standard.errors import DescriptionError, SlaveFault
from ros2_cosim.dcp.standard.slave_description import Causality, SlaveDescription
from ros2_cosim.dcp.standard.values import Value

_PARAMETERS = (Causality.PARAMETER, Causality.STRUCTURAL)
Slots = dict[FmuPlace, list[FmuVariable]]
"""The variables of a slave at each place of its FMU: one, or one for each element."""
OnIntermediate = Callable[[float, Mapping[str, Value]], bool | None]


class FmuSlave(SlaveModel):
    """DCP callbacks around an FMU; made by :func:`load_fmu`.

    :param path: the FMU; it is unpacked into a directory that goes with this object
    :param model: FMPy's description of it
    :param variables: the slave's variables in the order of its description
    :param on_intermediate: called inside communication steps with the time [s] and the outputs that
        the FMU provides there (FMI 3.0); true asks it to return early; not for one that is apart
    :param apart: run it in a process of its own
    :raises DescriptionError: it has no binary for this platform
    """

    def __init__(
        self,
        path: Path,
        model: Any,
        variables: Sequence[FmuVariable],
        on_intermediate: OnIntermediate | None = None,
        *,
        apart: bool = False,
    ) -> None:
        from fmpy import extract

        self._apart = apart
        self._on_intermediate = on_intermediate
        self._path = path
        self._fmi = model
        self._directory = tempfile.mkdtemp(prefix="fmu-")
        self._cleaner = weakref.finalize(self, shutil.rmtree, self._directory, True)
        extract(fmu_content(path, compiled=True), self._directory)
        self._inputs = _slots(variables, (Causality.INPUT,))
        self._outputs = _slots(variables, (Causality.OUTPUT,))
        self._parameters = _slots(variables, _PARAMETERS)
        self._runtime: Runtime | None = self._load()

    # -- callbacks of the slave ----------------------------------------------------------------

    def configure(self, parameters: Mapping[str, Value]) -> None:
        """A fresh instance with all parameters."""
        if self._runtime is None:
            self._runtime = self._load()
        runtime = self._runtime
        runtime.renew({p: len(items) for p, items in self._all(self._outputs, self.outputs)})
        structural = {
            place: slots
            for place, slots in self._parameters.items()
            for v in slots[:1]
            if v.structural and self.parameters[self.index[v.variable.name]] != v.fmi_start
        }
        if structural:
            runtime.structure(self._all(structural, self.parameters))
        rest = {p: slots for p, slots in self._parameters.items() if not slots[0].structural}
        runtime.write(self._all(rest, self.parameters))

    def initialise(self) -> None:
        """Initialization mode: inputs in, initial outputs out; may be done again and again."""
        self._live.enter(self._all(self._inputs, self.inputs))
        self._read()

    def do_step(self, step: StepInfo) -> None:
        """One communication step."""
        self.advance(float(step.time), float(step.size))

    def advance(self, now: float, size: float) -> None:
        """One communication step from a time on; both in s."""
        if not self._live.stepping:
            self.initialise()
            self._live.begin()
        self.stop_requested = self._live.advance(now, size, self._all(self._inputs, self.inputs))
        self._read()

    def parameters_changed(self, names: Sequence[str]) -> None:
        """Tunable parameters take effect at once."""
        chosen = {
            place: slots
            for place, slots in self._parameters.items()
            if any(v.variable.name in names for v in slots)
        }
        if any(v.structural for slots in chosen.values() for v in slots):
            raise SlaveFault(f"{self._path.name}: structural parameters are fixed during a run")
        self._live.tune(self._all(chosen, self.parameters))

    def stop(self) -> None:
        """Terminate the FMU; the next ``configure`` starts anew."""
        if self._runtime is not None:
            self._runtime.end()

    def reset(self) -> None:
        """Nothing to do: ``configure`` keeps nothing of an earlier run."""

    def error(self, code: int, message: str) -> None:
        """Free the instance: it is not known which calls an FMU allows after an error."""
        self._free()

    def save_state(self) -> list[Any]:
        """The state of the instance by FMI's own means, and its outputs; after ``configure``.

        For FMUs that state it (:func:`~ros2_cosim.dcp.fmi.interface_type.can_save_state`).
        """
        return [self._live.save(), list(self.outputs)]

    def restore_state(self, state: list[Any]) -> None:
        """Go back to a state that ``save_state`` gave; after ``configure``."""
        found, outputs = state
        self._live.restore(found)
        self.outputs[:] = [tuple(v) if isinstance(v, list) else v for v in outputs]

    def close(self) -> None:
        """Free the instance and delete the unpacked files."""
        self._free()
        self._cleaner()

    # -- inside --------------------------------------------------------------------------------

    @property
    def _live(self) -> Runtime:
        assert self._runtime is not None, "configure() comes before"
        return self._runtime

    def _load(self) -> Runtime:
        from ros2_cosim.dcp.fmi.opening import open_runtime

        directory = os.getcwd()  # FMPy changes it while it loads
        try:
            observer = None if self._on_intermediate is None else self._observed
            if self._apart:
                return ApartRuntime(self._fmi, self._directory, self._path.name)
            return open_runtime(self._fmi, self._directory, observer)
        except Exception as error:  # FMPy raises plain exceptions
            reason = str(error).replace(self._directory, self._path.name)
            raise DescriptionError(f"{self._path}: {' '.join(reason.split())}") from None
        finally:
            os.chdir(directory)

    def _free(self) -> None:
        if self._runtime is not None:
            self._runtime.free()
        self._runtime = None

    def _observed(self, time: float, found: Mapping[FmuPlace, list[Any]]) -> bool | None:
        assert self._on_intermediate is not None
        values = {}
        for place, items in found.items():
            for variable in self._outputs[place]:
                at = self.index[variable.variable.name]
                values[variable.variable.name] = _like(self.outputs[at], items)
        return self._on_intermediate(time, values)

    def _items(self, slots: Sequence[FmuVariable], values: Sequence[Value]) -> list[Any]:
        items: list[Any] = []
        for variable in slots:
            value = values[self.index[variable.variable.name]]
            items += value if isinstance(value, tuple) else [value]
        return items

    def _all(self, slots: Slots, values: Sequence[Value]) -> list[tuple[FmuPlace, list[Any]]]:
        return [(place, self._items(found, values)) for place, found in slots.items()]

    def _read(self) -> None:
        runtime = self._live
        places = [
            place
            for place, slots in self._outputs.items()
            # Else bytes that it points to are gone.
            if not (runtime.stepping and slots[0].variable.initialization)
        ]
        for place, items in zip(places, runtime.read(places), strict=True):
            slots = self._outputs[place]
            if len(slots) > 1:
                for variable, item in zip(slots, items, strict=True):
                    self.outputs[self.index[variable.variable.name]] = item
            else:
                at = self.index[slots[0].variable.name]
                self.outputs[at] = _like(self.outputs[at], items)


def _like(former: Value, items: list[Any]) -> Value:
    return tuple(items) if isinstance(former, tuple) else items[0]


def _slots(variables: Iterable[FmuVariable], causalities: Sequence[Causality]) -> Slots:
    found: Slots = {}
    for variable in variables:
        if variable.variable.causality in causalities:
            found.setdefault(variable.place, []).append(variable)
    return found


def load_fmu(
    path: str | Path,
    *,
    step: Fraction | None = None,
    modes: Sequence[OpMode] = (),
    interface: InterfaceType | None = None,
    on_intermediate: OnIntermediate | None = None,
    apart: bool = False,
    **more: Any,
) -> tuple[FmuSlave, SlaveDescription]:
    """An FMU as a slave, and its description.

    :param step: seconds per resolution; by default the FMU's fixed or suggested step size
    :param modes: operating modes that are offered, by default NRT and SRT
    :param interface: by default the first interface type that the FMU has
    :param on_intermediate, apart: of :class:`FmuSlave`
    :param more: further arguments of :func:`~ros2_cosim.dcp.slave.declare.describe`
    :raises DescriptionError: no FMU, none of this interface type, or none for this platform
    """
    model = read_fmu(path, interface)
    variables = fmu_variables(model)
    description = fmu_slave_description(path, model, variables, step=step, modes=modes, **more)
    return FmuSlave(Path(path), model, variables, on_intermediate, apart=apart), description


def describe_fmu(
    path: str | Path,
    *,
    step: Fraction | None = None,
    modes: Sequence[OpMode] = (),
    interface: InterfaceType | None = None,
    **more: Any,
) -> SlaveDescription:
    """The slave description of an FMU without loading its binary."""
    model = read_fmu(path, interface)
    return fmu_slave_description(path, model, fmu_variables(model), step=step, modes=modes, **more)
