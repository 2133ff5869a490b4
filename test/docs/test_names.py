# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Files and modules that texts of the project name are there, also after a move."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "ros2_cosim"
ROOMS = sorted(path.name for path in PACKAGE.iterdir() if (path / "__init__.py").is_file())
TEXTS = sorted(
    path
    for place, pattern in (("ros2_cosim", "*.py"), ("docs", "*.md"), ("buildtools", "*.py"))
    for path in (ROOT / place).rglob(pattern)
)
_FILE = re.compile(rf"(?<![\w/.-])(?:{'|'.join(ROOMS)})(?:/\w+)+\.py\b")
_MODULE = re.compile(rf"\bros2_cosim\.(?:{'|'.join(ROOMS)})(?:\.[A-Za-z]\w*)*")


def is_there(name: str) -> bool:
    """Whether a dotted name is a module, or stands in one."""
    path, *rest = ROOT, *name.split(".")
    while rest and (path / rest[0]).is_dir():
        path = path / rest.pop(0)
    if rest and (path / f"{rest[0]}.py").is_file():
        path = path / f"{rest.pop(0)}.py"
    else:
        path = path / "__init__.py"
    return not rest or (path.is_file() and rest[0] in re.findall(r"\w+", path.read_text()))


def test_files_and_modules_that_texts_name_are_there() -> None:
    wrong = []
    for path in TEXTS:
        text = path.read_text(encoding="utf-8")
        wrong += [f"{path}: {n}" for n in _FILE.findall(text) if not (PACKAGE / n).is_file()]
        wrong += [f"{path}: {n}" for n in _MODULE.findall(text) if not is_there(n)]
    assert wrong == []


def test_what_is_looked_for_is_found() -> None:
    assert _FILE.findall("see ``core/kernel/requirement.py`` and ros/node/model.py") == [
        "core/kernel/requirement.py",
        "ros/node/model.py",
    ]
    assert is_there("ros2_cosim.core.kernel.model.Model") and is_there("ros2_cosim.dcp.slave")
    assert not is_there("ros2_cosim.ros.node.seal")
