# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Compiled modules: taken only if they are of exactly these sources, and with the same bits."""

from __future__ import annotations

import ast
import gc
import importlib.machinery
import importlib.util
import json
import math
import os
import struct
import subprocess
import sys
import time
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ros2_cosim import compiled
from ros2_cosim.core.kernel import exactmath
from ros2_cosim.core.kernel.named_tuples import NEW
from ros2_cosim.core.kernel.sample import Sample

ROOT = Path(__file__).resolve().parents[2]


def load_file(name: str, path: Path) -> ModuleType:
    """A module from its source, beside the one that may be loaded already."""
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package of two source files with a library of them."""
    package, place = tmp_path / "package", tmp_path / "compiled"
    (package / "room").mkdir(parents=True)
    place.mkdir()
    (package / "a.py").write_text("x = 1\n")
    (package / "room" / "b.py").write_text("y = 2\n")
    (place / "library.so").write_bytes(b"")
    (place / compiled.MANIFEST).write_text(json.dumps(manifest(package)))
    monkeypatch.setattr(compiled, "_PACKAGE", package)
    monkeypatch.setattr(compiled, "directory", lambda: place)
    monkeypatch.delenv(compiled.PURE_VARIABLE, raising=False)
    return place


def manifest(package: Path) -> dict[str, Any]:
    """What the build writes."""
    return {
        "library": "library.so",
        "suffix": importlib.machinery.EXTENSION_SUFFIXES[0],
        "modules": ["ros2_cosim.a", "ros2_cosim.room.b"],
        "sources": {n: compiled.digest_of(package / n) for n in ("a.py", "room/b.py")},
        "stamps": {n: compiled.stamp_of(package / n) for n in ("a.py", "room/b.py")},
    }


def reason() -> str:
    """Why the library is left aside."""
    finder, reason = compiled._load()
    assert (finder is None) == bool(reason)
    return reason


def test_a_library_of_these_sources_is_taken(place: Path) -> None:
    assert reason() == ""


def test_a_source_that_nobody_touched_is_not_read(place: Path) -> None:
    source = place.parent / "package" / "room" / "b.py"
    stamp = compiled.stamp_of(source)
    known = json.loads((place / compiled.MANIFEST).read_text())
    known["sources"]["room/b.py"] = "the digest of something else"
    (place / compiled.MANIFEST).write_text(json.dumps(known))
    assert reason() == ""
    known["stamps"]["room/b.py"] = [stamp[0], stamp[1], stamp[2] - 1]
    (place / compiled.MANIFEST).write_text(json.dumps(known))
    assert reason().startswith("room/b.py changed")


def test_an_edited_source_is_never_shadowed(place: Path) -> None:
    source = place.parent / "package" / "room" / "b.py"
    before = source.stat()
    time.sleep(0.02)  # the system's clock for files goes on in steps of some milliseconds
    source.write_text("y = 3\n")
    os.utime(source, ns=(before.st_atime_ns, before.st_mtime_ns))  # neither time nor size tell
    assert reason() == "room/b.py changed since; `make setup` compiles it again"
    source.write_text("y = 2\n")
    assert reason() == ""
    source.unlink()
    assert reason().startswith("room/b.py changed")


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"library": 1'])
def test_a_damaged_manifest_leaves_python(place: Path, text: str) -> None:
    (place / compiled.MANIFEST).write_text(text)
    assert "manifest.json cannot be used" in reason()


def test_what_does_not_fit_leaves_python(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (place / "library.so").unlink()
    assert "library.so is missing" in reason()
    (place / compiled.MANIFEST).write_text(
        json.dumps({**manifest(place.parent / "package"), "suffix": ".cpython-27.so"})
    )
    assert reason() == "compiled for .cpython-27.so"
    (place / compiled.MANIFEST).unlink()
    assert reason().startswith("not compiled")
    monkeypatch.setenv(compiled.PURE_VARIABLE, "1")
    assert reason() == "COSIM_PURE is set"


def test_without_a_compiler_there_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    build = load_file("compile_modules", ROOT / "buildtools" / "compile_modules.py")
    (tmp_path / compiled.MANIFEST).write_text("{}")
    monkeypatch.setenv("CC", "no-such-compiler")
    with pytest.raises(build.CompileError, match="^no compiler no-such-compiler$"):
        build.compile_all(tmp_path / "build", tmp_path)
    assert not (tmp_path / compiled.MANIFEST).exists()


def test_every_hot_module_is_there_and_has_no_schema_class() -> None:
    build = load_file("compile_modules", ROOT / "buildtools" / "compile_modules.py")
    for name in build.hot_files():
        text = (ROOT / "ros2_cosim" / name).read_text(encoding="utf-8")
        assert "pydantic" not in text, (
            f"{name}: pydantic reads the class, which mypyc makes its own"
        )


def test_no_hot_module_has_a_final_tuple_of_floats() -> None:
    """mypyc (2.4) raises NameError where such a name is used, as if it had no value."""
    build = load_file("compile_modules", ROOT / "buildtools" / "compile_modules.py")
    for name in build.hot_files():
        for node in ast.walk(ast.parse((ROOT / "ros2_cosim" / name).read_text(encoding="utf-8"))):
            if isinstance(node, ast.AnnAssign) and "Final" in ast.unparse(node.annotation):
                first = node.value.elts[:1] if isinstance(node.value, ast.Tuple) else []
                kinds = {type(one.value) for one in first if isinstance(one, ast.Constant)}
                assert float not in kinds, f"{name}:{node.lineno}: leave Final out"


def test_the_version_says_whether_modules_are_compiled() -> None:
    for pure in ("", "1"):
        done = subprocess.run(
            [sys.executable, "-m", "ros2_cosim.cli.main", "--version"],
            env={**os.environ, "COSIM_PURE": pure},
            capture_output=True,
            text=True,
            check=True,
        )
        assert "compiled: " in done.stdout
        if pure:
            assert done.stdout.endswith("compiled: no (COSIM_PURE is set)\n")


SOURCE = Path(compiled.__file__).parent / "core" / "kernel" / "exactmath.py"
PURE = load_file("pure_exactmath", SOURCE)
_ANY = st.floats()
_NEAR = st.floats(-10.0, 10.0)


def bits(function: Any, *arguments: float) -> bytes | str:
    """The bits of what a function gives, or the kind of its exception."""
    try:
        found = function(*arguments)
    except (ValueError, OverflowError, ZeroDivisionError) as error:
        return type(error).__name__
    values = found if isinstance(found, tuple) else (found,)
    return b"".join(b"nan" if math.isnan(v) else struct.pack("<d", v) for v in values)


@given(x=st.one_of(_ANY, _NEAR), y=st.one_of(_ANY, _NEAR), z=_ANY)
def test_functions_give_the_bits_of_python(x: float, y: float, z: float) -> None:
    for name in ("sin", "cos", "sincos", "tan", "atan", "asin", "acos", "exp", "log", "log1p",
                 "radians", "degrees", "wrap_angle", "float32"):  # fmt: skip
        assert bits(getattr(exactmath, name), x) == bits(getattr(PURE, name), x), name
    assert bits(exactmath.atan2, y, x) == bits(PURE.atan2, y, x)
    assert bits(exactmath.hypot, x, y, z) == bits(PURE.hypot, x, y, z)


class _Open(Sample):
    """Has attributes of its own."""


@pytest.mark.parametrize("kind", [Sample, _Open])
def test_named_tuples_are_those_that_python_makes(kind: type[Sample]) -> None:
    held = (1, 2, "three")
    references = sys.getrefcount(kind)
    for values in (held, tuple(list(held)), tuple(range(3))):
        wanted, made = tuple.__new__(kind, values), NEW(kind, values)
        assert type(made) is type(wanted) is kind
        assert made == wanted and repr(made) == repr(wanted)
        assert gc.is_tracked(made)
    # What others hold stays what it is; what nobody else holds may be taken.
    assert type(held) is tuple
    fresh = NEW(kind, tuple(list(held)))
    assert type(fresh) is kind and fresh.stamp == 1 and fresh.value == "three"
    del wanted, made, fresh
    assert sys.getrefcount(kind) == references
    nothing: Any = NEW(kind, ())
    assert type(nothing) is kind and len(nothing) == 0
    for wrong in (int, "Sample", None):
        with pytest.raises(TypeError):
            NEW(wrong, held)  # type: ignore[type-var]


def test_classes_of_hot_modules_have_no_interpreted_subclasses() -> None:
    build = load_file("compile_modules", ROOT / "buildtools" / "compile_modules.py")
    package = ROOT / "ros2_cosim"
    hot = {"ros2_cosim." + name[:-3].replace("/", "."): name for name in build.hot_files()}
    native = {
        (module, node.name)
        for module, name in hot.items()
        for node in ast.parse((package / name).read_text(encoding="utf-8")).body
        if isinstance(node, ast.ClassDef) and not {"NamedTuple", "Protocol"} & _bases(node)
    }
    for path in package.rglob("*.py"):
        if path.relative_to(package).as_posix() in build.hot_files():
            continue
        tree = ast.parse(path.read_text(encoding="utf-8"))
        imported = {
            alias.asname or alias.name: (node.module, alias.name)
            for node in ast.walk(tree)
            if isinstance(node, ast.ImportFrom)
            for alias in node.names
        }
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                bases = {imported[base] for base in _bases(node) if base in imported}
                assert not bases & native, f"{path}: {node.name}: compiled classes take none"


def _bases(node: ast.ClassDef) -> set[str]:
    return {base.id for base in node.bases if isinstance(base, ast.Name)}
