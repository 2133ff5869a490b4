# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Style, types and import directions hold for the whole tree."""

from __future__ import annotations

import ast
import importlib.util
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from ros2_cosim.ament_license import APACHE_2_SPDX

ROOT = Path(__file__).resolve().parents[2]

#: The rooms whose numbers are in the trace of a run.
TRACED_ROOMS = (
    "core/faults", "core/kernel", "dcp/bridge", "driving", "world/carla", "world/drivers",
    "world/headless", "world/map", "world/sumo", "world/vehicle",
)  # fmt: skip
#: What ``math`` has beside functions of the C library: all of it is exact.
EXACT = frozenset(
    "ceil copysign fabs floor fmod frexp fsum gcd inf isfinite isinf isnan isqrt ldexp nan "
    "nextafter pi sqrt tau trunc ulp".split()
)
#: Functions of numpy whose last bit is that of a library or of a kind of CPU.
INEXACT_OF_NUMPY = frozenset(
    "arccos arcsin arctan arctan2 cbrt cos cosh exp exp2 expm1 float_power hypot log log10 log1p "
    "log2 power sin sinh tan tanh".split()
)
#: The notice at the top of each file, which ``ament_copyright`` knows from an entry point.
SPDX = "Apache-2.0"
HOLDER = "Copyright 2026 ros2_cosim contributors"
KINDS_WITH_NOTICE = (".py", ".c", ".h", ".cpp", ".cmake")
NO_RESULT = {
    "driving/controllers/theory.py": "theory for a study: no participant uses it",
    "world/headless/sensing/rays.py": "chooses triangles with a margin; rays are then exact",
}


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


def test_every_source_names_its_holder_and_its_licence():
    places = ("ros2_cosim", "test", "launch", "buildtools", "bench", "config")
    sources = [
        path
        for place in places
        for path in (ROOT / place).rglob("*")
        if path.suffix in KINDS_WITH_NOTICE and not path.is_symlink()
    ]
    lacking = []
    for path in [*sources, ROOT / "setup.py"]:
        mark = "//" if path.suffix in (".c", ".h", ".cpp") else "#"
        lines = [line for line in path.read_text(encoding="utf-8").splitlines() if line]
        header = tuple(f"{mark} {part}" for part in (HOLDER, f"SPDX-License-Identifier: {SPDX}"))
        if tuple(lines[lines[0].startswith("#!") :][:2]) != header:
            lacking.append(str(path.relative_to(ROOT)))
    assert not lacking, f"no notice at the top of {lacking}"
    assert APACHE_2_SPDX.file_headers == (f"{{copyright}}\nSPDX-License-Identifier: {SPDX}",)
    texts = (APACHE_2_SPDX.license_files, APACHE_2_SPDX.contributing_files)
    for name, templates in zip(("LICENSE", "CONTRIBUTING.md"), texts, strict=True):
        text = " ".join((ROOT / name).read_text(encoding="utf-8").split())
        assert " ".join(templates[0].split()) in text


def _inexact(tree: ast.AST) -> Iterator[int]:
    """The lines where the last bit of a float depends on a library or on a version of Python."""
    for node in ast.walk(tree):
        match node:
            case ast.ImportFrom(module="math", names=names):
                if {name.name for name in names} - EXACT:
                    yield node.lineno
            case ast.Attribute(value=ast.Name(id="math"), attr=name):
                if name not in EXACT:
                    yield node.lineno
            case ast.Attribute(value=ast.Name(id="np"), attr=name):
                if name in INEXACT_OF_NUMPY:
                    yield node.lineno
            case ast.BinOp(op=ast.Pow(), left=base, right=exponent):
                if not (_is_constant(base) and not _has_fraction(exponent)):
                    yield node.lineno
            case ast.Call(func=ast.Name(id="sum"), args=[summed]):
                if not _is_whole(summed):
                    yield node.lineno


def _is_constant(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) or (
        isinstance(node, ast.UnaryOp) and isinstance(node.operand, ast.Constant)
    )


def _has_fraction(node: ast.AST) -> bool:
    return any(
        isinstance(part, ast.Div)
        or (isinstance(part, ast.Constant) and isinstance(part.value, float))
        for part in ast.walk(node)
    )


def _is_whole(node: ast.AST) -> bool:
    match node:
        case ast.GeneratorExp(elt=each):
            return _is_whole(each)
        case ast.Constant(value=value):
            return isinstance(value, int)
        case ast.BinOp(left=left, right=right):
            return _is_whole(left) and _is_whole(right)
        case ast.Call(func=ast.Name(id="len")):
            return True
    return False


def test_results_depend_on_no_library_of_mathematics():
    found = {}
    for room in TRACED_ROOMS:
        for path in sorted((ROOT / "ros2_cosim" / room).rglob("*.py")):
            name = path.relative_to(ROOT / "ros2_cosim").as_posix()
            lines = list(_inexact(ast.parse(path.read_text("utf-8"))))
            if lines:
                found[name] = lines
    assert found.keys() >= NO_RESULT.keys()
    wrong = {name: lines for name, lines in found.items() if name not in NO_RESULT}
    assert not wrong, f"not the same bits everywhere, use kernel.exactmath: {wrong}"
