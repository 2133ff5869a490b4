# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""A network FMU (FMI 3.0 with FMI-LS-BUS) as a participant: its bus terminals are ports.

The FMU makes a step from one activation to the next. Where one ends, in event mode, its Tx clocks
say whether there are operations to be sent, and operations that have arrived go in with their Rx
clocks. Clocks and terminals: modelica/fmi-ls-bus, commit 9cf92599,
docs/4____network_abstraction.adoc.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import weakref
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar, Final, NamedTuple

from pydantic import Field

from ros2_cosim.core.documents.archives import opened_archive
from ros2_cosim.core.documents.one_line import one_line
from ros2_cosim.core.documents.settings import Number, Section
from ros2_cosim.core.documents.xml_reader import read_xml
from ros2_cosim.core.kernel.errors import ConfigurationError, ModelError
from ros2_cosim.core.kernel.model import FullModel, Port, Repeatability, Traits
from ros2_cosim.core.kernel.participant import ModelContext, Step
from ros2_cosim.core.kernel.time import to_seconds
from ros2_cosim.core.messages.catalogue import DEFAULT
from ros2_cosim.core.messages.message_types import BYTES
from ros2_cosim.dcp.slave.fmu_description import DESCRIPTION, read_fmu, require_platform

_OPERATIONS: Final = "operations/"
_TERMINALS: Final = "terminalsAndIcons/terminalsAndIcons.xml"
_KIND: Final = "org.fmi-ls-bus.network-terminal"
_CAN: Final = "application/org.fmi-standard.fmi-ls-bus.can"
_MEMBERS: Final = ("Tx_Data", "Tx_Clock", "Rx_Data", "Rx_Clock")
_INTERVAL_CHANGED: Final = 2
#: Event iterations at one instant, after which an FMU is taken for one that never ends them.
_MOST_ITERATIONS: Final = 100


class BusTerminal(NamedTuple):
    """Value references of one bus terminal; ``countdown``: the Tx clock is a time-based one."""

    tx_data: int
    tx_clock: int
    rx_data: int
    rx_clock: int
    countdown: bool


class BusFmuParameters(Section):
    """Parameters of a network FMU."""

    fmu: str = Field(description="the FMU")
    values: dict[str, bool | Number] = Field(
        default_factory=dict, description="parameter of the FMU -> value"
    )


class BusFmu(FullModel):
    """An FMU whose bus terminals send and receive operations of FMI-LS-BUS, as CAN nodes do.

    For each bus terminal there are an input ``operations/TERMINAL`` (handled) and an output of this
    name, for a ``can_bus`` or another FMU. Operations that arrive between two activations make it
    step to there. With a countdown clock it needs ``dynamic_step``.

    :raises ConfigurationError: no FMI 3.0 FMU with event mode and bus terminals for CAN, none for
        this platform, or it cannot step to any time
    """

    Parameters = BusFmuParameters
    traits: ClassVar[Traits] = Traits(repeatable=Repeatability.SAME_MACHINE)
    input_ports: ClassVar[tuple[Port, ...]] = (
        Port(_OPERATIONS + "{terminal}", BYTES, required=False, description="handled"),
    )
    output_ports: ClassVar[tuple[Port, ...]] = (
        Port(_OPERATIONS + "{terminal}", BYTES, required=False, schedule="sparse"),
    )
    other_ports = False

    @classmethod
    def port_names(
        cls, context: ModelContext, parameters: BusFmuParameters
    ) -> Mapping[str, Sequence[str]]:
        """The bus terminals."""
        return {"terminal": tuple(_described(context, parameters)[1])}

    @classmethod
    def check_settings(cls, context: ModelContext, parameters: BusFmuParameters) -> None:
        """Check the FMU without loading it.

        :raises ConfigurationError: it cannot take part
        """
        model, terminals = _described(context, parameters)
        where = f"{context.where}.fmu"
        if context.period_ns is None:
            raise ConfigurationError(
                f"{where}: found no period of the participant; allowed is one, its step"
            )
        countdown = [name for name, t in terminals.items() if t.countdown]
        if countdown and not context.dynamic_step:
            raise ConfigurationError(
                f"{where}: found a countdown clock at terminal '{countdown[0]}' and no "
                "'dynamic_step: true' beside the parameters; allowed is to give it"
            )
        _settings(model, parameters.values, context.where)

    def __init__(self, context: ModelContext, parameters: BusFmuParameters) -> None:
        self.check_settings(context, parameters)
        model, self._terminals = _described(context, parameters)
        self._outputs = frozenset(context.output_types)
        path = context.base_directory / parameters.fmu
        require_platform(path)
        self._path = path
        self._period = context.period_ns or 0
        #: When the FMU was last, and when it is activated next [ns].
        self._time = -1
        self._grid = 0
        #: Terminal -> when its countdown clock ticks.
        self._ticks: dict[str, int] = {}
        self._directory = tempfile.mkdtemp(prefix="fmu-")
        self._cleaner = weakref.finalize(self, shutil.rmtree, self._directory, True)
        self._fmu = _loaded(path, model, self._directory)
        given = _settings(model, parameters.values, context.where)
        structural = [setting for setting in given if setting.structural]
        if structural:
            self._fmu.enterConfigurationMode()
            self._set(structural)
            self._fmu.exitConfigurationMode()
        self._set([setting for setting in given if not setting.structural])

    def activate(self, step: Step) -> Mapping[str, Any]:
        """A step to now; what the FMU then sends."""
        if step.time >= self._grid:
            self._grid = step.time + self._period
        return self._arrive(step.time, {})

    def handle_message(self, port: str, step: Step) -> Mapping[str, Any]:
        """A step to now, and operations that have arrived."""
        (sample,) = step.samples[port]
        return self._arrive(step.time, {port.removeprefix(_OPERATIONS): bytes(sample.value.data)})

    def close(self) -> None:
        """Free the FMU."""
        if self._fmu is not None:
            if self._time >= 0:
                self._called(self._fmu.terminate)
            self._called(self._fmu.freeInstance)
            self._fmu = None
        self._cleaner()

    # -- inside --------------------------------------------------------------------------------

    def _set(self, values: Sequence[_Setting]) -> None:
        for setting in values:
            getattr(self._fmu, f"set{setting.kind}")([setting.reference], [setting.value])

    def _called(self, call: Callable[..., Any], *arguments: Any) -> Any:
        try:
            return call(*arguments)
        except Exception as error:  # FMPy raises plain exceptions
            raise ModelError(f"{self._path.name}: {one_line(error)}") from None

    def _arrive(self, time: int, received: Mapping[str, bytes]) -> Mapping[str, Any]:
        now = to_seconds(time)
        events = bool(received)
        if self._time < 0:
            self._called(self._fmu.enterInitializationMode, None, now)
            self._called(self._fmu.exitInitializationMode)  # into event mode
            in_events = events = True
        else:
            in_events = False
            if time > self._time:
                last = to_seconds(self._time)
                step = self._called(self._fmu.doStep, last, now - last)
                if step[1]:
                    self.stop_reason = f"{self._path.name} ends the simulation"
                if step[2]:
                    raise ModelError(f"{self._path.name}: it returned early, unasked")
                events = events or bool(step[0])
            events = events or any(tick <= time for tick in self._ticks.values())
        self._time = time
        outputs: dict[str, Any] = {}
        if events:
            if not in_events:
                self._called(self._fmu.enterEventMode)
            outputs = self._handle_events(time, received)
            self._called(self._fmu.enterStepMode)
        if self._ticks:
            self.next_time = min(self._grid, *self._ticks.values())
        elif self.next_time is not None:
            self.next_time = self._grid
        return {port: value for port, value in outputs.items() if port in self._outputs}

    def _handle_events(self, time: int, received: Mapping[str, bytes]) -> dict[str, Any]:
        """Event mode: operations out and in, until nothing changes any more."""
        fmu = self._fmu
        sent: dict[str, bytes] = {}
        for _ in range(_MOST_ITERATIONS):
            for name, terminal in self._terminals.items():
                if terminal.countdown:
                    active = self._ticks.get(name, time + 1) <= time
                    if active:
                        del self._ticks[name]
                        self._called(fmu.setClock, [terminal.tx_clock], [True])
                else:
                    (active,) = self._called(fmu.getClock, [terminal.tx_clock])
                if active:
                    (data,) = self._called(fmu.getBinary, [terminal.tx_data])
                    sent[name] = sent.get(name, b"") + bytes(data or b"")
            for name, data in received.items():
                terminal = self._terminals[name]
                self._called(fmu.setClock, [terminal.rx_clock], [True])
                self._called(fmu.setBinary, [terminal.rx_data], [data])
            received = {}
            again, ends, *_ = self._called(fmu.updateDiscreteStates)
            if ends:
                self.stop_reason = f"{self._path.name} ends the simulation"
            self._read_intervals(time)
            due = any(tick <= time for tick in self._ticks.values())
            if not again and not due:
                break
        else:
            raise ModelError(
                f"{self._path.name}: {_MOST_ITERATIONS} event iterations at {to_seconds(time)} s"
            )
        record = DEFAULT.record(BYTES)
        return {_OPERATIONS + name: record(data=data) for name, data in sent.items() if data}

    def _read_intervals(self, time: int) -> None:
        from fmpy.fmi3 import fmi3Float64, fmi3IntervalQualifier, fmi3ValueReference

        for name, terminal in self._terminals.items():
            if terminal.countdown:
                interval = (fmi3Float64 * 1)()
                qualifier = (fmi3IntervalQualifier * 1)()
                references = (fmi3ValueReference * 1)(terminal.tx_clock)
                self._called(self._fmu.getIntervalDecimal, references, interval, qualifier)
                if qualifier[0] == _INTERVAL_CHANGED:
                    self._ticks[name] = time + round(interval[0] * 1e9)


def _loaded(path: Path, model: Any, directory: str) -> Any:
    from fmpy import extract
    from fmpy.fmi3 import FMU3Slave

    present = os.getcwd()  # FMPy changes it while it loads
    try:
        extract(str(path), directory)
        fmu = FMU3Slave(
            guid=model.instantiationToken,
            unzipDirectory=directory,
            modelIdentifier=model.coSimulation.modelIdentifier,
            instanceName=model.modelName,
        )
        fmu.instantiate(eventModeUsed=True, logMessage=lambda *_: None)
    except Exception as error:  # FMPy raises plain exceptions
        reason = one_line(error).replace(directory, path.name)
        raise ConfigurationError(f"{path}: {reason}") from None
    finally:
        os.chdir(present)
    return fmu


class _Setting(NamedTuple):
    """The value of a parameter, and how FMI's functions name it."""

    kind: str
    reference: int
    structural: bool
    value: Any


def _settings(model: Any, values: Mapping[str, bool | float], where: str) -> list[_Setting]:
    parameters = {
        v.name: v
        for v in model.modelVariables
        if v.causality in ("parameter", "structuralParameter")
    }
    found = []
    for name, value in values.items():
        variable = parameters.get(name)
        if variable is None:
            raise ConfigurationError(
                f"{where}.values: found '{name}'; the FMU has "
                f"{', '.join(sorted(parameters)) or 'none'}"
            )
        kind = variable.type
        is_float, is_boolean = kind.startswith("Float"), kind == "Boolean"
        allowed = "true or false" if is_boolean else "a number" if is_float else "a whole number"
        whole = isinstance(value, bool) or value == int(value)
        if isinstance(value, bool) is not is_boolean or not (is_float or whole):
            raise ConfigurationError(
                f"{where}.values.{name}: found {value}; allowed is {allowed} ({kind})"
            )
        scalar = value if is_float or is_boolean else int(value)
        structural = variable.causality == "structuralParameter"
        found.append(_Setting(kind, variable.valueReference, structural, scalar))
    return found


def _described(
    context: ModelContext, parameters: BusFmuParameters
) -> tuple[Any, dict[str, BusTerminal]]:
    path = context.base_directory / parameters.fmu
    return _read(path, f"{context.where}.fmu")


@lru_cache(maxsize=8)
def _read(path: Path, where: str) -> tuple[Any, dict[str, BusTerminal]]:
    model = read_fmu(path)
    fault = ""
    if model.fmiVersion != "3.0":
        fault = f"FMI {model.fmiVersion}; allowed is 3.0"
    elif not model.coSimulation.hasEventMode:
        fault = "no event mode; allowed is an FMU that has it"
    elif not model.coSimulation.canHandleVariableCommunicationStepSize:
        fault = "steps of one size only; allowed is an FMU that steps to any time"
    if fault:
        raise ConfigurationError(f"{where}: found '{path.name}' with {fault}")
    terminals = _terminals(path, where, {v.name: v for v in model.modelVariables})
    if not terminals:
        raise ConfigurationError(
            f"{where}: found '{path.name}' without a bus terminal; allowed is one of kind {_KIND}"
        )
    return model, terminals


def _terminals(path: Path, where: str, variables: Mapping[Any, Any]) -> dict[str, BusTerminal]:
    """The bus terminals of an FMU, those within others too."""
    with opened_archive(path, ConfigurationError) as archive:
        if _TERMINALS not in archive.namelist():
            return {}
        root = read_xml(archive.read(_TERMINALS), f"{path.name}: {_TERMINALS}")
        # FMPy does not keep what a binary variable contains.
        described = read_xml(archive.read(DESCRIPTION), f"{path.name}: {DESCRIPTION}")
    contents = {v.get("name"): v.get("mimeType") or "" for v in described.iter("Binary")}
    found = {}
    for terminal in root.iter("Terminal"):
        if terminal.get("terminalKind") != _KIND:
            continue
        name = terminal.get("name") or ""
        members = {
            member.get("memberName"): member.get("variableName")
            for member in terminal.findall("TerminalMemberVariable")
        }
        for member in _MEMBERS:
            if members.get(member) not in variables:
                raise ConfigurationError(
                    f"{where}: terminal '{name}' of '{path.name}': found no variable for {member}"
                )
        tx_data, tx_clock, rx_data, rx_clock = (variables[members[member]] for member in _MEMBERS)
        kind = contents.get(tx_data.name, "").partition(";")[0]
        if kind != _CAN:
            raise ConfigurationError(
                f"{where}: terminal '{name}' of '{path.name}': found MIME type '{kind}'; allowed "
                f"is {_CAN}"
            )
        variability = tx_clock.intervalVariability
        if variability not in ("triggered", "countdown"):
            raise ConfigurationError(
                f"{where}: terminal '{name}' of '{path.name}': found a {variability} Tx clock; "
                "allowed are triggered and countdown"
            )
        found[name] = BusTerminal(
            tx_data.valueReference,
            tx_clock.valueReference,
            rx_data.valueReference,
            rx_clock.valueReference,
            variability == "countdown",
        )
    return found
