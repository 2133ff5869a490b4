# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Each wing that is neither ``core`` nor ``cli`` can be taken away.

What does not need it works; what needs it says in one line what is missing.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest
from support.built_copy import ROOT, BuiltCopy

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

SCENARIO = """\
name: counting
duration: 100ms
participants:
  count:
    model: counting:Count
    period: 10ms
    outputs:
      number: {type: std_msgs/msg/Float64, topic: /number}
"""
MODEL = """\
from ros2_cosim.core.kernel.model import Model


class Count(Model):
    def activate(self, step):
        return {"number": (step.time * 1e-9,)}
"""
PLATOON = ROOT / "config" / "platoon.yaml"
NEEDS = "needs ros2_cosim.{wing}, which is not installed"

#: Wing -> commands that need it.
USES: Final = {
    "dcp": ["dcp check", f"check {PLATOON}", f"plan {PLATOON}"],
    "world": ["carla-headless", f"check {PLATOON}"],
    "driving": [f"run {PLATOON} --shape inproc", f"check {PLATOON}"],
    "vds": ["vds profile", "dashboard"],
    "ros": ["plan counting.yaml", "run counting.yaml --shape ros"],
    "lab": ["report out", "diff out out --html page.html", "sweep counting.yaml"],
}
#: Wing -> what works without it, beside what works without any.
WORKS: Final = {
    "dcp": [f"check {PLATOON} --shape inproc"],
    "vds": [f"check {PLATOON}", "plan counting.yaml", "report out"],
    "ros": ["report out"],
    "lab": [f"check {PLATOON}", "plan counting.yaml"],
}
FIRST: Final = "run counting.yaml --shape inproc --out out"
ALWAYS: Final = [
    "--help",
    "models",
    "check counting.yaml",
    "diff out out",
]

#: Tests of the wings -> the wings without which they cannot work.
TESTS: Final = {
    "test/kernel/test_graph.py": (),
    "test/run/test_inproc.py": (),
    "test/dcp/test_codec.py": ("dcp",),
    "test/models/test_road.py": ("world",),
    "test/models/test_laws.py": ("driving",),
    "test/vds/test_actuator.py": ("vds", "world"),
    "test/ros/test_lane.py": ("ros",),
    "test/study/test_schedule.py": ("lab",),
    "test/cli/test_completion.py": ("driving",),
}


@pytest.mark.parametrize("wing", USES)
def test_a_wing_that_is_away_is_named_by_what_needs_it_and_by_nothing_else(
    wing: str, tmp_path: Path
) -> None:
    copy = BuiltCopy(tmp_path, wing)
    (tmp_path / "counting.yaml").write_text(SCENARIO, encoding="utf-8")
    (tmp_path / "counting.py").write_text(MODEL, encoding="utf-8")
    work = [FIRST, *ALWAYS, *WORKS.get(wing, ())]
    said_of = dict(zip([*work, *USES[wing]], copy.cosim([*work, *USES[wing]]), strict=True))
    for command in work:
        code, said = said_of[command]
        assert code == 0, f"{command}: {said}"
    for command in USES[wing]:
        code, said = said_of[command]
        assert code == 1, f"{command}: {said}"
        # ``check`` has a line for each participant.
        assert all(NEEDS.format(wing=wing) in line for line in said.splitlines()), said
        assert said.count("\n") == 1 or command.startswith("check"), said
    code, said = copy.pytest([test for test, needs in TESTS.items() if wing not in needs])
    assert code == 0, said


def test_wings_are_those_that_are_there() -> None:
    there = {path.parent.name for path in (ROOT / "ros2_cosim").glob("*/__init__.py")}
    assert there - {"core", "cli"} == set(USES)


def test_docstrings_of_wings_say_what_a_wing_may_use_and_what_uses_it() -> None:
    wings = layers_of("ros2_cosim")
    used = {wing: set(imported_wings(ROOT / "ros2_cosim" / wing)) - {wing} for wing in wings}
    for number, wing in enumerate(wings):
        text = ast.get_docstring(
            ast.parse((ROOT / "ros2_cosim" / wing / "__init__.py").read_text())
        )
        found = re.search(r"^May use: ([\w, ]+)\. Used by: ([\w, ]+)\.$", str(text), re.MULTILINE)
        assert found, wing
        users = [other for other in reversed(wings) if wing in used[other]]
        assert found[1] == (", ".join(wings[number + 1 :]) or "none"), wing
        assert found[2] == (", ".join(users) or "none"), wing


def test_each_wing_has_tests_that_take_less_than_ten_seconds() -> None:
    """As ``bench.wing_tests`` has measured them."""
    page = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    lines = re.findall(r"^\| (`[a-z/]+`.*) \| `(test/.+)` \| (\d+) s \|$", page, re.MULTILINE)
    assert {re.findall(r"\w+", what)[0] for what, _, _ in lines} == set(layers_of("ros2_cosim"))
    assert [
        name for _, tests, _ in lines for name in tests.split() if not (ROOT / name).exists()
    ] == []
    assert all(int(taken) < 10 for _, _, taken in lines)


def layers_of(container: str) -> list[str]:
    """The layers of a package by its import contract, the highest first."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    (contract,) = (
        contract
        for contract in project["tool"]["importlinter"]["contracts"]
        if contract.get("containers") == [container]
    )
    return contract["layers"]


def imported_wings(place: Path) -> Iterator[str]:
    """The wings that modules below a directory import."""
    for path in place.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom):
                parts = (node.module or "").split(".")
                if parts[0] == "ros2_cosim" and len(parts) > 1:
                    yield parts[1]
