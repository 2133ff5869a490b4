# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Bundles: what one side of a service or an action sent in an activation, as one message.

The services of an action and its topics have a fixed order, and each has its own order.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from ros2_cosim.core.kernel.errors import ConfigurationError

#: Of each part of a bundle: which one it is, the number of its request, and its bytes.
_PART: Final = struct.Struct("<BQI")


class Item(NamedTuple):
    """One request, answer or message: ``part`` is its service or topic, in the order of bundles.

    ``data`` are its fields in their order, as MessagePack.
    """

    part: int
    number: int
    data: bytes


def bundle(items: Iterable[Item]) -> bytes:
    """Items as bytes, those of one part beside each other."""
    ordered = sorted(items, key=lambda item: item.part)
    return b"".join(_PART.pack(i.part, i.number, len(i.data)) + i.data for i in ordered)


def items_of(data: bytes) -> Iterator[Item]:
    """The items of a bundle.

    :raises ConfigurationError: the bytes are something else
    """
    at = 0
    while at < len(data):
        if at + _PART.size > len(data):
            raise ConfigurationError("found bytes that are not those of a service or an action")
        part, number, size = _PART.unpack_from(data, at)
        at += _PART.size
        yield Item(part, number, data[at : at + size])
        at += size
