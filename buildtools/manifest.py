# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The list of files of a finished environment, by which damage is found later.

Sizes are enough: what happens to environments is that a download, a copy or a build is cut
short, or that files disappear. Reading every byte would take longer than the set-up saves.
"""

from __future__ import annotations

import os
from pathlib import Path


def list_files(directory: Path) -> dict[str, int]:
    """Return the size in bytes of every file below ``directory``, by relative path.

    Byte code is left out: it comes and goes. A symbolic link counts by what it leads to, with
    size -1 for a directory; a dangling link is left out, so it is missed when it was listed.
    """
    sizes: dict[str, int] = {}
    base = str(directory)
    pending = [base]
    while pending:
        for entry in os.scandir(pending.pop()):
            if entry.is_dir(follow_symlinks=False):
                if entry.name != "__pycache__":
                    pending.append(entry.path)
                continue
            try:
                size = -1 if entry.is_dir() else entry.stat().st_size
            except OSError:
                continue
            sizes[entry.path[len(base) + 1 :]] = size
    return sizes


def find_damage(directory: Path, listed: dict[str, int]) -> str | None:
    """Compare with an earlier listing; return the first difference in words, or None.

    Files that were not listed are not damage: users install their own things.
    """
    present = list_files(directory)
    for path, size in listed.items():
        if path not in present:
            return f"{path} is missing"
        if present[path] != size:
            return f"{path} has {present[path]} bytes instead of {size}"
    return None
