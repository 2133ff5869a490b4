# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The pictures of the documentation are those that ``make pictures`` makes."""

from __future__ import annotations

import importlib.util
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]
IMAGES = ROOT / "docs" / "images"
_SHOWN = re.compile(r"!\[[^]]+\]\((?!https?:)([^)]+)\)")


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The script, which looks for its modules itself."""
    monkeypatch.setattr(sys, "path", [*sys.path])
    spec = importlib.util.spec_from_file_location("make_pictures", IMAGES / "make_pictures.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def shown() -> Iterator[Path]:
    """The pictures that pages refer to."""
    for page in [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]:
        for target in _SHOWN.findall(page.read_text(encoding="utf-8")):
            yield (page.parent / target).resolve()


def test_the_script_makes_each_picture_and_pages_show_no_other(made: ModuleType) -> None:
    there = {path.name for path in IMAGES.iterdir() if path.suffix in (".png", ".svg")}
    assert there == made.PICTURES.keys()
    assert set(shown()) == {IMAGES / name for name in made.PICTURES}


def test_the_drawing_of_a_time_advance_is_the_one_of_the_script(
    made: ModuleType, tmp_path: Path
) -> None:
    drawn = tmp_path / "drawn.svg"
    made.PICTURES["time-advance.svg"](None, drawn)
    assert drawn.read_bytes() == (IMAGES / "time-advance.svg").read_bytes()
