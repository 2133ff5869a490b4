# SPDX-License-Identifier: Apache-2.0
"""The measured durations name what exists, and say which tests are slow."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from typing import Literal

import pytest

HERE = Path(__file__).resolve().parents[1]
spec = importlib.util.spec_from_file_location("conftest_of_all", HERE / "conftest.py")
assert spec is not None and spec.loader is not None
conftest = importlib.util.module_from_spec(spec)
spec.loader.exec_module(conftest)
SLOW = json.loads((HERE / "durations.json").read_text(encoding="utf-8"))


def test_what_is_slow_exists() -> None:
    assert len(SLOW) > 100
    for place in SLOW:
        file, _, function = place.partition("::")
        text = (HERE / file).read_text(encoding="utf-8")
        assert not function or f"def {function.rpartition('::')[2]}(" in text, place


def report(place: str, when: Literal["setup", "call"], duration: float) -> pytest.TestReport:
    location = (place, None, "")
    return pytest.TestReport(
        place, location, {}, "passed", None, when, start=0, stop=duration, duration=duration
    )


def test_tests_are_slow_by_what_was_measured(tmp_path: Path) -> None:
    path = tmp_path / "durations.json"
    path.write_text('{"a/test_a.py::test_gone": 9.0, "a/test_a.py::test_faster": 3.0}')
    measured = conftest.Durations(path)
    for place, when, duration in (
        ("test/a/test_a.py::test_faster", "call", 0.14),
        ("test/a/test_a.py::test_each[1]", "call", 0.5),
        ("test/a/test_a.py::test_each[2]", "call", 2.14),
        ("test/a/test_b.py::test_with_a_long_set_up", "setup", 5.0),
        ("test/a/test_b.py::test_with_a_long_set_up", "call", 0.1),
    ):
        measured.pytest_runtest_logreport(report(place, when, duration))
    measured.pytest_sessionfinish()
    assert json.loads(path.read_text()) == {
        "a/test_a.py::test_each": 2.1,
        "a/test_a.py::test_gone": 9.0,
        "a/test_b.py": 5.0,
    }
