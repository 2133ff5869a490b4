# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Whether the message types of a bag are those that are known here."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.messages.catalogue import Catalogue
from ros2_cosim.core.record.bag import describe_types
from ros2_cosim.core.record.bag_reader import TopicType


def check_definitions(bag: Path, types: Iterable[TopicType], catalogue: Catalogue) -> None:
    """Check that some types of messages of a bag are those that are known here by their names.

    :raises ConfigurationError: one is not
    """
    known = set(catalogue)
    types = [found for found in set(types) if found.definition and found.type_name in known]
    own = describe_types((found.type_name for found in types), catalogue)
    for found in types:
        here = own[found.type_name]
        if found.definition == here.text:
            continue
        from ros2_cosim.core.record.message_fields import MessageFields  # with numpy

        if MessageFields(found).type_hash != here.hash:
            raise ConfigurationError(
                f"{bag}: {found.type_name} is not defined as here: the bag is of another version, "
                "too old for this one (cosim diff reads it)"
            )
