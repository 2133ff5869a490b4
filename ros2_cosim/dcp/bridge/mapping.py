# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""How variables of slaves become fields of records, and fields become variables.

A *source* is written as a variable ``slave.variable`` (a field, for the other direction), as a
number or text that never changes, or as a mapping with ``variable`` (``field``), ``factor``
and ``offset``: target = factor * source + offset. ``values`` (found: given) replaces values, and
leaves those that it lacks. ``slave.prefix.*`` maps every field of the
record to the variable of its name behind the prefix.

A field of a record in a list is written ``objects[].x``; its variable is an array, with one
element per record. Inputs of slaves take any value inside a record, as ``objects[0].distance`` and
``objects[nearest].valid`` (:mod:`ros2_cosim.core.messages.field_paths`); an array longer than the
list is filled up with zeros. A field ``uint8[]`` fits an array, and a single binary variable.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from operator import itemgetter
from typing import Any, NamedTuple, Protocol

from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.kernel.participant import Sample
from ros2_cosim.core.messages.field_paths import VALID, FieldKind, FieldPath, field_path, kinds_of
from ros2_cosim.dcp.bridge.units import conversion
from ros2_cosim.dcp.standard.enums import DataType
from ros2_cosim.dcp.standard.slave_description import Causality, SlaveDescription, Variable
from ros2_cosim.dcp.standard.values import FLOATS, SIZED, Value

Read = Callable[[str, str], Value]
"""(slave, output) -> its newest value."""


class HasOutputs(Protocol):
    """A slave of a run; the list of its newest outputs may be replaced by another one."""

    @property
    def outputs(self) -> list[Value]:
        """In the order of its description."""


Place = Callable[[str, str], tuple[HasOutputs, int]]
"""(slave, output) -> what holds its newest value, and at which index."""


@dataclass(frozen=True)
class MappedSource:
    """Where a target's value comes from: a name, or a constant where ``name`` is empty."""

    name: str = ""
    constant: Any = None
    factor: float | None = None
    offset: float | None = None
    values: Mapping[int, int] | None = None

    @property
    def is_plain(self) -> bool:
        """Whether the value is not changed."""
        return self.factor is None and self.offset is None and self.values is None

    def scaled(self, value: Any) -> Any:
        """The value with factor and offset, or replaced, arrays element by element."""
        if self.is_plain:
            return value
        if isinstance(value, tuple | memoryview):
            return tuple(self.scaled(item) for item in value)
        if self.values is not None:
            return self.values.get(value, value)
        if self.factor is not None:
            value = self.factor * value
        return value if self.offset is None else value + self.offset


def parse_source(value: Any, key: str, where: str) -> MappedSource:
    """Read one source.

    :param key: what a mapping calls the name, ``variable`` or ``field``
    :raises ConfigurationError: it has no allowed form
    """
    if isinstance(value, Mapping):
        unknown = set(value) - {key, "factor", "offset", "values"}
        both = "values" in value and len(value) > 2
        if unknown or both or not isinstance(value.get(key), str):
            raise ConfigurationError(
                f"{where}: found {dict(value)!r}; allowed are {key}, and either factor and offset, "
                "or values"
            )
        numbers = {}
        for name in ("factor", "offset"):
            number = value.get(name)
            if number is not None and (isinstance(number, bool) or not _is_number(number)):
                raise ConfigurationError(f"{where}.{name}: found {number!r}; allowed is a number")
            numbers[name] = None if number is None else float(number)
        return MappedSource(value[key], **numbers, values=_table(value.get("values"), where))
    if isinstance(value, str):
        return MappedSource(value)
    if isinstance(value, bool | int | float):
        return MappedSource(constant=value)
    raise ConfigurationError(
        f"{where}: found {value!r}; allowed is a {key}, a number or a mapping with {key}"
    )


def _table(value: Any, where: str) -> dict[int, int] | None:
    """The mapping ``values``; keys of a scenario are texts."""
    if value is None:
        return None
    try:
        if all(isinstance(given, int) for given in value.values()):
            return {int(key): int(given) for key, given in value.items()}
    except (AttributeError, ValueError):
        pass
    raise ConfigurationError(
        f"{where}.values: found {value!r}; allowed is found: given, both integers"
    )


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float)


def _always(value: Any) -> Callable[[Read], Any]:
    return lambda read: value


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
        kinds = kinds_of(record)
        made: Mapping[str, Any] = getattr(record, "_field_defaults", {})
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
        #: Of each field that is an unchanged output: slave, output, type.
        self._plain: list[tuple[str, str, type]] = []
        for name, kind in kinds.items():
            place = f"{where}.{name}"
            if kind.record is not None and not kind.repeated:
                if name not in made or name in columns:
                    raise ConfigurationError(f"{place}: nested records cannot be mapped")
                self._getters.append(_always(made[name]))
            elif kind.record is not None:
                self._getters.append(self._list(kind.record, columns.get(name, {}), place))
            elif name in single:
                self._getters.append(self._single(kind, single[name], place))
            else:
                zero: Any = () if kind.repeated else (kind.scalar or int)()
                self._getters.append(_always(zero))

    def read(self, read: Read) -> Any:
        """The record of this moment."""
        return self._record(*(getter(read) for getter in self._getters))

    def bound(self, read: Read, place: Place) -> Callable[[], Any]:
        """What ``read`` gives, for the slaves of a run: places of outputs are looked up once.

        :param place: where the newest value of an output is
        """
        slaves = {slave for slave, _, _ in self._plain}
        scalars = {scalar for _, _, scalar in self._plain}
        plain = len(self._plain) == len(self._getters) > 1
        if not plain or len(slaves) > 1 or len(scalars) > 1:
            return partial(self.read, read)
        found = [place(slave, output) for slave, output, _ in self._plain]
        source, pick = found[0][0], itemgetter(*(index for _, index in found))
        record, scalar = self._record, scalars.pop()
        return lambda: record(*map(scalar, pick(source.outputs)))

    def _single(self, kind: FieldKind, value: Any, where: str) -> Callable[[Read], Any]:
        source = parse_source(value, "variable", where)
        scalar = kind.scalar or float
        if not source.name:
            if kind.repeated or (isinstance(source.constant, float) and scalar is not float):
                raise ConfigurationError(f"{where}: found {source.constant!r}; it does not fit")
            return _always(scalar(source.constant))
        slave, variable = find_variable(source.name, self._slaves, where, Causality.OUTPUT)
        if kind.octets and variable.data_type is DataType.binary:
            kind, scalar = FieldKind(bytes), bytes
        if bool(variable.dimensions) != kind.repeated:
            shapes = "an array" if variable.dimensions else "a scalar"
            raise ConfigurationError(f"{where}: {source.name} is {shapes}, the field is not")
        scaled = not source.is_plain
        exact = source.values is not None and variable.data_type not in SIZED | FLOATS
        if not _converts(variable.data_type, scalar) or (
            scaled and scalar is not float and not exact
        ):
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
        self._plain.append((slave, name, scalar))
        return lambda read: scalar(read(slave, name))

    def _list(self, record: type, fields: Mapping[str, Any], where: str) -> Callable[[Read], Any]:
        kinds = kinds_of(record)
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
                getters.append(self._single(FieldKind(scalar, True), value, place))
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


def _expand(text: str, kinds: Mapping[str, FieldKind], where: str) -> dict[str, str]:
    """``slave.prefix.*`` as one source per field."""
    if not text.endswith(".*"):
        raise ConfigurationError(
            f"{where}: found {text!r}; allowed is field: slave.variable, or slave.prefix.*"
        )
    prefix = text[:-1]
    lists = [(name, kind.record) for name, kind in kinds.items() if kind.record is not None]
    found = {name: prefix + name for name, kind in kinds.items() if kind.record is None}
    for name, record in lists:
        found |= {f"{name}[].{inner}": prefix + inner for inner in record._fields}
    return found


def _paths(kinds: Mapping[str, FieldKind]) -> list[str]:
    paths = []
    for name, kind in kinds.items():
        if kind.record is None:
            paths.append(name)
        else:
            paths += [f"{name}[].{inner}" for inner in kind.record._fields]
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
        self._targets: list[_Target] = []
        self._where = where
        self._absent = absent
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
            path = None
            if record is not None and source.name:
                path = field_path(record, source.name, place)
                _check_fit(path, source, variable, slaves[slave], place)
            self._targets.append(_Target(slave, variable, source, path))

    def give(self, sample: Sample | None, inputs: dict[str, dict[str, Value]]) -> None:
        """As :meth:`write`, with the newest message of the port."""
        self.write(None if sample is None else sample.value, inputs)

    def write(self, record: Any, inputs: dict[str, dict[str, Value]]) -> None:
        """Add the values of a record to ``inputs`` (slave -> variable -> value).

        :param record: None before the first one
        :raises ConfigurationError: the record lacks a field, or a value does not fit
        """
        for slave, variable, source, path in self._targets:
            if record is None:
                if source.name == VALID:
                    inputs.setdefault(slave, {})[variable.name] = self._fitting(variable, False)
                elif self._absent is not None:
                    inputs.setdefault(slave, {})[variable.name] = self._absent
                continue
            if path is not None:
                value = source.scaled(path.read(record))
            elif source.name:
                place = f"{self._where}.{slave}.{variable.name}"
                value = source.scaled(field_path(type(record), source.name, place).read(record))
            else:
                value = source.constant
            if variable.data_type is DataType.binary and source.name:
                value = bytes(value)
            elif path is not None and path.repeated:
                value = _filled(tuple(value), variable)
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


class _Target(NamedTuple):
    """An input of a slave; ``path`` is None for a constant, or where the record is not known."""

    slave: str
    variable: Variable
    source: MappedSource
    path: FieldPath | None


def _check_fit(
    path: FieldPath, source: MappedSource, variable: Variable, slave: SlaveDescription, where: str
) -> None:
    """Check whether a value inside a record fits a variable, in kind and unit."""
    if path.octets and variable.data_type is DataType.binary:
        return
    numeric = variable.data_type not in SIZED
    if numeric != (path.scalar in (bool, int, float)) or path.repeated != bool(variable.dimensions):
        shape = " array" if variable.dimensions else ""
        raise ConfigurationError(
            f"{where}: the field {source.name!r} does not fit {variable.name}, which is "
            f"{variable.data_type.name}{shape}"
        )
    if path.unit is not None and source.is_plain:
        factor, offset = conversion(variable, slave, path.unit, f"{where}: {source.name!r}") or (
            1.0,
            0.0,
        )
        if (factor, offset) != (1.0, 0.0):
            raise ConfigurationError(
                f"{where}: {source.name!r} is in {path.unit}, {variable.name} in "
                f"{variable.attributes.unit}; give factor: {1.0 / factor:.12g}"
                + (f", offset: {-offset / factor:.12g}" if offset else "")
            )


def _filled(values: tuple[Any, ...], variable: Variable) -> tuple[Any, ...]:
    """As many values as an array of fixed size has; missing elements are zero."""
    size = 1
    for dimension in variable.dimensions:
        if dimension.constant is None:
            return values  # as large as it was configured in the slave
        size *= dimension.constant
    return (values + (0,) * size)[:size]


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
