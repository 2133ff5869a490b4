# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Values that hold a whole message: its bytes beside, or instead of, a record."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple


class RawMessage(NamedTuple):
    """A message of any type as its CDR bytes; every output port takes one of its type."""

    type_name: str
    wire: bytes

    def __repr__(self) -> str:
        """Name type and size: the bytes say nothing to a reader."""
        return f"RawMessage({self.type_name}, {len(self.wire)} bytes)"


class Carried:
    """What a record has beside its fields when it was read from a message that is kept whole.

    Readers see the record itself; a port of the same type sends the message on as it is. A field
    of the record with one of these names hides what is here.
    """

    _message_type: str
    #: Empty in a changed copy (``_replace``), which is a new message.
    _wire: bytes = b""

    @property
    def type_name(self) -> str:
        """The message type."""
        return self._message_type

    @property
    def wire(self) -> bytes:
        """The message, in canonical CDR bytes; empty in a changed copy."""
        return self._wire


def carrying(record: type, type_name: str) -> Callable[[Iterable[Any], bytes], Any]:
    """Make what gives instances of a record class that are :class:`Carried`.

    :returns: (values of the fields, message) -> record
    """
    body = {"__doc__": record.__doc__, "__module__": record.__module__, "_message_type": type_name}
    kind: Any = type(record.__name__, (record, Carried), body)

    def make(values: Iterable[Any], wire: bytes) -> Any:
        value = tuple.__new__(kind, values)
        value._wire = wire
        return value

    return make


def kept_whole(value: Any) -> tuple[str, bytes] | None:
    """Type and bytes of a value that holds its whole message; None of any other."""
    if isinstance(value, Carried) and value._wire:
        return value._message_type, value._wire
    return None
