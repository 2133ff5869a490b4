# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""What a wrong name may stand for."""

from __future__ import annotations

import pytest

from ros2_cosim.core.kernel.guesses import did_you_mean, edit_distance


@pytest.mark.parametrize(
    ("found", "said"),
    [("sped", "did you mean 'speed'? "), ("brakes", "did you mean 'brake'? "), ("xyz", "")],
)
def test_the_most_similar_name_is_asked_for_if_there_is_one(found: str, said: str) -> None:
    assert did_you_mean(found, iter(["speed", "spread", "brake"])) == said


def test_where_nothing_is_known_nothing_is_asked() -> None:
    assert did_you_mean("speed", []) == ""


@pytest.mark.parametrize(
    ("one", "other", "far"),
    [("figure", "figures", 1), ("close", "clsoe", 2), ("", "ab", 2), ("abc", "abc", 0)],
)
def test_edits_between_two_names(one: str, other: str, far: int) -> None:
    assert edit_distance(one, other) == edit_distance(other, one) == far
    assert edit_distance("activate", "on_starting") > 2


@pytest.mark.parametrize(
    ("one", "other", "distance"),
    [
        ("", "", 0),
        ("abc", "abc", 0),
        ("abc", "abd", 1),
        ("abc", "ab", 1),
        ("abc", "xabc", 1),
        ("abc", "acb", 2),
        ("abc", "c", 2),
        ("", "ab", 2),
        ("kitten", "sitting", 3),
        ("abcdef", "", 3),
        ("abcdefgh", "abcd", 3),
        ("abc", "uvwxyz", 3),
    ],
)
def test_edits_between_two_words(one: str, other: str, distance: int) -> None:
    """From three edits on, words whose lengths differ by more than two are all as far."""
    assert edit_distance(one, other) == edit_distance(other, one) == distance
