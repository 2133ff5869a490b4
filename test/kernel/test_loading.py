# SPDX-License-Identifier: Apache-2.0
"""Python code that a user names by a text."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from ros2_cosim.kernel.errors import ConfigurationError
from ros2_cosim.kernel.loading import load_module


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
        ("no.such", None, "loading no.such failed: ModuleNotFoundError", ModuleNotFoundError),
        ("cut.py", "def", "loading cut.py failed: SyntaxError", SyntaxError),
        ("raises.py", "1 / 0", "loading raises.py failed: ZeroDivisionError", ZeroDivisionError),
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
