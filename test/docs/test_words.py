# SPDX-License-Identifier: Apache-2.0
"""Participants, processes and nodes are things in all texts: each is an "it"."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PLACES = (
    ("ros2_cosim", "*.py"),
    ("ros2_cosim", "*.html"),
    ("ros2_cosim", "*.js"),
    ("bench", "*.py"),
    ("buildtools", "*.py"),
    ("docs", "*.md"),
    (".", "*.md"),
)
_WORDS = re.compile(
    r"\b(?:who|whom|whoever|somebody|someone|nobody|everybody|everyone|anybody|anyone"
    r"|he|him|his|she|her)\b(?!@)",
    re.IGNORECASE,
)


def words_in(text: str) -> list[str]:
    return _WORDS.findall(text)


def test_participants_are_no_persons() -> None:
    wrong = []
    for place, pattern in PLACES:
        base = ROOT / place
        for path in sorted(base.glob(pattern) if place == "." else base.rglob(pattern)):
            lines = path.read_text(encoding="utf-8").splitlines()
            wrong += [
                f"{path.relative_to(ROOT)}:{number}: {found}"
                for number, line in enumerate(lines, start=1)
                for found in words_in(line)
            ]
    assert wrong == []


def test_the_words_are_found() -> None:
    assert words_in("Whoever waits, and the one who he is told of") == ["Whoever", "who", "he"]
    assert words_in("<nobody@example.invalid> the whole") == []
