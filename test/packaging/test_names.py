# SPDX-License-Identifier: Apache-2.0
"""One name, one thing: no two public classes of the package have the same name.

Names of a standard belong to the room that implements it: DCP's states, OpenSCENARIO's actions,
OpenDRIVE's lanes, CARLA's actors and MCAP's channels are called what their standards call them.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

PACKAGE = Path(__file__).parents[2] / "ros2_cosim"
#: Rooms, and modules, that speak a standard's language.
OF_A_STANDARD = (
    "dcp/description",
    "dcp/master",
    "dcp/slave",
    "dcp/tools",
    "dcp/wire",
    "driving/openscenario",
    "world/headless",
    "world/road",
    "core/record/mcap.py",
)


#: Rooms whose modules are executables and commands: ``main`` in each, ``run`` in some.
OF_COMMANDS = ("cli", "lab/programs", "ros/programs")


def is_of_a_standard(module: str) -> bool:
    return any(module == place or module.startswith(f"{place}/") for place in OF_A_STANDARD)


def public_names(*kinds: type[ast.stmt]) -> Iterator[tuple[str, str]]:
    """Module and name of the public definitions of some kinds in the package."""
    for path in sorted(PACKAGE.rglob("*.py")):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, kinds) and not node.name.startswith("_"):
                yield path.relative_to(PACKAGE).as_posix(), node.name


def test_no_two_classes_have_one_name() -> None:
    places: dict[str, list[str]] = defaultdict(list)
    for module, name in public_names(ast.ClassDef):
        if not is_of_a_standard(module):
            places[name].append(module)
    assert {name: found for name, found in places.items() if len(found) > 1} == {}


def test_no_two_things_of_a_room_have_one_name() -> None:
    """Also in the rooms of standards."""
    places: dict[tuple[str, str], list[str]] = defaultdict(list)
    for module, name in public_names(ast.ClassDef, ast.FunctionDef):
        room = module.rpartition("/")[0]
        if room not in OF_COMMANDS and name != "main":
            places[room, name].append(module)
    assert {name: found for name, found in places.items() if len(found) > 1} == {}


def test_the_rooms_of_standards_are_there() -> None:
    assert [place for place in OF_A_STANDARD if not (PACKAGE / place).exists()] == []
