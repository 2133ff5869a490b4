# SPDX-License-Identifier: Apache-2.0
"""From a scenario to the kernel's graph and the participants' models."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from dataclasses import replace
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

from ros2_cosim.interfaces.catalogue import DEFAULT as CATALOGUE
from ros2_cosim.interfaces.foreign import FOREIGN_MODEL, foreign_settings
from ros2_cosim.kernel.duck_typed import as_model
from ros2_cosim.kernel.errors import ConfigurationError, CosimError
from ros2_cosim.kernel.graph import (
    Connection,
    Graph,
    InputPort,
    Latency,
    OutputPort,
    ParticipantSpec,
)
from ros2_cosim.kernel.model import Model
from ros2_cosim.kernel.participant import ModelContext
from ros2_cosim.kernel.random_streams import LatencyDistribution, RandomStream
from ros2_cosim.kernel.time import FOREVER
from ros2_cosim.realtime.adapters import Participant as AdaptedParticipant
from ros2_cosim.realtime.adapters import adapt
from ros2_cosim.realtime.run_settings import AS_FAST_AS_POSSIBLE, RealtimeRun
from ros2_cosim.scenario.activation_language import read_activation
from ros2_cosim.scenario.executables import find_node, is_own
from ros2_cosim.scenario.schema import OutputSettings, ParticipantSettings, Scenario

#: Models of this project by the name that scenarios use: ``module:factory``.
BUILT_IN_MODELS: Mapping[str, str] = {
    "carla_world": "ros2_cosim.carla_bridge.plant:make_plant",
    "dcp_master": "ros2_cosim.dcp_bridge.participant:make_dcp_master",
    "vds_plant": "ros2_cosim.vds.participant:make_vds_plant",
    "object_sensor": "ros2_cosim.models.factories:make_object_sensor",
    "v2v_channel": "ros2_cosim.models.factories:make_v2v_channel",
    "cacc_controller": "ros2_cosim.models.factories:make_cacc_controller",
    "platoon_referee": "ros2_cosim.models.factories:make_platoon_referee",
    "error_handler": "ros2_cosim.realtime.estimated_input:make_error_handler",
    FOREIGN_MODEL: "ros2_cosim.ros.gate:make_gate",
}
MODEL_GROUP = "ros2_cosim.models"
#: The model whose law ``controllers`` changes.
CONTROLLER_MODEL = "cacc_controller"


def build_graph(scenario: Scenario) -> Graph:
    """Make the checked graph of a scenario.

    :raises ConfigurationError: wiring, latency or message type is wrong
    """
    specs = [_spec(scenario, name, p) for name, p in scenario.participants.items()]
    connections = []
    topics: dict[str, str] = {}
    for name, participant in scenario.participants.items():
        for port, output in scenario.outputs_of(name).items():
            owner = topics.setdefault(output.topic, f"{name}.{port}")
            if owner != f"{name}.{port}":
                raise ConfigurationError(
                    f"topic {output.topic} is written by both {owner} and {name}.{port}; each "
                    "output needs its own topic"
                )
        for port, topic in participant.unsynchronised.items():
            writers = [f"{n}.{p}" for n, other in scenario.participants.items()
                       for p, o in other.outputs.items() if o.topic == topic]  # fmt: skip
            if writers:
                raise ConfigurationError(
                    f"participant '{name}', input '{port}': {topic} is written by {writers[0]}, "
                    f"which is synchronised; read it with 'from: {writers[0]}'"
                )
        for port, settings in participant.inputs.items():
            for source in settings.source:
                writer, dot, writer_port = source.partition(".")
                if not dot:
                    raise ConfigurationError(
                        f"participant '{name}', input '{port}': found '{source}'; allowed is "
                        "participant.port"
                    )
                connections.append(Connection(writer, writer_port, name, port))
    return Graph(specs, connections)


def build_model(
    scenario: Scenario, name: str, shape: str, realtime: RealtimeRun = AS_FAST_AS_POSSIBLE
) -> Model:
    """Make the behaviour of one participant, with the adapters that the scenario asks for.

    :param shape: the run shape it will run in
    :param realtime: the wall clock of the run
    :raises ConfigurationError: unknown model, or its parameters are wrong
    """
    return with_adapters(scenario, name, bare_model(scenario, name, shape), realtime)


def bare_model(scenario: Scenario, name: str, shape: str) -> Model:
    """Make the model of one participant, without anything around it.

    :raises ConfigurationError: unknown model, or its parameters are wrong
    """
    settings = scenario.participants[name]
    if settings.model == FOREIGN_MODEL and shape == "inproc":
        raise ConfigurationError(
            f"participant '{name}': an unmodified ROS node is a process of its own, which shape "
            "inproc does not have; run the scenario with --shape ros or composed"
        )
    factory = _find_factory(name, settings.model)
    context = model_context(scenario, name, shape)
    if shape != "ros" and is_own(settings.node):
        context = replace(context, parameters=_law_of_node(scenario, name, shape))
    return as_model(factory(context), f"participants.{name}.model: '{settings.model}'")


def with_adapters(scenario: Scenario, name: str, behaviour: Model, realtime: RealtimeRun) -> Model:
    """Put around the model of a participant what the scenario asks for; closes it on failure.

    :raises ConfigurationError: settings that do not fit the participant
    """
    try:
        return adapt(behaviour, _adapted_participant(scenario, name), realtime)
    except BaseException:
        behaviour.close()
        raise


def _adapted_participant(scenario: Scenario, name: str) -> AdaptedParticipant:
    """What the adapters for late parts need to know of a participant."""
    settings = scenario.participants[name]
    return AdaptedParticipant(
        name=name,
        period_ns=settings.period,
        is_triggered=settings.activation is not None,
        dynamic_step=settings.dynamic_step,
        outputs={port: (o.schedule, o.type) for port, o in settings.outputs.items()},
        inputs={port: i.estimate for port, i in settings.inputs.items()},
        overrun=settings.overrun,
        coupling=settings.coupling,
        seed=scenario.seed,
        base_directory=Path(scenario.base_directory),
        watchdog_s=scenario.watchdog_s,
    )


def check_models(scenario: Scenario, shape: str) -> None:
    """Make every model once, so that what is wrong with one shows before anything is started.

    Left out are the nodes of users where they run as processes, and the scene where only the
    simulator knows its map.

    :param shape: the run shape
    :raises ConfigurationError: a model is unknown, or its parameters are wrong
    """
    for name, settings in scenario.participants.items():
        foreign = is_own(settings.node) and shape != "inproc"
        foreign = foreign or (settings.model == FOREIGN_MODEL and shape != "inproc")
        if foreign or (scenario.simulator.kind == "carla" and "dcp" in settings.parameters):
            continue
        try:
            model = build_model(scenario, name, "inproc")
        except CosimError as error:
            text = str(error)
            placed = text.startswith("scene") or name in text.split(": ")[0]
            raise ConfigurationError(text if placed else f"participant '{name}': {text}") from None
        model.close()


def model_context(scenario: Scenario, name: str, shape: str) -> ModelContext:
    """What the model of a participant is made from."""
    return ModelContext(
        name=name,
        parameters=scenario.participants[name].parameters,
        scene=scenario.scene,
        run_seed=scenario.seed,
        base_directory=Path(scenario.base_directory),
        shape=shape,
        simulator=scenario.simulator.model_dump(),
        graph=build_graph(scenario) if scenario.participants[name].model == FOREIGN_MODEL else None,
        watchdog_s=scenario.watchdog_s,
        period_ns=scenario.participants[name].period,
        output_types={p: o.type for p, o in scenario.participants[name].outputs.items()},
    )


def _law_of_node(scenario: Scenario, name: str, shape: str) -> dict[str, Any]:
    """Parameters by which a controller drives with the law of its user's node, without it."""
    settings = scenario.participants[name]
    where = f"participants.{name}.node"
    node = find_node(settings.node, Path(scenario.base_directory), where)
    if settings.model != CONTROLLER_MODEL or not node.is_script:
        raise ConfigurationError(
            f"{where}: '{settings.node}' runs in shape ros only; in shape {shape} a node of your "
            f"own can be a Python script that calls run_controller, for model {CONTROLLER_MODEL}"
        )
    parameters = {k: v for k, v in settings.parameters.items() if k != "law_parameters"}
    return {**parameters, "law": node.name}


def topic_of(scenario: Scenario, connection_source: str, port: str) -> OutputSettings:
    """The settings (topic, type) of an output port."""
    return scenario.outputs_of(connection_source)[port]


def _find_factory(participant: str, model: str) -> Any:
    target = BUILT_IN_MODELS.get(model)
    if target is None:
        installed = {e.name: e.value for e in entry_points(group=MODEL_GROUP)}
        target = installed.get(model, model if ":" in model else None)
        if target is None:
            known = ", ".join(sorted({*BUILT_IN_MODELS, *installed}))
            raise ConfigurationError(
                f"participant '{participant}': unknown model '{model}'; known are {known}, or "
                "module:factory"
            )
    module_name, _, attribute = target.partition(":")
    try:
        factory = getattr(importlib.import_module(module_name), attribute)
        if not callable(factory):
            raise TypeError(f"it is no factory but of type {type(factory).__name__}")
        return factory
    except (ImportError, AttributeError, ValueError, TypeError) as error:
        raise ConfigurationError(
            f"participant '{participant}': model '{model}' cannot be loaded: {error}"
        ) from None


def _spec(scenario: Scenario, name: str, settings: ParticipantSettings) -> ParticipantSpec:
    if settings.model == FOREIGN_MODEL:
        for port in settings.unsynchronised:
            raise ConfigurationError(
                f"participants.{name}.inputs.{port}: a foreign node reads unsynchronised topics by "
                "itself; name them in allow_topics"
            )
        foreign_settings(settings.parameters, name).check_ports(
            f"participants.{name}", settings.inputs, settings.outputs
        )
    return ParticipantSpec(
        name=name,
        period_ns=settings.period,
        offset_ns=settings.offset,
        dynamic_step=settings.dynamic_step,
        activation=read_activation(
            settings.activation,
            f"participants.{name}.activation",
            lambda port: _record_of(scenario, name, port),
        ),
        inputs=tuple(
            InputPort(port, i.delayed, i.unfed, i.unsynchronised is not None)
            for port, i in settings.inputs.items()
        ),
        outputs=tuple(
            _output(scenario, name, port, output)
            for port, output in scenario.outputs_of(name).items()
        ),
        enter_ns=settings.enter or 0,
        leave_ns=FOREVER if settings.leave is None else settings.leave,
        free_entry=settings.enters_freely,
        required=settings.is_required,
    )


def _output(scenario: Scenario, name: str, port: str, settings: OutputSettings) -> OutputPort:
    where = f"participants.{name}.outputs.{port}"
    distribution = LatencyDistribution.from_spec(settings.latency, f"{where}.latency")
    foreign = None
    if scenario.participants[name].model == FOREIGN_MODEL:
        foreign = foreign_settings(scenario.participants[name].parameters, name).output(port)
    draw: Callable[[], int] | None = None
    if not distribution.is_constant:
        stream = RandomStream(scenario.seed, name, f"latency/{port}")

        def draw(d: LatencyDistribution = distribution, s: RandomStream = stream) -> int:
            return d.draw(s)

    constants = {"frame_id": settings.frame_id}
    if settings.child_frame_id is not None:
        constants["child_frame_id"] = settings.child_frame_id
    try:
        # Who connects late counts from the middle: stamps need not tell where that is.
        received = port not in scenario.participants[name].outputs
        numbered = _feeds_late(scenario, f"{name}.{port}")
        codec = CATALOGUE.wire_codec(
            settings.type, whole=foreign is not None or received, numbered=numbered, **constants
        )
    except ConfigurationError as error:
        raise ConfigurationError(f"{where}.type: {error}") from None
    if foreign is not None:
        draw = foreign.check_output(where, settings.schedule, distribution, codec) or draw
    return OutputPort(port, Latency(distribution.minimum_ns, draw), settings.schedule, codec)


def _feeds_late(scenario: Scenario, source: str) -> bool:
    """Whether somebody reads an output who may connect when the run has begun."""
    return any(
        source in port.source
        for reader in scenario.participants.values()
        if reader.mode == "autonomous" or reader.enter
        for port in reader.inputs.values()
    )


def _record_of(scenario: Scenario, name: str, port: str) -> type | None:
    """Record class of the messages of an input port, None where it is not known."""
    settings = scenario.participants[name].inputs.get(port)
    for source in settings.source if settings else ():
        writer, _, writer_port = source.partition(".")
        output = getattr(scenario.participants.get(writer), "outputs", {}).get(writer_port)
        if output is not None:
            try:
                return CATALOGUE.record(output.type)
            except ConfigurationError:
                return None
    return None
