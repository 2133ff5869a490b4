# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""One name, one thing: no two public classes of the package have the same name."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

PACKAGE = Path(__file__).parents[2] / "ros2_cosim"
#: Names of DCP's standard that another class of the package has as well.
OF_A_STANDARD = {"State"}
#: Rooms whose modules are executables and commands: ``main`` in each, ``run`` in some.
OF_COMMANDS = ("cli", "lab/programs", "ros/programs")


def public_names(*kinds: type[ast.stmt]) -> Iterator[tuple[str, str]]:
    """Module and name of the public definitions of some kinds in the package."""
    for path in sorted(PACKAGE.rglob("*.py")):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, kinds) and not node.name.startswith("_"):
                yield path.relative_to(PACKAGE).as_posix(), node.name


def test_no_two_classes_have_one_name() -> None:
    places: dict[str, list[str]] = defaultdict(list)
    for module, name in public_names(ast.ClassDef):
        places[name].append(module)
    assert {name for name, found in places.items() if len(found) > 1} == OF_A_STANDARD


def test_no_two_things_of_a_room_have_one_name() -> None:
    places: dict[tuple[str, str], list[str]] = defaultdict(list)
    for module, name in public_names(ast.ClassDef, ast.FunctionDef):
        room = module.rpartition("/")[0]
        if room not in OF_COMMANDS and name != "main":
            places[room, name].append(module)
    assert {name: found for name, found in places.items() if len(found) > 1} == {}
