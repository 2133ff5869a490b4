# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The predictive CACC: its program is solved, its limits hold, and no disturbance grows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from models.test_laws import measurement

from ros2_cosim.core.run.inproc import run_inproc
from ros2_cosim.core.scenario.library import library_file
from ros2_cosim.core.scenario.schema import load_scenario
from ros2_cosim.driving.controllers import Peer
from ros2_cosim.driving.controllers.box_qp import minimise
from ros2_cosim.driving.controllers.mpc import SWEEPS, MpcCacc
from ros2_cosim.driving.controllers.theory import Loop, SteadyFollowing, largest_gain, linearised


def slopes(matrix: Any, vector: Any, x: list[float]) -> list[float]:
    return [
        v + sum(a * b for a, b in zip(row, x, strict=True))
        for row, v in zip(matrix, vector, strict=True)
    ]


@given(vector=st.lists(st.floats(-50, 50), min_size=7, max_size=7), previous=st.floats(-8, 2.5))
def test_the_program_of_the_law_is_solved(vector: list[float], previous: float) -> None:
    matrix = MpcCacc()._prepared(0.6).matrix
    x = minimise(matrix, vector, -8.0, 2.5, [previous] * 7, SWEEPS)
    largest = max(row[i] for i, row in enumerate(matrix))
    # Karush-Kuhn-Tucker: no slope inside the limits, at a limit none that leads away from it.
    for value, slope in zip(x, slopes(matrix, vector, x), strict=True):
        small = 1e-3 * largest
        assert -8.0 <= value <= 2.5
        assert slope >= -small or value == 2.5
        assert slope <= small or value == -8.0


def test_more_sweeps_change_nothing_that_is_felt() -> None:
    program = MpcCacc()._prepared(0.6)
    vector = [-5.0, 3.0, 8.0, -20.0, 4.0, 10.0, 30.0]
    one, two = (
        minimise(program.matrix, vector, -8.0, 2.5, [0.0] * 7, count)[0] for count in (SWEEPS, 5000)
    )
    assert one == pytest.approx(two, abs=1e-2)


def test_steady_following_demands_nothing() -> None:
    for h in (0.4, 0.6, 1.1):
        assert MpcCacc().acceleration(measurement(time_gap=h, gap=2.0 + h * 20.0)) == 0.0


def test_the_limits_hold() -> None:
    assert MpcCacc().acceleration(measurement(gap=3.0, gap_rate=-10.0)) == -8.0
    assert MpcCacc().acceleration(measurement(gap=60.0, previous_command=2.0)) == 2.5


def test_it_brakes_as_soon_as_the_predecessor_says_so() -> None:
    brakes = Peer(20.0, 0.0, -3.0, 0.0)
    assert MpcCacc().acceleration(measurement(predecessor=brakes)) < -0.3


@pytest.mark.parametrize("time_gap", [0.4, 0.6, 1.0])
@pytest.mark.parametrize("loop", [Loop(0.04, 0.1, 0.0, 0.045), Loop(0.04, 0.2, 0.02, 0.045)])
def test_no_disturbance_grows(time_gap: float, loop: Loop) -> None:
    following = SteadyFollowing(20.0, 30.0, 2.0, time_gap)
    law = linearised(lambda: MpcCacc().acceleration, following, loop.period)
    assert law is not None
    assert largest_gain(law, loop) <= 1.0 + 1e-6


def test_a_platoon_of_it_meets_all_verdicts(tmp_path: Path) -> None:
    scenario = load_scenario(library_file("braking"), ["parameters.law=mpc_cacc"])
    summary = run_inproc(scenario, tmp_path, record=False)
    assert summary.passed, summary.verdicts
