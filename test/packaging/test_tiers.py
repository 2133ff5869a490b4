# SPDX-License-Identifier: Apache-2.0
"""The list of slow tests names what exists."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parents[1]
spec = importlib.util.spec_from_file_location("conftest_of_all", HERE / "conftest.py")
assert spec is not None and spec.loader is not None
conftest = importlib.util.module_from_spec(spec)
spec.loader.exec_module(conftest)


@pytest.mark.parametrize("place", conftest.SLOW_PLACES)
def test_a_place_of_slow_tests_exists(place: str) -> None:
    file, _, function = place.partition("::")
    assert (HERE / file).exists()
    assert not function or f"def {function}(" in (HERE / file).read_text(encoding="utf-8")
