# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""``docs/public.md`` lists what is public: it is there, explained, typed; pages use it alone."""

from __future__ import annotations

import ast
import importlib
import re
import textwrap
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
#: For contributors, not for users.
INTERNAL = {"docs/architecture.md", "CONTRIBUTING.md", "CHANGELOG.md"}
PAGES = [
    path
    for path in (*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md")))
    if path.relative_to(ROOT).as_posix() not in INTERNAL
]
_ROW = re.compile(r"^\| `(ros2_cosim\.[\w.]+)` \| (.+?) \|", re.MULTILINE)
_BLOCK = re.compile(r"^ *```python.*?\n(.*?)^ *```$", re.DOTALL | re.MULTILINE)
_INDENTED = re.compile(
    r"(?:^(?: {4}.*)?\n)*^ {4}from ros2_cosim.*\n(?:^(?: {4}.*)?\n)*", re.MULTILINE
)
_INLINE = re.compile(r"`(ros2_cosim(?:\.\w+)+)")
#: What a dotted name can be besides: a group of entry points, a generated message, the version.
_OTHER = re.compile(r"ros2_cosim\.([a-z]+|(msg|srv)\.\w+|__version__)")

Definition = ast.ClassDef | ast.FunctionDef


@cache
def definitions(module: str) -> dict[str, ast.stmt]:
    """Top names of a module -> where they come from, by its source: compiled code tells less."""
    path = ROOT.joinpath(*module.split("."))
    path = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    found: dict[str, ast.stmt] = {}
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, Definition):
            found[node.name] = node
        elif isinstance(node, ast.ImportFrom):
            found |= {alias.asname or alias.name: node for alias in node.names}
    return found


def definition(module: str, name: str) -> tuple[str, Definition] | None:
    """The class or function of a name and its module, also behind imports; None for a value."""
    node = definitions(module).get(name)
    if isinstance(node, ast.ImportFrom) and str(node.module).startswith("ros2_cosim."):
        return definition(str(node.module), name)
    return (module, node) if isinstance(node, Definition) else None


def is_public(name: str) -> bool:
    return not name.startswith("_")


def listed() -> dict[str, list[str]]:
    """Module -> names, as the page has them."""
    text = (ROOT / "docs" / "public.md").read_text(encoding="utf-8")
    return {
        module: [
            name
            for names in re.findall(r"`([^`]+)`", cell)
            for name in (
                [n for n, node in definitions(module).items() if isinstance(node, Definition)]
                if names == "*"
                else [names]
            )
            if is_public(name)
        ]
        for module, cell in _ROW.findall(text)
    }


LISTED = listed()
PUBLIC = [(module, name) for module, names in LISTED.items() for name in names]


def test_the_list_is_read() -> None:
    assert ("ros2_cosim.core.kernel.model", "Model") in PUBLIC
    assert ("ros2_cosim.core.kernel.exactmath", "atan2") in PUBLIC
    assert ("ros2_cosim.core.messages.records", "ObjectList") in PUBLIC


@pytest.mark.parametrize(("module", "name"), PUBLIC)
def test_what_is_public_is_there_explained_and_typed(module: str, name: str) -> None:
    assert hasattr(importlib.import_module(module), name)
    found = definition(module, name)
    if found is not None:
        assert ast.get_docstring(found[1]), f"{module}.{name} has no docstring"
        assert list(untyped(*found)) == []


def every_argument(node: ast.FunctionDef) -> list[ast.arg]:
    found = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
    return found + [a for a in (node.args.vararg, node.args.kwarg) if a is not None]


def untyped(module: str, node: Definition) -> Iterator[str]:
    """Arguments, results and attributes without a type, those of base classes included."""
    if isinstance(node, ast.FunctionDef):
        for argument in every_argument(node):
            if argument.annotation is None and argument.arg not in ("self", "cls"):
                yield f"{node.name}: {argument.arg}"
        if node.returns is None:
            yield f"{node.name}: its result"
        return
    kinds = [*bases(module, node), node]
    declared = {name for kind in kinds for name in annotated(kind)}
    for kind in kinds:
        is_enum = any(isinstance(base, ast.Name) and "Enum" in base.id for base in kind.bases)
        for part in [] if is_enum else ast.walk(kind):
            if isinstance(part, ast.Assign):
                for target in part.targets:
                    names = set(attributes(target, part in kind.body)) - declared
                    yield from (f"{kind.name}.{name}" for name in names)
        for part in kind.body:
            if isinstance(part, ast.FunctionDef):
                if is_public(part.name) or part.name == "__init__":
                    yield from (f"{kind.name}.{text}" for text in untyped(module, part))


def bases(module: str, node: ast.ClassDef) -> Iterator[ast.ClassDef]:
    """The base classes of this project."""
    for base in node.bases:
        found = definition(module, base.id) if isinstance(base, ast.Name) else None
        if found is not None and isinstance(found[1], ast.ClassDef):
            yield from bases(*found)
            yield found[1]


def annotated(kind: ast.ClassDef) -> Iterator[str]:
    """Attributes of a class with a type: by an annotation, as a property, or of a parameter."""
    for part in ast.walk(kind):
        if isinstance(part, ast.AnnAssign):
            yield from attributes(part.target, part in kind.body)
        elif isinstance(part, ast.FunctionDef):
            parameters = {argument.arg for argument in every_argument(part)}
            for line in part.body:
                if isinstance(line, ast.Assign) and isinstance(line.value, ast.Name):
                    if line.value.id in parameters:
                        yield from attributes(line.targets[0], False)


def attributes(target: ast.expr, in_class: bool) -> Iterator[str]:
    """Public names that a target of an assignment gives to a class or to ``self``."""
    match target:
        case ast.Name(id=name) if in_class and is_public(name):
            yield name
        case ast.Attribute(value=ast.Name(id="self"), attr=name) if is_public(name):
            yield name


def imports_of(page: Path) -> Iterator[str]:
    """What code of a page imports of this project."""
    text = page.read_text(encoding="utf-8")
    for code in [*_BLOCK.findall(text), *_INDENTED.findall(text)]:
        for node in ast.walk(ast.parse(textwrap.dedent(code))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("ros2_cosim"):
                yield from (f"{node.module}.{alias.name}" for alias in node.names)
            elif isinstance(node, ast.Import):
                yield from (n.name for n in node.names if n.name.startswith("ros2_cosim"))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_pages_use_what_is_public_alone(page: Path) -> None:
    public = {f"{module}.{name}" for module, name in PUBLIC} | LISTED.keys()
    used = {*imports_of(page), *_INLINE.findall(page.read_text(encoding="utf-8"))}
    assert {name for name in used - public if not _OTHER.fullmatch(name)} == set()


def test_imports_of_pages_are_found() -> None:
    found = set(imports_of(ROOT / "docs" / "tutorials" / "own-simulator.md"))
    assert "ros2_cosim.core.kernel.exactmath.float32" in found
    found = set(imports_of(ROOT / "docs" / "messages.md"))
    assert "ros2_cosim.core.messages.catalogue" in found
