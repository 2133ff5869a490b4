# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Python code that a user names by a text."""

from __future__ import annotations

import importlib.machinery
import json
import sys
from pathlib import Path

import pytest

from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.kernel.loading import load_module, search_also


def test_a_module_and_a_file(tmp_path: Path) -> None:
    assert load_module("json") is json
    (tmp_path / "own.py").write_text(
        "from __future__ import annotations\n"
        "from dataclasses import dataclass\n\n\n"
        "@dataclass\nclass Pair:\n    a: int\n"
    )
    found = load_module("own.py", tmp_path)
    assert found.Pair(3).a == 3
    (tmp_path / "own.py").write_text("b = 1\n# longer than before, so that it is read again\n")
    assert load_module(str(tmp_path / "own.py")).b == 1


@pytest.mark.parametrize(
    ("place", "content", "text", "cause"),
    [
        ("none.py", None, "there is no file .*none.py", type(None)),
        ("no.such", None, "loading no.such failed: .* No module named 'no'$", ModuleNotFoundError),
        ("cut.py", "def", "loading cut.py failed: SyntaxError", SyntaxError),
        ("raises.py", "1 / 0", r": division by zero \(.*/raises.py, line 1\)$", ZeroDivisionError),
        # The line that calls an installed module, not the one in it that fails.
        ("calls.py", "import json\njson.loads('x')", r"\(.*/calls.py, line 2\)$", ValueError),
    ],
)
def test_what_cannot_be_loaded(
    tmp_path: Path, place: str, content: str | None, text: str, cause: type
) -> None:
    if content is not None:
        (tmp_path / place).write_text(content)
    before = set(sys.modules)
    with pytest.raises(ConfigurationError, match=text) as caught:
        load_module(place, tmp_path)
    assert isinstance(caught.value.__cause__, cause)
    assert {name for name in set(sys.modules) - before if "ros2_cosim" in name} == set()


def test_a_directory_of_a_user_hides_no_module_of_the_standard_library(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "path", list(sys.path))
    for name in ("colorsys", "zoneinfo"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('taken by accident')\n")
        monkeypatch.delitem(sys.modules, name, raising=False)
    (tmp_path / "neighbour_of_mine.py").write_text("VALUE = 7\n")
    (tmp_path / "typer.py").write_text("VALUE = 8\n")  # as an installed package is called
    (tmp_path / "model_of_mine.py").write_text(
        "import colorsys, zoneinfo\nfrom neighbour_of_mine import VALUE\n"
    )
    before = len(sys.path)
    search_also(tmp_path)
    search_also(tmp_path)
    assert len(sys.path) == before + 1
    try:
        assert load_module("model_of_mine").VALUE == 7
        found = importlib.machinery.PathFinder.find_spec("typer")
        assert found is not None and found.origin == str(tmp_path / "typer.py")
    finally:
        for name in ("model_of_mine", "neighbour_of_mine"):
            sys.modules.pop(name, None)
