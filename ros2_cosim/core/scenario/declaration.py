# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""What is known of a participant before anything is made: its model's declarations.

Here the model that a scenario names meets the settings that the scenario gives. Checks, plans
and tables are made from declarations; :meth:`ParticipantDeclaration.make` makes the model.

A scenario does not change, so each participant of it is declared once in a shape, and its
parameters are read once: all that ask get the same.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache, cached_property, partial
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from ros2_cosim.core.documents.settings import BY_HAND, fault_texts
from ros2_cosim.core.kernel.errors import ConfigurationError, CosimError
from ros2_cosim.core.kernel.graph import Graph
from ros2_cosim.core.kernel.layers import full
from ros2_cosim.core.kernel.listening import Listening
from ros2_cosim.core.kernel.loading import line_of
from ros2_cosim.core.kernel.model import (
    FullModel,
    Model,
    Needs,
    Port,
    Ports,
    Repeatability,
    Sector,
    Traits,
)
from ros2_cosim.core.kernel.participant import ModelContext
from ros2_cosim.core.scenario.executables import find_node, is_own
from ros2_cosim.core.scenario.registry import NamedModel, find_model
from ros2_cosim.core.scenario.scenario_error import ScenarioError
from ros2_cosim.core.scenario.schema import ParticipantSettings, Scenario
from ros2_cosim.core.scenario.seams import seen_type


@dataclass(frozen=True)
class ParticipantDeclaration:
    """A participant of a scenario and its model.

    The properties raise :class:`ConfigurationError` where settings do not fit the model.
    """

    name: str
    settings: ParticipantSettings
    model: NamedModel
    context: ModelContext
    #: Gives the checked parameters.
    read: Callable[[], Any]

    @property
    def traits(self) -> Traits:
        """What holds for every participant of the model."""
        return self.model.kind.traits

    @property
    def parameters(self) -> Any:
        """The checked parameters; the mapping of the scenario where the model has no class.

        :raises ScenarioError: they are wrong, fault by fault
        """
        return self.read()

    @cached_property
    def ports(self) -> Ports:
        """The ports that the participant has by its model."""
        return self.model.kind.declared_ports(self.context, self.parameters)

    @cached_property
    def declared_outputs(self) -> Mapping[str, Port]:
        """The output ports that its model declares, by name."""
        return {port.name: port for port in self.ports.outputs}

    @cached_property
    def needs(self) -> Needs:
        """What the participant needs beside it."""
        return self.model.kind.needs_beside(self.context, self.parameters)

    @property
    def listens_at(self) -> tuple[Listening, ...]:
        """Where its process listens, besides the ports of companions and of the run."""
        return self.model.kind.listens_at(self.context, self.parameters)

    @property
    def repeatability(self) -> Repeatability:
        """How far two runs of the participant agree."""
        return self.model.kind.declared_repeatability(self.context, self.parameters)

    @property
    def sectors(self) -> tuple[Sector, ...]:
        """Its fields of view."""
        return self.model.kind.drawn_sectors(self.context, self.parameters)

    def check(self) -> None:
        """Find what neither parameters nor ports say, without making a model.

        :raises ConfigurationError: something is wrong
        """
        self.model.kind.check_settings(self.context, self.parameters)

    def make(self) -> FullModel:
        """Make the model.

        :raises ConfigurationError: its constructor failed; the message shows where
        """
        where = f"participants.{self.name}.model: '{self.model.name}'"
        try:
            return full(self.model.kind(self.context, self.parameters))
        except CosimError:
            raise
        except (Exception, SystemExit) as error:
            # Code of a user that ends the process would end those that it shares it with, too.
            raise ConfigurationError(
                f"{where} cannot be made: {type(error).__name__}: {error}{line_of(error)}"
            ) from error


class _Known:
    """What has been worked out of one scenario."""

    def __init__(self) -> None:
        #: By participant and shape.
        self.declared: dict[tuple[str, str], ParticipantDeclaration] = {}
        #: By participant: the first one, of whichever shape.
        self.in_any_shape: dict[str, ParticipantDeclaration] = {}
        #: By participant: gives the checked parameters.
        self.readers: dict[str, Callable[[], Any]] = {}


#: Scenarios that are there -> what is known of them.
_KNOWN: dict[int, _Known] = {}


def _known_of(scenario: Scenario) -> _Known:
    key = id(scenario)
    if key not in _KNOWN:
        _KNOWN[key] = _Known()
        weakref.finalize(scenario, _KNOWN.pop, key)
    return _KNOWN[key]


def declare(
    scenario: Scenario, name: str, shape: str = "ros", graph: Graph | None = None
) -> ParticipantDeclaration:
    """The declaration of one participant.

    :param shape: the run shape
    :param graph: that of the scenario, for models whose traits ask for it
    :raises ConfigurationError: the model is not there
    """
    known = _known_of(scenario)
    found = known.declared.get((name, shape))
    if found is None:
        found = known.declared[name, shape] = _declared(scenario, name, shape, known)
        known.in_any_shape.setdefault(name, found)
    if graph is not None and found.traits.needs_graph:
        return replace(found, context=replace(found.context, graph=graph))
    return found


def declare_in_any_shape(scenario: Scenario, name: str) -> ParticipantDeclaration:
    """The declaration of one participant, for what is the same in all shapes, as its ports.

    :raises ConfigurationError: the model is not there
    """
    return _known_of(scenario).in_any_shape.get(name) or declare(scenario, name)


def _declared(scenario: Scenario, name: str, shape: str, known: _Known) -> ParticipantDeclaration:
    settings = scenario.participants[name]
    model = find_model(settings.model, f"participants.{name}.model")
    of_node = shape != "ros" and is_own(settings.node)
    parameters = _law_of_node(scenario, name, model, shape) if of_node else settings.parameters
    context = ModelContext(
        name=name,
        parameters=parameters,
        scene=scenario.scene,
        run_seed=scenario.seed,
        base_directory=Path(scenario.base_directory),
        shape=shape,
        simulator=scenario.simulator.model_dump(),
        watchdog_s=scenario.watchdog_s,
        period_ns=settings.period,
        dynamic_step=settings.dynamic_step,
        enters_freely=settings.enters_freely,
        output_types={port: output.type for port, output in settings.outputs.items()},
        input_types=dict(_input_types(scenario, name)),
        start_ns=scenario.start_time,
    )
    read: Callable[[], Any] = cache(partial(_read, model.kind, context))
    if not of_node:
        read = known.readers.setdefault(name, read)
    return ParticipantDeclaration(name, settings, model, context, read)


def _read(kind: type[Model], context: ModelContext) -> Any:
    given = dict(context.parameters)
    if kind.Parameters is None:
        return given
    try:
        return kind.Parameters.model_validate(given, context=BY_HAND)
    except ValidationError as error:
        raise ScenarioError(fault_texts(error, kind.Parameters, given, context.where)) from None


def _law_of_node(scenario: Scenario, name: str, model: NamedModel, shape: str) -> dict[str, Any]:
    """Parameters by which a model drives with the law of its user's node, without that node."""
    settings = scenario.participants[name]
    where = f"participants.{name}.node"
    node = find_node(settings.node, Path(scenario.base_directory), where)
    law = model.kind.traits.law
    if law is None or not node.is_script:
        raise ConfigurationError(
            f"{where}: '{settings.node}' runs in shape ros only; in shape {shape} a node of your "
            "own can be a Python script that calls run_controller, for a model that takes a "
            "control law"
        )
    parameters = {k: v for k, v in settings.parameters.items() if k != f"{law}_parameters"}
    return {**parameters, law: node.name}


def declare_all(scenario: Scenario, shape: str = "ros") -> dict[str, ParticipantDeclaration]:
    """Find the models of all participants.

    :raises ConfigurationError: one is not there
    """
    return {name: declare(scenario, name, shape) for name in scenario.participants}


def repeatability_of(declared: Mapping[str, ParticipantDeclaration]) -> Repeatability:
    """How far two runs of all these participants together agree: as far as the weakest."""
    return Repeatability.weakest(each.repeatability for each in declared.values())


def _input_types(scenario: Scenario, name: str) -> Iterator[tuple[str, str]]:
    """(port, message type as the model sees it) of the inputs whose writer says it."""
    settings = scenario.participants[name]
    for port, given in settings.inputs.items():
        if given.type is not None:
            yield port, given.type
        for source in given.source:
            writer, _, writer_port = source.partition(".")
            if writer in scenario.participants:
                output = scenario.outputs_of(writer).get(writer_port)
                if output is not None:
                    yield port, seen_type(scenario, name, port, output.type)
                    break
