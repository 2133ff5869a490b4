# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""A system as a scenario: a participant for each component, a topic for each of its outputs.

All components step from one communication point to the next at the same time, each with what the
others had at the former (Jacobi). Before the first step, initial outputs go along the connections
in the order in which components depend on each other; a loop is cut at the connection that closes
it, in the order of the file, and that one holds from the first step on.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path as FilePath
from typing import Any, Final, NamedTuple

from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.kernel.time import format_ns
from ros2_cosim.core.scenario.scenario_error import ScenarioError
from ros2_cosim.dcp.fmi.interface_type import InterfaceType
from ros2_cosim.dcp.ssp.connections import ConnectedSource, Connections
from ros2_cosim.dcp.ssp.fmus import INTERFACES, Fmu
from ros2_cosim.dcp.ssp.fmus import read as read_fmu
from ros2_cosim.dcp.ssp.package import Package, child, place_of
from ros2_cosim.dcp.ssp.parameters import Given, bound_values, fitting
from ros2_cosim.dcp.ssp.structure import Path, SystemElement, declared_in, number, read_system
from ros2_cosim.dcp.standard.slave_description import Causality, Variable
from ros2_cosim.dcp.standard.values import FLOATS, SIZED

#: Type and namespace of the annotation with a step size, of the Open Simulation Platform: source
#: repository open-simulation-platform/libcosim, tests/data/ssp/OSPAnnotations.xsd.
ANNOTATION: Final = "com.opensimulationplatform"
ANNOTATION_SPACE: Final = "http://opensimulationplatform.com/SSP/OSPAnnotations"
#: Name of the one slave of each participant.
SLAVE: Final = "fmu"
#: Field of all messages.
FIELD: Final = "data"
#: Behind the name of a port: its value of the initialization alone.
INITIAL: Final = "_initial"
_FMU_TYPE: Final = "application/x-fmu-sharedlibrary"
_NS: Final = 10**9
_STOP_S: Final = 10.0
_LONGEST_NS: Final = 10**18
#: Usual time by which a participant may be ahead of others [ns], and most messages in it.
_RUN_AHEAD: Final = 500_000_000
_AHEAD: Final = 1000
_PARAMETERS: Final = (Causality.PARAMETER, Causality.STRUCTURAL)


class ImportedSystem(NamedTuple):
    """Plain data of a scenario, and what has no effect."""

    data: dict[str, Any]
    notes: list[str]


class _Component:
    """A component, as a participant."""

    def __init__(self, element: SystemElement, fmu: Fmu, name: str) -> None:
        self.element = element
        self.fmu = fmu
        self.name = name
        taken: dict[str, str] = {}
        #: Connector -> port.
        self.ports = {c: _fresh(c, taken, "port") for c in element.connectors}
        self.outputs = [
            c
            for c in element.connectors
            if c in fmu.variables and fmu.variables[c].variable.causality is Causality.OUTPUT
        ]
        self.parameters: dict[str, Any] = {}
        self.start: dict[str, Any] = {}
        #: Input -> source, of the inputs that a component feeds.
        self.sources: dict[str, ConnectedSource] = {}


def import_ssp(path: FilePath, directory: FilePath, period_ns: int | None) -> ImportedSystem:
    """Read a system.

    :param path: an ``.ssp`` or an unpacked ``.ssd``
    :param directory: what paths in the scenario are relative to
    :param period_ns: between communication points; None: as the file or its FMUs suggest
    :raises ScenarioError: what cannot be run, fault by fault
    :raises ConfigurationError: a document cannot be read
    """
    return _Importer(path, directory, period_ns).imported()


class _Importer:
    def __init__(self, path: FilePath, directory: FilePath, period_ns: int | None) -> None:
        self._path = path
        self._directory = directory
        self._faults: list[str] = []
        self._notes: list[str] = []
        self._package = Package(path)
        self._root = self._package.structure()
        self._declared = declared_in(self._root)
        system = child(self._root, "System")
        if system is None:
            raise ConfigurationError(f"{place_of(self._root)}: System: missing")
        self._system = read_system(system)
        self._period_ns = period_ns

    def imported(self) -> ImportedSystem:
        components = self._components()
        self._check()
        fmus = {c.element.path: c.fmu for c in components}
        connections = Connections(self._system, self._declared, fmus)
        values, notes = bound_values(self._system, self._package, self._declared, fmus)
        for component in components:
            self._settle(component, connections, values)
        self._check()
        period = self._period(components)
        by_path = {c.element.path: c for c in components}
        early = _early(components, by_path)
        for component in components:
            for target, source in component.sources.items():
                with self._collected():
                    _check_types(source, by_path[source.node.path].fmu, component.fmu, target)
        self._check()
        version, name = self._root.get("version"), self._root.get("name", "")
        participants = {c.name: self._participant(c, by_path, early, period) for c in components}
        data = {
            "description": f"SSP {version}: {name}"[:200],
            "duration": format_ns(self._stop_ns() + period),
            "participants": participants,
        }
        if period * _AHEAD < _RUN_AHEAD:
            data["run_ahead"] = format_ns(period * _AHEAD)
        return ImportedSystem(data, [*self._notes, *notes])

    def _check(self) -> None:
        if self._faults:
            raise ScenarioError(list(dict.fromkeys(self._faults)))

    @contextmanager
    def _collected(self) -> Iterator[None]:
        try:
            yield
        except ConfigurationError as error:
            self._faults.append(str(error))

    def _components(self) -> list[_Component]:
        found: list[_Component] = []
        taken: dict[str, str] = {}
        read: dict[tuple[FilePath, InterfaceType | None], Fmu] = {}
        for element in self._system.all():
            if element.kind != "Component":
                continue
            with self._collected():
                file = self._fmu_file(element), INTERFACES.get(element.node.get("implementation"))
                if file not in read:
                    read[file] = _read(*file, element)
                name = _fresh("_".join(element.path).lower(), taken, "component")
                found.append(_Component(element, read[file], name))
                _check_connectors(element, read[file])
        if not found and not self._faults:
            self._faults.append(f"{self._path}: the system has no component")
        return found

    def _fmu_file(self, element: SystemElement) -> FilePath:
        node = element.node
        for key, allowed, default in (
            ("type", (_FMU_TYPE,), _FMU_TYPE),
            ("implementation", ("any", *INTERFACES), "any"),
        ):
            if node.get(key, default) not in allowed:
                raise ConfigurationError(
                    f"{place_of(node)} '{element.path[-1]}': {key}: found '{node.get(key)}'; "
                    f"allowed is {' or '.join(allowed)}"
                )
        if node.get("source") is None:
            raise ConfigurationError(
                f"{place_of(node)} '{element.path[-1]}': source: missing; it has no FMU"
            )
        return self._package.file(node)

    def _settle(
        self, component: _Component, connections: Connections, values: Mapping[Any, Given]
    ) -> None:
        """Find what the inputs and parameters of a component get."""
        path, fmu = component.element.path, component.fmu
        given = {name: value for (owner, name), value in values.items() if owner == path}
        for name, source in connections.into(path).items():
            with self._collected():
                if self._is_output(source):
                    self._connect(component, name, source)
                    continue
                bound = values.get((source.node.path, source.node.name))
                if bound is not None:
                    along = bound.conversion.then(source.conversion)
                    given[name] = bound._replace(conversion=along)
        for name, value in given.items():
            with self._collected():
                where = f"{place_of(value.node)} '{value.node.get('name')}'"
                if name not in fmu.variables:
                    raise ConfigurationError(
                        f"{where}: '{name}' of '{'.'.join(path)}' is inside the FMU; allowed are "
                        "its parameters and inputs"
                    )
                causality = fmu.variables[name].variable.causality
                if causality is Causality.OUTPUT:
                    raise ConfigurationError(
                        f"{where}: '{name}' of '{'.'.join(path)}' is an output; allowed are "
                        "parameters and inputs"
                    )
                chosen = component.parameters if causality in _PARAMETERS else component.start
                chosen[name] = fitting(value, fmu, name)

    def _is_output(self, source: ConnectedSource) -> bool:
        """Whether a component gives it, and not a connector that nothing feeds."""
        if source.node.dictionary:
            return False
        element = self._system
        for name in source.node.path:
            element = element.elements[name]
        return element.kind == "Component"

    def _connect(self, component: _Component, name: str, source: ConnectedSource) -> None:
        """An output of a component feeds an input."""
        variable = component.fmu.variables[name].variable
        where = place_of(source.at)
        if variable.causality is not Causality.INPUT:
            raise ConfigurationError(
                f"{where}: '{name}' is a parameter, which no output of a component can set"
            )
        component.sources[name] = source

    def _participant(
        self,
        component: _Component,
        by_path: Mapping[Path, _Component],
        early: set[tuple[Path, str]],
        period: int,
    ) -> dict[str, Any]:
        fmu, path = component.fmu, component.element.path
        inputs: dict[str, Any] = {}
        fields: dict[str, Any] = {}
        for name, source in component.sources.items():
            giver = by_path[source.node.path]
            port, given = component.ports[name], giver.ports[source.node.name]
            found = _field(source)
            if (path, name) in early:
                inputs[port + INITIAL] = {"from": f"{giver.name}.{given}{INITIAL}"}
                fields[port + INITIAL] = {f"{SLAVE}.{name}": found}
            inputs[port] = {"from": f"{giver.name}.{given}", "delayed": True}
            fields[port] = {f"{SLAVE}.{name}": found}
        needed = {
            by_path[owner].sources[name].node.name
            for owner, name in early
            if by_path[owner].sources[name].node.path == path
        }
        outputs: dict[str, Any] = {}
        sent: dict[str, Any] = {}
        for name in component.outputs:
            port = component.ports[name]
            topic = f"/{component.name}/{port}"
            mapped: dict[str, Any] = {"fields": {FIELD: f"{SLAVE}.{name}"}}
            outputs[port], sent[port] = {"type": fmu.message_of(name), "topic": topic}, mapped
            if name in needed:
                outputs[port + INITIAL] = {
                    "type": fmu.message_of(name),
                    "topic": topic + INITIAL,
                    "schedule": "once",
                }
                sent[port + INITIAL] = {**mapped, "once": True}
        slave: dict[str, Any] = {"fmu": os.path.relpath(fmu.path, self._directory)}
        interface = INTERFACES.get(component.element.node.get("implementation"))
        if interface is not None:
            slave["interface"] = interface.value
        if component.parameters:
            slave["parameters"] = component.parameters
        if component.start:
            slave["start"] = component.start
        return {
            "model": "dcp_master",
            "period": format_ns(period),
            "parameters": {
                "step": str(Fraction(period, _NS)),
                "slaves": {SLAVE: slave},
                "inputs": fields,
                "outputs": sent,
            },
            "inputs": inputs,
            "outputs": outputs,
        }

    def _period(self, components: list[_Component]) -> int:
        if self._period_ns is not None:
            return self._period_ns
        step = self._annotated() or min(c.fmu.step for c in components)
        ns = step * _NS
        if ns.denominator != 1 or not 0 < ns < _LONGEST_NS:
            raise ConfigurationError(
                f"{self._path}: found a step of {float(step):g} s; allowed are whole nanoseconds: "
                "set ssp.period"
            )
        return int(ns)

    def _annotated(self) -> Fraction | None:
        """The step size in the annotation of the default experiment."""
        experiment = child(self._root, "DefaultExperiment")
        if experiment is not None:
            for node in experiment.iter(f"{{{ANNOTATION_SPACE}}}FixedStepAlgorithm"):
                return Fraction(str(number(node, "baseStepSize")))
        return None

    def _stop_ns(self) -> int:
        experiment = child(self._root, "DefaultExperiment")
        if experiment is not None and number(experiment, "startTime", 0.0) != 0.0:
            raise ConfigurationError(
                f"{place_of(experiment)}: startTime: found {experiment.get('startTime')}; allowed "
                "is 0"
            )
        if experiment is None or experiment.get("stopTime") is None:
            self._notes.append(f"{self._path}: no stopTime; the run takes {_STOP_S:g} s")
            return int(_STOP_S * _NS)
        stop = number(experiment, "stopTime")
        if not 0.0 < stop < _LONGEST_NS / _NS:
            raise ConfigurationError(
                f"{place_of(experiment)}: stopTime: found {stop:g}; allowed is a time above 0"
            )
        return round(Fraction(str(stop)) * _NS)


def _read(path: FilePath, interface: InterfaceType | None, element: SystemElement) -> Fmu:
    try:
        return read_fmu(path, interface)
    except ConfigurationError as error:
        raise ConfigurationError(f"{place_of(element.node)}: {error}") from None


def _field(source: ConnectedSource) -> Any:
    """What an input reads of a message."""
    conversion = source.conversion
    found: dict[str, Any] = {"field": FIELD}
    if conversion.is_linear:
        found |= {"factor": conversion.factor, "offset": conversion.offset}
    if conversion.table:
        found["values"] = {str(key): value for key, value in conversion.table.items()}
    return FIELD if len(found) == 1 else found


def _check_connectors(element: SystemElement, fmu: Fmu) -> None:
    """Check whether the connectors of a component are variables of its FMU.

    :raises ConfigurationError: one is not, or of another kind
    """
    for name, connector in element.connectors.items():
        known = fmu.variables.get(name)
        where = f"{place_of(connector.node)} '{name}'"
        if known is None and name not in fmu.others:
            raise ConfigurationError(f"{where}: {fmu.path.name} has no such variable")
        takes = connector.kind in ("input", "output")
        causality = None if known is None else known.variable.causality.value.lower()
        if takes and connector.kind != causality:
            raise ConfigurationError(
                f"{where}: kind: found {connector.kind}; in {fmu.path.name} it is "
                f"{causality or 'inside'}"
            )


def _check_types(source: ConnectedSource, giver: Fmu, taker: Fmu, name: str) -> None:
    """Check whether values of an output can be those of an input.

    :raises ConfigurationError: they cannot
    """
    first, second = giver.variables[source.node.name].variable, taker.variables[name].variable
    kinds = [first.data_type, second.data_type]
    sized = kinds[0] in SIZED or kinds[1] in SIZED
    lossy = kinds[0] in FLOATS and kinds[1] not in FLOATS
    arrays = bool(first.dimensions) != bool(second.dimensions)
    if arrays or lossy or (sized and kinds[0] is not kinds[1]):
        raise ConfigurationError(
            f"{place_of(source.at)}: '{first.name}' is {_shown(first)}, which does not fit "
            f"'{second.name}', {_shown(second)}"
        )


def _shown(variable: Variable) -> str:
    return f"{variable.data_type.name}{' array' if variable.dimensions else ''}"


def _early(
    components: list[_Component], by_path: Mapping[Path, _Component]
) -> set[tuple[Path, str]]:
    """The inputs that get an initial output: whose FMU may pass it on, and that close no loop."""
    before: dict[Path, set[Path]] = {c.element.path: set() for c in components}

    def leads(start: Path, end: Path) -> bool:
        seen, waiting = {end}, [end]
        while waiting and start not in seen:
            new = before[waiting.pop()] - seen
            seen |= new
            waiting += new
        return start in seen

    found = set()
    for component in components:
        path = component.element.path
        for name, source in component.sources.items():
            if component.fmu.is_at_once(name) and not leads(path, source.node.path):
                before[path].add(source.node.path)
                found.add((path, name))
    return found


def _fresh(text: str, taken: dict[str, str], otherwise: str) -> str:
    """A name of letters, digits and underscores that no other one has."""
    name = re.sub(r"\W+", "_", text, flags=re.ASCII).strip("_")
    if not name[:1].isalpha():
        name = f"{otherwise}_{name}".rstrip("_")
    chosen, count = name, 2
    while chosen in taken or chosen.removesuffix(INITIAL) in taken:
        chosen, count = f"{name}_{count}", count + 1
    taken[chosen] = text
    return chosen
