# SPDX-License-Identifier: Apache-2.0
"""What a bag says of a message type: its whole definition text and its type hash."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from rosbags.typesys import Stores, get_types_from_msg, get_typestore

from ros2_cosim.interfaces.catalogue import DEFAULT, Catalogue


class TypeDescription(NamedTuple):
    """``text`` holds the definition and those of all parts, ``hash`` is the RIHS01 hash."""

    text: str
    hash: str


def describe_types(
    type_names: Iterable[str], catalogue: Catalogue = DEFAULT
) -> dict[str, TypeDescription]:
    """Describe message types, those of the catalogue and all standard ones of ROS 2 Jazzy.

    :raises ConfigurationError: a type is known to neither
    """
    store = get_typestore(Stores.ROS2_JAZZY)
    result: dict[str, TypeDescription] = {}
    for name in sorted(set(type_names)):
        if name not in store.types:
            for part, text in catalogue.definitions(name).items():
                if part not in store.types:
                    store.register(get_types_from_msg(text, part))
        text, _ = store.generate_msgdef(name, ros_version=2)
        result[name] = TypeDescription(text, store.hash_rihs01(name))
    return result
