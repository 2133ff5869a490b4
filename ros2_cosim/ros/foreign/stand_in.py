# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The model ``stand_in``: messages with given fields, for nodes that nothing else feeds yet."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import Field

from ros2_cosim.core.documents.settings import Section
from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.kernel.model import Model, Traits
from ros2_cosim.core.kernel.participant import ModelContext, Step
from ros2_cosim.core.messages.binding import record_name
from ros2_cosim.core.messages.catalogue import DEFAULT as CATALOGUE
from ros2_cosim.core.messages.field_paths import FieldKind, kinds_of

#: The real part of a quaternion, in its own record, and where a record has its four numbers.
_REAL_PARTS = {"Quaternion": "w", "Odometry": "qw"}

#: The longest array that is made of one value.
_MOST = 10_000_000


class StandInSettings(Section):
    """What the messages hold."""

    messages: dict[str, dict[str, Any]] = Field(
        default_factory=dict,
        description="output port: {field: value}, nested; the other fields are zero, and "
        "quaternions turn nothing; an array may be {repeat: VALUE, times: N}",
    )


class StandIn(Model):
    """Sends the same message on each of its outputs again and again, to be activated periodically.

    It has any outputs, of any type, and no inputs: what ``ros2 topic pub`` is to a node.

    :raises ConfigurationError: a message has no such field, or not this value
    """

    Parameters = StandInSettings
    traits = Traits(cost_ns=20_000)

    def __init__(self, context: ModelContext, parameters: StandInSettings) -> None:
        self._messages = {}
        for port, type_name in context.output_types.items():
            where = f"{context.where}.messages.{port}"
            given = parameters.messages.get(port, {})
            self._messages[port] = filled(CATALOGUE.record(type_name), given, where)
        for port in parameters.messages.keys() - self._messages.keys():
            raise ConfigurationError(
                f"{context.where}.messages.{port}: found no such output; allowed are "
                f"{', '.join(self._messages) or 'none'}"
            )

    def activate(self, step: Step) -> Mapping[str, Any]:
        """Send all of them."""
        return self._messages


def filled(record: Any, fields: Mapping[str, Any], where: str) -> Any:
    """A record with some fields as given, and zeros elsewhere.

    :param record: its class
    :param fields: of the message; nested ones are mappings, arrays are lists
    :param where: how messages call the place
    :raises ConfigurationError: it has no such field, or the field cannot have this value
    """
    kinds, defaults = kinds_of(record), record._field_defaults
    values = {name: defaults.get(name, _zero(kind)) for name, kind in kinds.items()}
    for name, kind in kinds.items():
        if kind.record is not None and not kind.repeated:
            values[name] = filled(kind.record, {}, where)
    if real := _REAL_PARTS.get(record.__name__):
        values[real] = 1.0
    for name, value in fields.items():
        field = record_name(name)
        if field not in kinds:
            raise ConfigurationError(
                f"{where}: found the field '{name}'; allowed are {', '.join(kinds)}"
            )
        values[field] = _value(kinds[field], value, f"{where}.{name}")
    return record(**values)


def _zero(kind: FieldKind) -> Any:
    if kind.repeated or kind.scalar is None:
        return ()
    return kind.scalar()


def _value(kind: FieldKind, given: Any, where: str) -> Any:
    if kind.repeated:
        if isinstance(given, Mapping) and given.keys() == {"repeat", "times"}:
            times = given["times"]
            if type(times) is not int or not 0 <= times <= _MOST:
                raise ConfigurationError(f"{where}.times: found {times!r}; allowed is 0 to {_MOST}")
            return (_value(kind._replace(repeated=False), given["repeat"], where),) * times
        if not isinstance(given, list):
            raise ConfigurationError(
                f"{where}: found {given!r}; allowed is a list, or {{repeat: VALUE, times: N}}"
            )
        element = kind._replace(repeated=False)
        return tuple(_value(element, each, f"{where}[{i}]") for i, each in enumerate(given))
    if kind.record is not None:
        if not isinstance(given, Mapping):
            raise ConfigurationError(f"{where}: found {given!r}; allowed is a mapping of fields")
        return filled(kind.record, given, where)
    if kind.scalar is float and type(given) is int:
        return float(given)
    if type(given) is not kind.scalar:
        assert kind.scalar is not None
        raise ConfigurationError(
            f"{where}: found {given!r}; allowed is a value of type {kind.scalar.__name__}"
        )
    return given
