# SPDX-License-Identifier: Apache-2.0
"""Definition texts of installed message packages (``share/PACKAGE/msg/TYPE.msg``)."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from ros2_cosim.interfaces.message_definition import parse_definition

#: What the wire carries for a message without fields.
_EMPTY = "uint8 structure_needs_at_least_one_member\n"


def installed_definition(type_name: str) -> str | None:
    """The text of an installed message type, None if there is none.

    Looked for in the prefixes of ``AMENT_PREFIX_PATH``, then in this environment's own.

    :param type_name: full name such as ``sensor_msgs/msg/LaserScan``
    :raises ConfigurationError: the text is not understood
    """
    package, _, name = type_name.partition("/msg/")
    prefixes = [p for p in os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep) if p]
    for prefix in [*prefixes, sys.prefix]:
        path = Path(prefix) / "share" / package / "msg" / f"{name}.msg"
        try:
            text = path.read_text(encoding="utf-8")
        except OSError:
            continue
        return text if parse_definition(type_name, text) else _EMPTY
    return None
