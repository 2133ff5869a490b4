# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Log entries of slaves, as RSP_log_ack and NTF_log carry them."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass

from ros2_cosim.dcp.standard.errors import PduError
from ros2_cosim.dcp.standard.pdu import decode_log_arguments
from ros2_cosim.dcp.standard.slave_description import LogTemplate
from ros2_cosim.dcp.standard.values import Value

_HEAD = struct.Struct("<qB")
"""Time and template of an entry."""


@dataclass(frozen=True)
class LogEntry:
    """A log entry of a slave with its complete text."""

    slave: str
    time: int
    category: int
    level: int
    text: str
    template: int = 0
    values: tuple[Value, ...] = ()


def read_log(
    slave: str, templates: Mapping[int, LogTemplate], data: bytes, *, notified: bool
) -> list[LogEntry]:
    """The entries in ``data``, one after the other; a cut-off or unknown one ends the reading.

    Two habits of some slaves are understood: time and template sent twice in a notification, and
    string lengths of two bytes.

    :param templates: log templates of the slave by id
    :param notified: the data are those of NTF_log, with one entry
    """
    if notified and data[_HEAD.size : 2 * _HEAD.size] == data[: _HEAD.size]:
        data = data[_HEAD.size :]
    entries, end = _read(slave, templates, data, short=False)
    if end < len(data):
        others, other_end = _read(slave, templates, data, short=True)
        if other_end > end:
            return others
    return entries


def _read(
    slave: str, templates: Mapping[int, LogTemplate], data: bytes, *, short: bool
) -> tuple[list[LogEntry], int]:
    """The readable entries, and the offset at which reading ended."""
    entries: list[LogEntry] = []
    at = 0
    while len(data) - at >= _HEAD.size:
        time, template_id = _HEAD.unpack_from(data, at)
        template = templates.get(template_id)
        if template is None:
            break
        try:
            values, at = decode_log_arguments(
                template.arguments, data, at + _HEAD.size, short=short
            )
        except PduError:
            break
        text = template.text(values)
        found = (slave, time, template.category, template.level, text)
        entries.append(LogEntry(*found, template_id, tuple(values)))
    return entries, at
