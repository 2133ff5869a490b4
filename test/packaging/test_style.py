# SPDX-License-Identifier: Apache-2.0
"""Style, types and import directions hold for the whole tree."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def run_tool(module: str, *arguments: str) -> None:
    """Run a checker on the checkout; fail with its output if it finds something."""
    if importlib.util.find_spec(module) is None:
        pytest.skip(f"{module} is not installed")
    done = subprocess.run(
        [sys.executable, *arguments], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        pytest.fail(f"{module}:\n{done.stdout}{done.stderr}", pytrace=False)


def test_ruff_finds_nothing():
    run_tool("ruff", "-m", "ruff", "check", "--quiet", ".")


def test_sources_are_formatted():
    run_tool("ruff", "-m", "ruff", "format", "--check", "--quiet", ".")


def test_types_are_consistent():
    run_tool("mypy", "-m", "mypy")


def test_imports_go_one_way():
    # The command line of import-linter colours its output; the function behind it is public.
    check = "import sys, importlinter.cli; sys.exit(importlinter.cli.lint_imports())"
    run_tool("importlinter", "-c", check)


def test_every_source_names_its_licence():
    places = ("ros2_cosim", "test", "launch", "buildtools", "bench")
    sources = [path for place in places for path in (ROOT / place).rglob("*.py")]
    lacking = [
        str(path.relative_to(ROOT))
        for path in [*sources, ROOT / "setup.py"]
        if "SPDX-License-Identifier: Apache-2.0" not in path.read_text(encoding="utf-8")[:200]
    ]
    assert not lacking, f"no SPDX line at the top of {lacking}"
