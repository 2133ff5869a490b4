# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Writes a scenario of FMUs as an SSP 1.0, which other tools run, and which comes back as it was.

Each participant is a component. The step size is an annotation of the Open Simulation Platform,
for SSP has none.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any, Final, NamedTuple

from lxml import etree

from ros2_cosim.core.documents.fmi2 import write_fmu
from ros2_cosim.core.documents.settings import read_section
from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.run.request import RunRequest, adjusted_scenario
from ros2_cosim.core.scenario.check import check_scenario
from ros2_cosim.core.scenario.scenario_error import ScenarioError
from ros2_cosim.core.scenario.schema import InputSettings, ParticipantSettings, Scenario
from ros2_cosim.dcp.bridge.mapping import parse_source
from ros2_cosim.dcp.bridge.participant import CoupledSlaveSettings, MasterParameters
from ros2_cosim.dcp.master.order import Stepping
from ros2_cosim.dcp.slave.c_source import fmu_content
from ros2_cosim.dcp.ssp.conversions import Conversion
from ros2_cosim.dcp.ssp.fmus import INTERFACES, Fmu
from ros2_cosim.dcp.ssp.fmus import read as read_fmu
from ros2_cosim.dcp.ssp.package import SSD, STRUCTURE, VERSIONS
from ros2_cosim.dcp.ssp.scenario import ANNOTATION, ANNOTATION_SPACE
from ros2_cosim.dcp.standard.enums import DataType
from ros2_cosim.dcp.standard.slave_description import Causality
from ros2_cosim.dcp.standard.values import FLOATS

_SPACE: Final = "http://ssp-standard.org/SSP1/SystemStructure"
_SPACES: Final = {
    "ssd": f"{_SPACE}Description",
    "ssc": f"{_SPACE}Common",
    "ssv": f"{_SPACE}ParameterValues",
    "osp": ANNOTATION_SPACE,
}
_NS: Final = 10**9
#: Keys of a participant that an SSP can say, or that say only where it runs.
_SAID: Final = frozenset(
    ("model", "parameters", "period", "inputs", "outputs", "node", "process", "host", "required")
)
_SLAVE: Final = frozenset(("fmu", "interface", "parameters", "start", "process", "step"))
_KINDS: Final = {
    Causality.INPUT: "input",
    Causality.OUTPUT: "output",
    Causality.PARAMETER: "parameter",
    Causality.STRUCTURAL: "parameter",
}


class _Component(NamedTuple):
    """A participant that can go out."""

    where: str
    settings: ParticipantSettings
    parameters: MasterParameters
    slave_name: str
    slave: CoupledSlaveSettings
    fmu: Fmu


class _Wire(NamedTuple):
    source: str
    output: str
    target: str
    input: str
    conversion: Conversion


def export_ssp(path: Path, out: Path, changes: Sequence[str] = ()) -> Path:
    """Write the SSP of a scenario file.

    :param path: the scenario; its participants are FMUs with the model ``dcp_master``
    :param changes: ``dotted.key=value`` texts
    :returns: where it is
    :raises ScenarioError: what an SSP cannot say, fault by fault
    :raises ConfigurationError: the scenario is wrong
    """
    scenario = adjusted_scenario(RunRequest(path, set=tuple(changes)))
    check_scenario(scenario, "inproc")
    faults: list[str] = []
    components = {}
    base = Path(scenario.base_directory)
    for name, settings in scenario.participants.items():
        try:
            components[name] = _component(name, settings, base)
        except ConfigurationError as error:
            faults.append(str(error))
    if scenario.faults:
        faults.append("faults: an SSP has none")
    wires: list[_Wire] = []
    for name in components if not faults else ():
        try:
            wires += _wires(name, components)
        except ConfigurationError as error:
            faults.append(str(error))
    periods = {c.settings.period for c in components.values()}
    if len(periods) > 1:
        faults.append(f"participants: found {len(periods)} periods; an SSP has one step size")
    if faults:
        raise ScenarioError(faults)
    content: dict[str, bytes] = {}
    files = {name: _resource(c.fmu.path, content) for name, c in components.items()}
    root = _described(scenario, components, files, wires, periods.pop() or 0)
    text = etree.tostring(root, xml_declaration=True, encoding="UTF-8", pretty_print=True)
    write_fmu(out, {STRUCTURE: text, **content})
    return out


def _component(name: str, settings: ParticipantSettings, base: Path) -> _Component:
    where = f"participants.{name}"
    if settings.model != "dcp_master":
        raise ConfigurationError(
            f"{where}.model: found '{settings.model}'; an SSP has FMUs: allowed is dcp_master"
        )
    _refuse_changed(settings, _SAID, where)
    place = f"{where}.parameters"
    parameters = read_section(MasterParameters, settings.parameters, origin="", place=place)
    if parameters.stepping is not Stepping.PARALLEL or parameters.connections:
        raise ConfigurationError(f"{place}: allowed is stepping: parallel without connections")
    (slave_name, slave), *others = parameters.slaves.items()
    if others or slave.fmu is None:
        raise ConfigurationError(f"{place}.slaves: allowed is one FMU for each participant")
    _refuse_changed(slave, _SLAVE, f"{place}.slaves.{slave_name}")
    fmu = read_fmu(base / slave.fmu, slave.interface)
    step = slave.step or parameters.step or fmu.step
    if step * _NS != settings.period:
        raise ConfigurationError(
            f"{place}.step: found {step} s; an SSP has one step size: allowed is the period"
        )
    for variable in (*slave.parameters, *slave.start):
        if fmu.variables[variable].variable.data_type is DataType.binary:
            raise ConfigurationError(f"{place}: '{variable}' is binary; allowed are numbers, texts")
    return _Component(where, settings, parameters, slave_name, slave, fmu)


def _refuse_changed(section: Any, allowed: frozenset[str], where: str) -> None:
    """Refuse keys that have another value than the default, and that an SSP cannot say."""
    for name, value in section:
        default = type(section).model_fields[name].get_default(call_default_factory=True)
        if name not in allowed and value != default:
            raise ConfigurationError(f"{where}.{name}: an SSP cannot say this")


def _wires(name: str, components: Mapping[str, _Component]) -> Iterator[_Wire]:
    """The connections into a component, an input after the other."""
    component = components[name]
    for port, settings in component.settings.inputs.items():
        where = f"{component.where}.inputs.{port}"
        if len(settings.source) != 1:
            raise ConfigurationError(f"{where}: allowed is one output")
        writer, _, sent = settings.source[0].partition(".")
        giver = components[writer]
        if giver.parameters.outputs[sent].once:
            continue  # initial outputs go along each connection of an SSP
        _check_input(settings, giver.settings, sent, where)
        fields = component.parameters.inputs.get(port, {})
        if not isinstance(fields, Mapping):
            raise ConfigurationError(f"{where}: found '{fields}'; allowed is slave.input: field")
        for target, value in fields.items():
            read = parse_source(value, "field", where)
            given = _given(giver, sent, read.name, f"{where}: '{read.name}'")
            own = Conversion(
                1.0 if read.factor is None else read.factor, read.offset or 0.0, read.values or {}
            )
            variable = str(target).partition(".")[2]
            yield _Wire(writer, given[0], name, variable, given[1].then(own))


def _check_input(
    settings: InputSettings, giver: ParticipantSettings, sent: str, where: str
) -> None:
    if not settings.delayed:
        raise ConfigurationError(f"{where}: an SSP has no order of steps; allowed is delayed: true")
    _refuse_changed(settings, frozenset(("source", "delayed")), where)
    if giver.outputs[sent].latency or giver.outputs[sent].schedule != "every":
        raise ConfigurationError(f"{where}: allowed are outputs without latency in every step")


def _given(giver: _Component, port: str, field: str, where: str) -> tuple[str, Conversion]:
    """The variable that is in a field of an output port."""
    fields = giver.parameters.outputs[port].fields
    if isinstance(fields, str):
        prefix = fields.partition(".")[2]
        if not fields.endswith("*"):
            raise ConfigurationError(f"{where}: whole messages; allowed are fields")
        return prefix[:-1] + field, Conversion()
    source = parse_source(fields.get(field, 0), "variable", where)
    if not source.name:
        raise ConfigurationError(f"{where}: no variable is in this field; allowed is an output")
    factor = 1.0 if source.factor is None else source.factor
    conversion = Conversion(factor, source.offset or 0.0, source.values or {})
    return source.name.partition(".")[2], conversion


def _resource(path: Path, content: dict[str, bytes]) -> str:
    """Where the FMU of a file is in the archive; it is added."""
    found = fmu_content(path, compiled=True)
    data = Path(found).read_bytes() if isinstance(found, str) else found.getvalue()
    name, count = f"resources/{path.stem}.fmu", 2
    while content.get(name, data) != data:
        name, count = f"resources/{path.stem}_{count}.fmu", count + 1
    content[name] = data
    return name


def _tag(name: str) -> str:
    prefix, _, local = name.partition(":")
    return f"{{{_SPACES[prefix]}}}{local}"


def _add(parent: Any, tag: str, /, **attributes: str | None) -> Any:
    given = {key: value for key, value in attributes.items() if value is not None}
    return etree.SubElement(parent, _tag(tag), given)


def _described(
    scenario: Scenario,
    components: Mapping[str, _Component],
    files: Mapping[str, str],
    wires: Sequence[_Wire],
    period: int,
) -> Any:
    told = {"version": VERSIONS[0], "name": scenario.name, "generationTool": "ros2_cosim"}
    root = etree.Element(_tag(f"ssd:{SSD}"), told, nsmap=_SPACES)
    system = _add(root, "ssd:System", name=scenario.name, description=scenario.description or None)
    elements = _add(system, "ssd:Elements")
    for name, component in components.items():
        element = _add(elements, "ssd:Component", name=name, source=files[name])
        for word, interface in INTERFACES.items():
            if component.slave.interface is interface:
                element.set("implementation", word)
        _connectors(element, name, component, wires)
        _bindings(element, component)
    if wires:
        connections = _add(system, "ssd:Connections")
        for wire in wires:
            _connection(connections, wire, components)
    stop = Fraction(scenario.duration - period, _NS)
    experiment = _add(root, "ssd:DefaultExperiment", startTime="0", stopTime=_decimal(stop))
    note = _add(_add(experiment, "ssd:Annotations"), "ssc:Annotation", type=ANNOTATION)
    step = _decimal(Fraction(period, _NS))
    _add(_add(note, "osp:Algorithm"), "osp:FixedStepAlgorithm", baseStepSize=step)
    return root


def _decimal(seconds: Fraction) -> str:
    """A time of whole nanoseconds, to the last digit."""
    whole, rest = divmod(int(seconds * _NS), _NS)
    return f"{whole}.{rest:09}".rstrip("0").rstrip(".")


def _connectors(element: Any, name: str, component: _Component, wires: Sequence[_Wire]) -> None:
    """The ports in the order of the scenario, then what has values."""
    sent = [_given(component, port, field, port)[0] for port, field in _fields(component)]
    sent += [wire.output for wire in wires if wire.source == name]
    taken = [wire.input for wire in wires if wire.target == name]
    given = [*component.slave.start, *component.slave.parameters]
    connectors = _add(element, "ssd:Connectors")
    for variable in dict.fromkeys((*taken, *sent, *given)):
        found = component.fmu.variables[variable].variable
        if found.dimensions:
            raise ConfigurationError(
                f"{component.where}: '{variable}' is an array; SSP 1.0 has none"
            )
        kind = _KINDS[found.causality]
        connector = _add(connectors, "ssd:Connector", name=variable, kind=kind)
        _add(connector, f"ssc:{_type(component.fmu, variable)}")


def _fields(component: _Component) -> Iterator[tuple[str, str]]:
    """Ports and their fields that are variables."""
    for port, output in component.parameters.outputs.items():
        if not isinstance(output.fields, str):
            for field, value in output.fields.items():
                if parse_source(value, "variable", port).name:
                    yield port, field


def _type(fmu: Fmu, name: str) -> str:
    variable, place, *_ = fmu.variables[name]
    if variable.data_type in FLOATS:
        return "Real"
    if variable.data_type in (DataType.string, DataType.binary):
        return variable.data_type.name.capitalize()
    return "Boolean" if place.kind == "Boolean" else "Integer"


def _bindings(element: Any, component: _Component) -> None:
    values = {**component.slave.parameters, **component.slave.start}
    if not values:
        return
    binding = _add(_add(element, "ssd:ParameterBindings"), "ssd:ParameterBinding")
    inside = _add(binding, "ssd:ParameterValues")
    held = _add(inside, "ssv:ParameterSet", version=VERSIONS[0], name="values")
    parameters = _add(held, "ssv:Parameters")
    for name, value in values.items():
        kind = _type(component.fmu, name)
        if kind == "Boolean":
            text = str(bool(value)).lower()
        else:
            text = repr(float(value)) if kind == "Real" else str(value)
        _add(_add(parameters, "ssv:Parameter", name=name), f"ssv:{kind}", value=text)


def _connection(connections: Any, wire: _Wire, components: Mapping[str, _Component]) -> None:
    found = _add(
        connections,
        "ssd:Connection",
        startElement=wire.source,
        startConnector=wire.output,
        endElement=wire.target,
        endConnector=wire.input,
        suppressUnitConversion="true",  # a scenario converts by its factors alone
    )
    conversion = wire.conversion
    if conversion.is_linear:
        numbers = {"factor": repr(conversion.factor), "offset": repr(conversion.offset)}
        _add(found, "ssc:LinearTransformation", **numbers)
    elif conversion.table:
        source, target = components[wire.source].fmu, components[wire.target].fmu
        types = {_type(source, wire.output), _type(target, wire.input)}
        boolean = types == {"Boolean"}
        name = "BooleanMappingTransformation" if boolean else "IntegerMappingTransformation"
        table = _add(found, f"ssc:{name}")
        for key, value in conversion.table.items():
            texts = [str(bool(v)).lower() if boolean else str(v) for v in (key, value)]
            _add(table, "ssc:MapEntry", source=texts[0], target=texts[1])
