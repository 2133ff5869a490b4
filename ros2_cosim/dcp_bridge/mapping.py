# SPDX-License-Identifier: Apache-2.0
"""How variables of slaves become fields of records, and fields become variables.

A *source* is written as a variable ``slave.variable`` (a field, for the other direction), as a
number or text that never changes, or as a mapping with ``variable`` (``field``), ``factor``
and ``offset``: target = factor * source + offset. ``slave.prefix.*`` maps every field of the
record to the variable of its name behind the prefix.

A field of a record in a list is written ``objects[].x``; its variable is an array, with one
element per record.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, get_args, get_origin, get_type_hints

from ros2_cosim.dcp.description.model import Causality, SlaveDescription, Variable
from ros2_cosim.dcp.wire.enums import DataType
from ros2_cosim.dcp.wire.values import FLOATS, SIZED, Value
from ros2_cosim.kernel.errors import ConfigurationError

Read = Callable[[str, str], Value]
"""(slave, output) -> its newest value."""
Variables = Mapping[str, SlaveDescription]
"""Descriptions by the names of the slaves."""


@dataclass(frozen=True)
class Source:
    """Where a target's value comes from: a name, or a constant where ``name`` is empty."""

    name: str = ""
    constant: Any = None
    factor: float | None = None
    offset: float | None = None

    def scaled(self, value: Any) -> Any:
        """The value with factor and offset, arrays element by element."""
        if self.factor is None and self.offset is None:
            return value
        if isinstance(value, tuple | memoryview):
            return tuple(self.scaled(item) for item in value)
        if self.factor is not None:
            value = self.factor * value
        return value if self.offset is None else value + self.offset


def parse_source(value: Any, key: str, where: str) -> Source:
    """Read one source.

    :param key: what a mapping calls the name, ``variable`` or ``field``
    :raises ConfigurationError: it is none of the allowed forms
    """
    if isinstance(value, Mapping):
        unknown = set(value) - {key, "factor", "offset"}
        if unknown or not isinstance(value.get(key), str):
            raise ConfigurationError(
                f"{where}: found {dict(value)!r}; allowed are {key}, factor and offset"
            )
        numbers = {}
        for name in ("factor", "offset"):
            number = value.get(name)
            if number is not None and (isinstance(number, bool) or not _is_number(number)):
                raise ConfigurationError(f"{where}.{name}: found {number!r}; allowed is a number")
            numbers[name] = None if number is None else float(number)
        return Source(value[key], **numbers)
    if isinstance(value, str):
        return Source(value)
    if isinstance(value, bool | int | float):
        return Source(constant=value)
    raise ConfigurationError(
        f"{where}: found {value!r}; allowed is a {key}, a number or a mapping with {key}"
    )


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float)


@dataclass(frozen=True)
class _Kind:
    """What a record's field holds: a scalar class, in a tuple or not, or records in a tuple."""

    scalar: type | None
    repeated: bool = False
    record: type | None = None


def _always(value: Any) -> Callable[[Read], Any]:
    return lambda read: value


def _kinds(record: type) -> dict[str, _Kind]:
    kinds = {}
    for name, hint in get_type_hints(record).items():
        repeated = get_origin(hint) is tuple
        inner = get_args(hint)[0] if repeated else hint
        if hasattr(inner, "_fields"):
            kinds[name] = _Kind(None, repeated, inner)
        else:
            kinds[name] = _Kind(inner, repeated)
    return kinds


class RecordReader:
    """Makes the records of one output port from the outputs of slaves.

    :param record: class of the record
    :param fields: field -> source as the scenario says, or ``slave.prefix.*``
    :param slaves: descriptions by the names of the slaves
    :raises ConfigurationError: a field or variable is not there, or their types do not fit
    """

    def __init__(
        self,
        record: type,
        fields: Any,
        slaves: Mapping[str, SlaveDescription],
        where: str,
    ) -> None:
        self._record = record
        self._slaves = slaves
        kinds = _kinds(record)
        if isinstance(fields, str):
            fields = _expand(fields, kinds, where)
        if not isinstance(fields, Mapping):
            raise ConfigurationError(
                f"{where}: found {fields!r}; allowed is field: slave.variable, or slave.prefix.*"
            )
        columns: dict[str, dict[str, Any]] = {}
        single: dict[str, Any] = {}
        for path, value in fields.items():
            name, brackets, rest = str(path).partition("[].")
            kind = kinds.get(name)
            if kind is None or (kind.record is not None) != bool(brackets):
                known = ", ".join(_paths(kinds))
                raise ConfigurationError(f"{where}: no field {path!r}; there are {known}")
            if brackets:
                columns.setdefault(name, {})[rest] = value
            else:
                single[name] = value
        self._getters: list[Callable[[Read], Any]] = []
        for name, kind in kinds.items():
            place = f"{where}.{name}"
            if kind.record is not None:
                if not kind.repeated:
                    raise ConfigurationError(f"{place}: nested records cannot be mapped")
                self._getters.append(self._list(kind.record, columns.get(name, {}), place))
            elif name in single:
                self._getters.append(self._single(kind, single[name], place))
            else:
                zero: Any = () if kind.repeated else (kind.scalar or int)()
                self._getters.append(_always(zero))

    def read(self, read: Read) -> Any:
        """The record of this moment."""
        return self._record(*(getter(read) for getter in self._getters))

    def _single(self, kind: _Kind, value: Any, where: str) -> Callable[[Read], Any]:
        source = parse_source(value, "variable", where)
        scalar = kind.scalar or float
        if not source.name:
            if kind.repeated or (isinstance(source.constant, float) and scalar is not float):
                raise ConfigurationError(f"{where}: found {source.constant!r}; it does not fit")
            return _always(scalar(source.constant))
        slave, variable = find_variable(source.name, self._slaves, where, Causality.OUTPUT)
        if bool(variable.dimensions) != kind.repeated:
            shapes = "an array" if variable.dimensions else "a scalar"
            raise ConfigurationError(f"{where}: {source.name} is {shapes}, the field is not")
        scaled = source.factor is not None or source.offset is not None
        if not _converts(variable.data_type, scalar) or (scaled and scalar is not float):
            raise ConfigurationError(
                f"{where}: {source.name} is {variable.data_type.name}"
                f"{' with factor or offset' if scaled else ''}; "
                f"it does not fit {scalar.__name__} without loss"
            )
        name = variable.name
        if kind.repeated:
            return lambda read: tuple(scalar(v) for v in source.scaled(read(slave, name)))
        if scaled:
            return lambda read: scalar(source.scaled(read(slave, name)))
        return lambda read: scalar(read(slave, name))

    def _list(self, record: type, fields: Mapping[str, Any], where: str) -> Callable[[Read], Any]:
        kinds = _kinds(record)
        unknown = [name for name in fields if name not in kinds]
        if unknown:
            known = ", ".join(kinds)
            raise ConfigurationError(f"{where}[]: no field {unknown[0]!r}; there are {known}")
        getters: list[Callable[[Read], Any]] = []
        for name, kind in kinds.items():
            place = f"{where}[].{name}"
            scalar = kind.scalar
            if scalar is None or kind.repeated:
                raise ConfigurationError(f"{place}: lists in lists cannot be mapped")
            value = fields.get(name, 0)
            if isinstance(value, str | Mapping):
                getters.append(self._single(_Kind(scalar, True), value, place))
            else:
                constant = scalar(parse_source(value, "variable", place).constant)
                getters.append(_always(constant))

        def rows(read: Read) -> tuple[Any, ...]:
            found = [getter(read) for getter in getters]
            sizes = {len(column) for column in found if isinstance(column, tuple)}
            size = min(sizes, default=0)
            filled = [c if isinstance(c, tuple) else (c,) * size for c in found]
            return tuple(record(*row) for row in zip(*filled, strict=False))

        return rows


def _expand(text: str, kinds: Mapping[str, _Kind], where: str) -> dict[str, str]:
    """``slave.prefix.*`` as one source per field."""
    if not text.endswith(".*"):
        raise ConfigurationError(
            f"{where}: found {text!r}; allowed is field: slave.variable, or slave.prefix.*"
        )
    prefix = text[:-1]
    lists = [(name, kind.record) for name, kind in kinds.items() if kind.record is not None]
    found = {name: prefix + name for name, kind in kinds.items() if kind.record is None}
    for name, record in lists:
        found |= {f"{name}[].{inner}": prefix + inner for inner in record._fields}  # type: ignore[attr-defined]
    return found


def _paths(kinds: Mapping[str, _Kind]) -> list[str]:
    paths = []
    for name, kind in kinds.items():
        if kind.record is None:
            paths.append(name)
        else:
            paths += [f"{name}[].{inner}" for inner in kind.record._fields]  # type: ignore[attr-defined]
    return paths


class FieldWriter:
    """Gives the fields of an input port's records to inputs of slaves.

    :param record: class of the records, None if it is not known
    :param fields: ``slave.variable`` -> source (a field of the record), or ``slave.prefix.*``
        with the fields of the record under their own names
    :param absent: what the inputs get before the first record; None: they keep their start values
    :raises ConfigurationError: a variable is not there or no input, or a field is not there
    """

    def __init__(
        self,
        record: type | None,
        fields: Any,
        slaves: Mapping[str, SlaveDescription],
        where: str,
        absent: Value | None = None,
    ) -> None:
        self._targets: list[tuple[str, Variable, Source]] = []
        self._where = where
        self._absent = absent
        kinds = None if record is None else _kinds(record)
        if isinstance(fields, str):
            fields = _inputs_behind(fields, slaves, where)
        if not isinstance(fields, Mapping) or not fields:
            raise ConfigurationError(
                f"{where}: found {fields!r}; allowed is slave.variable: field, or slave.prefix.*"
            )
        for target, value in fields.items():
            place = f"{where}.{target}"
            slave, variable = find_variable(str(target), slaves, place, Causality.INPUT)
            source = parse_source(value, "field", place)
            if kinds is not None and source.name:
                _check_field(source.name, kinds, variable, place)
            self._targets.append((slave, variable, source))

    def write(self, record: Any, inputs: dict[str, dict[str, Value]]) -> None:
        """Add the values of a record to ``inputs`` (slave -> variable -> value).

        :param record: None before the first one
        :raises ConfigurationError: the record lacks a field, or a value does not fit
        """
        if record is None:
            if self._absent is not None:
                for slave, variable, _ in self._targets:
                    inputs.setdefault(slave, {})[variable.name] = self._absent
            return
        for slave, variable, source in self._targets:
            if source.name:
                try:
                    value = getattr(record, source.name)
                except AttributeError:
                    known = ", ".join(getattr(record, "_fields", ()))
                    raise ConfigurationError(
                        f"{self._where}.{slave}.{variable.name}: {type(record).__name__} has no "
                        f"field {source.name!r}; it has {known}"
                    ) from None
                value = source.scaled(value)
            else:
                value = source.constant
            inputs.setdefault(slave, {})[variable.name] = self._fitting(variable, value)

    def _fitting(self, variable: Variable, value: Any) -> Value:
        if isinstance(value, tuple):
            return tuple(self._fitting(variable, item) for item in value)
        if variable.data_type in FLOATS:
            return float(value)
        if variable.data_type not in SIZED:
            if value != int(value):
                raise ConfigurationError(
                    f"{self._where}: {value!r} does not fit {variable.name} "
                    f"({variable.data_type.name})"
                )
            return int(value)
        return value


def _check_field(name: str, kinds: Mapping[str, _Kind], variable: Variable, where: str) -> None:
    """See whether a record has a field that fits a variable."""
    kind = kinds.get(name)
    if kind is None:
        raise ConfigurationError(f"{where}: no field {name!r}; there are {', '.join(kinds)}")
    numeric = variable.data_type not in SIZED
    if kind.record is not None or numeric != (kind.scalar in (bool, int, float)):
        raise ConfigurationError(
            f"{where}: the field {name!r} does not fit {variable.name}, which is "
            f"{variable.data_type.name}"
        )


def _inputs_behind(text: str, slaves: Mapping[str, SlaveDescription], where: str) -> dict[str, str]:
    slave, dot, prefix = text.partition(".")
    if not dot or not prefix.endswith("*") or slave not in slaves:
        raise ConfigurationError(
            f"{where}: found {text!r}; allowed is slave.variable: field, or slave.prefix.*"
        )
    prefix = prefix[:-1]
    names = [v.name for v in slaves[slave].of(Causality.INPUT) if v.name.startswith(prefix)]
    return {f"{slave}.{name}": name[len(prefix) :] for name in names}


def find_variable(
    text: str, slaves: Mapping[str, SlaveDescription], where: str, causality: Causality
) -> tuple[str, Variable]:
    """(slave, variable) of ``slave.variable``; variables may have dots in their names.

    :raises ConfigurationError: it is not there, or of another causality
    """
    slave, _, name = text.partition(".")
    if slave not in slaves:
        known = ", ".join(slaves)
        raise ConfigurationError(
            f"{where}: found {text!r}; allowed is slave.variable, slaves are {known}"
        )
    for variable in slaves[slave].of(causality):
        if variable.name == name:
            return slave, variable
    names = [v.name for v in slaves[slave].of(causality)]
    known = ", ".join(names[:12]) + (", ..." if len(names) > 12 else "")
    raise ConfigurationError(
        f"{where}: slave '{slave}' has no {causality.value.lower()} {name!r}; it has "
        f"{known or 'none'}"
    )


def _converts(kind: DataType, scalar: type) -> bool:
    if kind is DataType.string:
        return scalar is str
    if kind is DataType.binary:
        return scalar is bytes
    return scalar is float or (kind not in FLOATS and scalar in (int, bool))
