# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Runs over the simulated network: each seed ends by the rules, and repeats itself."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("rclpy", reason="needs rclpy, which make setup installs")

from simulation.disturbances import HARMLESS, KINDS
from simulation.judge import Verdict, run_seed, run_seeds

from ros2_cosim.core.kernel.errors import RunError
from ros2_cosim.core.scenario.schema import Scenario
from ros2_cosim.ros.programs import _start

#: ``bench/simulated_network.py`` runs as many as there is time for.
SEEDS = 320
CHUNK = 160
TEST = Path(__file__).resolve().parents[1]


@pytest.mark.parametrize("first", range(0, SEEDS, CHUNK))
def test_every_seed_ends_by_the_rules(first: int) -> None:
    verdicts = list(run_seeds(range(first, first + CHUNK)))
    assert [(v.seed, v.wrong) for v in verdicts if v.wrong] == []
    assert {v.kind for v in verdicts} == set(KINDS)
    assert all(v.stop is None for v in verdicts if v.kind in HARMLESS)
    assert any(v.stop is not None for v in verdicts)


def test_a_freeze_at_the_very_end_names_the_process_that_stood() -> None:
    """The others have ended in order by then: none of them is the cause."""
    verdict = run_seed(600453, "frozen")
    assert verdict.wrong == ""
    assert verdict.stop == "'b' still ran 10 s after others had ended; the run itself was over"


@pytest.fixture(scope="module")
def verdicts() -> list[Verdict]:
    return [run_seed(seed) for seed in range(900, 920)]


def test_a_seed_repeats_itself(verdicts: list[Verdict]) -> None:
    assert [run_seed(verdict.seed) for verdict in verdicts] == verdicts


def test_a_seed_repeats_itself_in_another_process(verdicts: list[Verdict]) -> None:
    script = (
        "from simulation.judge import run_seed; "
        "print([run_seed(seed).digest for seed in range(900, 920)])"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=TEST,
        env={**os.environ, "PYTHONPATH": f"{TEST}:{TEST.parent}", "PYTHONHASHSEED": "7"},
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    assert done.stdout.strip() == str([verdict.digest for verdict in verdicts])


def test_different_seeds_differ(verdicts: list[Verdict]) -> None:
    assert len({verdict.digest for verdict in verdicts}) == len(verdicts)


def test_only_a_world_looks_at_the_models_of_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """To look at them imports them, in each process, with all that they import themselves."""

    def offered_world(scenario: Scenario, shape: str) -> None:
        raise RunError("the models of others are imported")

    monkeypatch.setattr(_start, "offered_world", offered_world)
    assert run_seed(3, "calm").wrong == ""
