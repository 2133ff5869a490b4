# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The table of guarantees and the files that prove them agree."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

HERE = Path(__file__).parent
PAGE = HERE.parents[1] / "docs" / "guarantees.md"
LINK = re.compile(r"\[`(\w+)`\]\(\.\./test/guarantees/test_guarantee_(\w+)\.py\)")
VERDICTS = ("same", "improved", "different", "not offered")


def rows() -> list[list[str]]:
    """The rows of all tables of the page: promise, ours, test."""
    found = []
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split(" | ")]
        if line.startswith("| ") and cells[0] != "Promise of SIL Kit":
            found.append(cells)
    return found


def files() -> set[str]:
    return {path.stem.removeprefix("test_guarantee_") for path in HERE.glob("test_guarantee_*.py")}


def test_there_are_rows_and_files():
    assert len(rows()) > 50
    assert len(files()) > 40


@pytest.mark.parametrize("row", rows(), ids=lambda row: row[0][:60])
def test_each_promise_has_a_verdict_and_a_test(row):
    assert len(row) == 3, row
    verdict = next((v for v in VERDICTS if row[1].startswith(v)), None)
    assert verdict, row[1]
    if verdict != "same":
        assert len(row[1]) > len(verdict) + 10, f"say what is {verdict}: {row[1]}"
    links = LINK.findall(row[2])
    assert all(text == name for text, name in links)
    assert {name for _, name in links} <= files()
    assert bool(links) == (verdict != "not offered"), row


def test_each_file_proves_a_promise_of_the_table():
    linked = {name for row in rows() for _, name in LINK.findall(row[2])}
    assert files() == linked


@pytest.mark.parametrize("name", sorted(files()))
def test_each_file_says_what_it_proves(name):
    text = (HERE / f"test_guarantee_{name}.py").read_text(encoding="utf-8")
    assert re.search(r'^"""[A-Z\w].+[.!]"""$', text, re.MULTILINE)
    assert "\ndef test_" in text
