# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Write the entry points that pyproject.toml declares as an ``entry_points.txt``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


def entry_points_text(project: dict[str, Any]) -> str:
    """Return ``entry_points.txt`` for the ``[project]`` table of a pyproject.toml."""
    groups: dict[str, dict[str, str]] = {}
    if "scripts" in project:
        groups["console_scripts"] = project["scripts"]
    groups.update(project.get("entry-points", {}))
    lines: list[str] = []
    for group, members in sorted(groups.items()):
        lines.append(f"[{group}]")
        lines.extend(f"{name} = {target}" for name, target in sorted(members.items()))
        lines.append("")
    return "\n".join(lines)


def main(arguments: list[str]) -> None:
    """Convert the pyproject.toml named first into the file named second."""
    source, target = (Path(argument) for argument in arguments)
    with source.open("rb") as stream:
        text = entry_points_text(tomllib.load(stream)["project"])
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
