# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Declared processor times: how they are fixed, and what they alone do to causality."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ros2_cosim.core.run.inproc import run_inproc
from ros2_cosim.lab.study.causality import study_scenario
from ros2_cosim.lab.study.declared_load import (
    Reached,
    calibrate,
    changes,
    computed,
    processor_times,
)
from ros2_cosim.lab.study.load_experiments import computed_shares, correlation

MS = 1_000_000
SECOND = 1_000_000_000


def counts(factor: float, busy: float) -> dict[str, tuple[int, int, int]]:
    """Late, early and out of order by reader, in 1 s: 600 messages, 25 of each sensor."""
    found = computed(study_scenario(SECOND), factor, busy)
    assert sum(count.messages for count in found.values()) == 600
    return {name: (c.late, c.early, c.order) for name, c in found.items() if c.late or c.early}


def test_each_model_computes_the_same_share_of_its_step() -> None:
    assert processor_times(0.25) == {
        "traffic": 2_500_000, "front_sensor": 10 * MS, "rear_sensor": 10 * MS, "driving": 5 * MS
    }  # fmt: skip
    scenario = study_scenario(SECOND, changes(0.25))
    for name, time in processor_times(0.25).items():
        assert scenario.participants[name].parameters["processor_time"] == f"{time}ns"


def test_declared_times_change_no_trace(tmp_path: object, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("time.sleep", lambda seconds: None)
    plain, loaded = (
        run_inproc(study_scenario(SECOND, found), tmp_path / str(n), record=False)  # type: ignore[operator]
        for n, found in enumerate(([], changes(0.3)))
    )
    assert plain.trace_sha256 == loaded.trace_sha256


@given(st.floats(0.001, 0.3), st.floats(1.0, 6.0), st.floats(-0.004, 0.004), st.floats(0.5, 2.0))
def test_the_one_condition_fixes_the_share(
    overhead: float, chain: float, disturbed: float, wanted: float
) -> None:
    """Wall time per simulated second is a line over the share, and each run is a bit off."""
    known: list[Reached] = []
    signs = [1.0, -1.0, 1.0, -1.0, 1.0]

    def run(busy: float) -> float:
        return (1.0 + disturbed * signs[len(known)]) / (overhead + chain * busy)

    busy = calibrate(wanted, run, known)
    assert known[0].busy == 0.0 and len(known) <= 5
    assert 1.0 / (overhead + chain * busy) == pytest.approx(wanted, rel=0.03)


def test_a_calibration_goes_on_where_it_was() -> None:
    known = [Reached(0.0, 20.0), Reached(0.25, 1.2)]
    asked: list[float] = []

    def run(busy: float) -> float:
        asked.append(busy)
        return 1.0 / (0.05 + busy * (1.0 / 1.2 - 0.05) / 0.25)

    busy = calibrate(1.29, run, known)
    assert asked == [busy] and len(known) == 3
    assert calibrate(1.29, run, known, most=3) == busy and len(asked) == 1


def test_without_times_nothing_is_violated() -> None:
    assert counts(100.0, 0.0) == {}


def test_where_each_chain_no_longer_has_room() -> None:
    """A quarter of a step: 2.5 ms, 10 ms and 5 ms, for chains that have 5 ms by the factor."""
    assert counts(0.1, 0.25) == {}
    # A value of a sensor at 45 ms takes 10 + 5 ms to the traffic at 50 ms, the second one 20 ms.
    assert counts(0.3, 0.25) == {"traffic": (25, 0, 0)}
    assert counts(0.4, 0.25) == {"traffic": (50, 0, 0)}
    # The second activation reads what the traffic sent at 50 ms.
    assert counts(1.0, 0.25) == {"traffic": (50, 0, 0), "driving": (0, 25, 0)}
    # The traffic needs more than 5 ms: what it sent at 40 ms is not there at 45 ms.
    late = counts(2.1, 0.25)
    assert late["front_sensor"][0] == late["rear_sensor"][0] == 50
    assert computed_shares(0.4, 0.25) == {"late": pytest.approx(100 / 12), "early": 0.0}


@settings(max_examples=8)
@given(st.sampled_from([0.5, 1.0, 1.5, 2.0]), st.sampled_from([0.1, 0.2, 0.25, 0.3]))
def test_the_idle_share_decides_not_the_factor(factor: float, busy: float) -> None:
    assert counts(factor, busy) == counts(1.0, factor * busy)


def test_correlation() -> None:
    assert correlation([1.0, 2.0, 3.0], [2.0, 4.0, 6.0]) == pytest.approx(1.0)
    assert correlation([1.0, 2.0, 3.0], [1.0, 0.0, 1.0]) == pytest.approx(0.0)
    assert correlation([1.0, 2.0], [3.0, 3.0]) is None
