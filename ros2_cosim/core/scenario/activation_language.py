# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Activation functions as a scenario writes them.

An expression is the name of an input port (each of its samples activates) or one of

=========================================================== ================================
``any: [expression, ...]``                                  one of them holds
``all: [expression, ...]``                                  all of them hold
``every: {port: n}``                                        n samples of the port have come
``newer: {port: a, than: b}``                               a sample of a stamped after the
                                                            newest of b
``when: {port: p, field: x, is: "<", value: 3.0}``          a sample of p whose field compares
=========================================================== ================================

Expressions look at the samples that have come since the last activation.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import Any

from ros2_cosim.core.kernel.activation import Activation, Combination, Count, NewerThan, Predicate
from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.kernel.participant import Sample

_COMPARISONS: Mapping[str, Callable[[Any, Any], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_ALLOWED = (
    "allowed are a port, any: [...], all: [...], every: {port: n} with n above 0, "
    "newer: {port: a, than: b}, when: {port: p, field: x, is: <, value: 1.0}"
)
#: Deeper nesting is a mistake or an attack, not a scenario.
_MAX_DEPTH = 8


def read_activation(
    value: Any, where: str, record_of: Callable[[str], type | None] = lambda port: None
) -> Activation | None:
    """Make the activation function of an expression.

    :param value: the expression as plain data; None: no activation function
    :param where: its place in the scenario, for error messages
    :param record_of: input port -> record class of its messages, None where it is unknown
    :raises ConfigurationError: the expression is not understood, or a field does not exist
    """
    return None if value is None else _read(value, where, record_of, 0)


def _read(
    value: Any, where: str, record_of: Callable[[str], type | None], depth: int
) -> Activation:
    if isinstance(value, str):
        return Count(value)
    if depth < _MAX_DEPTH and isinstance(value, dict) and len(value) == 1:
        ((kind, body),) = value.items()
        if kind in ("any", "all") and isinstance(body, list) and body:
            parts = tuple(
                _read(part, f"{where}.{kind}[{index}]", record_of, depth + 1)
                for index, part in enumerate(body)
            )
            return parts[0] if len(parts) == 1 else Combination(parts, kind == "all")
        if isinstance(body, dict):
            found = _read_leaf(kind, body, where, record_of)
            if found is not None:
                return found
    raise ConfigurationError(f"{where}: found {value!r}; {_ALLOWED}")


def _read_leaf(
    kind: Any, body: dict[Any, Any], where: str, record_of: Callable[[str], type | None]
) -> Activation | None:
    if kind == "every" and len(body) == 1:
        ((port, count),) = body.items()
        if isinstance(port, str) and type(count) is int and count > 0:
            return Count(port, count)
    elif kind == "newer" and body.keys() == {"port", "than"}:
        if isinstance(body["port"], str) and isinstance(body["than"], str):
            return NewerThan(body["port"], body["than"])
    elif kind == "when" and body.keys() == {"port", "field", "is", "value"}:
        if isinstance(body["port"], str) and isinstance(body["field"], str):
            return _comparison(body, f"{where}.when", record_of(body["port"]))
    return None


def _comparison(body: Mapping[str, Any], where: str, record: type | None) -> Activation:
    compare = _COMPARISONS.get(body["is"]) if isinstance(body["is"], str) else None
    if compare is None:
        raise ConfigurationError(
            f"{where}.is: found {body['is']!r}; allowed are {', '.join(_COMPARISONS)}"
        )
    limit = body["value"]
    if not isinstance(limit, (bool, int, float)):
        raise ConfigurationError(f"{where}.value: found {limit!r}; allowed is a number")
    field = body["field"]
    known = getattr(record, "_fields", None)
    if known is not None and field not in known:
        raise ConfigurationError(
            f"{where}.field: found {field!r}; the messages of port '{body['port']}' have "
            f"{', '.join(known)}"
        )

    def holds(sample: Sample) -> bool:
        return bool(compare(getattr(sample.value, field), limit))

    return Predicate(body["port"], holds)
