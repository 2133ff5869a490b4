# SPDX-License-Identifier: Apache-2.0
"""An FMU (FMI 2.0 or 3.0, co-simulation) as a DCP slave, run by FMPy; also a C function.

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
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from fractions import Fraction
from pathlib import Path
from typing import Any

from ros2_cosim.dcp.description.slave_description import Causality, SlaveDescription
from ros2_cosim.dcp.slave.c_source import fmu_content
from ros2_cosim.dcp.slave.fmu_description import (
    FmuVariable,
    fmu_slave_description,
    fmu_variables,
    read_fmu,
)
from ros2_cosim.dcp.slave.slave_model import SlaveModel, StepInfo
from ros2_cosim.dcp.wire.enums import OpMode
from ros2_cosim.dcp.wire.errors import DescriptionError, SlaveFault
from ros2_cosim.dcp.wire.values import Value

#: Of FMI 2.0: the status of a step that was not completed, and what tells whether that is the end.
_DISCARD = 2
_TERMINATED = 3
_PARAMETERS = (Causality.PARAMETER, Causality.STRUCTURAL)


class FmuSlave(SlaveModel):
    """DCP callbacks around an FMU; made by :func:`load_fmu`.

    :param path: the FMU; it is unpacked into a directory that goes with this object
    :param model: FMPy's description of it
    :param variables: the slave's variables in the order of its description
    :raises DescriptionError: it has no binary for this platform
    """

    def __init__(self, path: Path, model: Any, variables: Sequence[FmuVariable]) -> None:
        from fmpy import extract

        self._path = path
        self._fmi = model
        self._is_fmi3 = model.fmiVersion == "3.0"
        self._directory = tempfile.mkdtemp(prefix="fmu-")
        self._cleaner = weakref.finalize(self, shutil.rmtree, self._directory, True)
        self._instance: Any = None
        self._initializing = False
        self._stepping = False
        extract(fmu_content(path, compiled=True), self._directory)
        self._fmu = self._load()
        self._by_causality = {
            causality: [v for v in variables if v.variable.causality is causality]
            for causality in Causality
        }

    # -- callbacks of the slave ----------------------------------------------------------------

    def configure(self, parameters: Mapping[str, Value]) -> None:
        """A fresh instance with all parameters."""
        self._renew()
        chosen = [v for causality in _PARAMETERS for v in self._by_causality[causality]]
        structural = [
            v
            for v in chosen
            if v.structural and self.parameters[self.index[v.variable.name]] != v.fmi_start
        ]
        if structural:
            self._fmu.enterConfigurationMode()
            self._set(structural, self.parameters)
            self._fmu.exitConfigurationMode()
        self._set([v for v in chosen if not v.structural], self.parameters)

    def initialise(self) -> None:
        """Initialization mode: inputs in, initial outputs out; may be done again and again."""
        self._enter_initialization()
        self._set(self._by_causality[Causality.INPUT], self.inputs)
        self._read()

    def do_step(self, step: StepInfo) -> None:
        """One communication step."""
        self.advance(float(step.time), float(step.size))

    def advance(self, now: float, size: float) -> None:
        """One communication step from a time on; both in s."""
        if not self._stepping:
            self._enter_initialization()
            self._set(self._by_causality[Causality.INPUT], self.inputs)
            self._read()
            self._fmu.exitInitializationMode()
            self._initializing, self._stepping = False, True
        self._set(self._by_causality[Causality.INPUT], self.inputs)
        if self._is_fmi3:
            _, terminate, _, _ = self._fmu.doStep(now, size)
            self.stop_requested = bool(terminate)
        else:
            self.stop_requested = self._ends_in_step(now, size)
        self._read()

    def _ends_in_step(self, now: float, size: float) -> bool:
        """Make a step of FMI 2.0; whether the FMU ends the simulation in it, which it may."""
        from fmpy.fmi1 import FMICallException

        try:
            self._fmu.doStep(now, size)
        except FMICallException as error:
            if error.status != _DISCARD or not self._fmu.getBooleanStatus(_TERMINATED):
                raise
            return True
        return False

    def parameters_changed(self, names: Sequence[str]) -> None:
        """Tunable parameters take effect at once."""
        chosen = [
            v
            for causality in _PARAMETERS
            for v in self._by_causality[causality]
            if v.variable.name in names
        ]
        if any(v.structural for v in chosen):
            raise SlaveFault(f"{self._path.name}: structural parameters are fixed during a run")
        self._set(chosen, self.parameters)

    def stop(self) -> None:
        """Terminate the FMU; the next ``configure`` starts anew."""
        if self._instance is not None and (self._stepping or self._initializing):
            if self._initializing:
                self._fmu.exitInitializationMode()
            self._fmu.terminate()
            self._initializing = self._stepping = False

    def reset(self) -> None:
        """Nothing to do: ``configure`` keeps nothing of an earlier run."""

    def error(self, code: int, message: str) -> None:
        """Free the instance: it is not known which calls an FMU allows after an error."""
        self._free()

    def save_state(self) -> list[Any]:
        """The state of the instance by FMI's own means, and its outputs; after ``configure``.

        For FMUs that state it (:func:`~ros2_cosim.dcp.slave.fmu_description.can_save_state`).
        """
        found = self._fmu.getFMUState()
        try:
            content = self._fmu.serializeFMUState(found)
        finally:
            self._fmu.freeFMUState(found)
        return [content, list(self.outputs), self._initializing, self._stepping]

    def restore_state(self, state: list[Any]) -> None:
        """Go back to a state that ``save_state`` gave; after ``configure``."""
        content, outputs, initializing, stepping = state
        found = self._fmu.deserializeFMUState(content)
        try:
            self._fmu.setFMUState(found)
        finally:
            self._fmu.freeFMUState(found)
        self.outputs[:] = [tuple(v) if isinstance(v, list) else v for v in outputs]
        self._initializing, self._stepping = initializing, stepping

    def close(self) -> None:
        """Free the instance and delete the unpacked files."""
        self._free()
        self._cleaner()

    # -- inside --------------------------------------------------------------------------------

    def _load(self) -> Any:
        from fmpy.fmi3 import FMU3Slave

        from ros2_cosim.dcp.slave.osmp import FMU2WithBinaries

        kind: Callable[..., Any] = FMU3Slave if self._is_fmi3 else FMU2WithBinaries
        directory = os.getcwd()  # FMPy changes it while it loads
        try:
            return kind(
                guid=self._fmi.instantiationToken,
                unzipDirectory=self._directory,
                modelIdentifier=self._fmi.coSimulation.modelIdentifier,
                instanceName=self._fmi.modelName,
            )
        except Exception as error:  # FMPy raises plain exceptions
            reason = str(error).replace(self._directory, self._path.name)
            raise DescriptionError(f"{self._path}: {' '.join(reason.split())}") from None
        finally:
            os.chdir(directory)

    def _renew(self) -> None:
        """The FMU as if it had just been instantiated."""
        if self._instance is not None:
            self._fmu.reset()
        else:
            if self._fmu is None:
                self._fmu = self._load()
            self._fmu.instantiate()
            self._instance = self._fmu
        self._initializing = self._stepping = False

    def _enter_initialization(self) -> None:
        if self._initializing or self._stepping:
            return
        if self._is_fmi3:
            self._fmu.enterInitializationMode(startTime=0.0)
        else:
            self._fmu.setupExperiment(startTime=0.0)
            self._fmu.enterInitializationMode()
        self._initializing = True

    def _free(self) -> None:
        if self._instance is not None:
            with suppress(Exception):
                self._fmu.freeInstance()
        self._instance = self._fmu = None
        self._initializing = self._stepping = False

    def _set(self, variables: Sequence[FmuVariable], values: Sequence[Value]) -> None:
        for variable, fmi_type, reference, *_ in variables:
            value: Any = values[self.index[variable.name]]
            items = list(value) if isinstance(value, tuple) else [value]
            if fmi_type == "Boolean":
                items = [bool(item) for item in items]
            getattr(self._fmu, f"set{fmi_type}")([reference], items)

    def _read(self) -> None:
        for variable, fmi_type, reference, *_ in self._by_causality[Causality.OUTPUT]:
            if self._stepping and variable.initialization:
                continue  # bytes that it points to are gone
            at = self.index[variable.name]
            former = self.outputs[at]
            get = getattr(self._fmu, f"get{fmi_type}")
            if isinstance(former, tuple):
                found = get([reference], len(former))
            else:
                found = get([reference])
            values = [_plain(item, fmi_type) for item in found]
            self.outputs[at] = tuple(values) if isinstance(former, tuple) else values[0]


def _plain(value: Any, fmi_type: str) -> Value:
    if fmi_type == "Boolean":
        return int(bool(value))
    if fmi_type == "String" and isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if value is None:
        return "" if fmi_type == "String" else b""
    return value


def load_fmu(
    path: str | Path,
    *,
    step: Fraction | None = None,
    modes: Sequence[OpMode] = (),
    **more: Any,
) -> tuple[FmuSlave, SlaveDescription]:
    """An FMU as a slave, and its description.

    :param step: seconds per resolution; by default the FMU's fixed or suggested step size
    :param modes: operating modes that are offered, by default NRT and SRT
    :param more: further arguments of :func:`~ros2_cosim.dcp.slave.declare.describe`
    :raises DescriptionError: no FMU, none for co-simulation, or none for this platform
    """
    model = read_fmu(path)
    variables = fmu_variables(model)
    description = fmu_slave_description(path, model, variables, step=step, modes=modes, **more)
    return FmuSlave(Path(path), model, variables), description


def describe_fmu(
    path: str | Path,
    *,
    step: Fraction | None = None,
    modes: Sequence[OpMode] = (),
    **more: Any,
) -> SlaveDescription:
    """The slave description of an FMU without loading its binary."""
    model = read_fmu(path)
    return fmu_slave_description(path, model, fmu_variables(model), step=step, modes=modes, **more)
