# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""From a scenario to the kernel's graph and the participants' models."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final

from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.kernel.graph import (
    Connection,
    Graph,
    InputPort,
    Latency,
    OutputPort,
    ParticipantSpec,
)
from ros2_cosim.core.kernel.layers import LayeredModel, full
from ros2_cosim.core.kernel.model import FullModel, Port
from ros2_cosim.core.kernel.random_streams import LatencyDistribution, RandomStream
from ros2_cosim.core.kernel.time import FOREVER
from ros2_cosim.core.messages.catalogue import DEFAULT as CATALOGUE
from ros2_cosim.core.messages.raw import CarrierCodec
from ros2_cosim.core.realtime.renewal import renewed
from ros2_cosim.core.realtime.run_settings import AS_FAST_AS_POSSIBLE, RealtimeRun
from ros2_cosim.core.scenario.activation_language import read_activation
from ros2_cosim.core.scenario.declaration import (
    ParticipantDeclaration,
    declare,
    declare_in_any_shape,
)
from ros2_cosim.core.scenario.layers import LayeredParticipant, with_layers
from ros2_cosim.core.scenario.schema import OutputSettings, ParticipantSettings, Scenario
from ros2_cosim.core.scenario.shared_topics import MODEL as MERGER
from ros2_cosim.core.scenario.substitution import Substituted, substituted


def build_graph(scenario: Scenario) -> Graph:
    """Make the checked graph of a scenario.

    :raises ConfigurationError: wiring, latency or message type is wrong
    """
    outputs = [o for p in scenario.participants.values() for o in p.outputs.values()]
    if any(None in (o.whole, o.header_stamped, o.frame_id, o.record) for o in outputs):
        scenario = with_declared_outputs(scenario)
    late = _read_late(scenario)
    specs = [_spec(scenario, name, p, late) for name, p in scenario.participants.items()]
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
) -> FullModel:
    """Make the model of one participant, with the layers that the scenario asks for, if any.

    :param shape: the run shape it will run in
    :param realtime: the wall clock of the run
    :raises ConfigurationError: unknown model, or its parameters are wrong
    """
    make = partial(bare_model, scenario, name, shape)
    model = with_layers(LayeredParticipant(scenario, name, make(), make, realtime))
    return model if model.layers else full(model.model)


def layered_model(
    scenario: Scenario,
    name: str,
    make: Callable[[], FullModel],
    realtime: RealtimeRun,
    former: FullModel | None = None,
) -> LayeredModel:
    """Make the model of one participant of a run, in which it may be changed by hand.

    :param make: makes it without layers
    :param former: that of the run before in this process
    :raises ConfigurationError: unknown model, or its parameters are wrong
    :raises ParticipantError: the former one cannot begin anew
    """
    model = make() if former is None else renewed(former, name, make)
    return with_layers(LayeredParticipant(scenario, name, model, make, realtime, by_hand=True))


def bare_model(scenario: Scenario, name: str, shape: str) -> FullModel:
    """Make the model of one participant, without anything around it.

    :raises ConfigurationError: unknown model, or its parameters are wrong
    """
    model = declared_for(scenario, name, shape).make()
    later = scenario.participants[name].substitute
    if later is None:
        return model
    try:
        second = bare_model(substituted(scenario, name), name, shape)
    except BaseException:
        model.close()
        raise
    return Substituted(model, second, later.takes_over)


def declared_for(scenario: Scenario, name: str, shape: str) -> ParticipantDeclaration:
    """The declaration of one participant, with the graph where its model looks at it.

    :raises ConfigurationError: unknown model, or one that the shape does not have
    """
    found = declare(scenario, name, shape)
    check_shape(found, shape)
    return (
        declare(scenario, name, shape, build_graph(scenario)) if found.traits.needs_graph else found
    )


def check_shape(declaration: ParticipantDeclaration, shape: str) -> None:
    """Check whether a participant can take part in a run of a shape.

    :raises ConfigurationError: it cannot
    """
    allowed = declaration.traits.shapes
    if shape not in allowed:
        raise ConfigurationError(
            f"participants.{declaration.name}.model: '{declaration.model.name}' cannot run in "
            f"shape {shape}; allowed is --shape {' or '.join(allowed)}"
        )


def _spec(
    scenario: Scenario, name: str, settings: ParticipantSettings, late: frozenset[str]
) -> ParticipantSpec:
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
            InputPort(
                port,
                i.delayed,
                i.unfed,
                i.unsynchronised is not None,
                i.handled,
                i.service or "",
            )
            for port, i in settings.inputs.items()
        ),
        outputs=tuple(
            _output(scenario, name, port, output, f"{name}.{port}" in late)
            for port, output in scenario.outputs_of(name).items()
        ),
        enter_ns=settings.enter or 0,
        leave_ns=FOREVER if settings.leave is None else settings.leave,
        free_entry=settings.enters_freely,
        required=settings.is_required,
    )


def _output(
    scenario: Scenario,
    name: str,
    port: str,
    settings: OutputSettings,
    read_late: bool,
) -> OutputPort:
    where = f"participants.{name}.outputs.{port}"
    distribution = LatencyDistribution.from_spec(settings.latency, f"{where}.latency")
    draw: Callable[[], int] | None = None
    if not distribution.is_constant:
        stream = RandomStream(scenario.seed, name, f"latency/{port}")

        def draw(d: LatencyDistribution = distribution, s: RandomStream = stream) -> int:
            return d.draw(s)

    constants = {"frame_id": settings.frame}
    if settings.child_frame_id is not None:
        constants["child_frame_id"] = settings.child_frame_id
    try:
        if settings.record:
            CATALOGUE.tie(settings.type, settings.record)
        # A reader that connects late counts from the middle: stamps need not tell where that is.
        codec = CATALOGUE.wire_codec(
            settings.type,
            whole=bool(settings.whole),
            numbered=read_late,
            start_ns=scenario.start_time,
            **constants,
        )
    except ConfigurationError as error:
        raise ConfigurationError(f"{where}.type: {error}") from None
    if settings.header_stamped:
        if isinstance(codec, CarrierCodec):
            raise ConfigurationError(
                f"{where}: stamp: header, but {codec.inner.type_name} has no header; allowed is "
                "stamp: activation"
            )
        if not distribution.is_constant:
            raise ConfigurationError(
                f"{where}: stamp: header goes with a constant latency, the least delay of the "
                "node's own stamps"
            )
        # Imported late, with the settings of foreign nodes: others have no such output.
        from ros2_cosim.core.messages.foreign import HeaderDelay

        draw = HeaderDelay()
    latency = Latency(distribution.minimum_ns, draw)
    return OutputPort(port, latency, settings.schedule, codec, settings.latched)


_ANY: Final = Port("any")


def as_declared(
    scenario: Scenario,
    name: str,
    port: str,
    settings: OutputSettings,
) -> OutputSettings:
    """An output with what its model declares of it and the scenario does not say.

    The port of an unsynchronised input passes on whole messages, whatever the model.

    :raises ConfigurationError: the model is not there, or its parameters are wrong
    """
    if port not in scenario.participants[name].outputs:
        return settings.model_copy(
            update={"whole": True, "header_stamped": False, "frame_id": settings.frame}
        )
    if scenario.participants[name].model == MERGER:
        return _as_written(scenario, name, settings)
    # One look at the model for all outputs, and none where the scenario says everything.
    found = declare_in_any_shape(scenario, name).declared_outputs.get(port, _ANY)
    frame = found.frame_id if found.frame_id and settings.frame_id is None else settings.frame
    return settings.model_copy(
        update={
            "whole": found.whole,
            "header_stamped": found.header_stamped,
            "frame_id": frame,
        }
    )


def _as_written(scenario: Scenario, name: str, settings: OutputSettings) -> OutputSettings:
    """The output of what merges the writers of a topic: with the frames of these."""
    frames = set()
    for read in scenario.participants[name].inputs.values():
        writer, _, port = read.source[0].partition(".")
        written = as_declared(scenario, writer, port, scenario.participants[writer].outputs[port])
        if not written.whole:  # else each message has its own
            frames.add((written.frame, written.child_frame_id))
    if len(frames) > 1:
        raise ConfigurationError(
            f"topic {settings.topic}: its writers have the frames "
            f"{', '.join(sorted({frame for frame, _ in frames}))}; allowed is one"
        )
    frame, child = frames.pop() if frames else (settings.frame, settings.child_frame_id)
    return settings.model_copy(
        update={
            "whole": True,
            "header_stamped": False,
            "frame_id": frame,
            "child_frame_id": child,
        }
    )


def with_declared_outputs(scenario: Scenario) -> Scenario:
    """The scenario with what its models declare of their outputs.

    Models may tie records to types of messages (:meth:`.Catalogue.register`) when they are
    imported. Each process has to know of it, and so has each reader of such a type: which module
    does it is known when all models have been looked at.
    """
    declared = {
        name: {
            port: as_declared(scenario, name, port, output)
            for port, output in participant.outputs.items()
        }
        for name, participant in scenario.participants.items()
    }
    participants = {}
    for name, outputs in declared.items():
        for port, output in outputs.items():
            record = "" if output.whole else CATALOGUE.registered_in(output.type)
            outputs[port] = output.model_copy(update={"record": record})
        participants[name] = scenario.participants[name].model_copy(update={"outputs": outputs})
    return scenario.model_copy(update={"participants": participants})


def _read_late(scenario: Scenario) -> frozenset[str]:
    """The outputs of which a reader may connect when the run has begun."""
    return frozenset(
        source
        for reader in scenario.participants.values()
        if reader.mode == "autonomous" or reader.enter
        for port in reader.inputs.values()
        for source in port.source
    )


def _record_of(scenario: Scenario, name: str, port: str) -> type | None:
    """Record class of the messages of an input port, None where it is not known."""
    settings = scenario.participants[name].inputs.get(port)
    for source in settings.source if settings else ():
        writer, _, writer_port = source.partition(".")
        participant = scenario.participants.get(writer)
        output = participant.outputs.get(writer_port) if participant else None
        if output is not None:
            try:
                return CATALOGUE.record(output.type)
            except ConfigurationError:
                return None
    return None
