# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Where a scenario can have faults, and of which kinds: what a form needs to offer them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, get_args, get_origin, get_type_hints

from ros2_cosim.core.faults.fields import fields_of
from ros2_cosim.core.faults.kinds import FieldFault, NumberFault, fault_kinds
from ros2_cosim.core.faults.settings import FaultSettings
from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.messages.catalogue import DEFAULT as CATALOGUE
from ros2_cosim.core.scenario.faults import obstacle_at, type_at
from ros2_cosim.core.scenario.reference import parameter_rows
from ros2_cosim.core.scenario.schema import Scenario

_NAMES: Final = {float: "number", int: "whole number", bool: "boolean", str: "text"}


def faultable(scenario: Scenario) -> dict[str, Any]:
    """Ports that can have faults, and what they can be of.

    :returns: ``ports``: for each ``port``, ``side``, ``type`` of the messages and ``kinds``;
        ``fields``: type of messages -> dotted name of a field -> ``number``, ``whole number``,
        ``boolean``, ``text`` or ``list``; ``keys``: kind -> key that belongs to it -> its
        ``type``, ``text`` and whether it is ``required``; ``numeric``: the kinds whose field is a
        ``number``
    """
    offered = fault_kinds()
    ports, fields = [], {}
    for name, participant in scenario.participants.items():
        for side, found in (("input", participant.inputs), ("output", participant.outputs)):
            for port in found:
                kind = type_at(scenario, name, port, side)
                fields[kind] = dict(_fields(kind))
                place = f"{name}.{port}"
                kinds = [
                    each
                    for each, fault in offered.items()
                    if (fields[kind] or not issubclass(fault, FieldFault))
                    and not obstacle_at(scenario, fault, place, side)
                ]
                if kinds:
                    ports.append({"port": place, "side": side, "type": kind, "kinds": kinds})
    return {
        "ports": ports,
        "fields": fields,
        "keys": {name: dict(_keys(kind)) for name, kind in offered.items()},
        "numeric": [name for name, kind in offered.items() if issubclass(kind, NumberFault)],
    }


def _keys(kind: type[FaultSettings]) -> Iterator[tuple[str, dict[str, Any]]]:
    shared = {row.name for row in parameter_rows(FaultSettings)}
    for row in parameter_rows(kind):
        if row.name not in shared:
            told = {"type": row.type, "text": row.description}
            yield row.name, {**told, "required": row.default == "required"}


def _fields(kind: str) -> Iterator[tuple[str, str]]:
    try:
        record = CATALOGUE.record(kind)
    except ConfigurationError:
        return  # its messages are passed on unchanged
    yield from _fields_below(record, "")


def _fields_below(record: Any, before: str) -> Iterator[tuple[str, str]]:
    hints = get_type_hints(record)
    for name in fields_of(record):
        found, path = hints[name], f"{before}{name}"
        if get_origin(found) is tuple:
            yield path, "list"
            found = get_args(found)[0]
        elif found in _NAMES:
            yield path, _NAMES[found]
        yield from _fields_below(found, f"{path}.")
