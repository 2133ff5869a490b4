# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The report's parts: numbers at the top, facts, and charts of when and how long."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest
from record.conftest import summary

from ros2_cosim.core.record.series import Events
from ros2_cosim.core.record.summary import OrderViolations, ParticipantSummary, Verdict
from ros2_cosim.driving.measures.recorded_encounters import RecordedEncounters
from ros2_cosim.lab.report.page import Tile
from ros2_cosim.lab.report.report import _facts, _tiles, timing_charts, zoom_window
from ros2_cosim.lab.report.report_data import RunData
from ros2_cosim.world.map.encounters import Extreme

COUNTS = {"world": 100}


@pytest.mark.parametrize(
    ("busiest", "end", "window"),
    [
        # 24 of 2000 events in 20 s are 0.24 s, from a hundredth of a second on.
        (2000, 20.0, (9.88, 10.12)),
        (48, 100.0, (25.0, 75.0)),
        (240_000, 1000.0, (499.95, 500.05)),
        (24, 100.0, (0.0, 100.0)),
        (10, 5.0, (0.0, 5.0)),
        (1, 5.0, (0.0, 5.0)),
        (0, 10.0, (0.0, 10.0)),
        # It begins at a tenth of a second, or at a thousandth: one digit more than its length has.
        (100, 15.0, (5.7, 9.3)),
        (2400, 1.23, (0.608, 0.6203)),
    ],
)
def test_some_two_dozen_events_are_enlarged(
    busiest: int, end: float, window: tuple[float, float]
) -> None:
    assert zoom_window(busiest, end) == pytest.approx(window)


def tiles(found: RecordedEncounters | None = None, **changes: object) -> list[Tile]:
    return _tiles(summary("x", COUNTS, **changes), found or RecordedEncounters())


def test_the_numbers_at_the_top_say_what_is_good() -> None:
    assert tiles() == [
        Tile("real-time factor", "3.07"),
        Tile("simulated", "20 s"),
        Tile("wall time", "6.51 s"),
        Tile("causality violations", "0", True),
        Tile("repeatable", "yes", True),
    ]
    bad = tiles(
        causality=OrderViolations(loss=2),
        repeatable=False,
        not_repeatable_reason="why",
        collisions=1,
        min_gap_m=0.0,
        final_gap_to_obstacle_m=0.0,
    )
    assert bad[3:] == [
        Tile("causality violations", "2", False),
        Tile("repeatable", "no", False),
        Tile("collisions", "1", False),
        Tile("smallest gap", "0.00 m", False),
        Tile("final gap to obstacle", "0.00 m", False),
    ]
    good = tiles(collisions=0, min_gap_m=1.234, final_gap_to_obstacle_m=0.5)
    assert good[5:] == [
        Tile("collisions", "0", True),
        Tile("smallest gap", "1.23 m", True),
        Tile("final gap to obstacle", "0.50 m", True),
    ]


def test_a_gap_is_as_good_as_its_verdict() -> None:
    for passed in (True, False):
        verdict = Verdict(name="min_gap_m", value=1.5, limit=1.0, passed=passed)
        assert tiles(min_gap_m=1.5, verdicts=(verdict,))[-1].good is passed


def test_smallest_values_have_pair_and_time() -> None:
    found = RecordedEncounters()
    found.least_gap = Extreme(1.5, ("a", "b"), 2_500_000_000)
    found.least_ttc = Extreme(3.25, ("a", "c"), 1_000_000_000)
    assert tiles(found, min_gap_m=1.5)[5:] == [
        Tile("smallest gap: a to b at 2.50 s", "1.50 m", True),
        Tile("smallest time to collision: a to c at 1.00 s", "3.25 s"),
    ]
    found.least_gap = Extreme(1.5, ("a", "b"))
    assert tiles(found, min_gap_m=1.5)[5].label == "smallest gap"


def test_of_a_run_without_its_end_the_recorded_time_is_said() -> None:
    cut = {"complete": False, "trace_sha256": "", "repeatable": False}
    assert tiles(**cut, not_repeatable_reason="killed", collisions=3) == [Tile("recorded", "20 s")]


def test_facts_are_those_that_are_known() -> None:
    names = [name for name, _ in _facts(summary("x", COUNTS, simulator=""))]
    assert names == [
        "Scenario",
        "Run shape",
        "Seed",
        "Steps",
        "Start-up",
        "End",
        "Trace SHA-256",
        "Version of carla",
        "Version of ros2_cosim",
    ]
    why = {"repeatable": False, "not_repeatable_reason": "late"}
    assert ("Not repeatable since 0.5 s", "late") in _facts(
        summary("x", COUNTS, not_repeatable_since_s=0.5, **why)
    )
    assert ("Not repeatable", "late") in _facts(summary("x", COUNTS, **why))


def none(start: float, end: float) -> Mapping[str, Sequence[float]]:
    raise AssertionError("all events are kept")


def participant(name: str, activations: int, compute_s: float = 0.0) -> ParticipantSummary:
    return ParticipantSummary(name=name, activations=activations, compute_s=compute_s)


def titles(data: RunData, *participants: ParticipantSummary) -> list[str]:
    return [chart.title for chart in timing_charts(data, participants, none)]


def test_activations_are_shown_where_all_were_recorded() -> None:
    stamps = Events()
    stamps.add(1.0)
    data = RunData(topics={"/x": ("T", stamps)}, activations={"a": [0.0, 0.5], "b": [0.0]})
    activations = ["Time line of activations", "Time line of activations, enlarged"]
    messages = ["Time line of messages", "Time line of messages, enlarged"]
    assert titles(data, participant("a", 2), participant("b", 1)) == activations
    assert titles(data, participant("a", 2), participant("b", 2)) == messages
    assert titles(data, participant("a", 2), participant("c", 1)) == messages
    data.activations = {}
    assert titles(data) == messages
    assert titles(RunData()) == titles(RunData(activations={"a": [0.0]})) == []


def test_the_middle_of_the_run_is_enlarged_with_all_its_messages() -> None:
    few, many = Events(), Events()
    for n in range(9000):
        many.add(0.001 * n)
    few.add(0.0)
    assert few.is_whole and not many.is_whole
    asked = []

    def stamps(start: float, end: float) -> Mapping[str, Sequence[float]]:
        asked.append((start, end))
        return {"/many": [4.488, 4.49]}

    data = RunData(topics={"/many": ("T", many), "/few": ("T", few)})
    whole, enlarged = timing_charts(data, (), stamps)
    assert asked == [zoom_window(9000, 8.999)]
    assert whole.note == "The whole run."
    assert enlarged.note == "24 ms from the middle of the run."
    # Two marks of one topic, and none of the other.
    assert enlarged.svg.count("v14") == 2
    assert "simulated time [ms]" in enlarged.svg and "simulated time [s]" in whole.svg


def test_step_times_are_means_of_those_that_were_active() -> None:
    """2 s in 1000 activations are 2000 us each."""
    charts = {
        chart.title: chart.svg
        for chart in timing_charts(
            RunData(), (participant("a", 1000, 2.0), participant("idle", 0, 9.0)), none
        )
    }
    assert list(charts) == ["Step time", "Wall time"]
    assert "<title>a, compute: 2000</title>" in charts["Step time"]
    assert "<title>a, compute: 2</title>" in charts["Wall time"]
    assert "idle" not in charts["Step time"] + charts["Wall time"]
    assert titles(RunData(), participant("idle", 0, 9.0)) == []
    assert titles(RunData(), participant("a", 5)) == []
