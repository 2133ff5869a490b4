# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Launch files compile and offer what ``ros2 launch`` looks for."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

LAUNCH = Path(__file__).resolve().parents[2] / "launch"


@pytest.mark.parametrize("path", sorted(LAUNCH.glob("*.py")), ids=lambda path: path.name)
def test_launch_file_compiles(path):
    source = path.read_text(encoding="utf-8")
    compile(source, str(path), "exec")
    functions = [node.name for node in ast.parse(source).body if isinstance(node, ast.FunctionDef)]
    assert "generate_launch_description" in functions, f"{path.name}: ros2 launch finds no entry"
    assert path.name.endswith(".launch.py"), f"{path.name}: ros2 launch does not complete the name"
