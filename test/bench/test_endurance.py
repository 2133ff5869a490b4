# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The benchmark of endurance works, and its judgement finds what grows."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "bench"))

import endurance
from endurance import Sample, judge


@pytest.mark.usefixtures("nothing_left")
def test_some_minutes_of_it(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    # What a run keeps of its past is full after six minutes.
    settled = ["--hours", "0.115", "--every", "20", "--settled", "360"]
    code = endurance.main([*settled, "--out", str(tmp_path / "out")])
    lines = capsys.readouterr().out.splitlines()
    assert (code, lines[-1]) == (0, "good"), lines
    assert len(lines) >= 2 + 2 + 1


@pytest.mark.usefixtures("nothing_left")
def test_the_platoon_again_and_again(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """Its memory has settled after five repetitions."""
    arguments = ["--repeat", "7", "--no-bag", "--every", "5", "--settled", "110"]
    code = endurance.main([*arguments, "--out", str(tmp_path / "out")])
    said = capsys.readouterr().out
    assert (code, said.count("\n7 runs with the trace ")) == (0, 1), said
    times = [line.split("|")[1] for line in said.splitlines() if line.startswith("| 0.")]
    assert times == sorted(times), "each run follows the one before"
    assert len(times) >= 3, "a busy machine sees fewer than 28"


def samples(rss: list[float], files: list[int] | None = None) -> list[Sample]:
    """One sample each ten minutes."""
    files = files or [7] * len(rss)
    return [
        Sample(600.0 * k, 10.0 * k, 9.0 * k, rss[k], files[k], 2, 1.0 * k) for k in range(len(rss))
    ]


def test_growth_before_it_has_settled_is_none() -> None:
    assert judge(samples([50.0, 80.0, 80.5, 81.0]), bag=False) == []


def test_memory_that_grows_is_found() -> None:
    (complaint,) = judge(samples([50.0, 80.0, 81.0, 82.0]), bag=False)
    assert complaint == "memory grew by 2.0 MB in 0.33 h (1.6 allowed)"
    (complaint,) = judge(samples([80.0 + 1.6 * k for k in range(14)]), bag=True)
    assert complaint == "memory grew by 19.2 MB in 2.00 h (4.0 allowed)"


def test_open_files_that_grow_are_found() -> None:
    assert judge(samples([80.0] * 4, [5, 7, 7, 8]), bag=True) == ["open files: [7, 8]"]


def test_a_run_that_is_too_short_is_not_judged_good() -> None:
    (complaint,) = judge(samples([80.0, 80.0]), bag=True)
    assert complaint.startswith("too short")
