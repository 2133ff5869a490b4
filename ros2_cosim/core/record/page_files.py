# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The files that pages have in common: of style and charts here, of scenes in other rooms.

A page of the data port loads the modules one by one; a page that stands alone has them as one
script, for a browser loads no module from a file.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from importlib.resources import files
from typing import Final

#: Where the modules for all pages are; each comes after those that it imports.
PAGE: Final = "ros2_cosim.core.record"
STYLE: Final = "page.css"
SCRIPTS: Final = ("numbers.js", "canvas.js", "charts.js", "player.js")

_IMPORT: Final = re.compile(r"^import .*?;\n", re.MULTILINE | re.DOTALL)
_EXPORT: Final = re.compile(r"^export ", re.MULTILINE)


def page_file(name: str, room: str = PAGE) -> bytes:
    """The content of a file of the directory ``page`` of a room."""
    return files(room).joinpath("page", name).read_bytes()


def as_one_script(modules: Sequence[bytes]) -> str:
    """Modules as one script that needs no other file; each comes after those that it imports."""
    texts = [_EXPORT.sub("", _IMPORT.sub("", module.decode())) for module in modules]
    return '(() => {\n"use strict";\n' + "".join(texts) + "})();\n"
