# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Which files are control laws by themselves, whatever they are called."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

#: How a file's name ends -> the law that runs it, and whose parameter ``file`` it is.
LAW_FILES: Final[Mapping[str, str]] = {".fmu": "fmu", ".c": "fmu"}


def law_of_file(name: str) -> str | None:
    """The law that runs a file; None for any other name."""
    return next((law for suffix, law in LAW_FILES.items() if name.endswith(suffix)), None)
