# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Whole messages as single variables: structured data in DCP's type ``binary``.

The variable has the bytes of one ROS message in CDR, as DDS carries it (four bytes that say so,
then the fields), and its ``mimeType`` says which: ``application/x-ros2-cdr;type=pkg/msg/Type``.
DCP itself defines the attribute, and no structure.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from ros2_cosim.core.kernel.errors import ConfigurationError, ProtocolError
from ros2_cosim.core.kernel.participant import Sample
from ros2_cosim.core.messages.catalogue import DEFAULT as CATALOGUE
from ros2_cosim.core.messages.cdr import CdrCodec
from ros2_cosim.core.messages.message_types import BYTES
from ros2_cosim.dcp.bridge.coupled import MappedOutput
from ros2_cosim.dcp.bridge.mapping import RecordReader, find_variable
from ros2_cosim.dcp.standard.enums import DataType
from ros2_cosim.dcp.standard.slave_description import Causality, SlaveDescription, Variable
from ros2_cosim.dcp.standard.values import Value

MEDIA_TYPE: Final = "application/x-ros2-cdr"
#: What a description says of any bytes; it is the default of its schema.
_ANY: Final = (None, "application/octet-stream")


def media_type(type_name: str) -> str:
    """What a description says of a variable that has messages of a type."""
    return f"{MEDIA_TYPE};type={type_name}"


def is_whole(fields: Any) -> bool:
    """Whether a port is mapped to one variable as a whole: ``slave.variable``."""
    return isinstance(fields, str) and not fields.endswith("*")


def whole_output(
    codec: CdrCodec, name: str, slaves: Mapping[str, SlaveDescription], where: str
) -> MappedOutput:
    """The messages of an output port, from a binary variable.

    :raises ConfigurationError: there is no such variable, or it has something else
    """
    _find(name, codec.type_name, slaves, where, Causality.OUTPUT)

    def decoded(found: Any) -> Any:
        try:
            return codec.decode(bytes(found.data))[2]
        except ProtocolError as error:
            raise ProtocolError(f"{where}: {name}: {error}") from None

    reader = RecordReader(CATALOGUE.record(BYTES), {"data": name}, slaves, where)
    return MappedOutput(reader, convert=decoded)


class WholeWriter:
    """Gives the messages of an input port to a binary variable, with their stamps.

    :raises ConfigurationError: there is no such variable, or it takes something else
    """

    def __init__(
        self, codec: CdrCodec, name: str, slaves: Mapping[str, SlaveDescription], where: str
    ) -> None:
        self._slave, variable = _find(name, codec.type_name, slaves, where, Causality.INPUT)
        self._variable = variable.name
        self._codec = codec

    def give(self, sample: Sample | None, inputs: dict[str, dict[str, Value]]) -> None:
        """Add the message to ``inputs``; without one the variable keeps its value."""
        if sample is not None:
            data = self._codec.encode(sample.stamp, sample.seq, sample.value)
            inputs.setdefault(self._slave, {})[self._variable] = data


def _find(
    name: str,
    type_name: str,
    slaves: Mapping[str, SlaveDescription],
    where: str,
    causality: Causality,
) -> tuple[str, Variable]:
    slave, variable = find_variable(name, slaves, where, causality)
    if variable.data_type is not DataType.binary:
        raise ConfigurationError(
            f"{where}: found {name!r}, which is {variable.data_type.name}; allowed are a binary "
            "variable with whole messages, field: slave.variable, or slave.prefix.*"
        )
    told = slaves[slave].attributes(variable).mime_type
    if told not in _ANY and "".join(str(told).split()) != media_type(type_name):
        raise ConfigurationError(
            f"{where}: {name}: mimeType: found '{told}'; allowed is '{media_type(type_name)}'"
        )
    return slave, variable
