# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""``as: NAME`` on a port: finds the seam, checks what it joins, and makes it."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.metadata import EntryPoint
from typing import Any

from ros2_cosim.core.documents.offered import find_kind, offered
from ros2_cosim.core.documents.settings import read_section
from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.kernel.loading import is_own_module
from ros2_cosim.core.messages.seams import (
    InputSeam,
    MadeOutput,
    OutputSeam,
    Seam,
    SeamPlace,
    Seams,
)
from ros2_cosim.core.scenario.schema import Scenario, SeamChoice

SEAM_GROUP = "ros2_cosim.seams"


def available_seams() -> dict[str, EntryPoint]:
    """Name -> entry point of every seam that an installed distribution offers."""
    return offered(SEAM_GROUP)


def find_seam(name: str, where: str) -> type[Seam]:
    """The class of a seam.

    :raises ConfigurationError: there is none of this name, or it cannot be imported
    """
    found: type[Seam] = find_kind(SEAM_GROUP, name, where, "seam", InputSeam, OutputSeam)
    return found


def seams_layer(scenario: Scenario, name: str) -> Seams | None:
    """The seams of a participant; None: it has none.

    :raises ConfigurationError: a seam does not fit its port
    """
    inputs: dict[str, InputSeam] = {}
    outputs: list[MadeOutput] = []
    for port, seam, of in _made(scenario, name):
        if isinstance(seam, InputSeam):
            inputs[port] = seam
        elif isinstance(seam, OutputSeam):
            outputs.append(MadeOutput(port, seam, of))
    return Seams(inputs, outputs) if inputs or outputs else None


def seen_type(scenario: Scenario, name: str, port: str, carried: str) -> str:
    """The message type that a model sees on an input, whose writer sends another one.

    :raises ConfigurationError: the seam on it is not there
    """
    choice = scenario.participants[name].inputs[port].seam
    if choice is None:
        return carried
    where = f"participants.{name}.inputs.{port}.as"
    return find_seam(_chosen(choice)[0], where).target_type


def seams_between(carried: str, wanted: str) -> list[str]:
    """Names of this project's input seams that make messages of one type of those of another."""
    own = [n for n, e in available_seams().items() if is_own_module(e.value.partition(":")[0])]
    kinds = {name: find_seam(name, "seam") for name in own}
    return [
        name
        for name, kind in kinds.items()
        if issubclass(kind, InputSeam)
        and carried in kind.source_types
        and kind.target_type == wanted
    ]


def _chosen(choice: SeamChoice) -> tuple[str, dict[str, Any]]:
    ((name, parameters),) = choice.items()
    return name, parameters


def _made(scenario: Scenario, name: str) -> Iterator[tuple[str, Seam, tuple[str, ...]]]:
    settings = scenario.participants[name]
    where = f"participants.{name}"
    for port, given in settings.inputs.items():
        if given.seam is None:
            continue
        for source in given.source:
            writer, _, writer_port = source.partition(".")
            output = _type_of(scenario, writer, writer_port)
            place = f"{where}.inputs.{port}"
            if output is None:
                raise ConfigurationError(f"{place}: found '{source}', which is not an output")
            yield port, _make(scenario, name, port, given.seam, place, InputSeam, (output,)), ()
    for port, sent in settings.outputs.items():
        if sent.seam is None:
            continue
        place = f"{where}.outputs.{port}"
        types = []
        for source in sent.of:
            output = _type_of(scenario, name, source)
            if output is None or settings.outputs[source].seam is not None:
                plain = [p for p, o in settings.outputs.items() if o.seam is None]
                raise ConfigurationError(
                    f"{place}.of: found '{source}'; allowed are outputs of '{name}': "
                    f"{', '.join(plain)}"
                )
            types.append(output)
        seam = _make(scenario, name, port, sent.seam, place, OutputSeam, tuple(types))
        yield port, seam, sent.of


def _type_of(scenario: Scenario, participant: str, port: str) -> str | None:
    """The message type of an output, None if it is not there."""
    if participant not in scenario.participants:
        return None
    output = scenario.outputs_of(participant).get(port)
    return None if output is None else output.type


def _make(
    scenario: Scenario,
    name: str,
    port: str,
    choice: SeamChoice,
    place: str,
    direction: type[Seam],
    types: tuple[str, ...],
) -> Seam:
    chosen, given = _chosen(choice)
    kind: Any = find_seam(chosen, f"{place}.as")
    if not issubclass(kind, direction):
        side = "an output" if issubclass(kind, OutputSeam) else "an input"
        raise ConfigurationError(f"{place}.as: found '{chosen}', which is a seam of {side}")
    if direction is InputSeam and types[0] not in kind.source_types:
        raise ConfigurationError(
            f"{place}.as: found '{chosen}' for messages of type {types[0]}; allowed are those of "
            f"type {' or '.join(kind.source_types)}"
        )
    if direction is OutputSeam:
        if types != kind.source_types:
            raise ConfigurationError(
                f"{place}.of: found outputs of type {', '.join(types) or 'none'}; '{chosen}' is "
                f"made of {', '.join(kind.source_types)}, in this order"
            )
        found = scenario.participants[name].outputs[port].type
        if found != kind.target_type:
            raise ConfigurationError(
                f"{place}.type: found {found}; allowed for '{chosen}' is {kind.target_type}"
            )
    parameters = read_section(kind.Parameters, given, place=f"{place}.as.{chosen}")
    outputs = scenario.participants[name].outputs
    seam_place = SeamPlace(place, port, types[0], tuple(outputs), scenario.scene)
    if direction is OutputSeam:
        seam_place = seam_place._replace(
            frame_id=outputs[port].frame, child_frame_id=outputs[port].child_frame_id or ""
        )
    made: Seam = kind(seam_place, parameters)
    return made
