# SPDX-License-Identifier: Apache-2.0
"""The report finds in a bag what the referee has found in the run: value, pair and time."""

from __future__ import annotations

from pathlib import Path

import pytest

from ros2_cosim.interfaces.records import Odometry, PlatoonStatus
from ros2_cosim.models.vehicle_info import VehicleInfo
from ros2_cosim.record.recorded_encounters import RecordedEncounters, least_pet
from ros2_cosim.record.report import render_report
from ros2_cosim.record.report_data import load_run
from ros2_cosim.run.inproc import run_inproc
from ros2_cosim.scenario.library import library_file
from ros2_cosim.scenario.schema import load_scenario

CASES = [
    ("cut_in", ["duration=9s", "parameters.gap=15"]),
    ("merge", ["duration=6s"]),
    ("roadblock", ["duration=8s"]),
    ("town", ["duration=3s", "parameters.traffic=20"]),
]


@pytest.mark.parametrize(("name", "changes"), CASES, ids=[name for name, _ in CASES])
def test_the_report_has_the_values_of_the_verdicts(
    name: str, changes: list[str], tmp_path: Path
) -> None:
    changes = [*changes, "participants.referee.parameters.min_ttc_limit=0.1"]
    summary = run_inproc(load_scenario(library_file(name), changes), tmp_path)
    verdicts = {verdict.name: verdict for verdict in summary.verdicts}
    found = load_run(tmp_path).encounters
    for least, verdict in (
        (found.least_gap, verdicts["min_gap_m"]), (found.least_ttc, verdicts["min_ttc_s"]),
    ):  # fmt: skip
        if verdict.value is None:
            assert least.pair is None
            continue
        assert least.value == verdict.value
        assert least.time is not None and least.time / 1e9 == verdict.time_s
        assert least.pair == verdict.pair
    for curves, least in ((found.gap, found.least_gap), (found.ttc, found.least_ttc)):
        values = [v for series in curves.values() for v in series.values if v == v]
        assert min(values, default=least.value) == least.value
    assert found.least_gap.pair is not None and found.least_gap.time is not None
    one, two = found.least_gap.pair
    text = f"smallest gap: {one} to {two} at {found.least_gap.time / 1e9:.2f} s"
    page = render_report(tmp_path).read_text()
    assert text in page
    assert f"<td>{verdicts['min_gap_m'].of}</td>" in page


def odometry(x: float, y: float, speed: float, *, north: bool = False) -> Odometry:
    turned = 0.5**0.5 if north else 0.0
    level = (1.0 - turned * turned) ** 0.5
    return Odometry(x, y, 0.0, 0.0, 0.0, turned, level, speed, 0.0, 0.0, 0.0, 0.0, 0.0)


def test_without_a_road_there_are_no_gaps_and_still_post_encroachment_times() -> None:
    """Ego leaves the other's strip at 3.3 s, whose front comes to ego's at 4.3 s."""
    cars = {"ego": VehicleInfo(1, 4.0, 2.0), "other": VehicleInfo(2, 4.0, 2.0)}
    found = RecordedEncounters(None, cars, ("ego",), judged=True)
    for ms in range(0, 6000, 10):
        seconds = ms / 1000
        for name, record in (
            ("ego", odometry(-30.0 + 10.0 * seconds, 0.0, 10.0)),
            ("other", odometry(0.0, 5.0 * (seconds - 4.3) - 3.0, 5.0, north=True)),
        ):
            found.take([name, "odometry"], ms * 1_000_000, record)
        found.take(["status"], ms * 1_000_000, PlatoonStatus(0.0, 0, False, (), ()))
    found.finish()
    assert not found.gap and found.least_gap.pair is None
    assert found.least_pet.pair == ("ego", "other")
    assert found.least_pet.value == pytest.approx(1.0, abs=0.0401)


def test_the_summary_has_the_post_encroachment_time_of_the_bag(tmp_path: Path) -> None:
    scenario = load_scenario(library_file("town"), ["duration=5s"])
    summary = run_inproc(scenario, tmp_path)
    assert summary.min_pet_s == least_pet(tmp_path / "bag", scenario.scene)
    data = load_run(tmp_path).encounters.least_pet
    assert summary.min_pet_s == (data.value if data.pair is not None else None)
    assert least_pet(tmp_path / "no bag", scenario.scene) is None
