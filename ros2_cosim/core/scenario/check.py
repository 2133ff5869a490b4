# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Whether a scenario can be run: all that its models declare, held against what it says.

It imports the modules of models and reads descriptions, but makes and starts no participant. A
fault is one sentence: place, what was found, what is allowed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, TypeVar

from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.kernel.graph import Graph
from ros2_cosim.core.kernel.guesses import did_you_mean
from ros2_cosim.core.kernel.loading import refuse_code
from ros2_cosim.core.kernel.model import FullModel, Port, Ports
from ros2_cosim.core.kernel.time import format_ns
from ros2_cosim.core.messages.protocol import HISTORY_DEPTH
from ros2_cosim.core.scenario.changes import check_changes
from ros2_cosim.core.scenario.declaration import ParticipantDeclaration, declare
from ros2_cosim.core.scenario.distribution import hosts_of
from ros2_cosim.core.scenario.executables import find_node, is_own
from ros2_cosim.core.scenario.exports import exports_of
from ros2_cosim.core.scenario.external import ExternalSeam
from ros2_cosim.core.scenario.faults import check_fault
from ros2_cosim.core.scenario.hosting import check_hosting
from ros2_cosim.core.scenario.layers import check_layers
from ros2_cosim.core.scenario.messages import ON_TOPICS, check_on_topics, check_own_messages
from ros2_cosim.core.scenario.pictures import PICTURE_GROUP, draws
from ros2_cosim.core.scenario.scenario_error import ScenarioError, folded
from ros2_cosim.core.scenario.schema import (
    RESERVED_NAMES,
    InputSettings,
    OutputSettings,
    Scenario,
)
from ros2_cosim.core.scenario.seams import seams_between
from ros2_cosim.core.scenario.substitution import substituted
from ros2_cosim.core.scenario.system import bare_model, build_graph, check_shape

#: No model needs a shorter period: one that is given is hardly meant [ns].
SHORT_PERIOD_NS = 1_000
#: A short period is worth a word where it makes for more activations: the run takes minutes.
MANY_PERIODS = 1_000_000

_Found = TypeVar("_Found")
_PortSettings = InputSettings | OutputSettings


class _Findings:
    """What is wrong, in order, each once: several models may find the same."""

    def __init__(self) -> None:
        self.faults: dict[str, None] = {}

    def add(self, faults: Iterable[str]) -> None:
        """More of it."""
        self.faults.update(dict.fromkeys(faults))

    def of(self, check: Callable[..., _Found], *arguments: Any) -> _Found | None:
        """What a check gives; None: it has found something."""
        try:
            return check(*arguments)
        except ScenarioError as error:
            self.add(error.faults)
        except ConfigurationError as error:
            self.add([str(error)])
        return None


@dataclass(frozen=True)
class _Checked:
    """What is checked, stage after stage, and what is wrong with it."""

    scenario: Scenario
    shape: str
    declared: dict[str, ParticipantDeclaration]
    findings: _Findings


def check_scenario(scenario: Scenario, shape: str = "inproc") -> Graph:
    """Find everything that is wrong with a scenario, without making its models.

    :param shape: the run shape
    :returns: the graph of the scenario
    :raises ScenarioError: something is wrong
    """
    findings = _Findings()
    declared = {name: findings.of(declare, scenario, name, shape) for name in scenario.participants}
    known = {name: each for name, each in declared.items() if each is not None}
    checked = _Checked(scenario, shape, known, findings)
    _check_participants(checked)
    for stage in (_check_wiring, _check_faults, _check_bag, _check_changes, _check_substitutes):
        # A message about a later one would repeat this, less clearly.
        if not findings.faults:
            stage(checked)
    graph = None if findings.faults else findings.of(build_graph, scenario)
    if graph is not None:
        for declaration in known.values():
            findings.of(declaration.check)
        if scenario.external is not None:
            findings.of(ExternalSeam, scenario)
    if findings.faults or graph is None:
        raise ScenarioError(folded(findings.faults))
    return graph


def _check_participants(checked: _Checked) -> None:
    for declaration in checked.declared.values():
        checked.findings.of(declaration.read)
        for check in (_check_node, check_hosting, _check_inputs):
            checked.findings.of(check, declaration)
        checked.findings.of(check_shape, declaration, checked.shape)
        checked.findings.of(check_layers, checked.scenario, declaration.name)


def _check_wiring(checked: _Checked) -> None:
    """Ports, processes, hosts and topics."""
    scenario, findings = checked.scenario, checked.findings
    for declaration in checked.declared.values():
        ports = findings.of(lambda of: of.ports, declaration)
        if ports is not None:
            findings.add(_presence_faults(declaration, ports))
            findings.add(_service_faults(declaration))
            findings.add(_type_faults(declaration, ports))
    findings.of(_check_names, scenario, checked.declared)
    findings.of(hosts_of, scenario, checked.declared, checked.shape)
    if checked.shape == "ros":
        findings.of(_check_history, scenario)
    if checked.shape in ON_TOPICS:
        findings.of(check_own_messages)
        for name in checked.declared:
            for port, output in scenario.outputs_of(name).items():
                findings.of(
                    check_on_topics, output.type, f"participants.{name}.outputs.{port}.type"
                )


def _check_faults(checked: _Checked) -> None:
    for fault in checked.scenario.faults:
        checked.findings.of(check_fault, checked.scenario, fault)


def _check_bag(checked: _Checked) -> None:
    checked.findings.add(_bag_faults(checked.scenario))
    checked.findings.of(exports_of, checked.scenario)


def _check_changes(checked: _Checked) -> None:
    if checked.scenario.changes:
        checked.findings.of(check_changes, checked.scenario)


def _check_substitutes(checked: _Checked) -> None:
    for name, participant in checked.scenario.participants.items():
        if participant.substitute is not None:
            checked.findings.of(_check_substitute, checked.scenario, name, checked.shape)


def doubts(scenario: Scenario) -> list[str]:
    """What may be run, and is hardly meant, in lines."""
    never = [
        f"participants.{name}.{key}: found {format_ns(first)}; the run ends at "
        f"{format_ns(scenario.duration)}, so that it is never activated"
        for name, settings in scenario.participants.items()
        for first, key in (max((settings.offset, "offset"), (settings.enter or 0, "enter")),)
        if settings.period is not None and settings.activation is None and first > scenario.duration
    ]
    return never + [
        f"participants.{name}.period: found {format_ns(settings.period)}, which is "
        f"{scenario.duration // settings.period:,} activations in {format_ns(scenario.duration)}"
        for name, settings in scenario.participants.items()
        if settings.period is not None
        and settings.period < SHORT_PERIOD_NS
        and scenario.duration // settings.period > MANY_PERIODS
    ]


def _check_history(scenario: Scenario) -> None:
    """Check whether a reader can be as far behind as ``run_ahead`` allows without losing messages.

    :raises ConfigurationError: too many messages of a participant could be under way
    """
    for name, participant in scenario.participants.items():
        period = participant.period
        if period is not None and scenario.run_ahead // period > HISTORY_DEPTH // 2:
            raise ConfigurationError(
                f"participants.{name}.period: found {format_ns(period)}; with run_ahead "
                f"{format_ns(scenario.run_ahead)} more than {HISTORY_DEPTH // 2} of its messages "
                f"could be under way; lower run_ahead"
            )


def try_models(scenario: Scenario, shape: str) -> None:
    """Make and close the models that are nothing but Python objects of this process.

    A constructor that fails shows before any process is started. It leaves out models with
    processes beside them, and participants whose node is a separate program.

    :raises ConfigurationError: a constructor fails; the message shows where
    """
    for name, settings in scenario.participants.items():
        declaration = declare(scenario, name, shape)
        if declaration.needs.alone or is_own(settings.node):
            continue
        bare_model(scenario, name, shape).close()


def _check_node(declaration: ParticipantDeclaration) -> None:
    where = f"participants.{declaration.name}.node"
    node = declaration.settings.node
    if is_own(node):
        refuse_code(f"{where}: found '{node}', which")
    if declaration.traits.foreign:
        refuse_code(f"participants.{declaration.name}: the foreign node")
    find_node(node, Path(declaration.context.base_directory), where)


def _check_inputs(declaration: ParticipantDeclaration) -> None:
    place = f"participants.{declaration.name}"
    if declaration.traits.foreign:
        for port in declaration.settings.unsynchronised:
            raise ConfigurationError(
                f"{place}.inputs.{port}: a foreign node reads unsynchronised topics by itself; "
                "name them in allow_topics"
            )
    for port, settings in declaration.settings.inputs.items():
        if settings.handled:
            _check_handler(declaration, port, settings, place)


def _check_handler(
    declaration: ParticipantDeclaration, port: str, settings: InputSettings, place: str
) -> None:
    """Check whether the model can handle single messages."""
    given = declaration.model.kind
    kind = given if issubclass(given, FullModel) else FullModel
    model = declaration.model.name
    if settings.service is not None:
        if kind.answer_service is FullModel.answer_service:
            raise ConfigurationError(
                f"{place}.services.{settings.service}: model {model} answers no services; allowed "
                "is one with a method answer_service(name, request, step)"
            )
    elif kind.handle_message is FullModel.handle_message:
        what = f"calls.{settings.call}" if settings.call else f"inputs.{port}"
        raise ConfigurationError(
            f"{place}.{what}: model {model} handles no messages; allowed is one with a method "
            "handle_message(port, step)"
        )


def _check_substitute(scenario: Scenario, name: str, shape: str) -> None:
    """Check whether the model that takes over fits instead of the first."""
    later = substituted(scenario, name)
    try:
        check_scenario(later, shape)
        beside = declare(later, name, shape).needs
    except ConfigurationError as error:
        faults = error.faults if isinstance(error, ScenarioError) else [str(error)]
        raise ScenarioError(
            [f"participants.{name}.substitute: {text}" for text in faults]
        ) from None
    if beside.companions or beside.alone:
        raise ConfigurationError(
            f"participants.{name}.substitute.model: found '{later.participants[name].model}', "
            "which needs its own process; allowed is a model that needs none"
        )


def _check_names(scenario: Scenario, declared: dict[str, ParticipantDeclaration]) -> None:
    """Check whether each process of a run has its own name."""
    taken = {*RESERVED_NAMES, *scenario.participants}
    taken |= {p.process for p in scenario.participants.values() if p.process is not None}
    for name, declaration in declared.items():
        for companion in declaration.needs.companions:
            if companion.name in taken:
                raise ConfigurationError(
                    f"participants.{name}: a process beside it would be named "
                    f"'{companion.name}', as another process of the run is; give another name"
                )
            taken.add(companion.name)


def _bag_faults(scenario: Scenario) -> Iterator[str]:
    """Patterns of the section ``bag`` that are about no topic, and a scene that nothing draws."""
    if scenario.bag.scene is not None and not draws():
        yield (
            f"bag.scene: found {format_ns(scenario.bag.scene)}, and nothing that draws the scene "
            f"is installed (an entry point of the group {PICTURE_GROUP}); leave it out"
        )
    known = {o.topic for name in scenario.participants for o in scenario.outputs_of(name).values()}
    for key, patterns in (("topics", scenario.bag.topics), ("exclude", scenario.bag.exclude)):
        for number, pattern in enumerate(patterns):
            if pattern != "*" and not any(fnmatchcase(topic, pattern) for topic in known):
                yield (
                    f"bag.{key}.{number}: found '{pattern}', which no topic matches; there are "
                    f"{', '.join(sorted(known)) or 'none'}"
                )


def _presence_faults(declaration: ParticipantDeclaration, ports: Ports) -> Iterator[str]:
    """Ports of the scenario that the model does not have, and of the model that are missing."""
    settings, model = declaration.settings, declaration.model.name
    sides: tuple[tuple[str, str, Sequence[Port], Mapping[str, _PortSettings]], ...] = (
        ("inputs", "reads", ports.inputs, settings.inputs),
        ("outputs", "sends", ports.outputs, settings.outputs),
    )
    for kind, does, declared, given in sides:
        known = {port.name: port for port in declared}
        place = f"participants.{declaration.name}.{kind}"
        for name, port in given.items():
            by_call = port.service is not None or port.call is not None
            made = isinstance(port, OutputSettings) and port.seam
            if name not in known and not ports.others and not by_call and not made:
                yield f"{place}.{name}: {_unknown(name, known, model)}"
        for expected in declared:
            if expected.required and expected.name not in given:
                yield (
                    f"{place}: '{expected.name}' is missing; model {model} {does} it"
                    f"{_of_type(expected)}"
                )


def _type_faults(declaration: ParticipantDeclaration, ports: Ports) -> Iterator[str]:
    """Types and schedules that are not those of the model."""
    settings, types = declaration.settings, declaration.context.input_types
    for port in ports.inputs:
        there = types.get(port.name)
        if there is not None and port.type is not None and there != port.type:
            source = ", ".join(settings.inputs[port.name].source) or "the topic"
            yield (
                f"participants.{declaration.name}.inputs.{port.name}: found {source}, which "
                f"carries {there}; allowed is {port.type}{_seams_between(there, port.type)}"
            )
    for port in ports.outputs:
        output = settings.outputs.get(port.name)
        if output is None:
            continue
        place = f"participants.{declaration.name}.outputs.{port.name}"
        if port.type is not None and output.type != port.type:
            yield f"{place}.type: found {output.type}; allowed is {port.type}"
        if port.schedule is not None and output.schedule not in (port.schedule, "sparse"):
            allowed = " or ".join(dict.fromkeys((port.schedule, "sparse")))
            yield (
                f"{place}.schedule: found {output.schedule}; model {declaration.model.name} sends "
                f"{_SENDS[port.schedule]}: allowed is {allowed}"
            )


def _seams_between(carried: str, wanted: str) -> str:
    """The seams that would make one type of the other, for messages."""
    names = seams_between(carried, wanted)
    return f", or as: {' or '.join(names)}" if names else ""


def _service_faults(declaration: ParticipantDeclaration) -> Iterator[str]:
    """What is wrong with the services of a model that declares its services."""
    offered = {service.name: service for service in declaration.model.kind.offered_services}
    if not offered:
        return
    settings, types = declaration.settings, declaration.context.input_types
    for port, given in settings.inputs.items():
        if given.service is None:
            continue
        place = f"participants.{declaration.name}.services.{given.service}"
        service = offered.get(given.service)
        if service is None:
            yield (
                f"{place}: model {declaration.model.name} does not answer it; allowed are "
                f"{', '.join(offered)}"
            )
            continue
        for key, found, allowed in (
            ("request", types.get(port), service.request),
            ("answer", settings.outputs[port].type, service.answer),
        ):
            if found is not None and found != allowed:
                yield f"{place}.{key}: found {found}; allowed is {allowed}"


_SENDS = {
    "every": "at every activation",
    "sparse": "at some activations only",
    "once": "at the first activation only",
}


def _unknown(port: str, known: dict[str, Port], model: str) -> str:
    return (
        f"unknown port; {did_you_mean(port, known)}allowed for model {model} are "
        f"{', '.join(known) or 'none'}"
    )


def _of_type(port: Port) -> str:
    return f" ({port.type})" if port.type else ""
