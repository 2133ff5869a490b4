# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The faults of a scenario: at which ports they are, and whether they can be there."""

from __future__ import annotations

from typing import Any

from ros2_cosim.core.faults.faulty import Faults
from ros2_cosim.core.faults.fields import type_of_field
from ros2_cosim.core.faults.manipulators import Fault, FaultyPort
from ros2_cosim.core.faults.settings import FaultSettings
from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.kernel.participant import Past
from ros2_cosim.core.kernel.random_streams import RandomStream
from ros2_cosim.core.messages.catalogue import DEFAULT as CATALOGUE
from ros2_cosim.core.scenario.schema import ParticipantSettings, Scenario


def faults_layer(scenario: Scenario, name: str) -> Faults | None:
    """The faults of a participant; None: it has none."""
    ports: dict[tuple[str, str], list[Fault]] = {}
    for fault, settings in scenario.faults.items():
        if settings.participant == name:
            side = side_of(scenario.participants[name], fault, settings)
            found = ports.setdefault((side, settings.port_name), [])
            found.append(_made(scenario, fault))
    if not ports:
        return None
    inputs, outputs = (
        {port: FaultyPort(faults) for (side, port), faults in ports.items() if side == wanted}
        for wanted in ("input", "output")
    )
    return Faults(inputs, outputs)


def _made(scenario: Scenario, fault: str) -> Fault:
    settings = scenario.faults[fault]
    stream = RandomStream(scenario.seed, settings.participant, f"fault/{fault}")
    return Fault(fault, settings, stream)


def add_fault(scenario: Scenario, fault: str, layer: Faults, past: Past) -> None:
    """Add a fault of the scenario to its participant, while the run goes on.

    :param scenario: with the fault
    :param past: what the participant has exchanged so far, before the fault begins
    """
    settings = scenario.faults[fault]
    side = side_of(scenario.participants[settings.participant], fault, settings)
    layer.add(_made(scenario, fault), settings.port_name, side, past)


def side_of(participant: ParticipantSettings, fault: str, settings: FaultSettings) -> str:
    """Whether a fault is at an input or an output.

    :raises ConfigurationError: there is no such port, or both
    """
    port = settings.port_name
    inputs, outputs = port in participant.inputs, port in participant.outputs
    found = [side for side, is_there in (("input", inputs), ("output", outputs)) if is_there]
    if settings.side is not None and found:
        if settings.side not in found:
            raise ConfigurationError(
                f"faults.{fault}.side: found {settings.side}; '{settings.port}' is an {found[0]}"
            )
        found = [settings.side]
    if len(found) == 1:
        return found[0]
    if found:
        raise ConfigurationError(
            f"faults.{fault}.side: missing; '{settings.port}' is an input and an output"
        )
    raise ConfigurationError(
        f"faults.{fault}.port: found '{settings.port}', which is not a port; inputs are "
        f"{', '.join(participant.inputs) or 'none'}, outputs "
        f"{', '.join(participant.outputs) or 'none'}"
    )


def check_fault(scenario: Scenario, fault: str) -> None:
    """Check whether a fault can be where it is.

    :raises ConfigurationError: it cannot
    """
    # Imported late: hardly a scenario has faults, and each kind is a class of settings.
    from ros2_cosim.core.faults.kinds import FieldFault

    settings = scenario.faults[fault]
    name, port = settings.participant, settings.port_name
    participant = scenario.participants.get(name)
    if participant is None:
        raise ConfigurationError(
            f"faults.{fault}.port: found '{settings.port}'; there is no participant '{name}', "
            f"allowed are {', '.join(scenario.participants)}"
        )
    side = side_of(participant, fault, settings)
    obstacle = obstacle_at(scenario, type(settings), settings.port, side)
    if obstacle:
        raise ConfigurationError(f"faults.{fault}.{obstacle}")
    if isinstance(settings, FieldFault):
        where = f"faults.{fault}.field"
        record = _record_of(scenario, name, port, side, where)
        settings.check_field(type_of_field(record, settings.field, where), f"faults.{fault}")
    if settings.when is not None:
        _check_condition(scenario, fault, settings, side)


def obstacle_at(scenario: Scenario, kind: type[FaultSettings], place: str, side: str) -> str:
    """Why a port cannot have faults of a kind, whatever its messages; empty: it can.

    :param place: ``participant.port``
    :param side: ``input`` or ``output``
    """
    name, _, port = place.partition(".")
    participant = scenario.participants[name]
    given: Any = participant.inputs[port] if side == "input" else participant.outputs[port]
    if given.service is not None or given.call is not None:
        return f"port: found '{place}', a service or call; allowed are other ports"
    if kind.delays and (side == "output" or given.handled):
        return (
            f"kind: found one that delays, at {place}; allowed is an input that is not handled, "
            "and for an output its latency"
        )
    if kind.loses and side == "output" and given.schedule != "sparse":
        return (
            f"kind: found one that loses messages, at {place}, whose schedule is {given.schedule}; "
            "allowed is an output with schedule sparse, or an input that reads it"
        )
    return ""


def _check_condition(scenario: Scenario, fault: str, settings: FaultSettings, side: str) -> None:
    condition = settings.when
    assert condition is not None
    where = f"faults.{fault}.when"
    name, port = settings.participant, settings.port_name
    if condition.port is not None:
        inputs = scenario.participants[name].inputs
        if condition.port not in inputs:
            raise ConfigurationError(
                f"{where}.port: found '{condition.port}'; allowed are the inputs of '{name}': "
                f"{', '.join(inputs) or 'none'}"
            )
        port, side = condition.port, "input"
    record = _record_of(scenario, name, port, side, where)
    if type_of_field(record, condition.field, f"{where}.field") not in (float, int):
        raise ConfigurationError(f"{where}.field: found '{condition.field}'; allowed is a number")


def _record_of(scenario: Scenario, name: str, port: str, side: str, where: str) -> type:
    """The record of the messages of a port."""
    try:
        return CATALOGUE.record(type_at(scenario, name, port, side))
    except ConfigurationError as error:
        raise ConfigurationError(f"{where}: fields are known of records only: {error}") from None


def type_at(scenario: Scenario, name: str, port: str, side: str) -> str:
    """The type of the messages of a port; empty if nothing says it.

    :param side: ``input`` or ``output``
    """
    if side == "output":
        return scenario.participants[name].outputs[port].type
    given = scenario.participants[name].inputs[port]
    kind = given.type or ""
    for source in given.source:
        writer, _, writer_port = source.partition(".")
        kind = scenario.outputs_of(writer)[writer_port].type
    return kind
